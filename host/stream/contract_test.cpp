// host/stream/contract_test.cpp: sentences of the contract about triggers, bounds, limits and instances that no other test of the
// engine holds: each case names its own.
#include <boost/test/unit_test.hpp>
#include <fstream>

#include "tests/support/engine_bench.h"
#include "tests/support/quick_effects.h"

using namespace lakeflow::host;
using namespace lakeflow::host::testing;

namespace {

constexpr auto cursor =
    R"({"ingestion_type":"append","cursor_field":"c","offset_cursor":{"member":"c","form":"integer"}})";

using clock_type = std::chrono::steady_clock;

}  // namespace

BOOST_AUTO_TEST_SUITE(contract)

// Contract 1: what is compared, stored and given back is the canonical form, on both paths and after a restart.
BOOST_AUTO_TEST_CASE(a_plugin_gets_only_the_canonical_form_of_its_offsets) {
    for (const bool partitioned : {false, true}) {
        engine_bench b;
        const std::string written = "{ \"z\" : true,\n \"c\":  5e0, \"a\":\"\\u0041\" }";
        const std::string canonical = R"({"a":"A","c":5,"z":true})";
        b.plugin.read_table = [&](const script_call& call) {
            script_read out;
            if (call.start == "{}") out.batches = {{row(1, 1)}};
            out.end = written;
            return out;
        };
        if (partitioned) {
            b.plugin.latest_offset = [&](const script_call&) { return "{\"offset\":" + written + ",\"honoured\":[]}"; };
            b.plugin.get_partitions = [](const script_call&) { return "[{\"b\": 1.0 , \"a\":[null]}]"; };
            b.plugin.read_partition = [](const script_call&) {
                script_read out;
                out.batches = {{row(1, 1)}};
                return out;
            };
        }
        BOOST_TEST(b.run().exit_code == 0);
        BOOST_TEST(b.lake->table("issues").positions["issues"].end == canonical);
        BOOST_TEST(b.run().exit_code == 0);
        BOOST_TEST(b.lake->table("issues").commits == 1);
        if (partitioned) {
            BOOST_TEST(b.plugin.count("get_partitions issues {} " + canonical) == 1);
            BOOST_TEST(b.plugin.count("latest_offset issues " + canonical) >= 1);
            BOOST_TEST(b.plugin.count(R"(read_partition issues {"a":[null],"b":1})") +
                           b.plugin.count(R"(read_partition issues {"a":[null],"b":1.0})") +
                           b.plugin.count(R"(read_partition issues {"a":[null],"b":1E0})") ==
                       1);
        } else {
            BOOST_TEST(b.plugin.count("read_table issues " + canonical) == 2);
        }
    }
}

// Contract 3, through the engine: a 20-year backfill in 7-day windows over empty years, with rows in the last one.
BOOST_AUTO_TEST_CASE(twenty_years_in_windows_of_a_week) {
    for (const bool partitioned : {false, true}) {
        engine_bench b;
        b.io = std::make_shared<breaking_effects>(std::make_shared<quick_effects>());  // it plans a thousand batches
        constexpr std::int64_t week = 7 * 86'400;
        constexpr std::int64_t windows = 20 * 365 / 7 + 1;
        b.plugin.metadata =
            R"({"ingestion_type":"append","cursor_field":"c","windowed":true,"offset_cursor":{"member":"c","form":"epoch_s"}})";
        const auto now = b.init_time_us / 1'000'000;
        const auto next = [=](const script_call& call) {
            const auto start = call.start == "{}" ? now - windows * week : number_source::number(call.start);
            return std::min(start + week, now);
        };
        const auto rows = [=](std::int64_t end) {
            script_read out;
            if (end == now) out.batches = {{row(1, now - 5)}};
            return out;
        };
        b.plugin.read_table = [=](const script_call& call) {
            auto out = rows(call.start == number_source::offset(now) ? 0 : next(call));
            out.end = number_source::offset(next(call));
            return out;
        };
        if (partitioned) {
            b.plugin.latest_offset = [=](const script_call& call) {
                return "{\"offset\":" + number_source::offset(next(call)) + ",\"honoured\":[]}";
            };
            b.plugin.get_partitions = [](const script_call& call) { return "[" + *call.end + "]"; };
            b.plugin.read_partition = [=](const script_call& call) {
                return rows(number_source::number(call.descriptor));
            };
        }
        const auto result = b.run();
        BOOST_TEST(result.exit_code == 0, (result.tables[0].error ? to_line(*result.tables[0].error) : ""));
        BOOST_TEST(result.tables[0].partitions == windows);
        BOOST_TEST(result.tables[0].rows_landed == 1);
        BOOST_TEST(result.tables[0].batches == 1);
    }
}

// Contract 4: the bound travels in latest_offset and the readers; init time and run id in create, to every instance of the run.
BOOST_AUTO_TEST_CASE(bound_init_time_and_run_id_reach_every_instance) {
    engine_bench b;
    b.plugin.metadata = cursor;
    number_source source(b.plugin, 30);
    source.serve_partitions(3);
    b.plugin.prepare = [](const script_call&) { return number_source::offset(20); };
    std::mutex mutex;
    std::set<std::string> runs;
    std::set<std::int64_t> times;
    std::set<std::string> bounds;
    std::set<const script_instance*> readers;
    int calls = 0;
    const auto seen = [&](const script_call& call) {
        const std::lock_guard guard(mutex);
        runs.insert(call.instance->run_id);
        times.insert(call.instance->init_time_us);
        bounds.insert(call.bound.value_or("-"));
        ++calls;
    };
    const auto latest = b.plugin.latest_offset;
    const auto part = b.plugin.read_partition;
    const script_instance* planner = nullptr;
    b.plugin.latest_offset = [&](const script_call& call) {
        seen(call);
        planner = call.instance;
        return latest(call);
    };
    b.plugin.read_partition = [&](const script_call& call) {
        seen(call);
        {
            const std::lock_guard guard(mutex);
            readers.insert(call.instance);
        }
        return part(call);
    };
    const auto plan = b.plan();
    BOOST_TEST(run_job(plan).exit_code == 0);
    BOOST_TEST(calls == 4);
    BOOST_TEST((runs == std::set<std::string>{plan.run_id}));
    BOOST_TEST((times == std::set<std::int64_t>{b.init_time_us}));
    BOOST_TEST((bounds == std::set<std::string>{number_source::offset(20)}));
    BOOST_TEST(!readers.contains(planner));  // a worker shares nothing with the planner
}

// Contract 6: every kind of limit, alone and together, reaches the plugin as it was written; what it does not know it does not honour.
BOOST_AUTO_TEST_CASE(every_kind_of_limit_reaches_the_plugin) {
    for (const std::string limits :
         {R"({"max_rows":7})", R"({"max_bytes":900})", R"({"max_delay_ms":60000,"min_rows":5})",
          R"({"max_bytes":900,"max_delay_ms":60000,"max_rows":7,"min_rows":5})"}) {
        for (const bool partitioned : {false, true}) {
            engine_bench b;
            b.plugin.metadata = cursor;
            number_source source(b.plugin, 20);
            source.serve_simple(100);
            if (partitioned) source.serve_partitions(1);
            std::vector<std::string> got;
            const auto read = b.plugin.read_table;
            b.plugin.read_table = [&](const script_call& call) {
                got.push_back(call.limits);
                return read(call);
            };
            auto t = b.table();
            t.limits = limits;
            BOOST_TEST(b.run(t).exit_code == 0);
            BOOST_TEST(b.lake->values("issues", "id") == source.ids(), boost::test_tools::per_element());
            if (partitioned) {
                BOOST_TEST(b.plugin.count("latest_offset issues {} limits=" + limits) == 1);
                const bool all = limits == R"({"max_rows":7})";
                BOOST_TEST(b.logged("does not honour the limit") == !all);
            } else {
                BOOST_REQUIRE(!got.empty());
                for (const auto& one : got) BOOST_TEST(one == limits);
            }
        }
    }
}

// A group of rows at one cursor that is larger than the limit: a plugin that cannot cut it gives it whole, and the flow goes on.
BOOST_AUTO_TEST_CASE(a_tie_group_larger_than_the_limit_does_not_stall) {
    engine_bench b;
    b.plugin.metadata = cursor;
    std::vector<cells> rows;
    for (std::int64_t i = 1; i <= 60; ++i) rows.push_back(row(i, i <= 50 ? 7 : 8));
    b.plugin.read_table = [&](const script_call& call) {
        // Ten rows, and then all that share the last one's cursor.
        const auto start = number_source::number(call.start);
        script_read out;
        out.end = *call.start;
        std::vector<cells> page;
        for (const auto& r : rows) {
            const auto c = std::get<std::int64_t>(r[1]);
            if (c <= start) continue;
            if (page.size() >= 10 && c > std::get<std::int64_t>(page.back()[1])) break;
            page.push_back(r);
            out.end = number_source::offset(c);
        }
        if (!page.empty()) out.batches = {page};
        return out;
    };
    auto t = b.table();
    t.limits = R"({"max_rows":10})";
    const auto result = b.run(t);
    BOOST_TEST(result.exit_code == 0);
    BOOST_TEST(result.tables[0].rows_landed == 60);
    BOOST_TEST(result.tables[0].batches == 2);
}

// Contract 6: once lands the planned batch of a dead run first, then exactly one more.
BOOST_AUTO_TEST_CASE(once_after_a_dead_run_lands_its_batch_and_exactly_one_more) {
    engine_bench b;
    b.plugin.metadata = cursor;
    number_source source(b.plugin, 25);
    source.serve_partitions(2);
    auto t = b.table();
    t.limits = R"({"max_rows":10})";
    b.lake->step = [](const std::string& name) {
        if (name == "commit before") throw crashed{};
    };
    run_job(b.plan({t}));
    b.lake->step = [](const std::string&) {};
    source.add(5);
    auto plan = b.plan({t});
    plan.trigger = trigger_kind::once;
    const auto result = run_job(plan);
    BOOST_TEST(result.exit_code == 0);
    BOOST_TEST(result.tables[0].batches == 2);
    BOOST_TEST((b.lake->table("issues").rows_a_commit == std::vector<std::int64_t>{10, 20}));
    BOOST_TEST(b.lake->values("issues", "id") == source.ids(), boost::test_tools::per_element());
}

// Contract 6: each interval has a bound, an init time and a planning instance of its own.
BOOST_AUTO_TEST_CASE(each_interval_has_its_own_bound_init_time_and_planner) {
    engine_bench b;
    b.plugin.metadata = cursor;
    number_source source(b.plugin, 10);
    source.serve_partitions(1);
    auto plan = b.plan();
    plan.trigger = trigger_kind::continuous;
    plan.interval = std::chrono::milliseconds(15);
    std::vector<std::int64_t> times;
    std::set<const script_instance*> planners;
    int asked = 0;
    b.plugin.prepare = [&](const script_call& call) {
        if (planners.insert(call.instance).second) times.push_back(call.instance->init_time_us);
        if (++asked == 4) plan.stop->stop();
        source.add(3);
        return number_source::offset(source.size());
    };
    plan.plugin = b.plugin.use();
    run_job(plan);
    BOOST_TEST(asked == 4);
    BOOST_TEST(b.plugin.count("prepare issues") == 4);
    for (std::size_t i = 2; i < times.size(); ++i) BOOST_TEST(times[i] > times[i - 1]);
    BOOST_TEST(b.plugin.stopped >= 4);
    BOOST_TEST(b.plugin.alive == 0);
}

// Ticks stand on the clock: a trigger that takes longer than the interval skips some and does not push the others back.
BOOST_AUTO_TEST_CASE(intervals_do_not_drift) {
    engine_bench b;
    b.plugin.metadata = cursor;
    number_source source(b.plugin, 1);
    source.serve_simple(10);
    auto plan = b.plan();
    plan.trigger = trigger_kind::continuous;
    plan.interval = std::chrono::milliseconds(60);
    std::vector<clock_type::time_point> begins;
    const auto inner = b.plugin.read_table;
    b.plugin.prepare = [&](const script_call& call) {
        begins.push_back(clock_type::now());
        if (begins.size() == 2) call.instance->wait(std::chrono::milliseconds(80));  // past one tick
        if (begins.size() == 5) plan.stop->stop();
        return number_source::offset(1);
    };
    plan.plugin = b.plugin.use();
    run_job(plan);
    BOOST_REQUIRE(begins.size() == 5u);
    const auto tick = [&](std::size_t i) {
        return std::chrono::duration<double, std::milli>(begins[i] - begins[0]).count() / 60.0;
    };
    // 0, 1, then 3 (2 was slept through), 4, 5; each a little late and none early.
    for (const auto& [i, wanted] : std::vector<std::pair<std::size_t, double>>{{1, 1}, {2, 3}, {3, 4}, {4, 5}})
        BOOST_TEST((tick(i) >= wanted - 0.05 && tick(i) < wanted + 0.9), "trigger " << i << " at tick " << tick(i));
}

BOOST_AUTO_TEST_CASE(a_failed_interval_backs_off_and_the_next_one_lands_what_is_there) {
    engine_bench b;
    b.plugin.metadata = cursor;
    number_source source(b.plugin, 10);
    source.serve_simple(100);
    auto plan = b.plan();
    plan.trigger = trigger_kind::continuous;
    plan.interval = std::chrono::milliseconds(5);
    plan.tuning.first_backoff = plan.tuning.max_backoff = std::chrono::milliseconds(30);
    plan.tuning.batch_attempts = plan.tuning.partition_attempts = 1;
    std::vector<clock_type::time_point> tries;
    const auto inner = b.plugin.read_table;
    b.plugin.read_table = [&](const script_call& call) {
        tries.push_back(clock_type::now());
        if (tries.size() <= 3) throw script_error{LF_RETRY_TRANSIENT, "source.transient", "down", 0};
        if (call.start == number_source::offset(10)) plan.stop->stop();
        return inner(call);
    };
    plan.plugin = b.plugin.use();
    const auto result = run_job(plan);
    BOOST_TEST(result.exit_code == 0);
    BOOST_TEST(!result.tables[0].error.has_value());
    BOOST_TEST(b.logged("this interval failed, the next one tries again"));
    BOOST_REQUIRE(tries.size() >= 4u);
    for (std::size_t i = 1; i <= 3; ++i) BOOST_TEST((tries[i] - tries[i - 1] >= std::chrono::milliseconds(30)));
    BOOST_TEST(b.lake->values("issues", "id") == source.ids(), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_permanent_failure_ends_a_continuous_flow_and_not_the_others) {
    engine_bench b;
    b.plugin.metadata = cursor;
    number_source source(b.plugin, 10);
    source.serve_simple(100);
    auto plan = b.plan({b.table("broken"), b.table()});
    plan.trigger = trigger_kind::continuous;
    plan.interval = std::chrono::milliseconds(10);
    int lasting = 0;
    const auto inner = b.plugin.read_table;
    std::mutex mutex;
    b.plugin.read_table = [&](const script_call& call) {
        if (call.table == "broken") throw script_error{LF_RETRY_PERMANENT, "source.gone", "gone", 0};
        const std::lock_guard guard(mutex);
        if (++lasting == 5) plan.stop->stop();
        return inner(call);
    };
    plan.plugin = b.plugin.use();
    const auto result = run_job(plan);
    BOOST_TEST(result.exit_code == 3);
    BOOST_TEST(result.tables[0].error.value().code == "source.gone");
    BOOST_TEST(b.plugin.count("read_table broken") == 1);
    BOOST_TEST(result.tables[1].rows_landed == 10);
}

// Contract 7: stop comes once, on the planning instance, and before its destroy: after success, failure and a signal.
BOOST_AUTO_TEST_CASE(stop_is_heard_once_before_destroy_however_the_run_ends) {
    for (const std::string end : {"success", "failure", "signal"}) {
        engine_bench b;
        b.plugin.metadata = cursor;
        number_source source(b.plugin, 10);
        source.serve_partitions(2);
        auto plan = b.plan();
        plan.tuning.stop_grace = std::chrono::milliseconds(10);
        const auto inner = b.plugin.read_partition;
        b.plugin.read_partition = [&](const script_call& call) {
            auto read = inner(call);
            read.before = [&](std::size_t, script_instance& i) {
                if (end == "failure") throw script_error{LF_RETRY_PERMANENT, "", "gone", 0};
                if (end != "signal") return;
                plan.stop->stop();
                i.wait(std::chrono::seconds(60));
            };
            return read;
        };
        const auto result = run_job(plan);
        BOOST_TEST(to_string(result.tables[0].status) == (end == "success"   ? "reached_bound"
                                                          : end == "failure" ? "failed"
                                                                             : "stopped"));
        BOOST_TEST(b.plugin.count("stop issues") == 1);
        BOOST_TEST(b.plugin.calls().back() == "stop issues");
        BOOST_TEST(b.plugin.stopped_after_destroy == 0);
        BOOST_TEST(b.plugin.alive == 0);
    }
}

// Contract 7: unknown is unknown and never 0, and a question about the lag that fails costs nothing.
BOOST_AUTO_TEST_CASE(a_lag_that_cannot_be_told_is_absent) {
    engine_bench b;
    b.plugin.metadata = R"({"ingestion_type":"append","cursor_field":"c"})";
    number_source source(b.plugin, 10);
    source.serve_partitions(1);
    b.plugin.report_latest = [](const script_call&) { return number_source::offset(99); };
    auto result = b.run();
    BOOST_TEST(!result.tables[0].lag.has_value());  // no cursor: the two differ, and no more can be said
    source.add(1);
    b.plugin.report_latest = [](const script_call&) -> std::string {
        throw script_error{LF_RETRY_PERMANENT, "", "no", 0};
    };
    result = b.run();
    BOOST_TEST(result.exit_code == 0);
    BOOST_TEST(!result.tables[0].lag.has_value());
    BOOST_TEST(b.logged("the newest offset of the source is not known"));
}

// Contract 10: with the batch slots alone a stream stays on read_table; is_partitioned sends single tables there too.
BOOST_AUTO_TEST_CASE(slots_decide_the_path) {
    for (const std::string lacks : {"latest_offset", "this table"}) {
        engine_bench b;
        b.plugin.metadata = cursor;
        number_source source(b.plugin, 25);
        source.serve_simple(10);
        source.serve_partitions(3);
        if (lacks == "latest_offset") b.plugin.latest_offset = nullptr;
        if (lacks == "this table") b.plugin.is_partitioned = [](const std::string& table) { return table != "issues"; };
        const auto result = b.run();
        BOOST_TEST(result.exit_code == 0);
        BOOST_TEST(result.tables[0].rows_landed == 25);
        BOOST_TEST(b.plugin.count("get_partitions") == 0);
        BOOST_TEST(b.plugin.count("read_table") >= 3);
    }
}

// Equal offsets: nothing is planned, split or read.
BOOST_AUTO_TEST_CASE(equal_start_and_end_read_nothing) {
    engine_bench b;
    b.plugin.metadata = cursor;
    number_source source(b.plugin, 0);
    source.serve_partitions(3);
    BOOST_TEST(b.run().exit_code == 0);
    BOOST_TEST(b.plugin.count("get_partitions") == 0);
    BOOST_TEST(b.plugin.count("read_") == 0);
    BOOST_TEST(b.lake->table("issues").begins == 0);
}

// A planned range is read again as it is: what moved past its end comes later, what did not is the same, on a fresh instance.
BOOST_AUTO_TEST_CASE(a_replayed_range_leaves_what_moved_past_its_end_to_a_later_batch) {
    engine_bench b;
    b.plugin.metadata =
        R"({"ingestion_type":"cdc","cursor_field":"c","primary_keys":["id"],"offset_cursor":{"member":"c","form":"integer"}})";
    std::map<std::int64_t, std::int64_t> rows;  // id to cursor
    for (std::int64_t i = 1; i <= 10; ++i) rows[i] = i;
    const auto newest = [&] {
        std::int64_t out = 0;
        for (const auto& [id, c] : rows) out = std::max(out, c);
        return out;
    };
    b.plugin.latest_offset = [&](const script_call&) {
        return "{\"offset\":" + number_source::offset(newest()) + ",\"honoured\":[]}";
    };
    b.plugin.get_partitions = [](const script_call&) { return "[{}]"; };
    b.plugin.read_table = [](const script_call&) { return script_read{}; };
    std::set<const script_instance*> instances;
    b.plugin.read_partition = [&](const script_call& call) {
        instances.insert(call.instance);
        script_read out;
        out.batches.emplace_back();
        for (const auto& [id, c] : rows) {
            if (c > number_source::number(call.start) && c <= number_source::number(call.end))
                out.batches[0].push_back(row(id, c));
        }
        return out;
    };
    b.lake->step = [](const std::string& name) {
        if (name == "commit before") throw crashed{};
    };
    b.run();
    b.lake->step = [](const std::string&) {};
    rows[4] = 11;  // changed while nobody ran
    const auto result = b.run();
    BOOST_TEST(result.exit_code == 0);
    BOOST_TEST((b.lake->table("issues").rows_a_commit == std::vector<std::int64_t>{9, 1}));
    BOOST_TEST(b.lake->table("issues").rows.size() == 10u);
    BOOST_TEST(b.plugin.count("get_partitions issues {} {\"c\":10}") == 2);
    BOOST_TEST(b.plugin.count("get_partitions issues {\"c\":10} {\"c\":11}") == 1);
}

// Batches without rows that never end, one after another: told by the clock, as a call that hangs is.
BOOST_AUTO_TEST_CASE(a_reader_that_gives_empty_batches_for_ever) {
    engine_bench b;
    number_source source(b.plugin, 25);
    source.serve_simple(10);
    const auto inner = b.plugin.read_table;
    b.plugin.read_table = [&](const script_call& call) {
        auto read = inner(call);
        if (call.table == "endless") {
            read.batches.assign(1'000'000, {});
            read.before = [](std::size_t, script_instance& i) { i.wait(std::chrono::milliseconds(1)); };
        }
        return read;
    };
    auto plan = b.plan({b.table("endless"), b.table()});
    plan.tuning.stuck_after = std::chrono::milliseconds(400);
    const auto begin = clock_type::now();
    const auto result = run_job(plan);
    BOOST_TEST((clock_type::now() - begin < std::chrono::seconds(5)));
    BOOST_TEST(result.exit_code == 3);
    BOOST_TEST(result.tables[0].error.value().code == "plugin.timeout");
    BOOST_TEST(result.tables[1].rows_landed == 25);
}

// Contract 9: latest_offset is a cheap question; one that costs many requests is told.
BOOST_AUTO_TEST_CASE(a_latest_offset_of_many_requests_is_warned_of) {
    engine_bench b;
    b.plugin.metadata = cursor;
    number_source source(b.plugin, 10);
    source.serve_partitions(1);
    BOOST_TEST(b.run().exit_code == 0);
    BOOST_TEST(!b.logged("requests"));
    source.add(5);
    const auto latest = b.plugin.latest_offset;
    b.plugin.latest_offset = [&](const script_call& call) {
        call.instance->context->flow->counters.requests += 20;
        return latest(call);
    };
    BOOST_TEST(b.run().exit_code == 0);
    BOOST_TEST(b.logged("latest_offset made 20 requests"));
}

BOOST_AUTO_TEST_SUITE_END()
