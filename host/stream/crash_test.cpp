// host/stream/crash_test.cpp: the process dies at every step of a run, in state and destination; the next run ends equal to the
// oracle. And a stop in the middle, a plugin that hangs, a run that slept through its own replacement.
#include <boost/test/unit_test.hpp>
#include <thread>

#include "tests/support/engine_bench.h"

using namespace lakeflow::host;
using namespace lakeflow::host::testing;

namespace {

constexpr auto appended =
    R"({"ingestion_type":"append","cursor_field":"c","offset_cursor":{"member":"c","form":"integer"}})";
constexpr auto keyed =
    R"({"ingestion_type":"cdc","cursor_field":"c","primary_keys":["id"],"offset_cursor":{"member":"c","form":"integer"}})";
constexpr auto whole = R"({"ingestion_type":"snapshot","primary_keys":["id"]})";

using clock_type = std::chrono::steady_clock;
double since(clock_type::time_point begin) { return std::chrono::duration<double>(clock_type::now() - begin).count(); }

enum class kind { append_simple, append_partitions, scd1, snapshot, deletes };

void serve(engine_bench& b, number_source& source, kind k) {
    switch (k) {
        case kind::append_simple:
            b.plugin.metadata = appended;
            source.serve_simple(10);
            return;
        case kind::append_partitions:
            b.plugin.metadata = appended;
            source.serve_partitions(3);
            return;
        case kind::scd1:
            b.plugin.metadata = keyed;
            source.serve_partitions(3);
            return;
        case kind::snapshot:
            b.plugin.metadata = whole;
            b.plugin.read_table = [&](const script_call& call) {
                auto out = source.pages(0, source.size());
                if (call.start == out.end) out.batches.clear();
                return out;
            };
            return;
        case kind::deletes:
            b.plugin.metadata =
                R"({"ingestion_type":"cdc_with_deletes","cursor_field":"c","primary_keys":["id"],"offset_cursor":{"member":"c","form":"integer"}})";
            source.serve_partitions(3);
            b.plugin.read_deletes = [](const script_call& call) {
                script_read out;
                out.ddl = "id BIGINT NOT NULL, c BIGINT";
                if (call.start == "{}")
                    out.batches = {{{std::int64_t{2}, std::int64_t{1'000}}, {std::int64_t{3}, std::int64_t{1'000}}}};
                out.end = R"({"d":1})";
                return out;
            };
    }
}

table_plan limited(const engine_bench& b) {
    auto t = b.table();
    t.limits = R"({"max_rows":10})";
    return t;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(crashes)

// Case 46: fault injection at every step boundary of a batch; the oracle is what the source holds.
BOOST_AUTO_TEST_CASE(a_death_at_every_step_neither_loses_nor_doubles_a_row) {
    for (const auto k : {kind::append_simple, kind::append_partitions, kind::scd1, kind::snapshot, kind::deletes}) {
        for (const int first : {1, 1'001}) {  // the state's steps, then the destination's
            for (const auto how : {death::before, death::torn, death::after}) {
                if (first > 1'000 && how != death::before) continue;
                int met = 0;
                for (int step = first;; ++step) {
                    engine_bench b;
                    number_source source(b.plugin, 25);
                    serve(b, source, k);
                    b.io = std::make_shared<breaking_effects>();
                    int count = 1'000;
                    if (step < 1'000) b.io->die_at(step, how);
                    bool dead_there = false;
                    b.lake->step = [&](const std::string&) {
                        if (b.io->dead() || dead_there) throw crashed{};
                        if (++count == step) {
                            dead_there = true;
                            b.io->die_at(b.io->steps() + 1, death::before);
                            throw crashed{};
                        }
                    };
                    run_job(b.plan({limited(b)}));
                    const bool died = b.io->dead() || dead_there;
                    if (!died) break;
                    ++met;
                    b.lake->step = [](const std::string&) {};
                    b.io.reset();
                    source.add(5);
                    const auto result = run_job(b.plan({limited(b)}));
                    BOOST_REQUIRE_MESSAGE(result.exit_code == 0,
                                          "step " << step << ": "
                                                  << (result.tables.empty()    ? to_line(*result.error)
                                                      : result.tables[0].error ? to_line(*result.tables[0].error)
                                                                               : "stopped"));
                    auto wanted = source.ids();
                    if (k == kind::deletes)
                        std::erase_if(wanted, [](const auto& id) { return id == "2" || id == "3"; });
                    BOOST_REQUIRE_MESSAGE(b.lake->values("issues", "id") == wanted,
                                          "kind " << static_cast<int>(k) << " step " << step);
                }
                BOOST_TEST(met >= (first > 1'000 || k == kind::snapshot ? 5 : 9),
                           "kind " << static_cast<int>(k) << ": only " << met << " steps");
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_planned_batch_is_read_again_under_its_own_offsets_and_init_time) {
    engine_bench b;
    b.plugin.metadata = appended;
    number_source source(b.plugin, 25);
    source.serve_partitions(2);
    std::vector<std::int64_t> init_times;
    const auto inner = b.plugin.read_partition;
    std::mutex mutex;
    b.plugin.read_partition = [&](const script_call& call) {
        const std::lock_guard guard(mutex);
        init_times.push_back(call.instance->init_time_us);
        return inner(call);
    };
    b.lake->step = [](const std::string& name) {
        if (name == "commit before") throw crashed{};
    };
    run_job(b.plan());
    BOOST_TEST(b.lake->table("issues").rows.empty());
    b.lake->step = [](const std::string&) {};
    source.add(10);
    b.init_time_us += 60'000'000;
    const auto latest = b.plugin.count("latest_offset");
    const auto result = run_job(b.plan());
    BOOST_TEST(result.exit_code == 0);
    BOOST_TEST(b.logged("batch 1 was planned by a run that ended before its commit"));
    BOOST_TEST(b.plugin.count("get_partitions issues {} {\"c\":25}") == 2);
    BOOST_TEST(b.plugin.count("get_partitions issues {\"c\":25} {\"c\":35}") == 1);
    BOOST_TEST(b.plugin.count("latest_offset") == latest + 2);  // the new bound, the new batch
    BOOST_REQUIRE(init_times.size() == 6u);
    BOOST_TEST(init_times[2] == b.init_time_us - 60'000'000);
    BOOST_TEST(init_times[4] == b.init_time_us);
    BOOST_TEST(result.tables[0].batches == 2);
    BOOST_TEST(b.lake->values("issues", "id") == source.ids(), boost::test_tools::per_element());
}

// Contract 5: the replayed batch may lie past the new bound; then the table has reached it.
BOOST_AUTO_TEST_CASE(a_replayed_batch_past_the_new_bound) {
    engine_bench b;
    b.plugin.metadata = appended;
    number_source source(b.plugin, 25);
    source.serve_partitions(2);
    b.lake->step = [](const std::string& name) {
        if (name == "commit before") throw crashed{};
    };
    run_job(b.plan());
    b.lake->step = [](const std::string&) {};
    b.plugin.prepare = [](const script_call&) { return number_source::offset(20); };
    const auto result = run_job(b.plan());
    BOOST_TEST(result.exit_code == 0);
    BOOST_TEST(result.tables[0].end == number_source::offset(25));
    BOOST_TEST(result.tables[0].rows_landed == 25);
}

BOOST_AUTO_TEST_CASE(a_failing_disk_is_an_error_and_loses_nothing) {
    int steps = 0;
    for (int step = 1; step == 1 || step <= steps; ++step) {
        engine_bench b;
        b.plugin.metadata = appended;
        number_source source(b.plugin, 25);
        source.serve_partitions(2);
        b.io = std::make_shared<breaking_effects>();
        b.io->fail_at(step);
        const auto result = run_job(b.plan({limited(b)}));
        if (step == 1) steps = 25;
        if (b.io->steps() < step) break;
        BOOST_TEST(result.exit_code != 0);
        const auto& e = result.error ? *result.error : *result.tables[0].error;
        BOOST_TEST(e.code == "state.io");
        b.io.reset();
        BOOST_TEST(run_job(b.plan({limited(b)})).exit_code == 0);
        BOOST_TEST(b.lake->values("issues", "id") == source.ids(), boost::test_tools::per_element());
    }
}

// A run that sleeps while another takes the job over, reads the same and commits.
BOOST_AUTO_TEST_CASE(a_run_that_slept_through_its_replacement_cannot_commit) {
    for (const bool same_state : {true, false}) {
        engine_bench b;
        b.plugin.metadata = appended;
        number_source source(b.plugin, 25);
        source.serve_partitions(2);
        bool slept = false;
        std::optional<run_result> other;
        b.lake->step = [&](const std::string& name) {
            if (name != "commit before" || slept) return;
            slept = true;
            auto plan = b.plan();
            plan.take_over = same_state;
            if (!same_state) plan.state_directory += "-elsewhere";
            other = run_job(plan);
        };
        auto plan = b.plan();
        plan.tuning.landings_at_once = 2;
        const auto result = run_job(plan);
        BOOST_REQUIRE(other.has_value());
        BOOST_TEST(other->exit_code == 0);
        BOOST_TEST(to_string(result.tables[0].status) == "failed");
        BOOST_REQUIRE(result.tables[0].error.has_value());
        BOOST_TEST(result.tables[0].error->code == "state.fenced");
        BOOST_TEST(b.lake->values("issues", "id") == source.ids(), boost::test_tools::per_element());
    }
}

// `run --take-over` makes the other run's commits fail even where it has nothing to land itself.
BOOST_AUTO_TEST_CASE(a_take_over_fences_the_other_run_at_once) {
    engine_bench b;
    b.plugin.metadata = appended;
    number_source source(b.plugin, 25);
    source.serve_partitions(2);
    b.run();
    const auto before = b.lake->values("issues", "id");
    source.add(5);
    bool slept = false;
    std::optional<run_result> other;
    b.lake->step = [&](const std::string& name) {
        if (name != "commit before" || slept) return;
        slept = true;
        auto plan = b.plan();
        plan.take_over = true;
        plan.state_directory += "-elsewhere";
        b.plugin.prepare = [](const script_call&) { return std::string("{}"); };
        plan.plugin = b.plugin.use();
        other = run_job(plan);
    };
    const auto result = b.run();
    BOOST_REQUIRE(other.has_value());
    BOOST_TEST(other->exit_code == 0);
    BOOST_TEST(other->tables[0].rows_landed == 0);
    BOOST_REQUIRE(result.tables[0].error.has_value());
    BOOST_TEST(result.tables[0].error->code == "state.fenced");
    BOOST_TEST(b.lake->values("issues", "id") == before, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_stop_lets_a_short_batch_end_and_begins_no_other) {
    engine_bench b;
    b.plugin.metadata = appended;
    number_source source(b.plugin, 50);
    source.serve_partitions(1);
    auto plan = b.plan({limited(b)});
    const auto inner = b.plugin.read_partition;
    b.plugin.read_partition = [&](const script_call& call) {
        auto read = inner(call);
        if (call.descriptor.find("\"from\":10") != std::string::npos) {
            read.before = [&](std::size_t batch, script_instance& i) {
                if (batch == 0) plan.stop->stop();
                i.wait(std::chrono::milliseconds(20));
            };
        }
        return read;
    };
    const auto result = run_job(plan);
    BOOST_TEST(to_string(result.tables[0].status) == "stopped");
    BOOST_TEST(!result.tables[0].error.has_value());
    BOOST_TEST(result.exit_code == 1);
    BOOST_TEST(result.tables[0].batches == 2);
    BOOST_TEST(result.tables[0].rows_landed == 20);
    BOOST_TEST(b.plugin.stopped == 1);
    BOOST_TEST(run_job(b.plan()).exit_code == 0);
    BOOST_TEST(b.lake->values("issues", "id") == source.ids(), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_stop_ends_a_long_batch_after_the_grace_and_a_second_one_at_once) {
    for (const bool second : {false, true}) {
        engine_bench b;
        b.plugin.metadata = appended;
        number_source source(b.plugin, 50);
        source.serve_partitions(4);
        const auto inner = b.plugin.read_partition;
        b.plugin.read_partition = [&](const script_call& call) {
            auto read = inner(call);
            read.before = [&](std::size_t, script_instance& i) { i.wait(std::chrono::seconds(60)); };
            return read;
        };
        auto second_table = b.table("waits");
        second_table.source = "issues";
        auto plan = b.plan({b.table(), second_table});
        plan.tuning.stop_grace = std::chrono::milliseconds(second ? 60'000 : 100);
        plan.tuning.flows_at_once = 1;
        std::jthread signals([&] {
            while (b.plugin.reading < 4) std::this_thread::sleep_for(std::chrono::milliseconds(2));
            plan.stop->stop();
            if (second) plan.stop->cancel();
        });
        const auto begin = clock_type::now();
        const auto result = run_job(plan);
        BOOST_TEST(since(begin) < 5.0);
        BOOST_TEST(result.exit_code == 1);
        for (const auto& t : result.tables) {
            BOOST_TEST(to_string(t.status) == "stopped");
            BOOST_TEST(!t.error.has_value(), (t.error ? to_line(*t.error) : ""));
        }
        BOOST_TEST(b.lake->table("issues").rows.empty());
        BOOST_TEST(b.plugin.alive == 0);
    }
}

BOOST_AUTO_TEST_CASE(a_table_that_was_done_before_the_stop_makes_the_job_partial) {
    engine_bench b;
    number_source source(b.plugin, 5);
    source.serve_simple(10);
    const auto inner = b.plugin.read_table;
    auto plan = b.plan({b.table(), b.table("slow")});
    plan.tuning.flows_at_once = 1;
    plan.tuning.stop_grace = std::chrono::milliseconds(20);
    b.plugin.read_table = [&](const script_call& call) {
        auto read = inner(call);
        if (call.table == "slow") {
            read.before = [&](std::size_t, script_instance& i) {
                plan.stop->stop();
                i.wait(std::chrono::seconds(60));
            };
        }
        return read;
    };
    const auto result = run_job(plan);
    BOOST_TEST(result.status == "partial");
    BOOST_TEST(result.exit_code == 3);
    BOOST_TEST(to_string(result.tables[0].status) == "reached_bound");
    BOOST_TEST(to_string(result.tables[1].status) == "stopped");
}

// A reader that heeds nothing: its table fails, the others go on, and the run ends.
BOOST_AUTO_TEST_CASE(a_plugin_that_hangs_in_its_own_code) {
    engine_bench b;
    number_source source(b.plugin, 25);
    source.serve_simple(10);
    std::atomic<bool> let_go{false};
    const auto inner = b.plugin.read_table;
    b.plugin.read_table = [&](const script_call& call) {
        auto read = inner(call);
        if (call.table == "hangs") {
            read.before = [&](std::size_t, script_instance&) {
                while (!let_go) std::this_thread::sleep_for(std::chrono::milliseconds(2));
            };
        }
        return read;
    };
    auto plan = b.plan({b.table("hangs"), b.table()});
    plan.tuning.stuck_after = std::chrono::milliseconds(60);
    const auto begin = clock_type::now();
    const auto result = run_job(plan);
    BOOST_TEST(since(begin) < 5.0);
    BOOST_TEST(result.exit_code == 3);
    BOOST_TEST(result.tables[0].error->code == "plugin.timeout");
    BOOST_TEST((result.tables[0].error->message.find("scripted/hangs") != std::string::npos));
    BOOST_TEST(result.tables[1].rows_landed == 25);
    let_go = true;
    for (int i = 0; i < 500 && b.plugin.alive > 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    BOOST_TEST(b.plugin.alive == 0);
}

// The destination has committed, and the engine hears of a failure: the batch is read again, recognised, and the next ones follow it.
BOOST_AUTO_TEST_CASE(a_commit_whose_answer_was_lost_counts) {
    for (const int at : {1, 2, 3}) {
        engine_bench b;
        b.plugin.metadata = appended;
        number_source source(b.plugin, 25);
        source.serve_partitions(2);
        int commits = 0;
        b.lake->step = [&](const std::string& name) {
            if (name == "commit after" && ++commits == at)
                throw failure("destination.io", "the answer was lost", "", retry_class::transient);
        };
        const auto result = run_job(b.plan({limited(b)}));
        BOOST_TEST(result.exit_code == 0, (result.tables[0].error ? to_line(*result.tables[0].error) : ""));
        BOOST_TEST(result.tables[0].batches == 3);
        BOOST_TEST(result.tables[0].retries == 1);
        BOOST_TEST(b.lake->table("issues").commits == 3);
        BOOST_TEST(b.lake->values("issues", "id") == source.ids(), boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(an_exception_of_the_destination_is_the_tables_error) {
    engine_bench b;
    number_source source(b.plugin, 25);
    source.serve_simple(10);
    for (const std::string at : {"take over", "begin", "add", "commit before"}) {
        b.lake->step = [&](const std::string& name) {
            if (name == at) throw failure("destination.io", "the disk is full");
        };
        const auto result = b.run();
        BOOST_TEST(result.exit_code == 1);
        BOOST_TEST(result.tables[0].error->code == "destination.io");
        BOOST_TEST(b.plugin.alive == 0);
    }
    b.lake->step = [](const std::string& name) {
        if (name == "add") throw std::runtime_error("a bug");
    };
    BOOST_TEST(b.run().tables[0].error->code == "host.internal");
    b.lake->step = [](const std::string&) {};
    BOOST_TEST(b.run().exit_code == 0);
    BOOST_TEST(b.lake->values("issues", "id") == source.ids(), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
