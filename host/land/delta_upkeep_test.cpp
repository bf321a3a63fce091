// host/land/delta_upkeep_test.cpp: what keeps a Delta table small: expired commits go, small files are put together, old files are deleted
// on request; and that none of it takes a row or a version from anyone.
#include <boost/test/unit_test.hpp>

#include "host/land/delta/delta.h"
#include "host/land/delta/evolution.h"
#include "host/land/delta/optimize.h"
#include "host/land/delta/retention.h"
#include "host/land/test_lake.h"

using namespace lakeflow::host;
using namespace lakeflow::host::test;

namespace {

constexpr std::int64_t day_us = delta::day_ms * 1000;

std::string log_file(const std::string& table, std::int64_t version, const std::string& ending = "json") {
    const std::string digits = std::to_string(version);
    return table + "/_delta_log/" + std::string(20 - digits.size(), '0') + digits + "." + ending;
}

// As if they had been written so many days ago.
void age(const std::string& file, int days) {
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(24 * days));
}
void age_commits(const std::string& table, std::int64_t first, std::int64_t last, int days) {
    for (std::int64_t version = first; version <= last; ++version) age(log_file(table, version), days);
}

// Another writer sets a property of the table.
void set_property(const std::string& table, const std::string& key, const std::string& value) {
    delta::metadata meta = state_of(table).meta;
    meta.configuration[key] = value;
    std::ofstream(log_file(table, static_cast<std::int64_t>(commits(table).size()))) << delta::to_json(meta);
}

class moved_clock final : public lakeflow::host::clock {
  public:
    std::int64_t now_us() const override { return lakeflow::host::system_clock().now_us() + ahead; }
    std::int64_t monotonic_us() const override { return lakeflow::host::system_clock().monotonic_us(); }
    std::int64_t ahead = 0;
};

// A store that calls a test before a step.
class watched_store final : public store {
  public:
    using watcher = std::function<void(std::string_view step, const std::string& name, std::string_view bytes)>;
    watched_store(std::shared_ptr<store> inner, watcher watch) : inner_(std::move(inner)), watch_(std::move(watch)) {}

    std::optional<std::string> get(const std::string& name) override { return inner_->get(name); }
    std::vector<std::string> list(const std::string& folder) override { return inner_->list(folder); }
    std::optional<std::int64_t> modified_ms(const std::string& name) override { return inner_->modified_ms(name); }
    std::string path(const std::string& name) const override { return inner_->path(name); }
    void put(const std::string& name, std::string_view bytes) override {
        watch_("put", name, bytes);
        inner_->put(name, bytes);
    }
    bool put_if_absent(const std::string& name, std::string_view bytes) override {
        watch_("put_if_absent", name, bytes);
        return inner_->put_if_absent(name, bytes);
    }
    void remove(const std::string& name) override {
        watch_("remove", name, {});
        inner_->remove(name);
    }
    void rename(const std::string& from, const std::string& to) override {
        watch_("rename", to, {});
        inner_->rename(from, to);
    }
    void make_folder(const std::string& name) override { inner_->make_folder(name); }
    void sync(const std::string& name) override {
        watch_("sync", name, {});
        inner_->sync(name);
    }

  private:
    std::shared_ptr<store> inner_;
    watcher watch_;
};

std::unique_ptr<destination> make_watched(const destination_options& options, watched_store::watcher watch) {
    auto shared = delta::make_environment(options, {}, nullptr);
    shared->open_store = [inner = shared->open_store, watch = std::move(watch)](const std::string& table) {
        return std::make_shared<watched_store>(inner(table), watch);
    };
    return delta::make_delta_destination(shared);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(delta_log_cleanup)

BOOST_AUTO_TEST_CASE(expired_commits_go_and_each_version_that_stays_can_be_read) {
    lake l;
    auto target = l.open(land_mode::append);
    for (std::uint32_t batch = 1; batch <= 25; ++batch) land(*target, at_batch(batch), issues(batch * 10, 10));
    age_commits(l.table(), 0, 14, 40);
    std::int64_t removed = 0;
    for (std::uint32_t batch = 26; batch <= 31; ++batch)
        removed += land(*target, at_batch(batch), issues(batch * 10, 10)).log_files_removed;
    // The newest expired commit is 14; the checkpoint before it is that of version 10.
    BOOST_TEST(removed == 10);
    BOOST_TEST(commits(l.table()).front() == "00000000000000000010.json");
    BOOST_TEST(fs::exists(log_file(l.table(), 10, "checkpoint.parquet")));
    auto read = read_back(l.table());
    BOOST_TEST(read["rows"] == "310");
    BOOST_TEST(read["version"] == "30");
    BOOST_TEST(run_python("from deltalake import DeltaTable, QueryBuilder\nfor v in range(10, 31):\n t = DeltaTable('" +
                          l.table() +
                          "', version=v)\n assert len(QueryBuilder().register('t', t).execute('select id from "
                          "t').read_all()) == 10 * (v + 1), v") == 0);
    BOOST_TEST((l.open(land_mode::append)->committed() == at_batch(31)));
    // Nothing more has expired: nothing more goes.
    for (std::uint32_t batch = 32; batch <= 41; ++batch)
        BOOST_TEST(land(*target, at_batch(batch), issues(batch * 10, 10)).log_files_removed == 0);
    // Then all but the newest: old checkpoints go with their commits.
    age_commits(l.table(), 10, 39, 31);
    for (std::uint32_t batch = 42; batch <= 51; ++batch) land(*target, at_batch(batch), issues(batch * 10, 10));
    BOOST_TEST(commits(l.table()).front() == "00000000000000000030.json");
    BOOST_TEST(!fs::exists(log_file(l.table(), 20, "checkpoint.parquet")));
    BOOST_TEST(read_back(l.table())["rows"] == "510");
}

BOOST_AUTO_TEST_CASE(a_table_says_how_long_it_keeps_its_log) {
    for (const auto& [key, value, gone] :
         {std::tuple("delta.logRetentionDuration", "interval 60 days", false),
          std::tuple("delta.logRetentionDuration", "interval 2 months", false),  // of a length that is not known
          std::tuple("delta.logRetentionDuration", "interval 1 week", true),
          std::tuple("delta.enableExpiredLogCleanup", "false", false)}) {
        BOOST_TEST_CONTEXT(key << " = " << value) {
            lake l;
            land(*l.open(land_mode::append), at_batch(1), issues(1, 10));
            set_property(l.table(), key, value);
            auto target = l.open(land_mode::append);
            for (std::uint32_t batch = 2; batch <= 15; ++batch) land(*target, at_batch(batch), issues(batch * 10, 1));
            age_commits(l.table(), 0, 12, 20);
            for (std::uint32_t batch = 16; batch <= 21; ++batch) land(*target, at_batch(batch), issues(batch * 10, 1));
            BOOST_TEST((commits(l.table()).front() == "00000000000000000010.json") == gone);
        }
    }
    BOOST_TEST(delta::parse_interval_ms("interval 1 week 2 days").value() == 9 * delta::day_ms);
    BOOST_TEST(delta::parse_interval_ms("12 HOURS").value() == delta::day_ms / 2);
    for (const char* wrong : {"", "interval", "7", "1 month", "-1 days", "days 3"})
        BOOST_TEST(!delta::parse_interval_ms(wrong).has_value(), wrong);
}

BOOST_AUTO_TEST_CASE(without_a_checkpoint_that_can_be_read_nothing_goes) {
    lake l;
    auto target = l.open(land_mode::append);
    for (std::uint32_t batch = 1; batch <= 15; ++batch) land(*target, at_batch(batch), issues(batch * 10, 10));
    std::ofstream(log_file(l.table(), 10, "checkpoint.parquet"), std::ios::trunc) << "PAR1 torn";
    age_commits(l.table(), 0, 14, 40);
    for (std::uint32_t batch = 16; batch <= 21; ++batch)
        BOOST_TEST(land(*target, at_batch(batch), issues(batch * 10, 10)).log_files_removed == 0);
    BOOST_TEST(commits(l.table()).size() == 21u);
    check_rows(l.table(), expected(10, 210));
}

BOOST_AUTO_TEST_CASE(a_kill_between_two_removals_leaves_a_log_without_a_gap) {
    for (int kill = 1; kill <= 10; kill += 3) {
        lake l;
        int removals = 0;
        auto to = make_watched(l.options, [&](std::string_view step, const std::string& name, std::string_view) {
            if (step == "remove" && name.starts_with("_delta_log/0") && ++removals == kill)
                throw std::runtime_error("killed");
        });
        auto target = to->open(issue_flow(land_mode::append));
        for (std::uint32_t batch = 1; batch <= 20; ++batch) land(*target, at_batch(batch), issues(batch * 10, 10));
        age_commits(l.table(), 0, 14, 40);
        BOOST_CHECK_THROW(land(*target, at_batch(21), issues(210, 10)), std::runtime_error);
        BOOST_TEST(read_back(l.table())["rows"] == "210");
        auto again = l.open(land_mode::append);
        BOOST_TEST((again->committed() == at_batch(21)));
        for (std::uint32_t batch = 22; batch <= 31; ++batch) land(*again, at_batch(batch), issues(batch * 10, 10));
        BOOST_TEST(commits(l.table()).front() == "00000000000000000010.json");
        BOOST_TEST(read_back(l.table())["rows"] == "310");
    }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(delta_optimize)

BOOST_AUTO_TEST_CASE(small_files_are_put_together_every_few_batches) {
    for (const land_mode mode : {land_mode::append, land_mode::scd1, land_mode::scd2}) {
        BOOST_TEST_CONTEXT(to_string(mode)) {
            lake l(20);
            l.options.optimize_every = 4;
            l.to = make_destination(l.options, {}, nullptr);
            auto target = l.open(mode);
            for (std::uint32_t batch = 1; batch <= 3; ++batch)
                BOOST_TEST(land(*target, at_batch(batch), issues(batch * 100, 30)).files_compacted == 0);
            const std::size_t before = live_files(l.table()).size();
            const land_result fourth = land(*target, at_batch(4), issues(400, 30));
            BOOST_TEST(fourth.files_compacted == static_cast<std::int64_t>(before + 2));
            BOOST_TEST(live_files(l.table()).size() == 1u);
            BOOST_TEST(fourth.version == "4");
            // A commit of its own that changes no row and moves no position.
            const std::string commit = file_text(log_file(l.table(), 4));
            BOOST_TEST(commit.find("\"operation\":\"OPTIMIZE\"") != std::string::npos);
            BOOST_TEST(commit.find("\"dataChange\":true") == std::string::npos);
            BOOST_TEST(commit.find("\"txn\":") == std::string::npos);
            BOOST_TEST((l.open(mode)->committed() == at_batch(4)));
            BOOST_TEST(read_back(l.table())["rows"] == "120");
            BOOST_TEST(read_back(l.table(), "--where 'id = 215'")["rows"] == "1");
            // The flow goes on, and a replay is one.
            BOOST_TEST(!land(*target, at_batch(4), issues(400, 30)).committed);
            land(*target, at_batch(5), issues({{215, 9'000'000, "edited"}, {500, 1, "new"}}));
            BOOST_TEST(read_back(l.table(), "--where \"title = 'edited'\"")["rows"] == "1");
        }
    }
}

BOOST_AUTO_TEST_CASE(key_ranges_that_lie_apart_stay_apart) {
    delta::snapshot table;
    const auto add = [&](std::int64_t low, std::int64_t size, bool vector = false) {
        delta::add_file file;
        file.path = "f" + std::to_string(low);
        file.size = size;
        file.stats = "{\"numRecords\":10,\"minValues\":{\"id\":" + std::to_string(low) + "}}";
        if (vector) file.vector.storage = "u";
        table.files[file.path] = file;
    };
    for (const std::int64_t low : {900, 5, 70, 600, 300}) add(low, 40);
    add(200, 90);
    add(800, 90, true);
    const auto groups = delta::small_files(table, "id", 100);
    std::vector<std::vector<std::string>> paths;
    for (const auto& group : groups) paths.push_back(group.paths);
    // In order of the key; a large file parts its neighbours; a file with a vector is made anew alone.
    BOOST_TEST((paths == std::vector<std::vector<std::string>>{{"f5", "f70"}, {"f300", "f600"}, {"f800"}}));
    // Compacted, an update still touches one file of several.
    lake l(50);
    l.options.optimize_every = 3;
    l.options.optimize_file_bytes = 6'000;
    l.to = make_destination(l.options, {}, nullptr);
    auto target = l.open(land_mode::scd1);
    for (std::uint32_t batch = 1; batch <= 3; ++batch) land(*target, at_batch(batch), issues((4 - batch) * 1000, 200));
    const std::size_t files = live_files(l.table()).size();
    BOOST_TEST(files > 1u);
    BOOST_TEST(files < 12u);
    BOOST_TEST(land(*target, at_batch(4), issues({{2050, 9'000'000, "edited"}})).files_rewritten == 1);
    BOOST_TEST(read_back(l.table())["distinct_keys"] == "600");
}

BOOST_AUTO_TEST_CASE(a_compaction_gives_way_to_writers_that_were_quicker) {
    for (const bool columns_change : {false, true}) {
        lake l(20);
        destination_options options = l.options;
        options.optimize_every = 1;
        bool met = false;
        auto to = make_watched(options, [&](std::string_view step, const std::string&, std::string_view bytes) {
            if (step != "put_if_absent" || bytes.find("OPTIMIZE") == std::string_view::npos || met) return;
            met = true;
            if (columns_change) return set_property(l.table(), "owner", "someone");
            // Another flow edits a row of one file and adds rows.
            flow_spec other = issue_flow(land_mode::scd1);
            other.flow = "other";
            land(*l.to->open(other), at_batch(1), issues({{5, 9'000'000, "edited"}, {900, 1, "new"}}));
        });
        auto target = to->open(issue_flow(land_mode::scd1));
        const land_result result = land(*target, at_batch(1), issues(1, 100));
        BOOST_TEST(met);
        auto rows = expected(1, 100);
        if (!columns_change) {
            rows[5] = "edited";
            rows[900] = "new";
        }
        check_rows(l.table(), rows);
        // All five files were to become one; one of them is another's now.
        BOOST_TEST(result.files_compacted == 0);
        auto read = read_back(l.table());
        BOOST_TEST(read["distinct_keys"] == std::to_string(rows.size()));
        // Nothing lies about that no commit names, but what was removed.
        BOOST_TEST(land(*target, at_batch(2), issues({{7, 9'000'000, "seven"}})).files_compacted > 1);
        rows[7] = "seven";
        check_rows(l.table(), rows);
    }
}

BOOST_AUTO_TEST_CASE(a_kill_at_any_step_of_the_upkeep_takes_no_row) {
    const auto before = expected(1, 60);
    auto after = before;
    after[5] = "edited";
    after[200] = "new";
    const auto batch = [] { return issues({{5, 9'000'000, "edited"}, {200, 1, "new"}}); };
    int steps = 0;
    for (int step = 1;; ++step) {
        lake l(20);
        land(*l.open(land_mode::scd1), at_batch(1), issues(1, 60));
        destination_options options = l.options;
        options.optimize_every = 1;
        options.vacuum_retain_ms = 0;
        options.vacuum_forced = true;
        int seen = 0;
        auto to = make_watched(options, [&](std::string_view, const std::string&, std::string_view) {
            if (++seen >= step) throw std::runtime_error("killed");
        });
        bool killed = false;
        try {
            land(*to->open(issue_flow(land_mode::scd1)), at_batch(2), batch());
        } catch (const std::runtime_error&) {
            killed = true;
        }
        steps = step;
        BOOST_TEST_CONTEXT("step " << step) {
            const contents found = read_table(l.table());
            const std::multimap<std::int64_t, std::string> old_rows(before.begin(), before.end());
            BOOST_TEST((found.rows == old_rows || found.rows.size() == after.size()));
            to = make_destination(options, {}, nullptr);
            land(*to->open(issue_flow(land_mode::scd1)), at_batch(2), batch());
            land(*to->open(issue_flow(land_mode::scd1)), at_batch(3), issues({{7, 9'000'000, "seven"}}));
            auto rows = after;
            rows[7] = "seven";
            check_rows(l.table(), rows);
            BOOST_TEST(live_files(l.table()).size() == 1u);
        }
        if (!killed) break;
    }
    BOOST_TEST(steps > 8);
}

BOOST_AUTO_TEST_CASE(mapped_names_and_added_columns_are_compacted_too) {
    lake l(20);
    l.options.optimize_every = 2;
    l.to = make_destination(l.options, {}, nullptr);
    flow_spec flow = issue_flow(land_mode::scd1);
    flow.sequence_by.clear();
    flow.cursor.clear();
    flow.schema = schema_of("id BIGINT NOT NULL, `a b` STRING");
    const auto batch = [&](std::int64_t from) {
        return make_batch(flow.schema, 30, [&](struct_column& t, std::int64_t row) {
            at<i64>(t, 0).append(from + row);
            for (std::size_t i = 1; i < t.size(); ++i) at<text_column>(t, i).append("v" + std::to_string(from + row));
        });
    };
    land(*l.to->open(flow), at_batch(1), batch(1));
    flow.schema = schema_of("id BIGINT NOT NULL, `a b` STRING, `c,d` STRING");
    const land_result second = land(*l.to->open(flow), at_batch(2), batch(101));
    BOOST_TEST(second.files_compacted == 4);
    BOOST_TEST(read_back(l.table())["rows"] == "60");
    BOOST_TEST(read_back(l.table(), "--where '\"c,d\" IS NULL'")["rows"] == "30");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(delta_vacuum)

BOOST_AUTO_TEST_CASE(removed_files_are_deleted_on_request_when_they_are_old) {
    for (const bool asked : {false, true}) {
        lake l(20);
        if (asked) l.options.vacuum_retain_ms = 7 * delta::day_ms;
        moved_clock time;
        const auto open = [&] {
            auto shared = delta::make_environment(l.options, {}, nullptr);
            shared->time = &time;
            return delta::make_delta_destination(shared)->open(issue_flow(land_mode::scd1));
        };
        auto target = open();
        land(*target, at_batch(1), issues(1, 100));
        land(*target, at_batch(2), issues({{5, 9'000'000, "edited"}, {45, 9'000'000, "edited"}}));
        // What a killed writer left, and what a writer is about to commit.
        std::ofstream(l.table() + "/part-left.parquet") << "x";
        std::ofstream(l.table() + "/notes.txt") << "x";
        BOOST_TEST(data_files(l.table()).size() == 8u);
        time.ahead = 8 * day_us;
        std::ofstream(l.table() + "/part-new.parquet") << "x";
        fs::last_write_time(l.table() + "/part-new.parquet",
                            fs::file_time_type::clock::now() + std::chrono::hours(24 * 8));
        target = open();
        const land_result third = land(*target, at_batch(3), issues({{65, 9'000'000, "edited"}}));
        // Files 5 and 45 stood in went a week ago; that of 65 goes now, and stays for readers.
        BOOST_TEST(third.files_vacuumed == (asked ? 3 : 0));
        BOOST_TEST(data_files(l.table()).size() == (asked ? 7u : 10u));
        BOOST_TEST(fs::exists(l.table() + "/part-new.parquet"));
        BOOST_TEST(fs::exists(l.table() + "/notes.txt"));
        auto read = read_back(l.table());
        BOOST_TEST(read["distinct_keys"] == "100");
        BOOST_TEST((open()->committed() == at_batch(3)));
        // Once a day is enough.
        BOOST_TEST(land(*target, at_batch(4), issues({{85, 9'000'000, "edited"}})).files_vacuumed == 0);
        if (!asked) continue;
        time.ahead = 20 * day_us;
        BOOST_TEST(land(*target, at_batch(5), issues({{90, 9'000'000, "edited"}})).files_vacuumed == 3);
        BOOST_TEST(read_back(l.table())["distinct_keys"] == "100");
    }
}

BOOST_AUTO_TEST_CASE(the_longer_retention_of_the_table_counts) {
    lake l(20);
    l.options.vacuum_retain_ms = 7 * delta::day_ms;
    moved_clock time;
    land(*l.open(land_mode::scd1), at_batch(1), issues(1, 40));
    set_property(l.table(), "delta.deletedFileRetentionDuration", "interval 30 days");
    const auto vacuumed = [&](std::uint32_t batch) {
        auto shared = delta::make_environment(l.options, {}, nullptr);
        shared->time = &time;
        auto target = delta::make_delta_destination(shared)->open(issue_flow(land_mode::scd1));
        return land(*target, at_batch(batch), issues({{5, 9'000'000 + batch, "edited"}})).files_vacuumed;
    };
    vacuumed(2);
    time.ahead = 10 * day_us;
    BOOST_TEST(vacuumed(3) == 0);
    l.options.vacuum_forced = true;
    BOOST_TEST(vacuumed(4) == 1);
    BOOST_TEST(read_back(l.table())["rows"] == "40");
}

BOOST_AUTO_TEST_SUITE_END()
