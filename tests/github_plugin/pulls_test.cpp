// Pull requests and reviews: listings without `since`. Peer defects A, D, J; field cases 09, 10, 27.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <map>
#include <string>
#include <vector>

#include "tests/github_plugin/harness.h"

using namespace lakeflow::github_test;
namespace host = lakeflow::host;

namespace {

repository_config demo(std::uint32_t pulls, std::uint32_t reviews = 0) {
    repository_config out;
    out.issues = pulls + pulls / 2;
    out.pulls = pulls;
    out.reviews_per_pull = reviews;
    return out;
}

// What an append destination with a key holds: rows whose key it has are dropped.
std::size_t append(std::map<std::string, std::string>& table, const outcome& run) {
    std::size_t added = 0;
    std::vector<std::string> keys = run.column("id"), values = run.column("pull_number");
    for (std::size_t i = 0; i < keys.size(); ++i) added += table.emplace(keys[i], values[i]).second;
    return added;
}

std::uint64_t review_requests(bench& b) {
    std::uint64_t out = 0;
    for (const std::string& target : b.targets()) out += target.find("/reviews") != std::string::npos;
    return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(pull_requests)

BOOST_AUTO_TEST_CASE(a_full_load_then_nothing_then_ten) {
    bench b(small_server(demo(2'000)));
    b.workers = 4;
    outcome first = b.run("pull_requests");
    BOOST_TEST(same(first.by_key("id", "updated_at"), b.truth("pulls")));
    BOOST_TEST(same(first.by_key("id", "merged_at"), b.truth("pulls", "", "merged_at")));
    BOOST_TEST(first.requests <= 25u);
    outcome idle = b.run("pull_requests", first.end);
    BOOST_TEST(idle.requests == 1u);
    BOOST_TEST(idle.end == first.end);
    b.server.control("edit", R"({"table":"pulls","count":7})");
    b.server.control("add", R"({"table":"pulls","count":3})");
    outcome third = b.run("pull_requests", idle.end);
    BOOST_TEST(third.rows() == 10);
    BOOST_TEST(third.requests == 2u);
    std::map<std::string, std::string> table = first.by_key("id", "updated_at");
    for (auto& [key, value] : third.by_key("id", "updated_at")) table[key] = value;
    BOOST_TEST(same(table, b.truth("pulls")));
    BOOST_TEST(b.run("pull_requests", third.end).requests == 1u);
    BOOST_TEST(same(b.replay("pull_requests", idle.end, third.end).by_key("id", "updated_at"),
                    third.by_key("id", "updated_at")));
}

// An issue that is touched is no pull request: nothing is new here.
BOOST_AUTO_TEST_CASE(base_and_head_are_structs) {
    server_config config = small_server(demo(150));
    config.profile = "full";
    bench b(config);
    outcome all = b.run("pull_requests");
    int gone = 0;
    for (const char* side : {"base", "head"}) {
        for (const std::string& one : all.column(side)) {
            BOOST_TEST(one.find("\"sha\":\"") != std::string::npos);
            gone += one.find("\"repo\":null") != std::string::npos || one.find("\"id\":null") != std::string::npos;
        }
    }
    BOOST_TEST(gone > 0);  // the fork that it came from was deleted
    for (const std::string& one : all.column("base")) BOOST_TEST(one.find("'") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(many_touched_over_many_pages) {
    bench b(small_server(demo(900)));
    outcome first = b.run("pull_requests");
    b.server.control("edit", R"({"table":"pulls","count":450})");
    outcome second = b.run("pull_requests", first.end);
    BOOST_TEST(second.rows() == 450);
    BOOST_TEST(second.requests <= 1 + 6u);
}

BOOST_AUTO_TEST_CASE(rows_move_to_the_front_while_they_are_walked) {
    bench b(small_server(demo(900)));
    outcome first = b.run("pull_requests");
    b.server.control("edit", R"({"table":"pulls","count":450})");
    b.server.control(
        "faults",
        R"({"triggers":[{"path":"per_page=100","times":4,"do":[{"op":"edit","table":"pulls","count":20},{"op":"add","table":"pulls","count":3}]}]})");
    outcome second = b.run("pull_requests", first.end);
    outcome third = b.run("pull_requests", second.end);
    std::map<std::string, std::string> table = first.by_key("id", "updated_at");
    for (const outcome* run : {&second, &third}) {
        std::vector<std::string> ids = run->column("id"), at = run->column("updated_at");
        for (std::size_t i = 0; i < ids.size(); ++i) table[ids[i]] = at[i];
    }
    BOOST_TEST(same(table, b.truth("pulls")));
}

BOOST_AUTO_TEST_CASE(deep_pages_refused) {
    repository_config repository = demo(2'500);
    repository.deep = "refuse_rows:1000";
    repository.deep_tables = {"issues", "pulls"};
    bench b(small_server(repository));
    outcome all = b.run("pull_requests");
    BOOST_TEST(same(all.by_key("id", "updated_at"), b.truth("pulls")));
    BOOST_TEST(b.run("pull_requests", all.end).requests == 1u);
}

// The option max_records_per_batch must not hold rows back for good (defect A), whatever it means to this table.
BOOST_AUTO_TEST_CASE(a_cap_loses_nothing) {
    bench b(small_server(demo(400)));
    b.options = R"({"owner":"octo","repo":"demo","max_records_per_batch":50})";
    BOOST_TEST(b.run("pull_requests").rows() == 400);
}

BOOST_AUTO_TEST_CASE(only_open_ones) {
    bench b(small_server(demo(700)));
    b.options = R"({"owner":"octo","repo":"demo","state":"open"})";
    auto wanted = b.truth("pulls", "", "state");
    std::erase_if(wanted, [](const auto& row) { return row.second != "open"; });
    b.server.control(
        "faults",
        R"({"triggers":[{"path":"per_page=100","from":2,"times":3,"do":[{"op":"edit","table":"pulls","count":9,"set":{"state":"closed"}}]}]})");
    outcome all = b.run("pull_requests");
    auto got = all.by_key("id", "state");
    auto now = b.truth("pulls", "", "state");
    for (const auto& [id, state] : now)
        if (state == "open") BOOST_TEST(got.contains(id), "open pull request " << id << " is missing");
    BOOST_TEST(got.size() <= wanted.size());
}

BOOST_AUTO_TEST_CASE(a_start_date_reads_from_the_newest_on) {
    bench b(small_server(demo(600)));
    auto truth = b.truth("pulls");
    std::vector<std::string> instants;
    for (const auto& [key, at] : truth) instants.push_back(at);
    std::sort(instants.begin(), instants.end());
    std::string date = instants[450];
    std::erase_if(truth, [&](const auto& row) { return row.second < date; });
    b.options = R"({"owner":"octo","repo":"demo","start_date":")" + date + R"("})";
    outcome all = b.run("pull_requests");
    BOOST_TEST(same(all.by_key("id", "updated_at"), truth));
    BOOST_TEST(all.requests <= 4u);
}

BOOST_AUTO_TEST_CASE(batch_reads) {
    bench b(small_server(demo(300, 2)));
    BOOST_TEST(same(b.batch("pull_requests", true).by_key("id", "updated_at"), b.truth("pulls")));
    BOOST_TEST(same(b.batch("pull_requests", false).by_key("id", "updated_at"), b.truth("pulls")));
    BOOST_TEST(same(b.batch("reviews", true).by_key("id", "pull_number"), b.truth("reviews", "", "pull_number")));
    BOOST_TEST(same(b.batch("reviews", false).by_key("id", "pull_number"), b.truth("reviews", "", "pull_number")));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(reviews)

BOOST_AUTO_TEST_CASE(all_then_nothing_then_those_of_touched_pulls) {
    bench b(small_server(demo(350, 3)));
    b.workers = 4;
    outcome first = b.run("reviews");
    auto truth = b.truth("reviews", "", "pull_number");
    BOOST_TEST(same(first.by_key("id", "pull_number"), truth));
    // One request a pull request, and few more.
    BOOST_TEST(review_requests(b) == 350u);
    BOOST_TEST(first.requests <= 350 + truth.size() / 100 + 5 * first.partitions);
    BOOST_TEST(first.partitions == 4u);
    outcome idle = b.run("reviews", first.end);
    BOOST_TEST(idle.requests <= 2u);
    BOOST_TEST(idle.end == first.end);

    b.server.control("add", R"({"table":"reviews","count":6})");
    outcome third = b.run("reviews", idle.end);
    std::map<std::string, std::string> table = first.by_key("id", "pull_number");
    BOOST_TEST(append(table, third) == 6u);
    BOOST_TEST(same(table, b.truth("reviews", "", "pull_number")));
    BOOST_TEST(third.requests <= 2 + 6u);
    BOOST_TEST(b.run("reviews", third.end).requests <= 2u);
    BOOST_TEST(b.metadata("reviews").rereads);
}

BOOST_AUTO_TEST_CASE(more_reviews_than_a_page) {
    bench b(small_server(demo(12, 4)));
    b.options = R"({"owner":"octo","repo":"demo","per_page":3})";
    BOOST_TEST(same(b.run("reviews").by_key("id", "pull_number"), b.truth("reviews", "", "pull_number")));
}

BOOST_AUTO_TEST_CASE(where_deep_pages_are_refused) {
    repository_config repository = demo(500, 1);
    repository.deep = "refuse_pages:2";
    repository.deep_tables = {"pulls"};
    bench b(small_server(repository));
    outcome all = b.run("reviews");
    BOOST_TEST(same(all.by_key("id", "pull_number"), b.truth("reviews", "", "pull_number")));
    BOOST_TEST(all.partitions == 5u);
}

BOOST_AUTO_TEST_CASE(a_pull_request_that_is_removed_meanwhile) {
    bench b(small_server(demo(40, 2)));
    b.server.control("faults", R"({"faults":[{"path":"/pulls/[0-9]+/reviews","from":5,"status":404}]})");
    outcome all = b.run("reviews");
    BOOST_TEST(all.metrics["items_skipped"] == 1);
    BOOST_TEST(all.log.size() == 1u);
    BOOST_TEST(all.rows() > 60);
}

BOOST_AUTO_TEST_SUITE_END()
