// host/land/delta_race_test.cpp: writers that meet in one table, and a crash or an error at every step of a commit.
#include <sys/wait.h>
#include <boost/test/unit_test.hpp>
#include <stdexcept>
#include <thread>

#include "host/land/delta/delta.h"
#include "host/land/test_lake.h"

using namespace lakeflow::host;
using namespace lakeflow::host::test;

namespace {

// ---- a store that stops

struct stop_at {
    int step = 0;        // which effect, from 1; 0: none
    bool after = true;   // the effect is done, then the process dies; else it dies before
    bool error = false;  // one effect fails, and the process lives on
    int seen = 0;
    bool dead = false;
    std::vector<std::string> names;
};

class stopping_store final : public store {
  public:
    stopping_store(std::shared_ptr<store> inner, std::shared_ptr<stop_at> plan)
        : inner_(std::move(inner)), plan_(std::move(plan)) {}

    std::optional<std::string> get(const std::string& name) override { return alive(), inner_->get(name); }
    std::vector<std::string> list(const std::string& folder) override { return alive(), inner_->list(folder); }
    std::optional<std::int64_t> modified_ms(const std::string& name) override {
        return alive(), inner_->modified_ms(name);
    }
    std::string path(const std::string& name) const override { return inner_->path(name); }
    void put(const std::string& name, std::string_view bytes) override {
        effect("put", name, [&] { inner_->put(name, bytes); });
    }
    bool put_if_absent(const std::string& name, std::string_view bytes) override {
        bool done = false;
        effect("put_if_absent", name, [&] { done = inner_->put_if_absent(name, bytes); });
        return done;
    }
    void remove(const std::string& name) override {
        effect("remove", name, [&] { inner_->remove(name); });
    }
    void rename(const std::string& from, const std::string& to) override {
        effect("rename", to, [&] { inner_->rename(from, to); });
    }
    void make_folder(const std::string& name) override {
        effect("make_folder", name, [&] { inner_->make_folder(name); });
    }
    void sync(const std::string& name) override {
        effect("sync", name, [&] { inner_->sync(name); });
    }

  private:
    void alive() const {
        if (plan_->dead) throw std::runtime_error("dead");
    }
    template <class Action>
    void effect(const char* what, const std::string& name, Action action) {
        alive();
        plan_->names.push_back(std::string(what) + " " + name);
        const bool here = ++plan_->seen == plan_->step;
        if (here && plan_->error) throw failure("destination.io", "no space left (a test)");
        if (here && !plan_->after) plan_->dead = true;
        alive();
        action();
        if (here) plan_->dead = true;
        alive();
    }

    std::shared_ptr<store> inner_;
    std::shared_ptr<stop_at> plan_;
};

std::unique_ptr<destination> stopping(const destination_options& options, const std::shared_ptr<stop_at>& plan) {
    auto shared = delta::make_environment(options, {}, nullptr);
    shared->open_store = [inner = shared->open_store, plan](const std::string& table) {
        return std::make_shared<stopping_store>(inner(table), plan);
    };
    return delta::make_delta_destination(shared);
}

// What the second batch is, and what the table holds after it.
record_batch second_batch(land_mode mode) {
    return mode == land_mode::append ? issues(101, 10, "second") : issues(45, 61, "second", 9'000'000);
}
std::map<std::int64_t, std::string> after_second(land_mode mode) {
    auto rows = mode == land_mode::snapshot ? std::map<std::int64_t, std::string>() : expected(1, 100);
    const auto more = mode == land_mode::append ? expected(101, 10, "second") : expected(45, 61, "second");
    for (const auto& [id, title] : more) rows[id] = title;
    return rows;
}

void copy(const std::string& from, const std::string& to) {
    fs::remove_all(to);
    fs::copy(from, to, fs::copy_options::recursive);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(delta_crashes)

BOOST_AUTO_TEST_CASE(a_crash_at_any_step_leaves_the_old_or_the_new_table) {  // case 46
    int stops = 0;
    for (const land_mode mode : {land_mode::append, land_mode::scd1, land_mode::snapshot}) {
        lake l(40);
        {
            // The commit under test is the eleventh: it writes a checkpoint, too.
            auto target = l.open(mode);
            land(*target, at_batch(1), issues(1, 100));
            for (std::uint32_t batch = 2; batch <= 9; ++batch) {
                const bool snapshot = mode == land_mode::snapshot;
                snapshot ? land(*target, at_batch(batch), issues(1, 100), issues({{1000 + batch, 1, "x"}}))
                         : land(*target, at_batch(batch));
            }
            mode == land_mode::snapshot ? land(*target, at_batch(10), issues(1, 100)) : land(*target, at_batch(10));
        }
        const std::uint32_t last = 10;
        const auto before = expected(1, 100);
        temporary_folder saved;
        copy(l.folder.path(), saved.path() + "/lake");
        for (const bool after : {false, true}) {
            for (int step = 1;; ++step) {
                copy(saved.path() + "/lake", l.folder.path());
                auto plan = std::make_shared<stop_at>();
                plan->step = step;
                plan->after = after;
                bool crashed = false;
                try {
                    auto target = stopping(l.options, plan)->open(issue_flow(mode));
                    land(*target, at_batch(last + 1), second_batch(mode));
                } catch (const std::runtime_error&) {
                    crashed = true;
                }
                if (!plan->dead) {
                    BOOST_TEST(!crashed);
                    break;
                }
                ++stops;
                BOOST_TEST_CONTEXT(to_string(mode) << ", " << (after ? "after " : "before ") << plan->names.back()) {
                    // What readers see now is one of the two tables, and the position goes with it.
                    auto target = l.open(mode);
                    const auto stand = target->committed();
                    BOOST_REQUIRE(stand.has_value());
                    const bool landed = stand->batch == last + 1;
                    check_rows(l.table(), landed ? after_second(mode) : before);
                    const std::uint32_t epoch = target->take_over();
                    if (!landed) land(*target, at_batch(last + 1, epoch), second_batch(mode));
                    check_rows(l.table(), after_second(mode));
                    land(*target, at_batch(last + 2, epoch),
                         second_batch(mode == land_mode::append ? land_mode::scd1 : mode));
                    BOOST_TEST(target->committed()->end == at_batch(last + 2).end);
                }
            }
        }
    }
    BOOST_TEST_MESSAGE("stopped at " << stops << " steps");
    BOOST_TEST(stops > 45);
}

BOOST_AUTO_TEST_CASE(an_error_at_any_step_is_told_and_the_batch_can_be_landed_again) {
    for (const land_mode mode : {land_mode::append, land_mode::scd1}) {
        lake l(40);
        land(*l.open(mode), at_batch(1), issues(1, 100));
        temporary_folder saved;
        copy(l.folder.path(), saved.path() + "/lake");
        for (int step = 1;; ++step) {
            copy(saved.path() + "/lake", l.folder.path());
            auto plan = std::make_shared<stop_at>();
            plan->step = step;
            plan->error = true;
            auto broken = stopping(l.options, plan);
            auto target = broken->open(issue_flow(mode));
            const std::string code = code_of([&] { land(*target, at_batch(2), second_batch(mode)); });
            if (plan->seen < step) break;
            BOOST_TEST_CONTEXT(to_string(mode) << " " << plan->names[static_cast<std::size_t>(step) - 1]) {
                BOOST_TEST((code == "destination.io" || code.empty()));
                // The same target goes on.
                if (!code.empty()) land(*target, at_batch(2), second_batch(mode));
                check_rows(l.table(), after_second(mode));
                BOOST_TEST((l.open(mode)->committed() == at_batch(2)));
            }
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(delta_races)

// Run by the case below in processes of its own; without its variable there is nothing to do.
BOOST_AUTO_TEST_CASE(writer_process) {
    const char* folder = std::getenv("LAKEFLOW_TEST_LAKE");
    if (!folder) return;
    const std::int64_t writer = parse_int(std::getenv("LAKEFLOW_TEST_WRITER")).value();
    destination_options options;
    options.type = "delta";
    options.path = folder;
    auto to = make_destination(options, {}, nullptr);
    flow_spec flow = issue_flow(writer % 2 ? land_mode::append : land_mode::scd1);
    flow.flow = "writer-" + std::to_string(writer);
    auto target = to->open(flow);
    const std::uint32_t epoch = target->take_over();
    for (std::uint32_t batch = 1; batch <= 12; ++batch) {
        land(*target, at_batch(batch, epoch), issues(writer * 1000 + batch * 10, 10));
    }
}

BOOST_AUTO_TEST_CASE(processes_share_a_table) {  // case 48
    lake l;
    std::vector<pid_t> children;
    for (int writer = 1; writer <= 4; ++writer) {
        const pid_t child = fork();
        BOOST_REQUIRE(child >= 0);
        if (child == 0) {
            setenv("LAKEFLOW_TEST_LAKE", l.folder.path().c_str(), 1);
            setenv("LAKEFLOW_TEST_WRITER", std::to_string(writer).c_str(), 1);
            execl("/proc/self/exe", "delta_race_test", "--run_test=delta_races/writer_process",
                  static_cast<char*>(nullptr));
            _exit(127);
        }
        children.push_back(child);
    }
    for (const pid_t child : children) {
        int status = 0;
        BOOST_REQUIRE(waitpid(child, &status, 0) == child);
        BOOST_TEST(status == 0);
    }
    // 4 x 12 commits, versions without a gap, all rows there once.
    const std::vector<std::string> names = commits(l.table());
    BOOST_TEST(names.size() == 48u);
    for (std::size_t i = 0; i < names.size(); ++i)
        BOOST_TEST(parse_int(names[i].substr(0, 20)).value() == static_cast<std::int64_t>(i));
    std::map<std::int64_t, std::string> rows;
    for (std::int64_t writer = 1; writer <= 4; ++writer) rows.merge(expected(writer * 1000 + 10, 120));
    check_rows(l.table(), rows);
    auto read = read_back(l.table());
    BOOST_TEST(read["rows"] == "480");
    BOOST_TEST(read["distinct_keys"] == "480");
    BOOST_TEST(read["version"] == "47");
}

BOOST_AUTO_TEST_CASE(threads_share_a_destination) {
    lake l;
    std::vector<std::thread> threads;
    std::vector<std::string> errors(4);
    for (int writer = 0; writer < 4; ++writer) {
        threads.emplace_back([&, writer] {
            try {
                flow_spec flow = issue_flow(land_mode::append);
                flow.flow = "thread-" + std::to_string(writer);
                auto target = l.to->open(flow);
                for (std::uint32_t batch = 1; batch <= 8; ++batch) {
                    auto landing = target->begin();
                    landing->add(0, issues(writer * 1000 + batch * 10, 10));
                    landing->commit(at_batch(batch));
                }
            } catch (const std::exception& e) {
                errors[static_cast<std::size_t>(writer)] = e.what();
            }
        });
    }
    for (std::thread& t : threads) t.join();
    for (const std::string& error : errors) BOOST_TEST(error == "");
    BOOST_TEST(commits(l.table()).size() == 32u);
    BOOST_TEST(read_table(l.table()).rows.size() == 320u);
}

BOOST_AUTO_TEST_CASE(a_merge_that_loses_the_race_is_made_anew) {
    lake l;
    flow_spec a = issue_flow(land_mode::scd1), b = a;
    b.flow = "second";
    auto first = l.to->open(a), second = l.to->open(b);
    land(*first, at_batch(1), issues(1, 100));
    auto slow = second->begin();
    slow->add(0, issues({{5, 9'000'000, "slow"}, {7, 5, "too old"}, {500, 1, "new"}}));
    land(*first, at_batch(2), issues({{5, 8'000'000, "quick"}, {500, 2, "newer"}}));
    slow->commit(at_batch(1));
    auto rows = expected(1, 100);
    rows[5] = "slow";
    rows[500] = "newer";
    check_rows(l.table(), rows);
}

BOOST_AUTO_TEST_CASE(a_compaction_by_another_writer_loses_nothing) {
    lake l;
    auto target = l.open(land_mode::scd1);
    for (std::uint32_t batch = 1; batch <= 4; ++batch) land(*target, at_batch(batch), issues(batch * 10, 10));
    auto landing = target->begin();
    landing->add(0, issues({{15, 9'000'000, "edited"}}));
    BOOST_REQUIRE(run_python("from deltalake import DeltaTable; DeltaTable('" + l.table() + "').optimize.compact()") ==
                  0);
    BOOST_TEST(landing->commit(at_batch(5)).files_rewritten == 1);
    auto rows = expected(10, 40);
    rows[15] = "edited";
    check_rows(l.table(), rows);
    BOOST_TEST(read_back(l.table())["rows"] == "40");
}

BOOST_AUTO_TEST_SUITE_END()
