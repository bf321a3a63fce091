// The seven tables that are read whole, or not at all if nothing changed.
#include <boost/test/unit_test.hpp>
#include <map>
#include <string>
#include <vector>

#include "tests/github_plugin/harness.h"

using namespace lakeflow::github_test;
namespace host = lakeflow::host;

namespace {

server_config people_server() {
    repository_config out;
    out.issues = 1;
    out.commits = 30;
    out.branches = 12;
    out.assignees = 250;
    out.collaborators = 130;
    server_config config = small_server(out);
    config.users = 400;
    config.extra_repos = 120;
    config.teams = 4;
    return config;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(snapshots)

BOOST_AUTO_TEST_CASE(each_table_whole_then_unchanged) {
    bench b(people_server());
    struct about {
        const char *table, *options, *key, *value, *query, *truth_value;
        std::uint64_t pages;
    };
    const char* demo = R"({"owner":"octo","repo":"demo"})";
    for (const about& one :
         {about{"assignees", demo, "id", "login", "", "login", 3},
          about{"collaborators", demo, "id", "login", "", "login", 2},
          about{"branches", demo, "name", "name", "", "key", 1},
          about{"repositories", R"({"org":"octo"})", "id", "full_name", "owner=octo", "full_name", 2},
          about{"repositories", R"({"owner":"octo"})", "id", "full_name", "owner=octo", "full_name", 2},
          about{"users", "{}", "id", "login", "", "login", 1},
          about{"organizations", "{}", "id", "login", "", "login", 1},
          about{"teams", "{}", "id", "slug", "", "slug", 1}}) {
        b.options = one.options;
        outcome first = b.run(one.table);
        BOOST_TEST(same(first.by_key(one.key, one.value), b.truth(one.table, one.query, one.truth_value)), one.table);
        BOOST_TEST(first.requests == one.pages, one.table << " took " << first.requests);
        BOOST_TEST(first.micro_batches == 1u, one.table);
        outcome idle = b.run(one.table, first.end);
        BOOST_TEST(idle.requests == one.pages, one.table << " took " << idle.requests << " for nothing");
        BOOST_TEST(idle.rows() == 0, one.table);
        BOOST_TEST(idle.end == first.end, one.table);
        BOOST_TEST(b.requests_done().back().conditional);
    }
}

BOOST_AUTO_TEST_CASE(a_change_on_any_page_reads_the_whole_table) {
    bench b(people_server());
    outcome first = b.run("assignees");
    b.server.control("set", R"({"assignees":251})");  // the last page
    outcome second = b.run("assignees", first.end);
    BOOST_TEST(same(second.by_key("id", "login"), b.truth("assignees", "", "login")));
    BOOST_TEST(second.rows() == 251);
    b.server.control("set", R"({"assignees":90})");  // fewer pages
    outcome third = b.run("assignees", second.end);
    BOOST_TEST(third.rows() == 90);
    BOOST_TEST(third.requests == 1u);  // the first page had changed, so it began the read
    BOOST_TEST(b.run("assignees", third.end).requests == 1u);
}

// Where the last page is full, a row behind it changes no page that was read.
BOOST_AUTO_TEST_CASE(a_row_behind_a_full_page) {
    server_config config = people_server();
    config.repositories[0].assignees = 200;
    bench b(config);
    outcome first = b.run("assignees");
    BOOST_TEST(first.rows() == 200);
    BOOST_TEST(b.run("assignees", first.end).rows() == 0);
    b.server.control("set", R"({"assignees":201})");
    outcome second = b.run("assignees", first.end);
    BOOST_TEST(second.rows() == 201);
}

BOOST_AUTO_TEST_CASE(a_new_branch_and_a_moved_one) {
    bench b(people_server());
    outcome first = b.run("branches");
    b.server.control("push", R"({"count":1})");
    outcome second = b.run("branches", first.end);
    BOOST_TEST(second.rows() == 12);
    BOOST_TEST(second.end != first.end);
    b.server.control("branch", R"({"name":"new/one","sha":"main"})");
    BOOST_TEST(b.run("branches", second.end).rows() == 13);
}

BOOST_AUTO_TEST_CASE(columns_that_lie_deeper) {
    bench b(people_server());
    b.options = "{}";
    outcome teams = b.run("teams");
    BOOST_TEST(same(teams.by_key("id", "organization_login"), b.truth("teams", "", "organization_login")));
    b.options = R"({"org":"octo"})";
    outcome repositories = b.run("repositories");
    for (const std::string& owner : repositories.column("repository_owner")) BOOST_TEST(owner == "octo");
    BOOST_TEST(repositories.column("repository_name") == repositories.column("name"), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_whole_table_without_offsets) {
    bench b(people_server());
    BOOST_TEST(b.batch("collaborators", false).rows() == 130);
}

BOOST_AUTO_TEST_SUITE_END()
