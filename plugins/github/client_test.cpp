// Addresses: the service's own path is kept, names are escaped, and a moved repository is found again.
#include "client.hpp"

#include <boost/test/unit_test.hpp>
#include <string>

using namespace lakeflow;
using namespace lakeflow::github;

namespace {

client open(const char* base_url, const char* table, const char* options) {
    environment env;
    env.options = json::object({{"base_url", base_url}, {"token", "secret"}});
    return {env, find_table(table), settings::from(json::parse(options))};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(addresses)

BOOST_AUTO_TEST_CASE(listings) {
    const char* demo = R"({"owner": "octo", "repo": "demo"})";
    BOOST_TEST(open("https://api.github.com", "comments", demo).listing() ==
               "https://api.github.com/repos/octo/demo/issues/comments");
    // GitHub Enterprise Server.
    BOOST_TEST(open("https://ghe.example/api/v3/", "issues", demo).listing() ==
               "https://ghe.example/api/v3/repos/octo/demo/issues");
    BOOST_TEST(open("https://ghe.example/api/v3/", "teams", "{}").listing() == "https://ghe.example/api/v3/user/teams");
    BOOST_TEST(open("https://ghe.example/api/v3", "repositories", R"({"org": "a b"})").listing() ==
               "https://ghe.example/api/v3/orgs/a%20b/repos");
    BOOST_TEST(open("https://a.example", "repositories", R"({"owner": "me"})").listing() ==
               "https://a.example/users/me/repos");
    BOOST_TEST(open("https://a.example", "issues", R"({"owner": "a/b", "repo": "c?d"})").listing() ==
               "https://a.example/repos/a%2Fb/c%3Fd/issues");
    BOOST_CHECK_THROW(open("https://a.example", "issues", R"({"owner": "..", "repo": "x"})").listing(), failure);
}

BOOST_AUTO_TEST_CASE(a_moved_repository) {
    client source = open("https://ghe.example/api/v3", "issues", R"({"owner": "octo", "repo": "demo"})");
    json part = json::object();
    source.remember_move(part, source.listing() + "?per_page=1");
    BOOST_TEST(part.empty());
    source.remember_move(part, "https://ghe.example/api/v3/repositories/7/issues?per_page=1");
    BOOST_TEST(part.text("at") == "/api/v3/repositories/7/issues");
    BOOST_TEST(source.listing(part) == "https://ghe.example/api/v3/repositories/7/issues");
    // Another origin is not written into a descriptor: the host judges it at each request.
    json other = json::object();
    source.remember_move(other, "https://elsewhere.example/repositories/7/issues");
    BOOST_TEST(other.empty());
}

BOOST_AUTO_TEST_SUITE_END()
