// tests/crash/matrix_test.cpp: every mode into every destination, and at every effect on files or on a server the process dies, writes half, finds the
// disk full, or is told of a failure. Each case is real: a child process runs the engine until its fate strikes, another one looks
// at the table (it holds whole commits alone), runs the job again, with new rows in the source, and compares with the oracle.
//
//   LAKEFLOW_CRASH_EVERY=n   only every n-th case; 1: all of them. CMakeLists.txt says which it is without
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>

#include "host/base/error.h"
#include "host/base/text.h"
#include "host/duck/api.h"
#include "tests/crash/scenario.h"
#include "tests/crash/shim.h"
#include "tests/support/postgres_server.h"

namespace lakeflow::crash {
namespace {

namespace fs = std::filesystem;
using steady = std::chrono::steady_clock;

constexpr int children_at_once = 2;
constexpr unsigned seconds_of_a_child = 120;

// What a destination does not do, and says so before a byte is read. One that learns a mode leaves this list.
const std::set<std::pair<mode, lake>> refused = {
    {mode::scd1, lake::jsonl},     {mode::scd2, lake::jsonl},        {mode::deletes, lake::jsonl},
    {mode::scd2, lake::connector}, {mode::deletes, lake::connector}, {mode::quarantine, lake::connector},
};

// What is planted: a fate of the shim, or a commit of the destination that is done and not heard of.
enum class plant {
    nothing,
    kill,
    kill_and_lose_state,
    tear,
    fill_disk,
    fail_sync,
    lose_answer,
    lose_commit,
    lose_commit_for_a_moment
};
constexpr std::array all_plants = {plant::nothing,     plant::kill,        plant::kill_and_lose_state,
                                   plant::tear,        plant::fill_disk,   plant::fail_sync,
                                   plant::lose_answer, plant::lose_commit, plant::lose_commit_for_a_moment};
constexpr std::array<const char*, all_plants.size()> plant_names = {"nothing",
                                                                    "killed",
                                                                    "killed, state lost",
                                                                    "torn write",
                                                                    "disk full",
                                                                    "fsync fails",
                                                                    "answer lost",
                                                                    "commit's answer lost",
                                                                    "commit's answer lost once"};

fate fate_of(plant p) {
    switch (p) {
        case plant::kill:
        case plant::kill_and_lose_state: return fate::killed;
        case plant::tear: return fate::torn;
        case plant::fill_disk: return fate::full;
        case plant::fail_sync: return fate::sync_fails;
        case plant::lose_answer: return fate::answer_lost;
        default: return fate::none;
    }
}
bool dies(plant p) { return p == plant::kill || p == plant::kill_and_lose_state || p == plant::tear; }

// Filled by a child in memory that it shares with its parent.
struct report {
    trace steps;
    int exit_code = -1;  // of the last run; -1: it did not come to its end
    long batches = 0;    // that it committed, both runs together
    char code[64] = {};
    char message[1024] = {};
    char wrong[2048] = {};  // what the second child found; empty: nothing

    void say(char (&to)[64], const std::string& text) { std::snprintf(to, sizeof to, "%s", text.c_str()); }
    void say(char (&to)[1024], const std::string& text) { std::snprintf(to, sizeof to, "%s", text.c_str()); }
    void blame(const std::string& text) {
        if (wrong[0] == 0) std::snprintf(wrong, sizeof wrong, "%s", text.c_str());
    }
    void take(const host::run_result& result) {
        exit_code = result.exit_code;
        for (const auto& t : result.tables) batches += t.batches;
        const auto& error = result.error ? result.error : result.tables.empty() ? std::nullopt : result.tables[0].error;
        if (!error) return;
        say(code, error->code);
        say(message, error->message);
    }
};

class shared_report {
  public:
    shared_report() : at_(::mmap(nullptr, sizeof(report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
        if (at_ == MAP_FAILED) throw std::bad_alloc();
        clear();
    }
    ~shared_report() { ::munmap(at_, sizeof(report)); }
    shared_report(const shared_report&) = delete;
    shared_report& operator=(const shared_report&) = delete;
    report* operator->() const { return static_cast<report*>(at_); }
    report& operator*() const { return *static_cast<report*>(at_); }
    void clear() { new (at_) report(); }

  private:
    void* at_;
};

struct cell {
    mode m;
    lake l;
    bool refuses = false;
    int steps = 0;
    int batches = 0;
    std::map<plant, int> cases;
    int failures = 0;
    double seconds = 0;  // of the processor, of its children
};

struct planted {
    cell* of = nullptr;
    plant what = plant::nothing;
    int at = 0;
    std::string step;  // in words

    std::string text() const {
        return std::string(name(of->m)) + " into " + std::string(name(of->l)) + ", " +
               plant_names[static_cast<std::size_t>(what)] + (at ? " at " + std::to_string(at) : "") +
               (step.empty() ? "" : " (" + step + ")");
    }
};

std::string words(const step& s) {
    static constexpr std::array<const char*, 7> verbs = {"write", "create", "mkdir", "sync", "name", "cut", "send"};
    return std::string(verbs[static_cast<std::size_t>(s.what)]) + " .." + s.name;
}

std::string words(const std::optional<rows>& found) {
    if (!found) return "no table";
    std::string out = std::to_string(found->size()) + " rows:";
    for (const auto& [id, c, text] : *found) out += " " + std::to_string(id) + "@" + std::to_string(c);
    return out;
}

// ---- in the children

void until_it_strikes(const std::string& root, const planted& p, report& out) {
    const auto ages = ages_of(p.of->m);
    const auto how = p.what == plant::lose_commit                ? lost::for_good
                     : p.what == plant::lose_commit_for_a_moment ? lost::transient
                                                                 : lost::nothing;
    if (ages.before > 0) run(root, p.of->m, p.of->l, ages.before);
    arm(root, out.steps, fate_of(p.what), p.at, p.of->l == lake::postgres);
    for (const int age : {ages.first, ages.second}) {
        // Which commit of the process goes unheard counts through both runs.
        out.exit_code = -1;
        const int commit = how == lost::nothing ? 0 : p.at - static_cast<int>(out.batches);
        out.take(run(root, p.of->m, p.of->l, age, commit > 0 ? how : lost::nothing, commit));
        if (out.exit_code != 0) break;
    }
    disarm();
}

void look_and_run_again(const std::string& root, const planted& p, report& out) {
    const auto ages = ages_of(p.of->m);
    const auto between = read_back(root, p.of->l);
    bool whole = false;
    for (const auto& state : lawful(p.of->m, ages.second)) whole = whole || between.value_or(rows{}) == state;
    if (!whole) out.blame("between the runs the table holds part of a commit: " + words(between));
    // A run that said that all is well has landed all.
    if (out.exit_code == 0 && between.value_or(rows{}) != oracle(p.of->m, ages.second))
        out.blame("the run succeeded, and the table lacks rows: " + words(between));
    // A row that was put aside stands there once, and is not lost.
    if (out.exit_code == 0 && read_aside(root, p.of->l) != aside(p.of->m, ages.second))
        out.blame("the run succeeded, and the side table is not what it must be");
    if (p.what == plant::kill_and_lose_state) fs::remove_all(root + "/state");
    const auto result = run(root, p.of->m, p.of->l, ages.last);
    if (result.exit_code != 0) {
        const auto& e = result.error ? *result.error : *result.tables.at(0).error;
        out.blame("the next run ends with " + std::to_string(result.exit_code) + ": " + host::to_line(e));
    }
    const auto found = read_back(root, p.of->l);
    const auto wanted = oracle(p.of->m, ages.last);
    if (found.value_or(rows{}) != wanted)
        out.blame("the next run leaves " + words(found) + ", wanted " + words(wanted) + "; between: " + words(between));
    if (const auto put = read_aside(root, p.of->l); put != aside(p.of->m, ages.last))
        out.blame("the next run leaves " + std::to_string(put.size()) + " rows aside");
}

// ---- in the parent, which has one thread and only forks

class place {  // where one case runs
  public:
    explicit place(std::string folder) : folder_(std::move(folder)) {}

    bool busy() const { return pid_ != 0; }
    pid_t pid() const { return pid_; }
    const planted& what() const { return what_; }
    report& result() const { return *shared_; }

    void begin(planted what) {
        what_ = std::move(what);
        shared_.clear();
        // Its name is that of a schema too, and no other case's.
        root_ = folder_ + "_" + std::to_string(++cases_);
        fs::remove_all(root_);
        fs::create_directories(root_);
        fork_child([this] { until_it_strikes(root_, what_, *shared_); });
        second_ = false;
    }
    // True if the case is over.
    bool ended(int status, double seconds) {
        what_.of->seconds += seconds;
        if (!second_) {
            check_first(status);
            second_ = true;
            fork_child([this] { look_and_run_again(root_, what_, *shared_); });
            return false;
        }
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) shared_->blame("the next run " + died(status));
        pid_ = 0;
        fs::remove_all(root_);
        return true;
    }

  private:
    static std::string died(int status) {
        if (WIFSIGNALED(status)) return "ended by signal " + std::to_string(WTERMSIG(status));
        return "ended with status " + std::to_string(WEXITSTATUS(status));
    }

    // What the first child has to have come to.
    void check_first(int status) {
        auto& r = *shared_;
        const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
        const std::string said = r.code[0] ? std::string("; it said ") + r.code + ": " + r.message : "";
        if (dies(what_.what)) {
            if (!killed || r.steps.struck != what_.at) r.blame("it should have been killed and " + died(status) + said);
            return;
        }
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return r.blame("the run " + died(status) + said);
        if (fate_of(what_.what) != fate::none && r.steps.struck != what_.at) return r.blame("nothing struck");
        const bool must_end_well = what_.what == plant::nothing || what_.what == plant::lose_commit_for_a_moment;
        if (must_end_well && r.exit_code != 0) return r.blame("the run failed" + said);
        if (what_.what == plant::lose_commit && r.exit_code == 0) return r.blame("the run did not hear of the failure");
        if (r.exit_code == 0) return;
        const std::string_view code = r.code;
        if (!code.starts_with("destination.") && code != "state.io")
            r.blame("a failing disk is called " + std::string(code) + ": " + r.message);
    }

    void fork_child(const std::function<void()>& work) {
        std::fflush(nullptr);
        pid_ = ::fork();
        if (pid_ < 0) throw std::runtime_error("fork failed");
        if (pid_ > 0) return;
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ::alarm(seconds_of_a_child);
        try {
            work();
        } catch (const std::exception& e) {
            disarm();
            shared_->blame(std::string("exception: ") + e.what());
        } catch (...) {
            disarm();
            shared_->blame("exception: " + host::to_line(host::current_error("test")));
        }
        ::_exit(0);
    }

    std::string folder_;
    std::string root_;
    int cases_ = 0;
    shared_report shared_;
    planted what_;
    pid_t pid_ = 0;
    bool second_ = false;
};

// Memory where there is some: the cases do many thousand fsyncs.
std::string scratch() {
    const fs::path memory = "/dev/shm";
    std::error_code none;
    const bool good = ::access(memory.c_str(), W_OK) == 0 && fs::space(memory, none).available > (256u << 20);
    const auto folder = (good ? memory : fs::temp_directory_path()) / ("lakeflow-crash-" + host::random_id());
    fs::create_directories(folder);
    return folder.string();
}

class matrix {
  public:
    matrix() : folder_(scratch()) {
        for (int i = 0; i < children_at_once; ++i) places_.emplace_back(folder_ + "/case" + std::to_string(i));
        const char* given = std::getenv("LAKEFLOW_CRASH_EVERY");
        every_ = std::max(1, given ? std::atoi(given) : LAKEFLOW_CRASH_EVERY);
        use_postgres(server_.dsn());
        for (const auto l : {lake::delta, lake::duckdb, lake::jsonl, lake::postgres, lake::connector}) {
            for (const auto m : {mode::append_simple, mode::append_partitions, mode::append_checkpoint, mode::scd1,
                                 mode::scd2, mode::snapshot, mode::deletes, mode::quarantine}) {
                if (m == mode::append_checkpoint && l != lake::delta) continue;
                cells_.push_back({m, l, false, 0, 0, {}, 0, 0});
            }
        }
    }
    ~matrix() {
        std::error_code none;
        fs::remove_all(folder_, none);
    }
    matrix(const matrix&) = delete;
    matrix& operator=(const matrix&) = delete;

    void run() {
        const auto begun = steady::now();
        for (auto& c : cells_) queue_.push_back({&c, plant::nothing, 0, ""});
        work();
        print(std::chrono::duration<double>(steady::now() - begun).count());
    }

  private:
    void work() {
        for (;;) {
            bool any = false;
            for (auto& p : places_) {
                if (!p.busy() && !queue_.empty()) {
                    p.begin(std::move(queue_.front()));
                    queue_.pop_front();
                }
                any = any || p.busy();
            }
            if (!any) return;
            int status = 0;
            rusage used{};
            const pid_t pid = ::wait4(-1, &status, 0, &used);
            const auto in_seconds = [](const timeval& t) {
                return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
            };
            for (auto& p : places_) {
                if (p.busy() && p.pid() == pid &&
                    p.ended(status, in_seconds(used.ru_utime) + in_seconds(used.ru_stime)))
                    done(p);
            }
        }
    }

    void done(place& p) {
        auto& c = *p.what().of;
        auto& r = p.result();
        ++c.cases[p.what().what];
        if (p.what().what == plant::nothing) {
            const std::string_view code = r.code;
            c.refuses = code == "config.not_supported";
            const bool expected = refused.count({c.m, c.l}) > 0;
            if (expected && !c.refuses) r.blame("it is on the list of what is refused, and is not refused");
            if (c.refuses && expected) return;
            c.steps = r.steps.steps;
            c.batches = static_cast<int>(r.batches);
            if (r.wrong[0] == 0) enumerate(c, r.steps);
        }
        if (r.wrong[0] != 0) {
            ++c.failures;
            BOOST_TEST_ERROR(p.what().text() + ": " + r.wrong);
        } else {
            BOOST_TEST(true);
        }
    }

    // Every case of a cell, by the steps that its undisturbed runs took.
    void enumerate(cell& c, const trace& t) {
        BOOST_REQUIRE(c.steps <= trace::most);
        const auto plant_at = [&](plant what, int at, const std::string& in_words) {
            if (turn_++ % every_ == 0) queue_.push_back({&c, what, at, in_words});
        };
        const bool checkpoint = c.m == mode::append_checkpoint;
        bool met = !checkpoint;
        for (int at = 1; at <= c.steps; ++at) {
            const auto& s = t.at[at - 1];
            // The steps around it are those of the cells above.
            if (checkpoint && std::string_view(s.name).find("checkpoint") == std::string_view::npos) continue;
            met = true;
            const auto text = words(s);
            // What an fsync does shows when the machine dies, not the process: after one, all is as it was before it.
            if (at == 1 || t.at[at - 2].what != effect::sync) plant_at(plant::kill, at, text);
            // A connector keeps no position: the local state has the only one.
            if (at % 4 == 0 && c.l != lake::connector) plant_at(plant::kill_and_lose_state, at, text);
            if (s.what == effect::write || s.what == effect::send) plant_at(plant::tear, at, text);
            if (s.what == effect::write || s.what == effect::create || s.what == effect::folder)
                plant_at(plant::fill_disk, at, text);
            if (s.what == effect::sync) plant_at(plant::fail_sync, at, text);
            if (s.what == effect::name || s.what == effect::cut || s.what == effect::send)
                plant_at(plant::lose_answer, at, text);
        }
        if (!met) BOOST_TEST_ERROR("no step of a checkpoint was met");
        for (int at = 1; at <= c.batches && !checkpoint; ++at) {
            plant_at(plant::lose_commit, at, "");
            plant_at(plant::lose_commit_for_a_moment, at, "");
        }
    }

    void print(double seconds) const {
        std::printf("\n%-16s %-9s %6s %7s %7s %6s %6s %6s %7s %7s %9s\n", "mode", "into", "steps", "killed", "& state",
                    "torn", "full", "fsync", "answer", "commit", "cpu s");
        int cases = 0;
        for (const auto& c : cells_) {
            if (c.refuses) {
                std::printf("%-16s %-9s refused\n", name(c.m).data(), name(c.l).data());
                continue;
            }
            const auto of = [&](plant p) {
                const auto at = c.cases.find(p);
                return at == c.cases.end() ? 0 : at->second;
            };
            for (const auto& [p, n] : c.cases) cases += n;
            std::printf("%-16s %-9s %6d %7d %7d %6d %6d %6d %7d %7d %9.1f%s\n", name(c.m).data(), name(c.l).data(),
                        c.steps, of(plant::kill), of(plant::kill_and_lose_state), of(plant::tear), of(plant::fill_disk),
                        of(plant::fail_sync), of(plant::lose_answer),
                        of(plant::lose_commit) + of(plant::lose_commit_for_a_moment), c.seconds,
                        c.failures ? ("  " + std::to_string(c.failures) + " WRONG").c_str() : "");
        }
        std::printf("%d cases in %.0f s, %d at once%s\n", cases, seconds, children_at_once,
                    every_ > 1 ? (", every " + std::to_string(every_) + "th of all alone").c_str() : "");
        std::fflush(stdout);
    }

    std::string folder_;
    host::testing::postgres_server server_;
    std::deque<place> places_;
    std::vector<cell> cells_;
    std::deque<planted> queue_;
    int every_ = 1;
    int turn_ = 0;
};

}  // namespace
}  // namespace lakeflow::crash

BOOST_AUTO_TEST_CASE(a_death_or_a_failing_disk_at_every_effect_neither_loses_nor_doubles_a_row) {
#ifndef __SANITIZE_THREAD__
    // Once: the children find it loaded. ThreadSanitizer does not follow its allocator's mutexes through a fork.
    lakeflow::host::duck::load("");
#endif
    lakeflow::crash::matrix().run();
}
