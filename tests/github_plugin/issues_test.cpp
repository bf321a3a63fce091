// Issues and comments: full loads, increments, ties, deep pages, windows, limits, rows that change while they are read.
// Field cases 02, 03, 05, 06, 09, 12, 15, 27; peer defects A, B, C, F.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <set>
#include <string>
#include <vector>

#include "host/base/clock.h"
#include "host/base/error.h"
#include "host/base/time.h"
#include "tests/github_plugin/harness.h"

using namespace lakeflow::github_test;
namespace host = lakeflow::host;

namespace {

repository_config demo(std::uint32_t issues) {
    repository_config out;
    out.issues = issues;
    out.pulls = issues / 10;
    out.comments = 300;
    return out;
}

std::size_t distinct(const std::vector<std::string>& values) {
    return std::set<std::string>(values.begin(), values.end()).size();
}

// What the destination holds after several runs: the last row of each key.
void land(std::map<std::string, std::string>& table, const outcome& run) {
    for (auto& [key, value] : run.by_key("id", "updated_at")) table[key] = value;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(issues)

// Done-when 2 of the first step, as far as the plugin goes.
BOOST_AUTO_TEST_CASE(five_thousand_then_nothing_then_ten) {
    bench b(small_server(demo(5'000)));
    b.workers = 4;
    outcome first = b.run("issues");
    BOOST_TEST(same(first.by_key("id", "updated_at"), b.truth("issues")));
    BOOST_TEST(distinct(first.column("number")) == 5'000u);
    BOOST_TEST(first.requests <= 60u);
    BOOST_TEST(first.micro_batches == 1u);
    BOOST_TEST(first.partitions >= 10u);

    outcome idle = b.run("issues", first.end);
    BOOST_TEST(idle.requests == 1u);
    BOOST_TEST(idle.rows() == 0);
    BOOST_TEST(idle.end == first.end);
    BOOST_TEST(b.requests_done().back().conditional);
    BOOST_TEST(b.requests_done().back().status == 304);

    b.server.control("edit", R"({"table":"issues","count":7,"set":{"title":"touched"}})");
    b.server.control("add", R"({"table":"issues","count":3})");
    outcome third = b.run("issues", idle.end);
    BOOST_TEST(third.rows() == 10);
    std::map<std::string, std::string> table = first.by_key("id", "updated_at");
    land(table, third);
    BOOST_TEST(same(table, b.truth("issues")));
    BOOST_TEST(third.requests <= 4u);
    BOOST_TEST(b.run("issues", third.end).requests == 1u);
}

BOOST_AUTO_TEST_CASE(values_of_a_row) {
    server_config config = small_server(demo(400));
    config.profile = "full";
    bench b(config);
    outcome all = b.run("issues");
    BOOST_TEST(same(all.by_key("id", "title"), b.truth("issues", "", "title")));
    BOOST_TEST(same(all.by_key("id", "closed_at"), b.truth("issues", "", "closed_at")));
    BOOST_TEST(same(all.by_key("id", "comments"), b.truth("issues", "", "comments")));
    for (const std::string& owner : all.column("repository_owner")) BOOST_TEST(owner == "octo");
    int pulls = 0, texts = 0, objects = 0;
    for (const std::string& one : all.column("pull_request")) pulls += one.find("\"url\":\"") != std::string::npos;
    for (const std::string& one : all.column("labels")) {
        texts += one.find("legacy-label") != std::string::npos;  // a label may be its bare name
        objects += one.find("\"color\":\"") != std::string::npos;
    }
    BOOST_TEST(pulls == 40);
    BOOST_TEST(texts > 0);
    BOOST_TEST(objects > 0);
    for (const std::string& one : all.column("reactions")) BOOST_TEST(one.find("\"+1\":") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_batch_is_read_again_as_it_was) {
    bench b(small_server(demo(700)));
    outcome first = b.run("issues");
    b.server.control("edit", R"({"table":"issues","count":5})");
    outcome second = b.run("issues", first.end);
    BOOST_TEST(second.rows() == 5);
    BOOST_TEST(
        same(b.replay("issues", first.end, second.end).by_key("id", "updated_at"), second.by_key("id", "updated_at")));
    // Rows that have moved past the end come with the next batch, the others are the same.
    outcome again = b.replay("issues", "{}", first.end);
    BOOST_TEST(again.rows() == 695);
}

BOOST_AUTO_TEST_CASE(the_simple_read_and_the_batch_read_give_the_same) {
    bench b(small_server(demo(450)));
    auto truth = b.truth("issues");
    BOOST_TEST(same(b.batch("issues", true).by_key("id", "updated_at"), truth));
    BOOST_TEST(same(b.batch("issues", false).by_key("id", "updated_at"), truth));
    outcome simple = b.simple("issues");
    BOOST_TEST(same(simple.by_key("id", "updated_at"), truth));
    BOOST_TEST(simple.end == b.run("issues").end);
}

// A bulk edit: ten thousand rows get one and the same second (B of the peer's defects, case 06).
BOOST_AUTO_TEST_CASE(a_bulk_edit_within_one_second) {
    bench b(small_server(demo(2'500)));
    outcome first = b.run("issues");
    b.server.control("edit", R"({"table":"issues","count":2400})");
    outcome second = b.run("issues", first.end);
    BOOST_TEST(second.rows() == 2'400);
    std::map<std::string, std::string> table = first.by_key("id", "updated_at");
    land(table, second);
    BOOST_TEST(same(table, b.truth("issues")));
    BOOST_TEST(b.run("issues", second.end).requests == 1u);
}

BOOST_AUTO_TEST_CASE(ties_where_deep_pages_are_refused) {
    for (const char* deep : {"refuse_rows:1000", "refuse_pages:10"}) {
        repository_config repository = demo(3'000);
        repository.deep = deep;
        repository.distinct_updated = 1;
        bench b(small_server(repository));
        outcome all = b.run("issues");
        BOOST_TEST(same(all.by_key("id", "updated_at"), b.truth("issues")), deep);
        BOOST_TEST(all.requests <= 30 + 5 * all.partitions + 5, deep << " took " << all.requests);
    }
}

BOOST_AUTO_TEST_CASE(deep_pages_refused) {
    for (const char* deep : {"refuse_rows:10000", "refuse_rows:1000", "refuse_pages:10", "refuse_pages:1"}) {
        repository_config repository = demo(6'000);
        repository.deep = deep;
        auto server = small_server(repository);
        server.latency_ms = 5;  // so that requests meet, however slow the machine
        bench b(server);
        b.workers = 4;
        outcome all = b.run("issues");
        BOOST_TEST(same(all.by_key("id", "updated_at"), b.truth("issues")), deep);
        BOOST_TEST(all.partitions >= 3u, deep << ": " << all.partitions);
        BOOST_TEST(all.requests <= 60 + 5 * all.partitions, deep << ": " << all.requests);
        BOOST_TEST(b.server.stats().max_in_flight >= 3u, deep);
        BOOST_TEST(b.server.stats().by_status[422] <= 2u, deep);
        b.server.control("edit", R"({"table":"issues","count":7})");
        outcome next = b.run("issues", all.end);
        BOOST_TEST(next.rows() == 7, deep);
        BOOST_TEST(b.run("issues", next.end).requests == 1u, deep);
    }
}

// Above GitHub's limit for page numbers, where links carry them all the same.
BOOST_AUTO_TEST_CASE(more_rows_than_page_numbers_are_used_for) {
    bench b(small_server(demo(12'000)));
    b.workers = 4;
    outcome all = b.run("issues");
    BOOST_TEST(same(all.by_key("id", "updated_at"), b.truth("issues")));
    BOOST_TEST(all.partitions >= 4u);
    BOOST_TEST(all.requests <= 120 + 5 * all.partitions);
    for (const std::string& target : b.targets()) BOOST_TEST(target.find("page=101&") == std::string::npos);
}

// The same ways with many rows on each instant: windows that go on from the last one see rows again, and drop them.
BOOST_AUTO_TEST_CASE(windows_over_many_ties) {
    repository_config repository = demo(12'000);
    repository.distinct_updated = 40;
    bench b(small_server(repository));
    outcome all = b.run("issues");
    BOOST_TEST(same(all.by_key("id", "updated_at"), b.truth("issues")));
}

BOOST_AUTO_TEST_CASE(page_numbers_that_are_refused_suddenly) {
    bench b(small_server(demo(1'000)));
    b.parallelism = 1;
    b.server.control("faults", R"({"faults":[{"path":"sort=created.*[?&]page=[4-9]","status":422}]})");
    outcome all = b.run("issues");
    BOOST_TEST(same(all.by_key("id", "updated_at"), b.truth("issues")));
}

// Case 20: a page that is too heavy for the server is asked for in smaller pieces, and no row is passed over.
BOOST_AUTO_TEST_CASE(pages_that_are_too_heavy) {
    for (const char* deep : {"ok", "refuse_pages:10"}) {
        repository_config repository = demo(1'200);
        repository.deep = deep;
        bench b(small_server(repository));
        b.server.control("faults", R"({"faults":[{"path":"/issues","per_page_over":60,"times":-1,"status":502}]})");
        outcome all = b.run("issues");
        BOOST_TEST(same(all.by_key("id", "updated_at"), b.truth("issues")), deep);
        BOOST_TEST(!all.log.empty());
    }
}

// Case 09: a row is touched between two pages. Nothing may be lost, and the touched row comes with its new value.
BOOST_AUTO_TEST_CASE(rows_change_while_a_full_load_walks) {
    for (const char* deep : {"ok", "refuse_rows:1000"}) {
        repository_config repository = demo(2'000);
        repository.deep = deep;
        bench b(small_server(repository));
        b.server.control(
            "faults",
            R"({"triggers":[{"path":"per_page=100","from":3,"times":5,"do":[{"op":"edit","table":"issues","count":3},{"op":"add","table":"issues","count":2}]}]})");
        outcome first = b.run("issues");
        outcome second = b.run("issues", first.end);
        std::map<std::string, std::string> table = first.by_key("id", "updated_at");
        land(table, second);
        BOOST_TEST(same(table, b.truth("issues")), deep);
    }
}

// A row that is removed between two pages pulls another one out of sight: never a success with rows missing.
BOOST_AUTO_TEST_CASE(a_row_is_removed_while_a_full_load_walks) {
    bench b(small_server(demo(900)));
    b.server.control(
        "faults",
        R"({"triggers":[{"path":"per_page=100&page=3","do":[{"op":"delete","table":"issues","numbers":[50]}]}]})");
    BOOST_CHECK_EXCEPTION(b.run("issues"), host::failure, [](const host::failure& error) {
        return error.get().code == "source.incomplete" && error.get().retry == host::retry_class::transient;
    });
    BOOST_TEST(same(b.run("issues").by_key("id", "updated_at"), b.truth("issues")));
}

BOOST_AUTO_TEST_CASE(rows_change_while_an_increment_walks) {
    bench b(small_server(demo(2'000)));
    outcome first = b.run("issues");
    b.server.control("edit", R"({"table":"issues","count":900})");
    b.server.control(
        "faults",
        R"({"triggers":[{"path":"per_page=100","from":2,"times":4,"do":[{"op":"edit","table":"issues","count":30}]}]})");
    outcome second = b.run("issues", first.end);
    outcome third = b.run("issues", second.end);
    std::map<std::string, std::string> table = first.by_key("id", "updated_at");
    // A row may come twice here: rows that enter the listing push others onto the next page.
    for (const outcome* run : {&second, &third}) {
        std::vector<std::string> ids = run->column("id"), at = run->column("updated_at");
        for (std::size_t i = 0; i < ids.size(); ++i) table[ids[i]] = at[i];
    }
    BOOST_TEST(same(table, b.truth("issues")));
}

// Rows that leave a filtered listing while it is walked by page numbers would push others out of sight.
BOOST_AUTO_TEST_CASE(rows_leave_the_chosen_state_while_they_are_read) {
    for (const char* deep : {"ok", "refuse_rows:1000"}) {
        repository_config repository = demo(3'000);
        repository.deep = deep;
        bench b(small_server(repository));
        b.options = R"({"owner":"octo","repo":"demo","state":"open"})";
        b.server.control(
            "faults",
            R"({"triggers":[{"path":"per_page=100","from":2,"times":6,"do":[{"op":"edit","table":"issues","count":40,"set":{"state":"closed"}}]}]})");
        outcome all = b.run("issues");
        auto got = all.by_key("id", "updated_at");
        auto state = b.truth("issues", "", "state");
        int open = 0;
        for (const auto& [id, what] : state) {
            if (what != "open") continue;
            ++open;
            BOOST_TEST(got.contains(id), deep << ": open issue " << id << " is missing");
        }
        BOOST_TEST(open > 300);
    }
}

// Case 02: the source grows with every request; a run ends, and two runs have everything once.
BOOST_AUTO_TEST_CASE(a_growing_source_does_not_keep_the_run) {
    bench b(small_server(demo(500)));
    b.server.control("faults",
                     R"({"triggers":[{"path":"/issues","times":-1,"do":[{"op":"add","table":"issues","count":5}]}]})");
    auto before = b.truth("issues");
    outcome first = b.run("issues");
    BOOST_TEST(same(first.by_key("id", "updated_at"), before));
    b.server.control("clear_faults");
    outcome second = b.run("issues", first.end);
    std::map<std::string, std::string> table = first.by_key("id", "updated_at");
    land(table, second);
    BOOST_TEST(same(table, b.truth("issues")));
    BOOST_TEST(first.rows() + second.rows() == static_cast<std::int64_t>(table.size()));
}

// Case 15: a server that ignores `since`.
BOOST_AUTO_TEST_CASE(a_server_that_ignores_since) {
    bench b(small_server(demo(600)));
    outcome first = b.run("issues");
    b.server.control("edit", R"({"table":"issues","count":4})");
    b.server.control("faults", R"({"faults":[{"path":"since=","times":-1,"ignore_query":["since"]}]})");
    BOOST_TEST(b.run("issues", first.end).rows() == 4);
    b.options = R"({"owner":"octo","repo":"demo","state":"open","per_page":20})";  // read by windows
    auto wanted = b.truth("issues", "", "state");
    std::erase_if(wanted, [](const auto& row) { return row.second != "open"; });
    BOOST_TEST(same(b.run("issues").by_key("id", "state"), wanted));
}

BOOST_AUTO_TEST_CASE(a_server_without_validators) {
    bench b(small_server(demo(450)));
    b.server.control("faults", R"({"faults":[{"path":"/issues","times":-1,"headers":{"ETag":""}}]})");
    outcome first = b.run("issues");
    BOOST_TEST(same(first.by_key("id", "updated_at"), b.truth("issues")));
    BOOST_TEST(first.partitions > 2u);
    outcome idle = b.run("issues", first.end);
    BOOST_TEST(idle.requests == 1u);
    BOOST_TEST(idle.rows() == 0);
}

BOOST_AUTO_TEST_CASE(limits_cut_where_a_tie_ends) {
    repository_config repository = demo(1'000);
    repository.distinct_updated = 60;
    bench b(small_server(repository));
    b.options = R"({"owner":"octo","repo":"demo","max_records_per_batch":100})";
    outcome all = b.run("issues");
    BOOST_TEST(same(all.by_key("id", "updated_at"), b.truth("issues")));
    BOOST_TEST(all.micro_batches > 4u);
    BOOST_TEST(all.requests < 80u);
    // All in one tie that is longer than the limit: one batch, and no stall.
    repository.distinct_updated = 1;
    bench tied(small_server(repository));
    tied.options = b.options;
    outcome once = tied.run("issues");
    BOOST_TEST(same(once.by_key("id", "updated_at"), tied.truth("issues")));
    BOOST_TEST(once.micro_batches == 1u);
    BOOST_TEST(tied.latest("issues", "{}", "", R"({"max_rows":5})").honoured == std::vector<std::string>{"max_rows"},
               boost::test_tools::per_element());
    BOOST_TEST(tied.latest("issues", "{}", "", R"({"max_bytes":5})").honoured.empty());
}

BOOST_AUTO_TEST_CASE(windows_of_time_skip_what_is_empty) {
    bench b(small_server(demo(300)));
    b.options = R"({"owner":"octo","repo":"demo","window":"26w"})";
    outcome all = b.run("issues");
    BOOST_TEST(same(all.by_key("id", "updated_at"), b.truth("issues")));
    BOOST_TEST(all.micro_batches > 2u);
    BOOST_TEST(all.micro_batches < 12u);
}

BOOST_AUTO_TEST_CASE(a_start_date_leaves_out_what_is_older) {
    bench b(small_server(demo(800)));
    auto truth = b.truth("issues");
    std::vector<std::string> instants;
    for (const auto& [key, at] : truth) instants.push_back(at);
    std::sort(instants.begin(), instants.end());
    std::string date = instants[500];
    std::erase_if(truth, [&](const auto& row) { return row.second < date; });
    b.options = R"({"owner":"octo","repo":"demo","start_date":")" + date + R"("})";
    outcome all = b.run("issues");
    BOOST_TEST(same(all.by_key("id", "updated_at"), truth));
    BOOST_TEST(b.run("issues", all.end).requests == 1u);
}

BOOST_AUTO_TEST_CASE(a_look_back_reads_again_and_costs_an_idle_run_nothing) {
    bench b(small_server(demo(500)));
    outcome first = b.run("issues");
    b.server.control("edit", R"({"table":"issues","count":3})");
    outcome second = b.run("issues", first.end);
    b.options = R"({"owner":"octo","repo":"demo","lookback":"1h"})";
    BOOST_TEST(b.metadata("issues").rereads);
    BOOST_TEST(b.run("issues", second.end).requests == 1u);
    b.server.control("edit", R"({"table":"issues","numbers":[400]})");
    outcome third = b.run("issues", second.end);
    BOOST_TEST(third.rows() >= 1);
    BOOST_TEST(third.rows() <= 4);
    BOOST_TEST(b.run("issues", third.end).rows() == 0);
}

// Nothing of a second that is not over may be taken for all of it; and a row from the future waits for its time.
BOOST_AUTO_TEST_CASE(seconds_that_are_not_over) {
    bench b(small_server(demo(100)));
    outcome at = b.run("issues");
    std::map<std::string, std::string> table = at.by_key("id", "updated_at");
    for (int i = 0; i < 3; ++i) {
        b.server.control("edit", R"({"table":"issues","count":2})");
        at = b.run("issues", at.end);
        // Companions of the same second, if it were still going on.
        b.server.control("edit", R"({"table":"issues","count":2})");
        land(table, at);
    }
    at = b.run("issues", at.end);
    land(table, at);
    BOOST_TEST(same(table, b.truth("issues")));

    std::string tomorrow = host::format_rfc3339(host::system_clock().now_us() / 1'000'000 * 1'000'000 + 86'400'000'000);
    b.server.control("edit", R"({"table":"issues","numbers":[5],"updated_at":")" + tomorrow + R"("})");
    b.server.control("edit", R"({"table":"issues","numbers":[6]})");
    at = b.run("issues", at.end);
    BOOST_TEST(at.column("number") == std::vector<std::string>{"6"}, boost::test_tools::per_element());
    BOOST_TEST((at.end < R"({"updated_at":")" + tomorrow));
}

// The run's own clock is a bound too: what changed after it comes with the next run.
BOOST_AUTO_TEST_CASE(nothing_after_the_run_began) {
    bench b(small_server(demo(200)));
    std::string half = "2023-06-01T00:00:00Z";
    b.init_time_us = host::parse_rfc3339_us(half).value();
    outcome first = b.run("issues");
    auto wanted = b.truth("issues");
    std::erase_if(wanted, [&](const auto& row) { return row.second > half; });
    BOOST_TEST(same(first.by_key("id", "updated_at"), wanted));
    BOOST_TEST(first.end == R"({"updated_at":")" + half + R"("})");
    b.init_time_us = 0;
    outcome rest = b.run("issues", first.end);
    BOOST_TEST(first.rows() + rest.rows() == 200);
}

BOOST_AUTO_TEST_CASE(a_renamed_repository_keeps_its_rows) {
    bench b(small_server(demo(1'500)));
    outcome first = b.run("issues");
    b.server.control("rename", R"({"to":"octo/elsewhere"})");
    BOOST_TEST(b.run("issues", first.end).rows() == 0);
    outcome again = b.run("issues");
    BOOST_TEST(same(again.by_key("id", "updated_at"), b.truth("issues")));
    // The plan finds the new address, and the pages are asked for there.
    BOOST_TEST(again.requests <= 15 + 5u);
}

BOOST_AUTO_TEST_CASE(an_empty_listing_is_no_error) {
    bench b(small_server(demo(0)));
    outcome none = b.run("issues");
    BOOST_TEST(none.rows() == 0);
    BOOST_TEST(none.end == "{}");
    BOOST_TEST(none.requests == 1u);
}

BOOST_AUTO_TEST_CASE(small_pages) {
    bench b(small_server(demo(333)));
    b.options = R"({"owner":"octo","repo":"demo","per_page":37})";
    BOOST_TEST(same(b.run("issues").by_key("id", "updated_at"), b.truth("issues")));
}

BOOST_AUTO_TEST_CASE(comments_advance_the_same_way) {
    for (const char* deep : {"ok", "refuse_rows:1000"}) {
        repository_config repository = demo(300);
        repository.comments = 3'000;
        repository.deep = deep;
        repository.deep_tables = {"issues", "comments"};
        bench b(small_server(repository));
        outcome first = b.run("comments");
        BOOST_TEST(same(first.by_key("id", "updated_at"), b.truth("comments")), deep);
        BOOST_TEST(first.requests <= 30 + 5 * first.partitions + 5, deep << ": " << first.requests);
        BOOST_TEST(b.run("comments", first.end).requests == 1u);
        b.server.control("add", R"({"table":"comments","count":4})");
        b.server.control("edit", R"({"table":"comments","count":3})");
        outcome second = b.run("comments", first.end);
        std::map<std::string, std::string> table = first.by_key("id", "updated_at");
        land(table, second);
        BOOST_TEST(same(table, b.truth("comments")), deep);
        BOOST_TEST(second.rows() <= 7);
        BOOST_TEST(second.rows() >= 4);
        BOOST_TEST(b.run("comments", second.end).requests == 1u);
    }
}

BOOST_AUTO_TEST_CASE(metadata_says_how_the_table_advances) {
    bench b(small_server(demo(1)));
    host::table_metadata about = b.metadata("issues");
    BOOST_TEST((about.ingestion == host::ingestion_type::cdc));
    BOOST_TEST(about.primary_keys == std::vector<std::string>{"id"}, boost::test_tools::per_element());
    BOOST_TEST(about.cursor_field == "updated_at");
    BOOST_TEST(about.cursor->member == "updated_at");
    BOOST_TEST(about.replayable);
    BOOST_TEST(!about.rereads);
    BOOST_TEST(b.server.stats().requests == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
