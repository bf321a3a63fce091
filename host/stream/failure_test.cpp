// host/stream/failure_test.cpp: laws broken end to end, retries, schema and keys: the error names its law and nothing lands.
#include <boost/test/unit_test.hpp>

#include "tests/support/engine_bench.h"

using namespace lakeflow::host;
using namespace lakeflow::host::testing;

namespace {

constexpr auto cursor =
    R"({"ingestion_type":"append","cursor_field":"c","offset_cursor":{"member":"c","form":"integer"}})";
constexpr auto keyed =
    R"({"ingestion_type":"cdc","cursor_field":"c","primary_keys":["id"],"offset_cursor":{"member":"c","form":"integer"}})";

std::string offset(std::int64_t c) { return number_source::offset(c); }

// The table fails with `code`, names all of `named`, and its destination is as before.
void breaks(engine_bench& b, const std::string& code, std::vector<std::string> named) {
    const auto before = b.lake->table("issues");
    const auto result = b.run();
    const auto after = b.lake->table("issues");
    BOOST_REQUIRE(result.tables.size() == 1u);
    BOOST_TEST(to_string(result.tables[0].status) == "failed");
    BOOST_REQUIRE(result.tables[0].error.has_value());
    const auto& e = *result.tables[0].error;
    BOOST_TEST(e.code == code, to_line(e));
    named.push_back("scripted/issues");
    for (const auto& text : named)
        BOOST_TEST((e.message.find(text) != std::string::npos), e.message << " does not name " << text);
    BOOST_TEST((after.rows == before.rows));
    BOOST_TEST((after.positions == before.positions));
    BOOST_TEST(result.tables[0].rows_landed == 0);
    BOOST_TEST(b.plugin.alive == 0);
    BOOST_TEST(b.plugin.readers_open == 0);
    BOOST_TEST(b.plugin.stopped == 1);
    b.plugin.stopped = 0;
}

script_read rows_to(std::int64_t end) {
    script_read out;
    out.batches = {{row(1, 1), row(2, 2)}};
    out.end = offset(end);
    return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(failures)

BOOST_AUTO_TEST_CASE(rows_without_a_moved_offset) {
    engine_bench b;
    b.plugin.read_table = [](const script_call& call) {
        auto out = rows_to(1);
        out.end = *call.start;
        return out;
    };
    breaks(b, "offset.rows_without_progress", {"2 rows", "{}"});
}

BOOST_AUTO_TEST_CASE(an_offset_that_returns_within_the_run) {
    engine_bench b;
    b.plugin.read_table = [](const script_call& call) {
        return rows_to(call.start == "{}" ? 1 : *call.start == offset(1) ? 2 : 1);
    };
    const auto result = b.run();
    BOOST_TEST(result.tables[0].error->code == "offset.repeated");
    BOOST_TEST(result.tables[0].batches == 2);  // what was lawful is landed
    BOOST_TEST(result.tables[0].end == offset(2));
    BOOST_TEST(b.lake->table("issues").positions["issues"].end == offset(2));
}

BOOST_AUTO_TEST_CASE(an_offset_past_the_bound_with_other_members) {
    engine_bench b;
    b.plugin.metadata = cursor;
    number_source source(b.plugin, 10);
    source.serve_partitions(1);
    b.plugin.prepare = [](const script_call&) { return offset(5); };
    b.plugin.latest_offset = [](const script_call&) { return R"({"offset":{"c":9,"k":"x"},"honoured":[]})"; };
    breaks(b, "offset.beyond_bound", {R"({"c":9,"k":"x"})", offset(5)});
}

BOOST_AUTO_TEST_CASE(an_offset_past_the_bound_that_can_be_capped) {
    engine_bench b;
    b.plugin.metadata = cursor;
    number_source source(b.plugin, 10);
    source.serve_partitions(2);
    b.plugin.prepare = [](const script_call&) { return offset(5); };
    b.plugin.latest_offset = [](const script_call&) { return R"({"offset":{"c":9},"honoured":[]})"; };
    const auto result = b.run();
    BOOST_TEST(result.exit_code == 0);
    BOOST_TEST(result.tables[0].end == offset(5));
    BOOST_TEST(result.tables[0].rows_landed == 5);
}

BOOST_AUTO_TEST_CASE(an_offset_that_went_back) {
    engine_bench b;
    b.plugin.metadata = cursor;
    number_source source(b.plugin, 10);
    source.serve_simple(100);
    BOOST_TEST(b.run().exit_code == 0);
    b.plugin.stopped = 0;
    b.plugin.read_table = [](const script_call&) { return rows_to(3); };
    breaks(b, "offset.went_back", {offset(10), offset(3)});
}

BOOST_AUTO_TEST_CASE(batches_without_rows_and_without_end) {
    engine_bench b;
    std::int64_t n = 0;
    b.plugin.read_table = [&](const script_call&) {
        script_read out;
        out.end = offset(++n);
        return out;
    };
    auto plan = b.plan();
    plan.tuning.no_progress_limit = 20;
    const auto result = run_job(plan);
    BOOST_TEST(result.tables[0].error->code == "offset.no_progress_limit");
    BOOST_TEST(n == 21);
    BOOST_TEST(b.lake->table("issues").begins == 0);
}

BOOST_AUTO_TEST_CASE(offsets_that_are_none) {
    engine_bench b;
    std::string end;
    b.plugin.read_table = [&](const script_call&) {
        auto out = rows_to(1);
        out.end = end;
        return out;
    };
    end = R"({"c":1.5})";
    breaks(b, "offset.not_primitive", {});
    end = R"([1])";
    breaks(b, "offset.not_an_object", {});
    end = R"({"c":null})";
    breaks(b, "offset.not_primitive", {});
    end = R"({"c":"token-value-1"})";
    auto plan = b.plan();
    plan.redactor->add("token-value-1");
    const auto result = run_job(plan);
    BOOST_TEST(result.tables[0].error->code == "secret.in_descriptor");
    BOOST_TEST((result.tables[0].error->message.find("token-value-1") == std::string::npos));
    for (const auto& line : b.log) BOOST_TEST((line.find("token-value-1") == std::string::npos));
}

BOOST_AUTO_TEST_CASE(a_null_key) {
    engine_bench b;
    b.plugin.metadata = R"({"ingestion_type":"cdc","cursor_field":"c","primary_keys":["name","id"]})";
    b.plugin.read_table = [](const script_call&) {
        script_read out;
        out.batches = {{row(1, 1), cells{std::int64_t{2}, std::int64_t{2}, std::monostate{}}}};
        out.end = offset(2);
        return out;
    };
    breaks(b, "key.null", {"'name'", "row 1", "id = 2"});
}

BOOST_AUTO_TEST_CASE(a_schema_that_changes_between_parts) {
    engine_bench b;
    b.plugin.metadata = cursor;
    number_source source(b.plugin, 10);
    source.serve_partitions(4);
    const auto inner = b.plugin.read_partition;
    b.plugin.read_partition = [&](const script_call& call) {
        auto read = inner(call);
        if (call.descriptor.find("\"from\":0,") == std::string::npos)
            read.ddl = "id BIGINT NOT NULL, c BIGINT, title STRING";
        return read;
    };
    breaks(b, "records.schema_drift", {"name"});
}

BOOST_AUTO_TEST_CASE(descriptors_that_are_none) {
    engine_bench b;
    b.plugin.metadata = cursor;
    number_source source(b.plugin, 10);
    source.serve_partitions(4);
    std::string answer;
    b.plugin.get_partitions = [&](const script_call&) { return answer; };
    answer = "[1]";
    breaks(b, "partition.descriptor_invalid", {});
    answer = "[{\"x\":\"" + std::string(70'000, 'x') + "\"}]";
    breaks(b, "partition.descriptor_invalid", {});
}

BOOST_AUTO_TEST_CASE(a_transient_failure_reads_its_part_again_on_a_fresh_instance) {
    engine_bench b;
    b.plugin.metadata = cursor;
    number_source source(b.plugin, 100);
    source.serve_partitions(10);
    std::mutex mutex;
    std::map<std::string, std::set<const script_instance*>> instances;
    const auto inner = b.plugin.read_partition;
    b.plugin.read_partition = [&](const script_call& call) {
        auto read = inner(call);
        bool second = false;
        {
            const std::lock_guard guard(mutex);
            instances[call.descriptor].insert(call.instance);
            second = b.plugin.count("read_partition issues " + call.descriptor) > 1;
        }
        if (!second) {
            read.before = [](std::size_t, script_instance&) {
                throw script_error{LF_RETRY_TRANSIENT, "source.transient", "flaky", 0};
            };
        }
        return read;
    };
    const auto result = b.run();
    BOOST_TEST(result.exit_code == 0);
    BOOST_TEST(result.tables[0].rows_landed == 100);
    BOOST_TEST(result.tables[0].rows_read == 100);
    BOOST_TEST(result.tables[0].retries == 10);
    BOOST_TEST(b.plugin.count("get_partitions") == 1);
    BOOST_TEST(b.lake->table("issues").begins == 1);
    BOOST_TEST(b.lake->values("issues", "id") == source.ids(), boost::test_tools::per_element());
}

// Once a batch of it was handed on, a part is not read again by itself: the whole micro-batch is.
BOOST_AUTO_TEST_CASE(a_failure_after_rows_reads_the_whole_batch_again) {
    for (const bool simple : {true, false}) {
        engine_bench b;
        b.plugin.metadata = cursor;
        number_source source(b.plugin, 40);
        source.serve_simple(100);
        if (!simple) source.serve_partitions(4);
        std::atomic<int> failures{0};
        const auto flaky = [&](script_read read) {
            read.before = [&](std::size_t batch, script_instance&) {
                if (batch == 1 && failures++ == 0)
                    throw script_error{LF_RETRY_TRANSIENT, "source.transient", "flaky", 0};
            };
            return read;
        };
        const auto table = b.plugin.read_table;
        const auto part = b.plugin.read_partition;
        b.plugin.read_table = [&](const script_call& call) { return flaky(table(call)); };
        b.plugin.read_partition = [&](const script_call& call) { return flaky(part(call)); };
        const auto result = b.run();
        BOOST_TEST(result.exit_code == 0);
        BOOST_TEST(result.tables[0].rows_landed == 40);
        BOOST_TEST(result.tables[0].rows_read == 40);
        BOOST_TEST(result.tables[0].retries == 1);
        BOOST_TEST(b.lake->table("issues").commits == 1);
        BOOST_TEST(b.lake->values("issues", "id") == source.ids(), boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(retries_end_and_permanent_failures_are_not_tried_again) {
    engine_bench b;
    b.plugin.metadata = cursor;
    number_source source(b.plugin, 10);
    source.serve_partitions(1);
    script_error thrown{LF_RETRY_TRANSIENT, "source.transient", "always", 0};
    b.plugin.read_partition = [&](const script_call&) -> script_read { throw thrown; };
    BOOST_TEST(b.run().tables[0].error->code == "source.transient");
    BOOST_TEST(b.plugin.count("read_partition") == 3);
    thrown = {LF_RETRY_AUTH, "", "401", 0};
    const auto result = b.run();
    BOOST_TEST(result.tables[0].error->code == "source.auth");
    BOOST_TEST(b.plugin.count("read_partition") == 4);
    // A source that asks for a longer wait than a person allows.
    thrown = {LF_RETRY_RATE_LIMITED, "source.rate_limited", "come back tomorrow", 86'400'000};
    BOOST_TEST(b.run().tables[0].error->code == "source.rate_limited");
    BOOST_TEST(b.plugin.count("read_partition") == 5);
    thrown = {LF_RETRY_RATE_LIMITED, "source.rate_limited", "soon", 20};
    const auto begin = std::chrono::steady_clock::now();
    b.run();
    BOOST_TEST(b.plugin.count("read_partition") == 8);
    BOOST_TEST((std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds(40)));
}

BOOST_AUTO_TEST_CASE(planning_is_tried_again_too) {
    engine_bench b;
    b.plugin.metadata = cursor;
    number_source source(b.plugin, 10);
    source.serve_partitions(1);
    int failures = 0;
    const auto latest = b.plugin.latest_offset;
    b.plugin.latest_offset = [&](const script_call& call) {
        if (++failures % 2 == 1) throw script_error{LF_RETRY_TRANSIENT, "", "flaky", 0};
        return latest(call);
    };
    const auto parts = b.plugin.get_partitions;
    b.plugin.get_partitions = [&](const script_call& call) {
        if (++failures % 2 == 1) throw script_error{LF_RETRY_TRANSIENT, "", "flaky", 0};
        return parts(call);
    };
    const auto result = b.run();
    BOOST_TEST(result.exit_code == 0);
    BOOST_TEST(result.tables[0].rows_landed == 10);
}

BOOST_AUTO_TEST_CASE(inside_a_micro_batch_nothing_falls_back) {
    engine_bench b;
    b.plugin.metadata = cursor;
    number_source source(b.plugin, 10);
    source.serve_partitions(1);
    b.plugin.get_partitions = [](const script_call&) -> std::string {
        throw script_error{LF_RETRY_UNSUPPORTED, "", "not this one", 0};
    };
    const auto result = b.run();
    BOOST_TEST(to_string(result.tables[0].status) == "failed");
    BOOST_TEST(std::string(to_string(result.tables[0].error->retry)) == "unsupported");
    BOOST_TEST(b.plugin.count("read_table") == 0);
    BOOST_TEST(!result.tables[0].fell_back);
}

// Contract 8: rows above the end come again, so append leaves them out.
BOOST_AUTO_TEST_CASE(append_leaves_out_rows_above_the_end) {
    engine_bench b;
    b.plugin.metadata = cursor;
    number_source source(b.plugin, 20);
    source.serve_partitions(1);
    b.plugin.prepare = [](const script_call&) { return offset(12); };
    // It caps the offset and not what it reads.
    b.plugin.read_partition = [&](const script_call& call) {
        auto read = source.pages(number_source::number(call.descriptor), source.size());
        read.end.reset();
        return read;
    };
    auto t = b.table();
    t.columns = {"id"};  // the cursor is read for it all the same
    auto result = b.run(t);
    BOOST_TEST(result.tables[0].rows_landed == 12);
    BOOST_TEST(result.tables[0].rows_read == 12);
    BOOST_TEST(result.tables[0].rows_above_bound == 8);
    b.plugin.prepare = nullptr;
    result = b.run(t);
    BOOST_TEST(result.tables[0].rows_landed == 8);
    BOOST_TEST(b.lake->values("issues", "id") == source.ids(), boost::test_tools::per_element());
}

// The simple path learns the end after the rows: if some lay above it, exactly (start, end] is read again.
BOOST_AUTO_TEST_CASE(append_on_the_simple_path_reads_exactly_where_rows_lay_above_the_end) {
    engine_bench b;
    b.plugin.metadata = cursor;
    number_source source(b.plugin, 20);
    b.plugin.read_table = [&](const script_call& call) {
        const auto start = number_source::number(call.start);
        const auto end = call.end ? number_source::number(call.end) : std::min<std::int64_t>(start + 8, 20);
        auto read = source.pages(start, std::min<std::int64_t>(end + 3, 20));
        read.end = offset(end);
        return read;
    };
    const auto result = b.run();
    BOOST_TEST(result.exit_code == 0);
    BOOST_TEST(result.tables[0].rows_landed == 20);
    BOOST_TEST(b.lake->values("issues", "id") == source.ids(), boost::test_tools::per_element());
    BOOST_TEST(b.plugin.count("read_table issues {} end={\"c\":8}") == 1);
}

// An inclusive source: rows at the start come again. Keyed append drops them; the offset that stands still is the end, not a breach.
BOOST_AUTO_TEST_CASE(a_table_that_reads_rows_again) {
    for (const bool append : {true, false}) {
        engine_bench b;
        b.plugin.metadata =
            R"({"ingestion_type":")" + std::string(append ? "append" : "cdc") +
            R"(","cursor_field":"c","primary_keys":["id"],"rereads":true,"offset_cursor":{"member":"c","form":"integer"}})";
        std::vector<cells> rows = {row(1, 1), row(2, 2), row(3, 2)};
        b.plugin.read_table = [&](const script_call& call) {
            script_read out;
            std::int64_t end = number_source::number(call.start);
            for (const auto& r : rows) {
                const auto c = std::get<std::int64_t>(r[1]);
                if (c < number_source::number(call.start)) continue;
                if (out.batches.empty()) out.batches.emplace_back();
                out.batches[0].push_back(r);
                end = std::max(end, c);
            }
            out.end = offset(end);
            return out;
        };
        auto result = b.run();
        BOOST_TEST(result.exit_code == 0);
        BOOST_TEST(result.tables[0].rows_read == 3);
        BOOST_TEST(result.tables[0].rows_landed == 3);
        result = b.run();
        BOOST_TEST(result.exit_code == 0);
        BOOST_TEST(result.tables[0].rows_read == 0);
        BOOST_TEST(result.tables[0].batches == 0);
        rows.push_back(row(4, 2));  // with that same cursor value
        result = b.run();
        BOOST_TEST(result.exit_code == 0);
        BOOST_TEST(result.tables[0].rows_read == 1);
        rows.push_back(row(5, 3));
        BOOST_TEST(b.run().tables[0].rows_read == 1);
        BOOST_TEST(b.lake->table("issues").rows.size() == 5u);
    }
}

BOOST_AUTO_TEST_CASE(a_plugin_that_breaks_its_word_on_a_call) {
    engine_bench b;
    b.plugin.metadata = keyed;
    b.plugin.read_table = [](const script_call&) -> script_read {
        script_read out = rows_to(2);
        out.end.reset();
        return out;
    };
    breaks(b, "plugin.contract", {"read_table"});
    b.plugin.read_table = [](const script_call&) -> script_read { throw script_error{99, "", "no such class", 0}; };
    breaks(b, "plugin.bad_status", {});
}

BOOST_AUTO_TEST_SUITE_END()
