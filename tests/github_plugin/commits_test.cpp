// Commits advance by the head's sha. Peer defect E; field cases 08, 10, 28.
#include <boost/test/unit_test.hpp>
#include <map>
#include <string>
#include <vector>

#include "host/base/error.h"
#include "tests/github_plugin/harness.h"

using namespace lakeflow::github_test;
namespace host = lakeflow::host;

namespace {

repository_config demo(std::uint32_t commits, const char* order = "date") {
    repository_config out;
    out.issues = 1;
    out.commits = commits;
    out.commit_order = order;
    return out;
}

// What an append destination with a key holds. Gives how many rows were new.
std::size_t append(std::map<std::string, std::string>& table, const outcome& run) {
    std::size_t added = 0;
    std::vector<std::string> keys = run.column("sha"), values = run.column("commit_committer_date");
    for (std::size_t i = 0; i < keys.size(); ++i) added += table.emplace(keys[i], values[i]).second;
    return added;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(commits)

BOOST_AUTO_TEST_CASE(all_then_nothing_then_a_push) {
    bench b(small_server(demo(1'300)));
    b.workers = 4;
    outcome first = b.run("commits");
    BOOST_TEST(same(first.by_key("sha", "commit_committer_date"), b.truth("commits")));
    BOOST_TEST(first.requests <= 13 + 5u);
    BOOST_TEST(first.partitions > 4u);
    outcome idle = b.run("commits", first.end);
    BOOST_TEST(idle.requests == 1u);
    BOOST_TEST(idle.end == first.end);
    b.server.control("push", R"({"count":7})");
    outcome third = b.run("commits", idle.end);
    BOOST_TEST(third.rows() == 7);
    BOOST_TEST(third.requests == 2u);
    BOOST_TEST(b.run("commits", third.end).requests == 1u);
    std::map<std::string, std::string> table;
    append(table, first);
    append(table, third);
    BOOST_TEST(same(table, b.truth("commits")));
    BOOST_TEST(b.metadata("commits").rereads);
}

// A merged branch brings commits older than any that were read, and none of them may be missed or come twice.
BOOST_AUTO_TEST_CASE(late_merges_with_old_dates) {
    for (const char* order : {"date", "topo"}) {
        bench b(small_server(demo(900, order)));
        outcome at = b.run("commits");
        std::map<std::string, std::string> table;
        append(table, at);
        for (const char* merge :
             {R"({"count":5,"back":3})", R"({"count":40,"back":60,"first_date":"2023-01-05T00:00:00Z"})",
              R"({"count":3,"back":1,"first_date":"1999-01-01T00:00:00Z"})"}) {
            b.server.control("merge", merge);
            b.server.control("push", R"({"count":2})");
            at = b.run("commits", at.end);
            std::size_t rows = static_cast<std::size_t>(at.rows());
            BOOST_TEST(append(table, at) == rows, order << ": rows came again");
            BOOST_TEST(same(table, b.truth("commits")), order);
        }
    }
}

BOOST_AUTO_TEST_CASE(many_pushed_at_once) {
    bench b(small_server(demo(200)));
    outcome first = b.run("commits");
    b.server.control("push", R"({"count":450})");
    outcome second = b.run("commits", first.end);
    BOOST_TEST(second.rows() >= 450);
    std::map<std::string, std::string> table;
    append(table, first);
    BOOST_TEST(append(table, second) == 450u);
    BOOST_TEST(same(table, b.truth("commits")));
    BOOST_TEST(second.requests <= 10u);
}

BOOST_AUTO_TEST_CASE(a_forced_push) {
    bench b(small_server(demo(1'000)));
    outcome first = b.run("commits");
    std::map<std::string, std::string> table;
    append(table, first);
    b.server.control("push", R"({"drop":1,"count":1})");
    outcome second = b.run("commits", first.end);
    append(table, second);
    for (const auto& [sha, date] : b.truth("commits")) BOOST_TEST(table.contains(sha));
    // The old head's own listing tells where the two histories meet: not all of it is read again.
    BOOST_TEST(second.requests <= 7u);
    // Forgotten on the server: the whole history is listed, and rows that landed come again.
    b.server.control("push", R"({"drop":3,"count":2})");
    b.server.control("faults", R"({"faults":[{"path":"sha=)" + second.end.substr(second.end.find("head") + 7, 40) +
                                   R"(","times":-1,"status":404}]})");
    outcome third = b.run("commits", second.end);
    append(table, third);
    for (const auto& [sha, date] : b.truth("commits")) BOOST_TEST(table.contains(sha));
    BOOST_TEST(third.requests <= 15u);
}

// A batch is planned for a head; what is pushed afterwards comes with the next one.
BOOST_AUTO_TEST_CASE(a_batch_is_read_again_as_it_was) {
    bench b(small_server(demo(300)));
    outcome first = b.run("commits");
    b.server.control("push", R"({"count":4})");
    outcome second = b.run("commits", first.end);
    b.server.control("merge", R"({"count":3,"back":2})");
    BOOST_TEST(same(b.replay("commits", first.end, second.end).by_key("sha", "commit_committer_date"),
                    second.by_key("sha", "commit_committer_date")));
    BOOST_TEST(same(b.replay("commits", "{}", first.end).by_key("sha", "commit_committer_date"),
                    first.by_key("sha", "commit_committer_date")));
}

BOOST_AUTO_TEST_CASE(a_push_while_the_history_is_read) {
    bench b(small_server(demo(700)));
    b.server.control("faults", R"({"triggers":[{"path":"sha=","times":-1,"do":[{"op":"push","count":3}]}]})");
    outcome first = b.run("commits");
    b.server.control("clear_faults");
    outcome second = b.run("commits", first.end);
    std::map<std::string, std::string> table;
    BOOST_TEST(append(table, first) == 700u);
    append(table, second);
    BOOST_TEST(same(table, b.truth("commits")));
}

// 409: a repository without a commit has no rows, and is no error (case 28).
BOOST_AUTO_TEST_CASE(an_empty_repository) {
    bench b(small_server(demo(0)));
    outcome none = b.run("commits");
    BOOST_TEST(none.rows() == 0);
    BOOST_TEST(none.end == "{}");
    BOOST_TEST(none.requests == 1u);
    BOOST_TEST(b.batch("commits", true).rows() == 0);
}

BOOST_AUTO_TEST_CASE(batch_and_simple_reads) {
    bench b(small_server(demo(230)));
    BOOST_TEST(same(b.batch("commits", true).by_key("sha", "commit_committer_date"), b.truth("commits")));
    BOOST_TEST(same(b.batch("commits", false).by_key("sha", "commit_committer_date"), b.truth("commits")));
    outcome simple = b.simple("commits");
    BOOST_TEST(same(simple.by_key("sha", "commit_committer_date"), b.truth("commits")));
}

BOOST_AUTO_TEST_CASE(a_page_that_breaks_off_is_asked_for_again) {
    bench b(small_server(demo(200)));
    outcome first = b.run("commits");
    b.server.control("push", R"({"count":5})");
    b.server.control("faults", R"({"faults":[{"path":"sha=","kind":"cut","mode":"length","at":300}]})");
    BOOST_TEST(b.run("commits", first.end).rows() == 5);
}

BOOST_AUTO_TEST_CASE(only_since_a_date) {
    bench b(small_server(demo(500)));
    auto truth = b.truth("commits");
    std::erase_if(truth, [](const auto& row) { return row.second < "2023-09-01T00:00:00Z"; });
    b.options = R"({"owner":"octo","repo":"demo","start_date":"2023-09-01"})";
    outcome first = b.run("commits");
    BOOST_TEST(same(first.by_key("sha", "commit_committer_date"), truth));
    b.server.control("merge", R"({"count":4,"back":5,"first_date":"2020-01-01T00:00:00Z"})");
    outcome second = b.run("commits", first.end);
    BOOST_TEST(second.rows() == 1);  // the merge; what it brings is older than the date
}

BOOST_AUTO_TEST_SUITE_END()
