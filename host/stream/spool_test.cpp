// host/stream/spool_test.cpp: tables that cannot be read again: what was read to its end is landed as it was read, whatever dies in
// between; what is torn is recognised; the disk that it takes is bounded.
#include "host/stream/spool.h"

#include <boost/test/unit_test.hpp>
#include <fstream>

#include "host/state/job_state.h"
#include "tests/support/engine_bench.h"
#include "tests/support/quick_effects.h"

using namespace lakeflow::host;
using namespace lakeflow::host::testing;

namespace fs = std::filesystem;

namespace {

enum class kind { simple, partitions, scd1, deletes };

std::string metadata_of(kind k) {
    const std::string type = k == kind::deletes ? "cdc_with_deletes" : k == kind::scd1 ? "cdc" : "append";
    return R"({"ingestion_type":")" + type +
           R"(","cursor_field":"c","primary_keys":["id"],"replayable":false,"offset_cursor":{"member":"c","form":"integer"}})";
}

// A source that gives what it has at the moment: asked again, a range holds other names, and no end is obeyed.
void serve(engine_bench& b, number_source& source, kind k, std::atomic<int>& readings) {
    b.plugin.metadata = metadata_of(k);
    if (k == kind::simple) {
        b.plugin.read_table = [&](const script_call& call) -> script_read {
            if (call.end) throw script_error{LF_RETRY_PERMANENT, "", "a range was asked for again", 0};
            const auto start = number_source::number(call.start);
            auto read = source.pages(start, std::min(source.size(), start + 10));
            const auto reading = "reading " + std::to_string(++readings);
            for (auto& batch : read.batches)
                for (auto& cells : batch) cells[2] = reading;
            return read;
        };
        return;
    }
    source.serve_partitions(3);
    const auto inner = b.plugin.read_partition;
    b.plugin.read_partition = [&, inner](const script_call& call) {
        auto read = inner(call);
        const auto reading = "reading " + std::to_string(++readings);
        for (auto& batch : read.batches)
            for (auto& cells : batch) cells[2] = reading;
        return read;
    };
    if (k != kind::deletes) return;
    b.plugin.read_deletes = [](const script_call& call) {
        script_read out;
        out.ddl = "id BIGINT NOT NULL, c BIGINT";
        if (call.start == "{}")
            out.batches = {{{std::int64_t{2}, std::int64_t{1'000}}, {std::int64_t{3}, std::int64_t{1'000}}}};
        out.end = R"({"d":1})";
        return out;
    };
}

table_plan limited(const engine_bench& b) {
    auto t = b.table();
    t.limits = R"({"max_rows":10})";
    return t;
}

std::vector<std::string> oracle(const number_source& source, kind k) {
    auto out = source.ids();
    if (k == kind::deletes) std::erase_if(out, [](const auto& id) { return id == "2" || id == "3"; });
    return out;
}

fs::path spool_of(const engine_bench& b) { return b.folder.path() / "state" / "job" / "issues.spool"; }

std::vector<std::string> files_of(const fs::path& folder) { return real_effects()->list(folder); }

// A run that dies just before the first commit: the batch is whole in the spool.
void die_before_the_commit(engine_bench& b) {
    b.io = std::make_shared<breaking_effects>(std::make_shared<quick_effects>());
    b.lake->step = [](const std::string& name) {
        if (name == "commit before") throw crashed{};
    };
    run_job(b.plan({limited(b)}));
    b.lake->step = [](const std::string&) {};
    BOOST_REQUIRE(fs::exists(spool_of(b) / "batch"));
}

void expect_corrupt(engine_bench& b, const std::string& named) {
    const auto reads = b.plugin.count("read_");
    const auto result = run_job(b.plan({limited(b)}));
    BOOST_REQUIRE(result.tables.size() == 1u);
    BOOST_REQUIRE(result.tables[0].error.has_value());
    const auto& e = *result.tables[0].error;
    BOOST_TEST(e.code == "state.corrupt", to_line(e));
    BOOST_TEST((e.message.find(named) != std::string::npos), e.message);
    BOOST_TEST((e.hint.find("reset") != std::string::npos), e.hint);
    BOOST_TEST(b.lake->table("issues").rows.empty());
    BOOST_TEST(b.plugin.count("read_") == reads);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(spool)

// Every fifth row does not fit: it goes around the plugin as the decoder has it, and through the spool.
void plant_bad_rows(engine_bench& b) {
    b.plugin.read_table = [inner = b.plugin.read_table](const script_call& call) {
        auto read = inner(call);
        mismatches found;
        for (auto& batch : read.batches) {
            std::erase_if(batch, [&](const cells& row) {
                const auto c = std::get<std::int64_t>(row[1]);
                if (c % 5 == 0)
                    found.rows.push_back({std::to_string(c), "row " + std::to_string(c), "value.mismatch", ""});
                return c % 5 == 0;
            });
        }
        found.nulled = 1;
        call.instance->context->mismatches->add(std::move(found));
        return read;
    };
}

BOOST_AUTO_TEST_CASE(rows_that_are_put_aside_pass_through_the_spool) {
    engine_bench b;
    number_source source(b.plugin, 25);
    std::atomic<int> readings{0};
    serve(b, source, kind::simple, readings);
    plant_bad_rows(b);
    const auto plan = [&](std::optional<std::int64_t> most) {
        auto table = limited(b);
        table.on_mismatch = mismatch_policy::quarantine;
        table.max_mismatches = most;
        return b.plan({table});
    };
    const auto refused = run_job(plan(2));
    BOOST_TEST(refused.exit_code == 1);
    BOOST_TEST(refused.tables[0].error->code == "value.mismatch");
    BOOST_TEST(refused.tables[0].rows_landed == 0);
    BOOST_TEST(files_of(spool_of(b)).empty());
    b.io = std::make_shared<breaking_effects>(std::make_shared<quick_effects>());
    b.lake->step = [](const std::string& name) {
        if (name == "commit before") throw crashed{};
    };
    run_job(plan({}));
    b.lake->step = [](const std::string&) {};
    BOOST_REQUIRE(fs::exists(spool_of(b) / "batch"));
    const auto result = run_job(plan({}));
    BOOST_TEST(result.exit_code == 0);
    BOOST_TEST(b.lake->values("issues", "id").size() == 20u);
    BOOST_TEST(b.lake->values("issues__quarantine", "row") == (std::vector<std::string>{"10", "15", "20", "25", "5"}),
               boost::test_tools::per_element());
    BOOST_TEST(result.tables[0].rows_quarantined == 5);
    BOOST_TEST(result.tables[0].rows_read == 25);
}

BOOST_AUTO_TEST_CASE(a_table_that_cannot_be_read_again_loads_and_leaves_nothing_behind) {
    for (const auto k : {kind::simple, kind::partitions, kind::scd1, kind::deletes}) {
        engine_bench b;
        number_source source(b.plugin, 25);
        std::atomic<int> readings{0};
        serve(b, source, k, readings);
        auto result = run_job(b.plan({limited(b)}));
        BOOST_TEST(result.exit_code == 0);
        BOOST_TEST(result.tables[0].rows_read == 25);
        BOOST_TEST(result.tables[0].batches >= 3);
        BOOST_TEST(b.lake->values("issues", "id") == oracle(source, k), boost::test_tools::per_element());
        BOOST_TEST(files_of(spool_of(b)).empty());
        source.add(3);
        result = run_job(b.plan({limited(b)}));
        BOOST_TEST(result.tables[0].rows_read == 3);
        BOOST_TEST(b.lake->values("issues", "id") == oracle(source, k), boost::test_tools::per_element());
    }
}

// Every step of state, spool and destination, died at before, after and in the middle of it.
BOOST_AUTO_TEST_CASE(a_death_at_every_step_neither_loses_nor_doubles_a_row) {
    for (const auto k : {kind::simple, kind::partitions, kind::scd1, kind::deletes}) {
        for (const int first : {1, 1'001}) {  // the steps of the files, then the destination's
            for (const auto how : {death::before, death::torn, death::after}) {
                if (first > 1'000 && how != death::before) continue;
                int met = 0;
                for (int step = first;; ++step) {
                    engine_bench b;
                    number_source source(b.plugin, 25);
                    std::atomic<int> readings{0};
                    serve(b, source, k, readings);
                    b.io = std::make_shared<breaking_effects>(std::make_shared<quick_effects>());
                    if (step < 1'000) b.io->die_at(step, how);
                    int count = 1'000;
                    bool dead_there = false;
                    b.lake->step = [&](const std::string&) {
                        if (b.io->dead() || dead_there) throw crashed{};
                        if (++count != step) return;
                        dead_there = true;
                        b.io->die_at(b.io->steps() + 1, death::before);
                        throw crashed{};
                    };
                    run_job(b.plan({limited(b)}));
                    if (!b.io->dead() && !dead_there) break;
                    ++met;
                    const auto last = b.io->last();
                    b.lake->step = [](const std::string&) {};
                    b.io = std::make_shared<breaking_effects>(std::make_shared<quick_effects>());
                    source.add(5);
                    const auto result = run_job(b.plan({limited(b)}));
                    BOOST_REQUIRE_MESSAGE(result.exit_code == 0,
                                          "kind " << static_cast<int>(k) << " step " << step << " (" << last << "): "
                                                  << (result.tables.empty()    ? to_line(*result.error)
                                                      : result.tables[0].error ? to_line(*result.tables[0].error)
                                                                               : "stopped"));
                    BOOST_REQUIRE_MESSAGE(b.lake->values("issues", "id") == oracle(source, k),
                                          "kind " << static_cast<int>(k) << " step " << step << " (" << last << ")");
                    BOOST_REQUIRE_MESSAGE(files_of(spool_of(b)).empty(), "step " << step << " (" << last << ")");
                }
                BOOST_TEST(met >= (first > 1'000 ? 9 : 25),
                           "kind " << static_cast<int>(k) << ": only " << met << " steps");
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(after_a_crash_the_batch_comes_from_the_spool_as_it_was_read) {
    engine_bench b;
    number_source source(b.plugin, 8);
    std::atomic<int> readings{0};
    serve(b, source, kind::simple, readings);
    die_before_the_commit(b);
    source.add(20);  // asked again, the source would end elsewhere
    const auto result = run_job(b.plan({limited(b)}));
    BOOST_TEST(result.exit_code == 0);
    BOOST_TEST(b.logged("batch 1 was read by a run that ended before its commit"));
    BOOST_TEST(b.plugin.count("read_table issues {} ") == 1);
    BOOST_TEST(b.plugin.count("read_table issues {\"c\":8}") == 1);
    const auto table = b.lake->table("issues");
    BOOST_TEST(table.rows_a_commit[0] == 8);
    for (std::size_t i = 0; i < 8; ++i) BOOST_TEST(table.rows[i].at("name") == "reading 1");
    BOOST_TEST(result.tables[0].rows_landed == 28);
    BOOST_TEST(b.lake->values("issues", "id") == source.ids(), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_commit_whose_mark_was_lost_is_not_landed_twice) {
    engine_bench b;
    number_source source(b.plugin, 8);
    std::atomic<int> readings{0};
    serve(b, source, kind::simple, readings);
    b.lake->step = [](const std::string& name) {
        if (name == "commit after") throw crashed{};
    };
    run_job(b.plan({limited(b)}));
    b.lake->step = [](const std::string&) {};
    BOOST_REQUIRE(fs::exists(spool_of(b) / "batch"));
    BOOST_TEST(run_job(b.plan({limited(b)})).exit_code == 0);
    BOOST_TEST(b.lake->values("issues", "id") == source.ids(), boost::test_tools::per_element());
    BOOST_TEST(files_of(spool_of(b)).empty());
}

// Every byte of every file counts: cut anywhere or changed anywhere, it is not taken for the batch.
BOOST_AUTO_TEST_CASE(a_torn_or_changed_spool_is_recognised) {
    engine_bench b;
    number_source source(b.plugin, 8);
    std::atomic<int> readings{0};
    serve(b, source, kind::simple, readings);
    die_before_the_commit(b);
    const auto io = real_effects();
    for (const auto& name : files_of(spool_of(b))) {
        const auto file = spool_of(b) / name;
        const auto whole = *io->read(file);
        for (const auto size : {std::size_t{0}, std::size_t{9}, whole.size() / 2, whole.size() - 1}) {
            io->write(file, std::string_view(whole).substr(0, size));
            expect_corrupt(b, file.string());
        }
        for (const auto at : {std::size_t{3}, std::size_t{15}, whole.find('\n') + 5, whole.size() - 1}) {
            auto changed = whole;
            changed[at] = static_cast<char>(changed[at] ^ 1);
            io->write(file, changed);
            expect_corrupt(b, file.string());
        }
        if (name != "batch") {
            io->remove(file);
            expect_corrupt(b, file.string() + " is missing");
        }
        io->write(file, whole);
    }
    BOOST_TEST(run_job(b.plan({limited(b)})).exit_code == 0);
    BOOST_TEST(b.lake->values("issues", "id") == source.ids(), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_read_that_died_half_way_is_told_and_begins_anew) {
    engine_bench b;
    number_source source(b.plugin, 8);
    std::atomic<int> readings{0};
    serve(b, source, kind::simple, readings);
    const auto io = real_effects();
    io->make_directories(spool_of(b));
    io->write(spool_of(b) / "rows-0123-1", "lakeflow-spool 1 rows-0123-1 900");
    io->write(spool_of(b) / "batch.tmp", "lakeflow-sp");
    BOOST_TEST(run_job(b.plan({limited(b)})).exit_code == 0);
    BOOST_TEST(b.logged("a run died before it had read a batch to its end"));
    BOOST_TEST(b.lake->values("issues", "id") == source.ids(), boost::test_tools::per_element());
    BOOST_TEST(files_of(spool_of(b)).empty());
}

BOOST_AUTO_TEST_CASE(a_batch_past_the_bound_of_the_disk_fails_and_smaller_ones_land) {
    engine_bench b;
    number_source source(b.plugin, 500);
    std::atomic<int> readings{0};
    serve(b, source, kind::partitions, readings);
    auto plan = b.plan();
    plan.tuning.spool_bytes = 2'000;
    const auto result = run_job(plan);
    BOOST_REQUIRE(result.tables[0].error.has_value());
    const auto& e = *result.tables[0].error;
    BOOST_TEST(e.code == "state.spool_full", to_line(e));
    BOOST_TEST((e.message.find("scripted/issues") != std::string::npos));
    BOOST_TEST((e.hint.find("max_rows") != std::string::npos));
    BOOST_TEST(b.lake->table("issues").begins == 0);
    BOOST_TEST(files_of(spool_of(b)).empty());
    plan = b.plan({limited(b)});
    plan.tuning.spool_bytes = 2'000;
    BOOST_TEST(run_job(plan).exit_code == 0);
    BOOST_TEST(b.lake->values("issues", "id") == source.ids(), boost::test_tools::per_element());
}

// Large batches become many files; memory holds one of them.
BOOST_AUTO_TEST_CASE(a_large_batch_takes_several_files) {
    engine_bench b;
    b.plugin.metadata = metadata_of(kind::simple);
    const std::string wide(200'000, 'x');
    b.plugin.read_table = [&](const script_call& call) {
        script_read out;
        for (std::int64_t i = 1; i <= 60 && call.start == "{}"; ++i) out.batches.push_back({row(i, i, wide)});
        out.end = number_source::offset(60);
        return out;
    };
    std::size_t most = 0;
    b.lake->step = [&](const std::string& name) {
        if (name == "commit before") most = files_of(spool_of(b)).size();
    };
    const auto result = b.run();
    BOOST_TEST(result.exit_code == 0);
    BOOST_TEST(result.tables[0].rows_landed == 60);
    BOOST_TEST(most >= 4u);  // three of rows and the batch
    BOOST_TEST(b.lake->table("issues").rows[59].at("name").size() == wide.size());
}

// Contract 8 holds on the way out: rows above the end stay out, and come again.
BOOST_AUTO_TEST_CASE(rows_above_the_end_are_left_out_when_they_leave_the_spool) {
    engine_bench b;
    number_source source(b.plugin, 20);
    b.plugin.metadata = metadata_of(kind::simple);
    b.plugin.read_table = [&](const script_call& call) {
        const auto start = number_source::number(call.start);
        const auto end = std::min<std::int64_t>(start + 8, 20);
        auto read = source.pages(start, std::min<std::int64_t>(end + 3, 20));
        read.end = number_source::offset(end);
        return read;
    };
    const auto result = b.run();
    BOOST_TEST(result.exit_code == 0);
    BOOST_TEST(result.tables[0].rows_above_bound == 6);
    BOOST_TEST(b.lake->values("issues", "id") == source.ids(), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_spool_of_other_columns_or_of_another_place_is_refused) {
    engine_bench b;
    number_source source(b.plugin, 8);
    std::atomic<int> readings{0};
    serve(b, source, kind::simple, readings);
    die_before_the_commit(b);
    b.plugin.ddl = "id BIGINT NOT NULL, c BIGINT, title STRING";
    auto result = run_job(b.plan({limited(b)}));
    BOOST_TEST(result.tables[0].error.value().code == "records.schema_drift");
    b.plugin.ddl = "id BIGINT NOT NULL, c BIGINT, name STRING";
    b.lake->change([](auto& tables) { tables["issues"].positions["issues"] = {1, 7, R"({"c":8})", "{}"}; });
    fs::remove(b.folder.path() / "state" / "job" / "issues.0.state");
    fs::remove(b.folder.path() / "state" / "job" / "issues.1.state");
    // The destination is past it: it was committed, and is forgotten.
    BOOST_TEST(run_job(b.plan({limited(b)})).exit_code == 0);
    BOOST_TEST(files_of(spool_of(b)).empty());
}

// `reset` gives it up.
BOOST_AUTO_TEST_CASE(a_flow_that_is_reset_forgets_its_spool) {
    engine_bench b;
    number_source source(b.plugin, 8);
    std::atomic<int> readings{0};
    serve(b, source, kind::simple, readings);
    die_before_the_commit(b);
    job_state((b.folder.path() / "state").string(), "job", "resetting", false, real_effects()).forget("issues");
    BOOST_TEST(files_of(spool_of(b)).empty());
    BOOST_TEST(run_job(b.plan({limited(b)})).exit_code == 0);
    BOOST_TEST(b.plugin.count("read_table issues {} ") == 2);
}

// A snapshot is read as a whole each time: nothing of it is planned, so nothing has to be kept.
BOOST_AUTO_TEST_CASE(a_snapshot_needs_no_spool) {
    engine_bench b;
    b.plugin.metadata = R"({"ingestion_type":"snapshot","primary_keys":["id"],"replayable":false})";
    number_source source(b.plugin, 8);
    b.plugin.read_table = [&](const script_call& call) {
        auto out = source.pages(0, source.size());
        if (call.start == out.end) out.batches.clear();
        return out;
    };
    BOOST_TEST(b.run().exit_code == 0);
    BOOST_TEST(!fs::exists(spool_of(b)));
    BOOST_TEST(b.lake->values("issues", "id") == source.ids(), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
