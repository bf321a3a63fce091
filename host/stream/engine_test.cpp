// host/stream/engine_test.cpp: a job from first load to idle run, on every path, with bounds, limits and triggers.
#include "host/stream/engine.h"

#include <boost/test/unit_test.hpp>

#include "host/state/job_state.h"
#include "tests/support/engine_bench.h"

using namespace lakeflow::host;
using namespace lakeflow::host::testing;

namespace {
constexpr auto cursor =
    R"({"ingestion_type":"append","cursor_field":"c","offset_cursor":{"member":"c","form":"integer"}})";
}

BOOST_AUTO_TEST_SUITE(engine)

BOOST_AUTO_TEST_CASE(a_simple_table_loads_then_idles_then_takes_what_is_new) {
    engine_bench b;
    number_source source(b.plugin, 25);
    source.serve_simple(10);
    auto result = b.run();
    BOOST_TEST(result.status == "succeeded");
    BOOST_TEST(result.exit_code == 0);
    BOOST_REQUIRE(result.tables.size() == 1u);
    BOOST_TEST(to_string(result.tables[0].status) == "reached_bound");
    BOOST_TEST(result.tables[0].rows_read == 25);
    BOOST_TEST(result.tables[0].rows_landed == 25);
    BOOST_TEST(result.tables[0].batches == 3);
    BOOST_TEST(result.tables[0].mode == "append");
    BOOST_TEST(result.tables[0].start == "{}");
    BOOST_TEST(result.tables[0].end == number_source::offset(25));
    BOOST_TEST(b.lake->values("issues", "id") == source.ids(), boost::test_tools::per_element());
    BOOST_TEST(b.plugin.count("commit issues") == 3);
    BOOST_TEST(b.plugin.count("stop issues") == 1);
    BOOST_TEST(b.plugin.alive == 0);

    const auto calls = b.plugin.count("read_table");
    result = b.run();
    BOOST_TEST(result.exit_code == 0);
    BOOST_TEST(result.tables[0].rows_read == 0);
    BOOST_TEST(result.tables[0].batches == 0);
    BOOST_TEST(b.plugin.count("read_table") == calls + 1);
    BOOST_TEST(b.lake->table("issues").commits == 3);

    source.add(3);
    result = b.run();
    BOOST_TEST(result.tables[0].rows_read == 3);
    BOOST_TEST(result.tables[0].start == number_source::offset(25));
    BOOST_TEST(b.lake->values("issues", "id") == source.ids(), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_partitioned_table_loads_in_parts_and_idles_with_one_call) {
    engine_bench b;
    b.plugin.metadata = cursor;
    number_source source(b.plugin, 1'000);
    source.serve_partitions(7);
    auto result = b.run();
    BOOST_TEST(result.exit_code == 0);
    BOOST_TEST(result.tables[0].rows_landed == 1'000);
    BOOST_TEST(result.tables[0].partitions == 7);
    BOOST_TEST(result.tables[0].batches == 1);
    BOOST_TEST(b.lake->values("issues", "id") == source.ids(), boost::test_tools::per_element());
    BOOST_TEST(b.plugin.count("read_table") == 0);
    const auto calls = b.plugin.calls().size();
    result = b.run();
    BOOST_TEST(result.tables[0].rows_read == 0);
    const auto now = b.plugin.calls();
    BOOST_REQUIRE(now.size() == calls + 2);  // latest_offset, stop
    BOOST_TEST(now[calls].starts_with("latest_offset issues {\"c\":1000}"));
    BOOST_TEST(b.lake->table("issues").begins == 1);
}

BOOST_AUTO_TEST_CASE(limits_cut_the_load_into_batches_below_one_bound) {
    engine_bench b;
    b.plugin.metadata = cursor;
    number_source source(b.plugin, 95);
    source.serve_partitions(3);
    auto t = b.table();
    t.limits = R"({"max_rows": 20, "max_bytes": 1000})";
    const auto inner = b.plugin.latest_offset;
    // Case 02: the source grows with every question.
    b.plugin.latest_offset = [&](const script_call& call) {
        auto out = inner(call);
        source.add(5);
        return out;
    };
    auto result = b.run(t);
    BOOST_TEST(result.exit_code == 0);
    BOOST_TEST(result.tables[0].rows_landed == 95);  // what was there when the run began
    BOOST_TEST(result.tables[0].batches == 5);
    BOOST_TEST(result.tables[0].end == number_source::offset(95));
    BOOST_TEST(b.plugin.count("latest_offset issues {} limits={} bound=-") == 1);
    BOOST_TEST(b.plugin.count(R"(latest_offset issues {} limits={"max_bytes":1000,"max_rows":20} bound={"c":95})") ==
               1);
    BOOST_TEST(b.logged("does not honour the limit max_bytes"));
    result = b.run();
    BOOST_TEST(b.lake->values("issues", "id").size() == 95u + static_cast<std::size_t>(result.tables[0].rows_landed));
}

BOOST_AUTO_TEST_CASE(the_plugins_default_limit_holds_where_the_job_states_none) {
    engine_bench b;
    b.plugin.metadata = cursor;
    number_source source(b.plugin, 30);
    source.serve_partitions(2);
    b.plugin.default_limit = [](const script_call&) { return R"({"max_rows":10})"; };
    BOOST_TEST(b.run().tables[0].batches == 3);
}

BOOST_AUTO_TEST_CASE(once_is_one_batch_of_all_whatever_limits_say) {
    engine_bench b;
    b.plugin.metadata = cursor;
    number_source source(b.plugin, 50);
    source.serve_partitions(4);
    auto t = b.table();
    t.limits = R"({"max_rows": 10})";
    auto plan = b.plan({t});
    plan.trigger = trigger_kind::once;
    const auto result = run_job(plan);
    BOOST_TEST(result.exit_code == 0);
    BOOST_TEST(result.tables[0].batches == 1);
    BOOST_TEST(result.tables[0].rows_landed == 50);
    BOOST_TEST(b.plugin.count("latest_offset") == 1);
    BOOST_TEST(b.plugin.count("latest_offset issues {} limits={} bound=-") == 1);
}

BOOST_AUTO_TEST_CASE(a_prepared_target_is_the_bound_and_asked_for_once) {
    engine_bench b;
    b.plugin.metadata = cursor;
    number_source source(b.plugin, 50);
    source.serve_partitions(2);
    b.plugin.prepare = [](const script_call&) { return number_source::offset(30); };
    auto result = b.run();
    BOOST_TEST(result.tables[0].rows_landed == 30);
    BOOST_TEST(b.plugin.count("prepare issues") == 1);
    BOOST_TEST(b.plugin.calls()[0] == "prepare issues");
    result = b.run();  // it stands at the target already
    BOOST_TEST(result.exit_code == 0);
    BOOST_TEST(result.tables[0].rows_landed == 0);
    BOOST_TEST(b.plugin.count("latest_offset") == 1);
}

BOOST_AUTO_TEST_CASE(the_init_time_bounds_a_plugin_that_windows) {
    engine_bench b;
    b.plugin.metadata =
        R"({"ingestion_type":"append","cursor_field":"c","windowed":true,"offset_cursor":{"member":"c","form":"epoch_s"}})";
    const auto init_s = b.init_time_us / 1'000'000;
    // Windows of 1,000 s, empty but for the last.
    b.plugin.latest_offset = [init_s](const script_call& call) {
        const auto start = call.start == "{}" ? init_s - 10'500 : number_source::number(call.start);
        return "{\"offset\":" + number_source::offset(start + 1'000) + ",\"honoured\":[]}";
    };
    b.plugin.get_partitions = [](const script_call& call) { return "[" + *call.end + "]"; };
    b.plugin.read_partition = [init_s](const script_call& call) {
        script_read out;
        if (number_source::number(call.descriptor) == init_s) out.batches = {{row(1, init_s - 1)}};
        return out;
    };
    b.plugin.read_table = [](const script_call&) { return script_read{}; };
    const auto result = b.run();
    BOOST_TEST(result.exit_code == 0);
    BOOST_TEST(result.tables[0].rows_landed == 1);
    BOOST_TEST(result.tables[0].batches == 1);  // empty windows commit nothing
    BOOST_TEST(result.tables[0].partitions == 11);
    BOOST_TEST(result.tables[0].end == number_source::offset(init_s));  // capped by the host
}

BOOST_AUTO_TEST_CASE(progress_without_rows_is_kept_in_the_state_and_not_in_the_destination) {
    engine_bench b;
    number_source source(b.plugin, 5);
    b.plugin.read_table = [](const script_call& call) {
        script_read out;
        out.end = call.start == "{}" ? number_source::offset(7) : *call.start;
        return out;
    };
    b.run();
    BOOST_TEST(b.lake->table("issues").begins == 0);
    b.run();
    BOOST_TEST(b.plugin.count("read_table issues {\"c\":7}") == 2);
    std::filesystem::remove_all(b.folder.path() / "state");
    b.run();
    BOOST_TEST(b.plugin.count("read_table issues {} ") == 2);
}

BOOST_AUTO_TEST_CASE(with_the_state_deleted_the_destination_serves) {
    engine_bench b;
    number_source source(b.plugin, 40);
    source.serve_simple(10);
    b.run();
    std::filesystem::remove_all(b.folder.path() / "state");
    source.add(2);
    const auto result = b.run();
    BOOST_TEST(result.tables[0].rows_landed == 2);
    BOOST_TEST(result.tables[0].start == number_source::offset(40));
    BOOST_TEST(b.lake->values("issues", "id") == source.ids(), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_destination_without_positions_is_served_by_the_state) {
    engine_bench b;
    b.lake->holds = false;
    number_source source(b.plugin, 20);
    source.serve_simple(10);
    b.run();
    source.add(1);
    BOOST_TEST(b.run().tables[0].rows_landed == 1);
}

BOOST_AUTO_TEST_CASE(only_named_columns_land_and_keys_and_sequence_with_them) {
    engine_bench b;
    b.plugin.metadata = R"({"ingestion_type":"cdc","cursor_field":"c","primary_keys":["id"]})";
    number_source source(b.plugin, 3);
    source.serve_simple(10);
    auto t = b.table();
    t.columns = {"NAME"};
    BOOST_TEST(b.run(t).exit_code == 0);
    BOOST_TEST(to_ddl(*b.lake->opened()[0].schema->get()) == "id BIGINT NOT NULL, c BIGINT, name STRING");
    t.flow = t.destination = "thin";
    t.mode = land_mode::append;
    BOOST_TEST(b.run(t).exit_code == 0);
    BOOST_TEST(to_ddl(*b.lake->opened()[1].schema->get()) == "id BIGINT NOT NULL, name STRING");
    BOOST_TEST(b.lake->opened()[1].cursor == "");
    BOOST_TEST(b.lake->table("thin").rows.size() == 3u);
    BOOST_TEST(b.lake->table("thin").rows[2].count("c") == 0u);
    BOOST_TEST(b.lake->table("thin").rows[2].at("name") == "n");
}

BOOST_AUTO_TEST_CASE(two_flows_of_one_source_and_one_that_fails) {
    engine_bench b;
    number_source source(b.plugin, 12);
    source.serve_simple(5);
    const auto inner = b.plugin.read_table;
    b.plugin.read_table = [&](const script_call& call) {
        if (call.table == "broken")
            throw script_error{LF_RETRY_NOT_FOUND, "source.not_found", "the repository is gone", 0};
        return inner(call);
    };
    auto second = b.table("second");
    second.source = "issues";
    const auto result = run_job(b.plan({b.table(), b.table("broken"), second}));
    BOOST_TEST(result.status == "partial");
    BOOST_TEST(result.exit_code == 3);
    BOOST_REQUIRE(result.tables.size() == 3u);
    BOOST_TEST(to_string(result.tables[1].status) == "failed");
    BOOST_TEST(result.tables[1].error->code == "source.not_found");
    BOOST_TEST(std::string(to_string(result.tables[1].error->retry)) == "not_found");
    BOOST_TEST(result.tables[0].rows_landed == 12);
    BOOST_TEST(result.tables[2].rows_landed == 12);
    BOOST_TEST(result.tables[2].name == "second");
    BOOST_TEST(b.plugin.stopped == 3);
    BOOST_TEST(b.plugin.alive == 0);
    const auto alone = run_job(b.plan({b.table("broken")}));
    BOOST_TEST(alone.status == "failed");
    BOOST_TEST(alone.exit_code == 1);
}

BOOST_AUTO_TEST_CASE(a_mistake_that_shows_without_a_request_is_the_jobs) {
    engine_bench b;
    number_source source(b.plugin, 5);
    source.serve_simple(5);
    const auto refused = [&](table_plan t, const std::string& code, const std::string& named) {
        const auto result = run_job(b.plan({b.table(), std::move(t)}));
        BOOST_TEST(result.exit_code == 2);
        BOOST_TEST(result.status == "failed");
        BOOST_TEST(result.tables.empty());
        BOOST_REQUIRE(result.error.has_value());
        BOOST_TEST(result.error->code == code);
        BOOST_TEST(((result.error->message + result.error->hint).find(named) != std::string::npos),
                   to_line(*result.error));
    };
    auto t = b.table("second");
    t.source = "unknown";
    refused(t, "source.not_found", "no such table");
    t = b.table("second");
    t.columns = {"nam"};
    refused(t, "config.columns", "'name'");
    t.columns = {};
    t.primary_keys = {"nope"};
    refused(t, "config.primary_keys", "nope");
    t.primary_keys = {};
    t.mode = land_mode::scd1;
    refused(t, "config.primary_keys", "second");
    t.mode = land_mode::snapshot;
    refused(t, "config.mode", "incrementally");
    t = b.table("second");
    b.plugin.metadata_of["second"] =
        R"({"ingestion_type":"cdc_with_deletes","cursor_field":"c","primary_keys":["id"]})";
    refused(t, "plugin.missing_slot", "read_table_deletes");
    b.plugin.metadata_of["second"] = R"({"ingestion_type":"append","cursor_field":"c","rereads":true})";
    refused(t, "config.primary_keys", "read before");
    BOOST_TEST(b.plugin.count("read_table") == 0);
    BOOST_TEST(b.lake->table("issues").begins == 0);
    BOOST_TEST(b.plugin.alive == 0);
}

BOOST_AUTO_TEST_CASE(a_second_run_of_the_job_is_refused_and_named) {
    engine_bench b;
    number_source source(b.plugin, 5);
    source.serve_simple(5);
    const job_state held((b.folder.path() / "state").string(), "job", "other-run", false, real_effects());
    const auto result = b.run();
    BOOST_TEST(result.exit_code == 2);
    BOOST_TEST(result.error->code == "state.locked");
    BOOST_TEST((result.error->message.find("other-run") != std::string::npos));
    auto plan = b.plan();
    plan.take_over = true;
    BOOST_TEST(run_job(plan).exit_code == 0);
}

BOOST_AUTO_TEST_CASE(order_of_effects) {
    engine_bench b;
    b.plugin.metadata = cursor;
    number_source source(b.plugin, 10);
    source.serve_partitions(1);
    b.io = std::make_shared<breaking_effects>();
    std::vector<std::string> order;
    b.lake->step = [&](const std::string& step) { order.push_back(step + " after " + std::to_string(b.io->steps())); };
    const auto inner = b.plugin.read_partition;
    b.plugin.read_partition = [&](const script_call& call) {
        order.push_back("read after " + std::to_string(b.io->steps()));
        return inner(call);
    };
    b.run();
    // One step makes the folder, four save the plan; four more the mark.
    const std::vector<std::string> wanted = {"read after 5",        "take over after 5", "begin after 5",
                                             "add after 5",         "add after 5",       "commit before after 5",
                                             "commit after after 5"};
    BOOST_TEST(order == wanted, boost::test_tools::per_element());
    BOOST_TEST(b.io->steps() == 9);
    const auto calls = b.plugin.calls();
    BOOST_TEST(calls[calls.size() - 2] == "commit issues {\"c\":10}");
    BOOST_TEST(calls.back() == "stop issues");
}

BOOST_AUTO_TEST_CASE(lag_is_told_where_the_plugin_knows_it) {
    engine_bench b;
    b.plugin.metadata = cursor;
    number_source source(b.plugin, 10);
    source.serve_partitions(1);
    BOOST_TEST(!b.run().tables[0].lag.has_value());
    source.add(5);
    b.plugin.report_latest = [](const script_call&) { return number_source::offset(18); };
    const auto result = b.run();
    BOOST_TEST(result.tables[0].lag.value() == 3);
    BOOST_TEST(b.plugin.count("report_latest_offset") == 1);
    b.run();  // nothing was committed: nobody asks
    BOOST_TEST(b.plugin.count("report_latest_offset") == 1);
}

BOOST_AUTO_TEST_CASE(continuous_triggers_again_with_a_new_bound_until_it_is_stopped) {
    engine_bench b;
    b.plugin.metadata = cursor;
    number_source source(b.plugin, 10);
    source.serve_partitions(2);
    auto plan = b.plan();
    plan.trigger = trigger_kind::continuous;
    plan.interval = std::chrono::milliseconds(20);
    plan.progress_interval = std::chrono::milliseconds(5);
    std::int64_t seen = 0;
    int added = 0;
    plan.on_progress = [&](const run_progress& p) {
        if (p.tables[0].rows_landed == seen || p.tables[0].active) return;
        seen = p.tables[0].rows_landed;
        if (++added <= 3) source.add(4);
        if (added == 4) plan.stop->stop();
    };
    const auto result = run_job(plan);
    BOOST_TEST(result.exit_code == 0);
    BOOST_TEST(result.tables[0].rows_landed == 22);
    BOOST_TEST(result.tables[0].batches == 4);
    BOOST_TEST(b.plugin.stopped >= 4);
    BOOST_TEST(b.lake->values("issues", "id") == source.ids(), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
