// A connector as a destination (contract 28): the engine writes into a scripted service that answers a key it knows from memory.
#include <boost/test/unit_test.hpp>
#include <thread>

#include "tests/support/engine_bench.h"
#include "tests/support/scripted_writer.h"

namespace lakeflow::host::testing {
namespace {

struct writing_bench {
    engine_bench bench;
    number_source source{bench.plugin};
    scripted_writer service{bench.folder.path() / "service"};
    int died = 0;

    explicit writing_bench(std::int64_t rows, std::int64_t parts = 4) {
        source.add(rows);
        source.serve_partitions(parts);
        bench.plugin.metadata_of["sink"] = scripted_writer::metadata;
    }

    run_plan plan(std::optional<land_mode> mode = {}) {
        auto table = bench.table();
        table.mode = mode;
        auto out = bench.plan({table});
        destination_options options;
        options.type = "connector";
        auto& to = options.connector;
        to.to = service.added_to(out.plugin);
        to.resource = "sink";
        to.run_id = out.run_id;
        to.state_directory = out.state_directory;
        to.redactor = out.redactor;
        to.counters = out.counters;
        out.destination = make_destination(options, out.log, out.stop->hard);
        return out;
    }
    run_result run(std::optional<land_mode> mode = {}) { return run_job(plan(mode)); }

    // A run whose state cannot be written from the moment at which the service has done `step` on, as if it had died there.
    void run_dying_after(const std::string& step, std::optional<land_mode> mode = {}) {
        bench.io = std::make_shared<breaking_effects>();
        service.after = [this, step](const std::string& done) {
            if (died == 0 && done.starts_with(step)) {
                died = 1;
                bench.io->die_at(bench.io->steps() + 1, death::before);
            }
        };
        try {
            run(mode);
        } catch (const crashed&) {
            died = 2;
        }
        service.after = {};
        bench.io.reset();
    }

    std::multiset<std::string> wanted() const {
        std::multiset<std::string> out;
        for (const auto& r : source.between(0, source.size())) {
            const auto id = std::to_string(std::get<std::int64_t>(r[0]));
            out.insert(id + "|" + std::to_string(std::get<std::int64_t>(r[1])) + "|" + std::get<std::string>(r[2]));
        }
        return out;
    }
};

const table_result& only(const run_result& r) {
    BOOST_REQUIRE_EQUAL(r.tables.size(), 1u);
    return r.tables.front();
}

const error& error_of(const run_result& r) {
    if (r.error) return *r.error;
    BOOST_REQUIRE(only(r).error.has_value());
    return *only(r).error;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

BOOST_AUTO_TEST_SUITE(connector)

BOOST_AUTO_TEST_CASE(every_partition_has_a_writer_and_the_job_commits_once) {
    writing_bench w(235);
    const auto result = w.run();
    BOOST_TEST(result.exit_code == 0);
    BOOST_TEST(only(result).rows_landed == 235);
    BOOST_TEST(only(result).batches == 1);
    BOOST_TEST((w.service.rows() == w.wanted()));
    BOOST_TEST(w.service.count("begin") == 1);
    BOOST_TEST(w.service.count("commit ") == 1);
    BOOST_TEST(w.service.count("post ") == 4 * 6);
    // The key is made of job, flow, batch, partition and chunk.
    std::set<std::string> parts;
    for (const auto& step : w.service.steps()) {
        if (!step.starts_with("post job/issues/1-")) continue;
        parts.insert(step.substr(step.size() - 3));
    }
    BOOST_TEST(parts.size() == 4u * 6);
    BOOST_TEST(parts.contains("3-5"));
    // The next run goes on.
    w.source.add(10);
    BOOST_TEST(only(w.run()).rows_landed == 10);
    BOOST_TEST((w.service.rows() == w.wanted()));
    BOOST_TEST(w.service.count("commit ") == 2);
    BOOST_TEST(w.bench.plugin.alive == 0);
}

BOOST_AUTO_TEST_CASE(writers_work_on_the_arena_side_by_side) {
    writing_bench w(400);
    std::set<std::thread::id> threads;
    w.service.before = [&](const std::string& step) {
        if (step.starts_with("post ")) threads.insert(std::this_thread::get_id());
    };
    auto plan = w.plan();
    plan.parallelism = 4;
    BOOST_TEST(run_job(plan).exit_code == 0);
    BOOST_TEST(!threads.contains(std::this_thread::get_id()));
    BOOST_TEST((w.service.rows() == w.wanted()));
}

BOOST_AUTO_TEST_CASE(many_more_partitions_than_workers_write_in_little_memory) {
    writing_bench w(3000, 300);
    auto plan = w.plan();
    plan.parallelism = 1;
    BOOST_TEST(run_job(plan).exit_code == 0);
    BOOST_TEST((w.service.rows() == w.wanted()));
}

BOOST_AUTO_TEST_CASE(a_failure_in_the_third_batch_of_one_writer_rolls_everything_back) {
    writing_bench w(235);
    w.service.staged = false;
    w.service.before = [](const std::string& step) {
        if (step.starts_with("post ") && step.ends_with("-2-2"))
            throw script_error{LF_RETRY_INVALID, "source.refused", "no such luck", 0};
    };
    const auto result = w.run();
    BOOST_TEST(result.exit_code == 1);
    BOOST_TEST(only(result).rows_landed == 0);
    const auto& e = error_of(result);
    BOOST_TEST(e.code == "source.refused");
    BOOST_TEST(has(e.message, "batches that had been posted are rolled back"), e.message);
    BOOST_TEST(w.service.rows().empty());
    BOOST_TEST(w.service.count("roll back ") == w.service.count("post "));
    BOOST_TEST(w.service.count("commit ") == 0);
    // The next run sends it under other keys: the service would answer those that were rolled back from memory.
    w.service.before = {};
    BOOST_TEST(w.run().exit_code == 0);
    BOOST_TEST((w.service.rows() == w.wanted()));
}

BOOST_AUTO_TEST_CASE(a_batch_that_cannot_be_rolled_back_is_named_and_waited_for) {
    writing_bench w(60, 1);
    w.service.staged = false;
    w.service.before = [&](const std::string& step) {
        if (step.starts_with("post ") && step.ends_with("-0-2"))
            throw script_error{LF_RETRY_INVALID, "source.refused", "no", 0};
        if (step.starts_with("post ") && step.ends_with("-0-1"))
            w.service.stubborn.insert(percent_encode(step.substr(5)));
    };
    const auto first = error_of(w.run());
    BOOST_REQUIRE_EQUAL(w.service.stubborn.size(), 1u);
    BOOST_TEST(has(first.message, "These batches could not be rolled back: " + *w.service.stubborn.begin()),
               first.message);
    BOOST_TEST(has(first.message, "1 others were"), first.message);
    BOOST_TEST(w.service.rows().size() == 10u);
    w.service.before = {};
    // While it is there, nothing is sent: its rows would be there twice.
    const auto second = error_of(w.run());
    BOOST_TEST(second.code == "destination.rollback");
    BOOST_TEST(has(second.message, *w.service.stubborn.begin()), second.message);
    BOOST_TEST(w.service.rows().size() == 10u);
    w.service.stubborn.clear();
    BOOST_TEST(w.run().exit_code == 0);
    BOOST_TEST((w.service.rows() == w.wanted()));
}

BOOST_AUTO_TEST_CASE(where_nothing_can_be_rolled_back_the_next_run_sends_the_same_keys) {
    writing_bench w(60, 1);
    w.service.staged = false;
    w.service.can_roll_back = false;
    w.service.before = [](const std::string& step) {
        if (step.ends_with("-0-3")) throw script_error{LF_RETRY_INVALID, "source.refused", "no", 0};
    };
    BOOST_TEST(has(error_of(w.run()).message, "could not be rolled back"));
    w.service.before = {};
    BOOST_TEST(w.run().exit_code == 0);
    BOOST_TEST((w.service.rows() == w.wanted()));
}

BOOST_AUTO_TEST_CASE(a_transient_failure_is_tried_again_under_the_same_keys) {
    writing_bench w(100, 2);
    w.service.staged = false;
    int left = 2;
    // The first time before it is done, the second time after: the answer is lost.
    w.service.before = [&](const std::string& step) {
        if (left == 2 && step.ends_with("-1-2"))
            --left, throw script_error{LF_RETRY_TRANSIENT, "source.transient", "503", 0};
    };
    w.service.after = [&](const std::string& step) {
        if (left == 1 && step.ends_with("-0-1"))
            --left, throw script_error{LF_RETRY_TRANSIENT, "source.transient", "cut", 0};
    };
    const auto result = w.run();
    BOOST_TEST(result.exit_code == 0);
    BOOST_TEST(left == 0);
    BOOST_TEST(only(result).retries == 2);
    BOOST_TEST(only(result).rows_landed == 100);
    BOOST_TEST(w.service.count("roll back") == 0);
    BOOST_TEST((w.service.rows() == w.wanted()));
}

BOOST_AUTO_TEST_CASE(a_commit_whose_answer_was_lost_is_found_by_asking) {
    writing_bench w(100, 2);
    int lost = 0;
    w.service.after = [&](const std::string& step) {
        if (step.starts_with("commit ") && lost++ == 0)
            throw script_error{LF_RETRY_TRANSIENT, "source.transient", "cut", 0};
    };
    const auto result = w.run();
    BOOST_TEST(result.exit_code == 0);
    BOOST_TEST(only(result).rows_landed == 100);
    BOOST_TEST(w.service.count("post ") == 10);
    BOOST_TEST(w.service.count("was committed ") == 1);
    BOOST_TEST(w.service.count("commit ") == 1);
    BOOST_TEST((w.service.rows() == w.wanted()));
}

BOOST_AUTO_TEST_CASE(a_commit_that_fails_for_good_after_it_was_done_is_not_rolled_back) {
    writing_bench w(100, 2);
    w.service.after = [](const std::string& step) {
        if (step.starts_with("commit ")) throw script_error{LF_RETRY_PERMANENT, "source.protocol", "garbled", 0};
    };
    BOOST_TEST(has(error_of(w.run()).message, "was committed all the same"));
    w.service.after = {};
    BOOST_TEST(w.run().exit_code == 0);
    BOOST_TEST((w.service.rows() == w.wanted()));
    BOOST_TEST(w.service.count("roll back") == 0);
}

BOOST_AUTO_TEST_CASE(a_death_between_the_writers_commit_and_the_position_lands_once) {
    for (const bool asks : {true, false}) {
        writing_bench w(100);
        w.service.staged = false;
        w.service.knows_commits = asks;
        w.run_dying_after("commit ");
        BOOST_TEST(w.died == 1);
        // What the source has now is not what was committed.
        w.source.add(50);
        const auto result = w.run();
        BOOST_TEST(result.exit_code == 0);
        BOOST_TEST((w.service.rows() == w.wanted()));
        BOOST_TEST(w.bench.logged("did not hear of it") == asks);
    }
}

BOOST_AUTO_TEST_CASE(a_death_at_any_step_of_a_write_lands_once) {
    for (const auto mode : {land_mode::append, land_mode::snapshot}) {
        for (const std::string step : {"begin", "post ", "commit "}) {
            writing_bench w(90, 3);
            if (mode == land_mode::snapshot) {
                w.bench.plugin.metadata = R"({"ingestion_type":"snapshot","primary_keys":["id"]})";
                w.bench.plugin.latest_offset = {};
                w.bench.plugin.get_partitions = {};
                w.bench.plugin.read_table = [&](const script_call& call) {
                    auto read = w.source.pages(0, w.source.size());
                    if (call.start == read.end) read.batches.clear();
                    return read;
                };
            }
            w.service.staged = false;
            w.run_dying_after(step, mode);
            w.source.add(7);
            BOOST_TEST(w.run(mode).exit_code == 0);
            BOOST_TEST((w.service.rows() == w.wanted()), step + " " + std::string(to_string(mode)));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_snapshot_removes_what_was_there_and_an_empty_one_does_not) {
    writing_bench w(0);
    w.bench.plugin.metadata = R"({"ingestion_type":"snapshot","primary_keys":["id"],"whole_snapshot":true})";
    w.bench.plugin.latest_offset = {};
    w.bench.plugin.get_partitions = {};
    int version = 1;
    w.bench.plugin.read_table = [&](const script_call& call) {
        script_read out;
        out.end = "{\"v\":" + std::to_string(version) + "}";
        if (call.start != out.end && version < 3) out.batches = {{row(version, 1, "a"), row(version + 10, 1, "b")}};
        return out;
    };
    BOOST_TEST(w.run().exit_code == 0);
    BOOST_TEST((w.service.rows() == std::multiset<std::string>{"1|1|a", "11|1|b"}));
    version = 2;
    BOOST_TEST(w.run().exit_code == 0);
    BOOST_TEST((w.service.rows() == std::multiset<std::string>{"2|1|a", "12|1|b"}));
    const int begun = w.service.count("begin");
    BOOST_TEST(w.run().exit_code == 0);  // unchanged
    BOOST_TEST(w.service.count("begin") == begun);
    version = 3;
    BOOST_TEST(error_of(w.run()).code == "destination.would_empty");
    BOOST_TEST(w.service.rows().size() == 2u);
    auto plan = w.plan();
    plan.tables.front().allow_empty = true;
    BOOST_TEST(run_job(plan).exit_code == 0);
    BOOST_TEST(w.service.rows().empty());
}

BOOST_AUTO_TEST_CASE(by_key_the_newest_row_of_a_batch_counts_whichever_writer_has_it) {
    writing_bench w(0);
    w.bench.plugin.metadata =
        R"({"ingestion_type":"cdc","primary_keys":["id"],"cursor_field":"c","offset_cursor":{"member":"c","form":"integer"}})";
    w.bench.plugin.latest_offset = [](const script_call&) { return std::string(R"({"offset":{"c":9}})"); };
    w.bench.plugin.get_partitions = [](const script_call&) { return std::string(R"([{"p":0},{"p":1},{"p":2}])"); };
    w.bench.plugin.read_partition = [](const script_call& call) {
        script_read out;
        if (call.descriptor == R"({"p":0})") out.batches = {{row(1, 9, "newest"), row(2, 3, "old")}, {row(3, 1, "x")}};
        if (call.descriptor == R"({"p":1})") out.batches = {{row(1, 4, "older"), row(2, 3, "later")}};
        if (call.descriptor == R"({"p":2})") out.batches = {{row(1, 8, "old"), row(4, 1, "y")}};
        return out;
    };
    const auto result = w.run();
    BOOST_TEST(result.exit_code == 0);
    BOOST_TEST(only(result).rows_landed == 4);
    BOOST_TEST((w.service.rows() == std::multiset<std::string>{"1|9|newest", "2|3|later", "3|1|x", "4|1|y"}));
}

BOOST_AUTO_TEST_CASE(what_the_service_cannot_do_is_refused_before_anything_is_read) {
    const auto refusal = [](const std::string& source, const std::string& sink, std::optional<land_mode> mode,
                            const std::function<void(table_plan&)>& change = {}) {
        writing_bench w(10);
        w.bench.plugin.metadata = source;
        if (has(source, "deletes")) w.bench.plugin.read_deletes = [](const script_call&) { return script_read{}; };
        w.bench.plugin.metadata_of["sink"] = sink;
        auto plan = w.plan(mode);
        if (change) change(plan.tables.front());
        const auto result = run_job(plan);
        BOOST_TEST(result.exit_code == 2);
        BOOST_TEST(w.service.steps().empty());
        BOOST_TEST(w.bench.plugin.count("read") == 0);
        return result.error ? result.error->code : "none";
    };
    const std::string append = R"({"ingestion_type":"append","cursor_field":"c"})";
    const std::string keyed = R"({"ingestion_type":"cdc","primary_keys":["id"],"cursor_field":"c"})";
    const std::string whole = R"({"ingestion_type":"snapshot","primary_keys":["id"]})";
    const std::string plain = R"({"ingestion_type":"append","capabilities":["batch_write"]})";
    BOOST_TEST(refusal(append, R"({"ingestion_type":"append"})", {}) == "config.not_writable");
    BOOST_TEST(refusal(whole, plain, {}) == "config.mode");
    BOOST_TEST(refusal(keyed, plain, {}) == "config.mode");
    BOOST_TEST(refusal(keyed, scripted_writer::metadata, land_mode::scd2) == "config.not_supported");
    BOOST_TEST(refusal(whole, scripted_writer::metadata, land_mode::append) == "config.mode");
    BOOST_TEST(refusal(R"({"ingestion_type":"append","cursor_field":"c","primary_keys":["id"],"rereads":true})",
                       scripted_writer::metadata, {}) == "config.mode");
    BOOST_TEST(refusal(whole, scripted_writer::metadata, {}, [](auto& t) { t.max_delete_ratio = 0.5; }) ==
               "config.mode");
    BOOST_TEST(refusal(R"({"ingestion_type":"cdc_with_deletes","primary_keys":["id"],"cursor_field":"c"})",
                       scripted_writer::metadata, {}) == "config.not_supported");
}

BOOST_AUTO_TEST_CASE(a_message_that_miscounts_or_holds_a_secret_is_no_success) {
    writing_bench w(30, 1);
    w.service.staged = false;
    w.service.miscounts = 1;
    const auto counted = error_of(w.run());
    BOOST_TEST(counted.code == "plugin.contract");
    BOOST_TEST(has(counted.message, "29 rows, and 30 were written"), counted.message);
    BOOST_TEST(w.service.rows().empty());
    w.service.miscounts = 0;
    w.service.said = "the-secret-of-the-sink";
    auto plan = w.plan();
    plan.redactor->add("the-secret-of-the-sink");
    const auto told = error_of(run_job(plan));
    BOOST_TEST(told.code == "secret.in_descriptor");
    BOOST_TEST(!has(told.message, "the-secret-of-the-sink"), told.message);
}

BOOST_AUTO_TEST_CASE(a_run_that_is_cut_off_takes_nothing_back_and_the_next_one_goes_on) {
    writing_bench w(200, 2);
    w.service.staged = false;
    auto plan = w.plan();
    w.service.after = [&](const std::string& step) {
        if (step.ends_with("-1-3")) plan.stop->cancel();
    };
    const auto result = run_job(plan);
    BOOST_TEST((only(result).status == table_status::stopped));
    BOOST_TEST(w.service.count("roll back") == 0);
    w.service.after = {};
    w.source.add(5);
    BOOST_TEST(w.run().exit_code == 0);
    BOOST_TEST((w.service.rows() == w.wanted()));
}

BOOST_AUTO_TEST_CASE(without_its_state_a_flow_begins_again_and_no_old_key_swallows_a_row) {
    writing_bench w(20, 1);
    BOOST_TEST(w.run().exit_code == 0);
    std::filesystem::remove_all(w.bench.folder.path() / "state");
    BOOST_TEST(w.run().exit_code == 0);
    BOOST_TEST(w.service.rows().size() == 40u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace lakeflow::host::testing
