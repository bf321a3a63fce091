// What the control API changes, and that the ground truth says the same as the listings.
#include <boost/test/unit_test.hpp>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "tests/github_server/testing.h"
#include "tests/github_server/text.h"

using namespace lakeflow::github_server;
using namespace lakeflow::github_server::testing;

namespace {

server_config corpus() {
    server_config config;
    repository_config repo;
    repo.issues = 230;
    repo.pulls = 60;
    repo.comments = 150;
    repo.commits = 130;
    repo.branches = 5;
    repo.reviews_per_pull = 2;
    config.repositories = {repo};
    return config;
}

std::map<std::string, row> truth_of(const asker& ask, const std::string& table) {
    const control_reply given = ask.routes().controls().call("GET", "/truth/" + table + "?repo=octo/demo", "");
    BOOST_REQUIRE(given.status == 200);
    std::map<std::string, row> out;
    std::istringstream lines(given.body);
    for (std::string line; std::getline(lines, line);) {
        row one(line);
        const std::string key = one.raw("key");
        out.emplace(key, std::move(one));
    }
    return out;
}

void same_as_truth(const asker& ask, const std::string& table, const std::string& path, const std::string& key,
                   bool with_updated) {
    const auto expected = truth_of(ask, table);
    const auto rows = ask.walk(path);
    BOOST_TEST(rows.size() == expected.size());
    std::set<std::string> keys;
    for (const auto& one : rows) {
        const auto found = expected.find(one.raw(key));
        BOOST_REQUIRE_MESSAGE(found != expected.end(),
                              table + " has a row that the truth does not know: " + one.raw(key));
        keys.insert(found->first);
        if (with_updated) BOOST_TEST(one.text("updated_at") == found->second.text("updated_at"));
        if (table == "issues" || table == "pulls") {
            BOOST_TEST(one.text("title") == found->second.text("title"));
            BOOST_TEST(one.text("state") == found->second.text("state"));
            BOOST_TEST(one.raw("closed_at") == found->second.raw("closed_at"));
        }
    }
    BOOST_TEST(keys.size() == expected.size());
}

void all_as_truth(const asker& ask) {
    const std::string base = "/repos/octo/demo/";
    same_as_truth(ask, "issues", base + "issues?state=all&per_page=100", "id", true);
    same_as_truth(ask, "pulls", base + "pulls?state=all&per_page=100", "id", true);
    same_as_truth(ask, "comments", base + "issues/comments?per_page=100", "id", true);
    same_as_truth(ask, "commits", base + "commits?per_page=100", "sha", false);
    same_as_truth(ask, "branches", base + "branches", "name", false);
    same_as_truth(ask, "assignees", base + "assignees", "id", false);
    same_as_truth(ask, "collaborators", base + "collaborators", "id", false);
    same_as_truth(ask, "repositories", "/users/octo/repos", "id", true);
    same_as_truth(ask, "teams", "/user/teams", "id", false);
    same_as_truth(ask, "organizations", "/user/orgs", "id", false);
    const auto reviews = truth_of(ask, "reviews");
    std::size_t seen = 0;
    for (const auto& pull : ask.walk(base + "pulls?state=all&per_page=100")) {
        for (const auto& review : ask.walk(base + "pulls/" + std::to_string(pull.integer("number")) + "/reviews")) {
            BOOST_REQUIRE(reviews.contains(review.raw("id")));
            BOOST_TEST(reviews.at(review.raw("id")).text("state") == review.text("state"));
            ++seen;
        }
    }
    BOOST_TEST(seen == reviews.size());
}

}  // namespace

BOOST_AUTO_TEST_CASE(truth_agrees_before_and_after_changes) {
    asker ask(corpus());
    all_as_truth(ask);
    ask.control("edit", R"({"count":7})");
    ask.control("edit", R"({"table":"pulls","count":3,"set":{"state":"closed","body":"closed \"now\""}})");
    ask.control("edit", R"({"table":"comments","count":4,"updated_at":"2024-07-01T00:00:00Z"})");
    ask.control("add", R"({"table":"issues","count":3})");
    ask.control("add", R"({"table":"pulls","count":2})");
    ask.control("add", R"({"table":"comments","count":5})");
    ask.control("add", R"({"table":"reviews","count":4})");
    ask.control("push", R"({"count":3})");
    ask.control("merge", R"({"count":4})");
    ask.control("push", R"({"drop":2,"count":1})");
    ask.control("branch", R"({"name":"new/one"})");
    ask.control("delete", R"({"table":"comments","count":2})");
    ask.control("delete", R"({"count":2})");
    ask.control("set", R"({"assignees":9,"collaborators":2})");
    ask.control("add_repo", R"({"name":"octo/second","issues":3})");
    all_as_truth(ask);
}

BOOST_AUTO_TEST_CASE(a_bulk_edit_puts_many_rows_into_one_second) {
    server_config config = corpus();
    config.repositories[0].issues = 12000;
    asker ask(config);
    ask.control("edit", R"({"count":10000,"updated_at":"2024-08-01T00:00:00Z"})");
    const auto first = ask.get("/repos/octo/demo/issues?state=all&per_page=100&since=2024-08-01T00:00:00Z");
    BOOST_TEST(first.links.at("last").find("page=100") != std::string::npos);
    for (const auto& one : first.rows) BOOST_TEST(one.text("updated_at") == "2024-08-01T00:00:00Z");
}

BOOST_AUTO_TEST_CASE(a_review_and_a_comment_touch_their_parent) {
    asker ask(corpus());
    const std::string newest =
        "/repos/octo/demo/issues?state=all&sort=updated&direction=desc&since=2025-01-01T00:00:00Z";
    BOOST_TEST(ask.get(newest).rows.empty());
    const row review(ask.control("add", R"({"table":"reviews","count":1})"));
    const auto touched = ask.get(newest).rows;
    BOOST_TEST(touched.size() == 1U);
    BOOST_TEST(review.raw("parents") == "[" + touched.at(0).raw("number") + "]");
    const std::string pull = touched.at(0).raw("number");
    BOOST_TEST(ask.get("/repos/octo/demo/pulls/" + pull + "/reviews").rows.size() == 3U);
    ask.control("add", R"({"table":"comments","count":1,"touch_parent":false})");
    BOOST_TEST(ask.get(newest).rows.size() == 1U);
    ask.control("add", R"({"table":"comments","count":1,"parents":[5]})");
    BOOST_TEST(ask.get(newest).rows.size() == 2U);
}

BOOST_AUTO_TEST_CASE(ids_pass_32_and_53_bits_and_never_repeat) {
    server_config config = corpus();
    config.repositories.push_back(config.repositories[0]);
    config.repositories[1].name = "other";
    asker ask(config);
    for (const std::string table : {"issues?state=all", "pulls?state=all", "issues/comments?"}) {
        std::set<std::int64_t> ids;
        std::size_t rows = 0;
        for (const std::string repo : {"demo", "other"}) {
            for (const auto& one : ask.walk("/repos/octo/" + repo + "/" + table + "&per_page=100")) {
                ids.insert(one.integer("id"));
                ++rows;
            }
        }
        BOOST_TEST(ids.size() == rows);
        BOOST_TEST(*ids.rbegin() > 2147483648LL);
        if (table == "issues/comments?")
            BOOST_TEST((*ids.begin() < 9007199254740992LL && *ids.rbegin() > 9007199254740993LL));
    }
}

BOOST_AUTO_TEST_CASE(nulls_appear_where_github_has_them) {
    server_config config = corpus();
    config.repositories[0].issues = 1500;
    config.repositories[0].pulls = 300;
    config.repositories[0].commits = 400;
    asker ask(config);
    std::map<std::string, int> nulls;
    bool text_label = false, crlf = false, astral = false;
    for (const auto& one : ask.walk("/repos/octo/demo/issues?state=all&per_page=100")) {
        for (const std::string key : {"user", "body", "closed_at", "milestone", "assignee", "state_reason"})
            nulls[key] += one.raw(key) == "null" ? 1 : 0;
        text_label = text_label || one.raw("labels").find("[\"legacy-label\"") == 0;
        crlf = crlf || one.raw("body").find("\\r\\n") != std::string::npos;
        astral = astral || one.raw("body").find("😀") != std::string::npos;
    }
    for (const auto& one : ask.walk("/repos/octo/demo/pulls?state=all&per_page=100")) {
        nulls["head.repo"] += one.raw("head").find("\"repo\":null") != std::string::npos ? 1 : 0;
        nulls["merged_at"] += one.raw("merged_at") == "null" ? 1 : 0;
    }
    for (const auto& one : ask.walk("/repos/octo/demo/commits?per_page=100")) {
        nulls["commit.author"] += one.raw("author") == "null" ? 1 : 0;
        nulls["commit.author {}"] += one.raw("author") == "{}" ? 1 : 0;
        nulls["git author"] += one.raw("commit").find("\"author\":null") != std::string::npos ? 1 : 0;
    }
    for (const auto& [key, count] : nulls) BOOST_TEST(count > 0, key + " is never null");
    BOOST_TEST(text_label);
    BOOST_TEST(crlf);
    BOOST_TEST(astral);
}
