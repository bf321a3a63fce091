// host/stream/snapshot_test.cpp: snapshots, their validators, pieces and fall-back; deletes; the order in which they land.
#include <boost/test/unit_test.hpp>

#include "tests/support/engine_bench.h"

using namespace lakeflow::host;
using namespace lakeflow::host::testing;

namespace {

constexpr auto whole = R"({"ingestion_type":"snapshot","primary_keys":["id"]})";

std::vector<cells> rows_of(std::int64_t count) {
    std::vector<cells> out;
    for (std::int64_t i = 1; i <= count; ++i) out.push_back(row(i, i));
    return out;
}

std::string etag(const std::string& value) { return R"({"etag":")" + value + "\"}"; }

}  // namespace

BOOST_AUTO_TEST_SUITE(snapshots)

BOOST_AUTO_TEST_CASE(a_simple_snapshot_is_replaced_together_and_unchanged_costs_nothing) {
    engine_bench b;
    b.plugin.metadata = whole;
    std::string version = "a";
    std::int64_t count = 5;
    b.plugin.read_table = [&](const script_call& call) {
        script_read out;
        out.end = etag(version);
        if (call.start != out.end) out.batches = {rows_of(count)};
        return out;
    };
    auto result = b.run();
    BOOST_TEST(result.exit_code == 0);
    BOOST_TEST(result.tables[0].mode == "snapshot");
    BOOST_TEST(result.tables[0].rows_landed == 5);
    BOOST_TEST(result.tables[0].batches == 1);
    const auto calls = b.plugin.count("read_table");
    result = b.run();
    BOOST_TEST(b.plugin.count("read_table") == calls + 1);
    BOOST_TEST(result.tables[0].batches == 0);
    BOOST_TEST(b.lake->table("issues").begins == 1);
    version = "b";
    count = 3;
    result = b.run();
    BOOST_TEST(result.tables[0].start == etag("a"));
    BOOST_TEST(result.tables[0].end == etag("b"));
    BOOST_TEST(b.lake->table("issues").rows.size() == 3u);
    version = "c";  // another validator over the same rows commits nothing, and is remembered
    result = b.run();
    BOOST_TEST(result.tables[0].batches == 0);
    BOOST_TEST(b.lake->table("issues").commits == 2);
    result = b.run();
    BOOST_TEST(result.tables[0].start == etag("c"));
    version = "d";
    count = 0;
    result = b.run();
    BOOST_TEST(b.lake->table("issues").begins == 4);  // an empty table is a snapshot too
}

BOOST_AUTO_TEST_CASE(a_snapshot_that_one_read_gives_whole_is_asked_for_once) {
    engine_bench b;
    b.plugin.metadata = R"({"ingestion_type":"snapshot","primary_keys":["id"],"whole_snapshot":true})";
    b.plugin.read_table = [&](const script_call&) {
        script_read out;
        out.end = etag("a");
        out.batches = {rows_of(7)};
        return out;
    };
    const auto result = b.run();
    BOOST_TEST(result.exit_code == 0);
    BOOST_TEST(result.tables[0].rows_landed == 7);
    BOOST_TEST(b.plugin.count("read_table") == 1);
}

// Case 01: a cap is no end.
BOOST_AUTO_TEST_CASE(a_snapshot_in_pieces_is_staged_and_lands_once) {
    for (const bool append : {false, true}) {
        engine_bench b;
        b.plugin.metadata = append ? R"({"ingestion_type":"append"})" : whole;
        const auto all = rows_of(2'500);
        b.plugin.read_table = [&](const script_call& call) {
            const auto begin = static_cast<std::size_t>(number_source::number(call.start));
            const auto end = std::min<std::size_t>(begin + 1'000, all.size());
            script_read out;
            if (begin < end)
                out.batches = {
                    {all.begin() + static_cast<std::ptrdiff_t>(begin), all.begin() + static_cast<std::ptrdiff_t>(end)}};
            out.end = number_source::offset(static_cast<std::int64_t>(end));
            return out;
        };
        const auto result = b.run();
        BOOST_TEST(result.exit_code == 0);
        BOOST_TEST(result.tables[0].rows_landed == 2'500);
        BOOST_TEST(result.tables[0].batches == (append ? 3 : 1));
        BOOST_TEST(b.lake->table("issues").rows.size() == 2'500u);
        BOOST_TEST(b.run().tables[0].rows_read == 0);
    }
}

// The source changes between a read and the question whether there is more: the whole table comes again, and replaces the first.
BOOST_AUTO_TEST_CASE(a_snapshot_that_changes_while_it_is_read) {
    for (const std::int64_t count : {200, 3}) {
        engine_bench b;
        b.plugin.metadata = whole;
        int calls = 0;
        b.plugin.read_table = [&](const script_call& call) {
            const auto now = etag(++calls == 1 ? "a" : "b");
            script_read out;
            out.end = now;
            if (call.start == now) return out;
            auto rows = rows_of(count);
            if (calls > 1) rows.erase(rows.begin() + 1);  // row 2 was deleted
            out.batches = {{rows.begin(), rows.begin() + 2}, {rows.begin() + 2, rows.end()}};
            return out;
        };
        auto result = b.run();
        BOOST_TEST(result.exit_code == 0);
        BOOST_TEST(calls == 2);
        BOOST_TEST(result.tables[0].rows_read == count - 1);
        BOOST_TEST(result.tables[0].end == etag("b"));
        const auto ids = b.lake->values("issues", "id");
        BOOST_TEST(ids.size() == static_cast<std::size_t>(count - 1));
        BOOST_TEST((std::find(ids.begin(), ids.end(), "2") == ids.end()));
        result = b.run();
        BOOST_TEST(result.tables[0].batches == 0);
    }
}

BOOST_AUTO_TEST_CASE(a_snapshot_that_fails_half_way_changes_nothing) {
    engine_bench b;
    b.plugin.metadata = whole;
    bool fails = false;
    b.plugin.read_table = [&](const script_call&) {
        script_read out;
        out.batches = {rows_of(3), rows_of(3)};
        if (fails) {
            out.before = [](std::size_t batch, script_instance&) {
                if (batch == 1) throw script_error{LF_RETRY_PERMANENT, "source.protocol", "cut off", 0};
            };
        }
        return out;  // no offset at all: the whole table, each time
    };
    BOOST_TEST(b.run().exit_code == 0);
    const auto before = b.lake->table("issues");
    fails = true;
    BOOST_TEST(b.run().exit_code == 1);
    BOOST_TEST((b.lake->table("issues").rows == before.rows));
    BOOST_TEST((b.lake->table("issues").positions == before.positions));
}

BOOST_AUTO_TEST_CASE(a_partitioned_snapshot_asks_its_validator_first) {
    engine_bench b;
    b.plugin.metadata = whole;
    std::string version = "a";
    b.plugin.latest_offset = [&](const script_call&) { return "{\"offset\":" + etag(version) + ",\"honoured\":[]}"; };
    b.plugin.get_partitions = [](const script_call& call) -> std::string {
        BOOST_TEST(!call.start.has_value());
        BOOST_TEST(!call.end.has_value());
        return R"([{"p":1},{"p":2},{"p":3}])";
    };
    std::atomic<int> with_start{0};  // counted, as Boost.Test is one thread's and parts are read on several
    b.plugin.read_partition = [&](const script_call& call) {
        with_start += call.start.has_value() ? 1 : 0;
        const auto p = number_source::number(call.descriptor);
        script_read out;
        out.batches = {{row(p * 10, p), row(p * 10 + 1, p)}};
        return out;
    };
    b.plugin.read_table = [](const script_call&) { return script_read{}; };
    auto plan = b.plan();
    plan.parallelism = 1;  // the order of rows is the order of parts
    auto result = run_job(plan);
    BOOST_TEST(result.exit_code == 0);
    BOOST_TEST(result.tables[0].rows_landed == 6);
    BOOST_TEST(result.tables[0].partitions == 3);
    BOOST_TEST(result.tables[0].end == etag("a"));
    BOOST_TEST(b.plugin.count("latest_offset") == 1);
    result = b.run();
    BOOST_TEST(result.tables[0].partitions == 0);
    BOOST_TEST(b.plugin.count("get_partitions") == 1);
    version = "b";
    result = b.run();
    BOOST_TEST(b.plugin.count("get_partitions") == 2);
    BOOST_TEST(result.tables[0].end == etag("b"));
    BOOST_TEST(with_start == 0);
}

// Contract 11.
BOOST_AUTO_TEST_CASE(a_planner_that_declines_is_replaced_by_the_simple_read) {
    for (const lf_retry retry : {LF_RETRY_UNSUPPORTED, LF_RETRY_PERMANENT, LF_RETRY_NOT_FOUND}) {
        engine_bench b;
        b.plugin.metadata = whole;
        b.plugin.get_partitions = [retry](const script_call&) -> std::string {
            throw script_error{retry, "", "no", 0};
        };
        b.plugin.read_partition = [](const script_call&) { return script_read{}; };
        const auto all = rows_of(30);
        b.plugin.read_table = [&](const script_call& call) {
            const auto begin = number_source::number(call.start);
            script_read out;
            if (begin < 30) out.batches = {{all.begin() + begin, all.begin() + begin + 10}};
            out.end = number_source::offset(std::min<std::int64_t>(begin + 10, 30));
            return out;
        };
        const auto result = b.run();
        BOOST_TEST(result.exit_code == 0);
        BOOST_TEST(result.tables[0].fell_back);
        BOOST_TEST(result.tables[0].rows_landed == 30);
        BOOST_TEST(b.plugin.count("read_table") == 4);
    }
}

BOOST_AUTO_TEST_CASE(a_refusal_or_a_breach_does_not_fall_back) {
    for (const auto& [retry, code] :
         std::vector<std::pair<lf_retry, std::string>>{{LF_RETRY_AUTH, "source.auth"}, {99, "plugin.bad_status"}}) {
        engine_bench b;
        b.plugin.metadata = whole;
        b.plugin.get_partitions = [retry = retry](const script_call&) -> std::string {
            throw script_error{retry, "", "no", 0};
        };
        b.plugin.read_partition = [](const script_call&) { return script_read{}; };
        b.plugin.read_table = [](const script_call&) { return script_read{}; };
        const auto result = b.run();
        BOOST_TEST(result.exit_code == 1);
        BOOST_TEST(result.tables[0].error->code == code);
        BOOST_TEST(!result.tables[0].fell_back);
        BOOST_TEST(b.plugin.count("read_table") == 0);
    }
}

BOOST_AUTO_TEST_CASE(deletes_land_with_the_last_rows_and_move_their_own_offset) {
    for (const bool partitioned : {false, true}) {
        engine_bench b;
        b.plugin.metadata =
            R"({"ingestion_type":"cdc_with_deletes","cursor_field":"c","primary_keys":["id"],"offset_cursor":{"member":"c","form":"integer"}})";
        number_source source(b.plugin, 30);
        source.serve_simple(10);
        if (partitioned) source.serve_partitions(3);
        std::vector<std::int64_t> gone = {4, 9};
        b.plugin.read_deletes = [&](const script_call& call) {
            const auto done = number_source::number(call.start);
            script_read out;
            out.ddl = "reason STRING, c BIGINT, id BIGINT NOT NULL";
            std::vector<cells> rows;
            for (auto i = static_cast<std::size_t>(done); i < gone.size(); ++i)
                rows.push_back({std::string("gone"), std::int64_t{1'000}, gone[i]});
            if (!rows.empty()) out.batches = {rows};
            out.end = gone.empty() ? "{}" : R"({"d":)" + std::to_string(gone.size()) + "}";
            return out;
        };
        auto result = b.run();
        BOOST_TEST(result.exit_code == 0, (result.tables[0].error ? to_line(*result.tables[0].error) : ""));
        BOOST_TEST(result.tables[0].rows_deleted == 2);
        BOOST_TEST(result.tables[0].rows_read == 30);
        BOOST_TEST(b.lake->table("issues").rows.size() == 28u);
        BOOST_TEST(b.lake->table("issues").positions["issues"].deletes_end == R"({"d":2})");
        BOOST_TEST(b.lake->table("issues").commits == (partitioned ? 1 : 4));
        gone.push_back(15);  // deletes alone
        result = b.run();
        BOOST_TEST(result.exit_code == 0);
        BOOST_TEST(result.tables[0].rows_deleted == 1);
        BOOST_TEST(result.tables[0].rows_read == 0);
        BOOST_TEST(b.lake->table("issues").rows.size() == 27u);
        result = b.run();
        BOOST_TEST(result.tables[0].batches == 0);
    }
}

BOOST_AUTO_TEST_CASE(deletes_that_break_a_law_or_lack_a_column) {
    engine_bench b;
    b.plugin.metadata = R"({"ingestion_type":"cdc_with_deletes","cursor_field":"c","primary_keys":["id"]})";
    number_source source(b.plugin, 3);
    source.serve_simple(10);
    std::string ddl = "id BIGINT NOT NULL, c BIGINT";
    b.plugin.read_deletes = [&](const script_call& call) {
        script_read out;
        out.ddl = ddl;
        if (ddl.find("c BIGINT") == std::string::npos) {
            out.batches = {{{std::int64_t{1}}}};
        } else {
            out.batches = {{{std::int64_t{1}, std::int64_t{9}}}};
        }
        out.end = *call.start;
        return out;
    };
    auto result = b.run();
    BOOST_TEST(result.tables[0].error->code == "offset.rows_without_progress");
    BOOST_TEST((result.tables[0].error->message.find("deletes") != std::string::npos));
    ddl = "id BIGINT NOT NULL";
    result = b.run();
    BOOST_TEST(result.tables[0].error->code == "records.schema_drift");
    BOOST_TEST((result.tables[0].error->message.find("'c'") != std::string::npos));
}

BOOST_AUTO_TEST_SUITE_END()
