// Tables that change: cursors, windows, rows without a cursor, tombstones; and tables whose columns or parents are found out.
#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "tests/http_api/harness.h"

namespace lakeflow::http_api_test {
namespace {

namespace tt = boost::test_tools;
using lines = std::vector<std::string>;

constexpr std::int64_t day = 86'400'000'000;

std::int64_t instant(const std::string& text) { return parse_instant(text).value(); }

// A row a day from 2026-01-01, ids from 1; both bounds of a request are included.
std::string days(const asked& a, int last_day = 70) {
    const std::int64_t first = instant("2026-01-01T00:00:00Z");
    const std::int64_t since = a.has("since") ? instant(a.value("since")) : 0;
    const std::int64_t until = a.has("until") ? instant(a.value("until")) : INT64_MAX;
    std::string out = "[";
    for (int i = 0; i <= last_day; ++i) {
        const std::int64_t at = first + i * day;
        if (at < since || at > until) continue;
        out += (out.size() > 1 ? "," : "") + std::string(R"({"id":)") + std::to_string(i + 1) + R"(,"ts":")" +
               format_instant(at) + "\"}";
    }
    return out + "]";
}

std::string events(const std::string& cursor, const std::string& more = "") {
    return R"({"events":{"path":"events","schema":"id BIGINT NOT NULL, name STRING, deleted BOOLEAN, ts TIMESTAMP","primary_keys":["id"],)" +
           more + R"("cursor":)" + cursor + "}}";
}

BOOST_AUTO_TEST_SUITE(changes)

BOOST_AUTO_TEST_CASE(ten_windows_over_inclusive_bounds_lose_and_double_nothing) {
    bench b([](const asked& a, int) { return answer(200, days(a)); });
    b.resources = events(R"({"field":"ts","from":"since","to":"until","window":"7d"})", R"("ingestion":"append",)");
    b.workers = 3;
    const outcome out = b.range("events", R"({"ts":"2025-12-31T00:00:00Z"})", R"({"ts":"2026-03-11T00:00:00Z"})");
    BOOST_TEST(out.partitions == 10u);
    BOOST_TEST(out.ids() == up_to(70), tt::per_element());
    // Equal bounds are nothing.
    BOOST_TEST(b.range("events", R"({"ts":"2026-03-11T00:00:00Z"})", R"({"ts":"2026-03-11T00:00:00Z"})").partitions ==
               0u);
}

BOOST_AUTO_TEST_CASE(a_run_of_windows_begins_where_the_table_does_and_ends_at_its_bound) {
    bench b([](const asked& a, int) { return answer(200, days(a)); });
    b.resources = events(R"({"field":"ts","from":"since","to":"until","window":"1d","start":"2026-01-01"})",
                         R"("ingestion":"append",)");
    const auto planner = b.instance("events");
    BOOST_TEST(planner->is_partitioned("events", "{}"));
    host::read_request ask;
    ask.table = "events";
    ask.start = "{}";
    ask.limits = planner->default_read_limit("events", "{}").value();
    BOOST_TEST(planner->latest_offset(ask).offset == R"({"ts":"2026-04-11T00:00:00Z"})");  // a hundred windows
    ask.limits = "{}";
    const std::string end = planner->latest_offset(ask).offset;
    BOOST_TEST(end == R"({"ts":"2026-06-01T00:00:00Z"})");  // the init time
    BOOST_TEST(b.range("events", "{}", end).ids() == up_to(71), tt::per_element());
    ask.start = end;
    BOOST_TEST(planner->latest_offset(ask).offset == end);
}

BOOST_AUTO_TEST_CASE(a_cursor_is_followed_to_the_newest_row_and_no_further_than_the_bound) {
    int last = 5;
    bench b([&](const asked& a, int) { return answer(200, days(a, last)); });
    b.resources = events(R"({"field":"ts","from":"since"})", R"("ingestion":"cdc",)");
    BOOST_TEST(b.instance("events")->metadata("events", "{}").rereads);
    outcome out = b.follow("events");
    BOOST_TEST(out.ids() == up_to(6), tt::per_element());
    BOOST_TEST(out.end == R"({"ts":"2026-01-06T00:00:00Z"})");
    last = 8;
    out = b.follow("events", out.end);
    BOOST_TEST(out.ids() == up_to(9, 6), tt::per_element());  // the row at the start comes again
    BOOST_TEST(b.lines().back() == "GET /api/events?since=2026-01-09T00%3A00%3A00Z");
    // A batch that is planned is read as it was.
    host::read_request replay;
    replay.table = "events";
    replay.start = R"({"ts":"2026-01-02T00:00:00Z"})";
    replay.end = R"({"ts":"2026-01-04T00:00:00Z"})";
    const auto worker = b.instance("events");
    const auto reader = worker->read_table(replay);
    std::int64_t rows = 0;
    while (auto one = reader->next()) rows += one->rows();
    BOOST_TEST(rows == 3);
    BOOST_TEST(reader->end_offset().value() == *replay.end);
}

BOOST_AUTO_TEST_CASE(ranges_are_written_as_the_service_reads_them) {
    bench b([](const asked&, int) { return answer(200, "[]"); });
    const auto sent = [&](const std::string& cursor) {
        b.resources = events(cursor, R"("ingestion":"cdc",)");
        host::read_request request;
        request.table = "events";
        request.start = R"({"ts":"2026-01-02T00:00:00.5Z"})";
        request.end = R"({"ts":"2026-01-03T00:00:00Z"})";
        const auto worker = b.instance("events");
        const auto reader = worker->read_table(request);
        while (reader->next()) continue;
        return url_decode(b.lines().back().substr(std::string("GET /api/events").size()));
    };
    BOOST_TEST(sent(R"({"field":"ts","from":"a","to":"b"})") == "?a=2026-01-02T00:00:00.5Z&b=2026-01-03T00:00:01Z");
    BOOST_TEST(sent(R"({"field":"ts","from":"a","to":"b","format":"epoch_s"})") == "?a=1767312000&b=1767398401");
    BOOST_TEST(sent(R"({"field":"ts","from":"a","inclusive":false,"format":"epoch_ms"})") == "?a=1767312000499");
    BOOST_TEST(sent(R"({"field":"ts","from":"a","to":"b","format":"date"})") == "?a=2026-01-02&b=2026-01-04");
    BOOST_TEST(sent(R"({"field":"ts","from":"a","lookback":"1h"})") == "?a=2026-01-01T23:00:00.5Z");
    BOOST_TEST(sent(R"({"field":"ts","from":{"param":"filter","template":"updated>='{}'"}})") ==
               "?filter=updated>='2026-01-02T00:00:00.5Z'");
    BOOST_TEST(sent(R"({"field":"ts"})") == "");
}

BOOST_AUTO_TEST_CASE(rows_without_a_cursor_fail_are_left_out_or_land) {
    bench b([](const asked&, int) {
        return answer(200, R"([{"id":1,"ts":"2026-01-01T00:00:00Z"},{"id":2,"ts":null},{"id":3}])");
    });
    const std::string cdc = R"("ingestion":"cdc",)";
    b.resources = events(R"({"field":"ts"})", cdc);
    const auto error = error_of([&] { b.follow("events"); });
    BOOST_TEST(error.code == "value.null_cursor");
    BOOST_TEST(error.message.find("'ts'") != std::string::npos);
    b.resources = events(R"({"field":"ts","missing":"skip"})", cdc);
    BOOST_TEST(b.follow("events").ids() == up_to(1), tt::per_element());
    b.resources = events(R"({"field":"ts","missing":"include"})", cdc);
    const outcome out = b.follow("events");
    BOOST_TEST(out.ids() == up_to(3), tt::per_element());
    BOOST_TEST(b.follow("events", out.end).rows() == 0);
}

BOOST_AUTO_TEST_CASE(a_row_that_says_it_is_deleted_is_a_tombstone) {
    bench b([](const asked&, int) {
        return answer(
            200,
            R"([{"id":1,"name":"a","deleted":false,"ts":"2026-01-01T00:00:00Z"},{"id":2,"name":"b","ts":"2026-01-02T00:00:00Z"},
                              {"id":3,"deleted":true,"ts":"2026-01-03T00:00:00Z"}])");
    });
    b.resources =
        R"({"events":{"schema":"id BIGINT NOT NULL, name STRING NOT NULL, deleted BOOLEAN, ts TIMESTAMP","primary_keys":["id"],
        "ingestion":"cdc_with_deletes","cursor":{"field":"ts","from":"since"},"deletes":{"field":"deleted"}}})";
    const outcome rows = b.follow("events");
    BOOST_TEST(rows.ids() == up_to(2), tt::per_element());
    BOOST_TEST(rows.end == R"({"ts":"2026-01-03T00:00:00Z"})");
    const outcome gone = b.deletes("events");
    BOOST_TEST((gone.ids() == std::vector<std::int64_t>{3}));
    BOOST_TEST(gone.end == R"({"ts":"2026-01-03T00:00:00Z"})");
}

BOOST_AUTO_TEST_CASE(tombstones_may_be_a_list_of_their_own) {
    bench b([](const asked& a, int) {
        return a.path == "/api/gone" ? answer(200, R"({"ids":[{"id":7,"deleted_at":"2026-02-01T00:00:00Z"}]})")
                                     : answer(200, "[]");
    });
    b.resources = events(
        R"({"field":"ts","from":"since"})",
        R"("ingestion":"cdc_with_deletes","deletes":{"path":"gone","records":"/ids","cursor":{"field":"deleted_at","from":"after"}},)");
    const outcome gone = b.deletes("events", R"({"ts":"2026-01-03T00:00:00Z"})");
    BOOST_TEST((gone.ids() == std::vector<std::int64_t>{7}));
    BOOST_TEST((gone.column("ts") == lines{"2026-02-01T00:00:00Z"}));
    BOOST_TEST(b.lines().back() == "GET /api/gone?after=2026-01-03T00%3A00%3A00Z");
}

BOOST_AUTO_TEST_CASE(a_snapshot_is_asked_once_a_run) {
    bench b([](const asked&, int) { return answer(200, R"([{"id":1},{"id":2}])"); });
    b.resources = R"({"events":{"schema":"id BIGINT"}})";
    const outcome out = b.follow("events");
    BOOST_TEST(out.rows() == 2);
    BOOST_TEST(out.end == R"({"as_of":"2026-06-01T00:00:00Z"})");
    BOOST_TEST(b.lines().size() == 1u);
}

BOOST_AUTO_TEST_CASE(columns_are_inferred_from_a_sample) {
    bench b([](const asked& a, int) {
        if (a.has("page") && a.value("page") != "1") return answer(200, R"({"data":[]})");
        return answer(200, R"({"meta":{"data":[{"no":1}]},"data":[
            {"id":1,"n":1,"mixed":1,"real":9,"wide":12345678901234567890,"flag":true,"tags":["a"],"who":{"login":"x","id":3},"none":null,"empty":{},"odd":"{\"["},
            {"id":2,"n":2,"mixed":"x","real":6.1,"wide":1,"flag":null,"tags":[],"who":null,"none":null,"empty":{},"late":"2026-01-01T00:00:00Z"}]})");
    });
    b.resources =
        R"({"t":{"records":"/data","primary_keys":["id"],"columns":{"late":{"format":"rfc3339"}},"paging":{"type":"page","size":"n"}}})";
    const auto schema = b.instance("t")->table_schema("t", "{}");
    BOOST_TEST(host::to_ddl(*schema.get()) ==
               "id BIGINT NOT NULL, n BIGINT, mixed STRING, real DOUBLE, wide DECIMAL(38,0), flag BOOLEAN, tags "
               "ARRAY<STRING>, "
               "who STRUCT<login: STRING, id: BIGINT>, empty STRING, odd STRING, late TIMESTAMP");
    BOOST_TEST((b.lines() == lines{"GET /api/t?page=1&n=1000"}));
    // Its readers see the same columns, without asking again.
    const outcome out = b.batch("t");
    BOOST_TEST(out.rows() == 2);
    BOOST_TEST((out.column("mixed") == lines{"1", "x"}));
    BOOST_TEST((out.column("empty") == lines{"{}", "{}"}));
    BOOST_TEST(b.lines().size() == 2u);
    // A user's columns take the place of the inferred ones.
    b.options = R"({"read_schema":"id STRING, n INT"})";
    BOOST_TEST(host::to_ddl(*b.instance("t")->table_schema("t", b.options).get()) == "id STRING, n INT");
}

BOOST_AUTO_TEST_CASE(children_are_read_for_each_parent) {
    bench b([](const asked& a, int) {
        if (a.path == "/api/orders") {
            const std::int64_t page = a.number("page", 1);
            return answer(200, page > 3 ? "[]"
                                        : R"([{"id":)" + std::to_string(page * 2 - 1) + R"(,"code":"a/b"},{"id":)" +
                                              std::to_string(page * 2) + R"(,"code":"c"}])");
        }
        if (a.path == "/api/orders/3/items") return answer(404, R"({"error":"gone"})");
        const std::string id = a.path.substr(12, 1);
        return answer(200, R"([{"n":1},{"n":2}])");
    });
    const std::string orders =
        R"("orders":{"schema":"id BIGINT NOT NULL, code STRING","primary_keys":["id"],"paging":{"type":"page","size":"n","page_size":2}})";
    b.resources =
        "{" + orders +
        R"(,"items":{"for_each":"orders","path":"orders/{id}/items","schema":"order_id BIGINT, code STRING, n BIGINT",
        "columns":{"order_id":{"parent":"id"},"code":{"parent":"code"}},"num_partitions":2}})";
    BOOST_TEST(error_of([&] { b.batch("items"); }).code == "source.not_found");
    b.options = R"({"on_status":{"404":"skip"}})";
    const outcome out = b.batch("items");
    BOOST_TEST(out.partitions == 2u);
    BOOST_TEST((out.ids("order_id") == std::vector<std::int64_t>{1, 1, 2, 2, 4, 4, 5, 5, 6, 6}));
    BOOST_TEST(out.column("code").front() == "a/b");
    BOOST_TEST(b.flow()->metrics.values().at("items_skipped") == 1);
    BOOST_TEST(b.serial("items").rows() == 10);
    // A value is one segment of the address, whatever it holds.
    b.resources = "{" + orders + R"(,"items":{"for_each":"orders","path":"orders/{code}/items","schema":"n BIGINT"}})";
    b.batch("items");
    const lines all = b.lines();
    BOOST_TEST((std::find(all.begin(), all.end(), "GET /api/orders/a%2Fb/items") != all.end()));
    b.resources = "{" + orders + R"(,"items":{"for_each":"order","path":"orders/{id}/items","schema":"n BIGINT"}})";
    BOOST_TEST(error_of([&] { b.batch("items"); }).code == "config.invalid_option");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace lakeflow::http_api_test
