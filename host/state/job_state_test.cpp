// host/state/job_state_test.cpp: files that are torn, empty, foreign or of the future; a death at every effect; the lock.
#include "host/state/job_state.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <fstream>

#include "host/base/error.h"
#include "tests/support/breaking_effects.h"
#include "tests/support/temporary_folder.h"

using namespace lakeflow::host;
using namespace lakeflow::host::testing;

namespace {

namespace fs = std::filesystem;

flow_record at(int batch) {
    flow_record r;
    r.committed = {1, static_cast<std::uint32_t>(batch), "{\"c\":" + std::to_string(batch) + "}", "{}"};
    r.end = r.committed.end;
    return r;
}

job_state open(const temporary_folder& folder, bool take_over = false, std::shared_ptr<effects> io = real_effects()) {
    return job_state(folder.string(), "job", "run", take_over, std::move(io));
}

void put(const fs::path& file, const std::string& bytes) { std::ofstream(file, std::ios::binary) << bytes; }

template <class Call>
error thrown(Call call) {
    try {
        call();
    } catch (const failure& f) {
        return f.get();
    }
    return {};
}

fs::path slot(const temporary_folder& folder, int parity) {
    return folder.path() / "job" / ("flow." + std::to_string(parity) + ".state");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(state)

BOOST_AUTO_TEST_CASE(what_is_saved_is_loaded_and_two_generations_are_kept) {
    const temporary_folder folder;
    auto state = open(folder);
    BOOST_TEST(!state.load("flow").has_value());
    for (int i = 1; i <= 5; ++i) state.save("flow", at(i));
    BOOST_TEST(state.load("flow")->record.committed.batch == 5u);
    BOOST_TEST(state.load("flow")->record.run_id == "run");
    BOOST_TEST(fs::exists(slot(folder, 0)));
    BOOST_TEST(fs::exists(slot(folder, 1)));
    fs::remove(slot(folder, 1));  // generation 5
    BOOST_TEST(state.load("flow")->record.committed.batch == 4u);
    BOOST_TEST(peek_flow(folder.string(), "job", "flow", *real_effects())->record.committed.batch == 4u);
}

BOOST_AUTO_TEST_CASE(a_torn_or_empty_file_leaves_the_generation_before_it) {
    for (const bool empty : {false, true}) {
        const temporary_folder folder;
        auto state = open(folder);
        for (int i = 1; i <= 4; ++i) state.save("flow", at(i));
        fs::resize_file(slot(folder, 0), empty ? 0 : 100);
        auto loaded = state.load("flow");
        BOOST_REQUIRE(loaded.has_value());
        BOOST_TEST(loaded->record.committed.batch == 3u);
        BOOST_TEST((loaded->warning.find("flow.0.state") != std::string::npos), loaded->warning);
        BOOST_TEST((loaded->warning.find(empty ? "empty" : "torn") != std::string::npos), loaded->warning);
        state.save("flow", at(9));
        loaded = state.load("flow");
        BOOST_TEST(loaded->record.committed.batch == 9u);
        BOOST_TEST(loaded->warning.empty());
    }
}

BOOST_AUTO_TEST_CASE(two_unreadable_files_are_corrupt) {
    const temporary_folder folder;
    auto state = open(folder);
    state.save("flow", at(1));
    state.save("flow", at(2));
    fs::resize_file(slot(folder, 0), 100);
    fs::resize_file(slot(folder, 1), 100);
    const auto e = thrown([&] { state.load("flow"); });
    BOOST_TEST(e.code == "state.corrupt");
    BOOST_TEST((e.message.find("flow.0.state") != std::string::npos), e.message);
    BOOST_TEST((e.hint.find("move the file away") != std::string::npos), e.hint);
    BOOST_TEST(thrown([&] { state.save("fresh", at(1)); }).code.empty());
}

BOOST_AUTO_TEST_CASE(foreign_and_future_files_are_never_written_over) {
    const temporary_folder folder;
    auto state = open(folder);
    state.save("flow", at(1));
    const std::string future = "lakeflow-state 2 of another form\n";
    const std::string foreign = "[flow]\nposition = 3\n";
    for (const auto& content : {future, foreign, encode_record("job", "other", 9, at(9))}) {
        put(slot(folder, 0), content);
        const auto e = thrown([&] { open(folder, true).load("flow"); });
        BOOST_TEST(e.code == "state.corrupt");
        BOOST_TEST((e.message.find("flow.0.state") != std::string::npos), e.message);
        BOOST_TEST((e.message.find(content == future ? "later version" : "foreign") != std::string::npos), e.message);
        BOOST_TEST(thrown([&] { open(folder, true).save("flow", at(2)); }).code == "state.corrupt");
        BOOST_TEST(*real_effects()->read(slot(folder, 0)) == content);
    }
}

BOOST_AUTO_TEST_CASE(names_become_safe_file_names) {
    const temporary_folder folder;
    job_state state(folder.string(), "../../évil job", "run", false, real_effects());
    const std::vector<std::string> names = {
        "..", ".", "a/b", "a b", "A", std::string(400, 'x'), std::string(399, 'x') + "y", "é"};
    for (std::size_t i = 0; i < names.size(); ++i) state.save(names[i], at(static_cast<int>(i) + 1));
    for (std::size_t i = 0; i < names.size(); ++i) BOOST_TEST(state.load(names[i])->record.committed.batch == i + 1);
    std::size_t inside = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder.path()))
        inside += entry.is_regular_file() ? 1u : 0u;
    BOOST_TEST(inside == names.size() + 1);  // and the lock
}

BOOST_AUTO_TEST_CASE(forgotten_flows_have_no_state) {
    const temporary_folder folder;
    auto state = open(folder);
    for (int i = 1; i <= 3; ++i) state.save("flow", at(i));
    state.save("other", at(1));
    state.forget("flow");
    BOOST_TEST(!state.load("flow").has_value());
    BOOST_TEST(state.load("other").has_value());
    state.save("flow", at(1));
    BOOST_TEST(state.load("flow")->record.committed.batch == 1u);
}

// Case 46's local half: whatever step the process dies at, the next one finds the old record or the new one, whole.
BOOST_AUTO_TEST_CASE(a_death_at_every_effect_leaves_the_old_record_or_the_new_one) {
    int steps = 0;
    {
        const temporary_folder folder;
        const auto io = std::make_shared<breaking_effects>();
        auto state = open(folder, false, io);
        state.save("flow", at(1));
        state.save("flow", at(2));
        const int before = io->steps();
        state.save("flow", at(3));
        steps = io->steps() - before;
    }
    BOOST_TEST(steps == 4);  // write, sync, rename, sync of the folder
    for (int step = 1; step <= steps; ++step) {
        for (const auto how : {death::before, death::torn, death::after}) {
            const temporary_folder folder;
            const auto io = std::make_shared<breaking_effects>();
            {
                auto state = open(folder, false, io);
                state.save("flow", at(1));
                state.save("flow", at(2));
                io->die_at(io->steps() + step, how);
                BOOST_CHECK_THROW(state.save("flow", at(3)), crashed);
            }
            auto state = open(folder);
            const auto loaded = state.load("flow");
            BOOST_REQUIRE(loaded.has_value());
            const bool renamed = step > 3 || (step == 3 && how == death::after);
            BOOST_TEST(loaded->record.committed.batch == (renamed ? 3u : 2u), "step " << step << " " << io->last());
            BOOST_TEST(loaded->warning.empty());
            state.save("flow", at(4));
            BOOST_TEST(state.load("flow")->record.committed.batch == 4u);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_failing_effect_is_an_error_and_the_old_record_stands) {
    for (int step = 1; step <= 4; ++step) {
        const temporary_folder folder;
        const auto io = std::make_shared<breaking_effects>();
        auto state = open(folder, false, io);
        state.save("flow", at(1));
        io->fail_at(io->steps() + step);
        const auto e = thrown([&] { state.save("flow", at(2)); });
        BOOST_TEST(e.code == "state.io");
        BOOST_TEST(state.load("flow").has_value());
        state.save("flow", at(3));
        BOOST_TEST(state.load("flow")->record.committed.batch == 3u);
    }
}

BOOST_AUTO_TEST_CASE(one_run_at_a_time_and_the_other_is_named) {
    const temporary_folder folder;
    auto first = std::make_optional<job_state>(folder.string(), "job", "run-1", false, real_effects());
    BOOST_TEST(first->taken_from().empty());
    const auto e = thrown([&] { open(folder); });
    BOOST_TEST(e.code == "state.locked");
    BOOST_TEST((e.message.find("pid " + std::to_string(::getpid())) != std::string::npos), e.message);
    BOOST_TEST((e.message.find("run-1") != std::string::npos), e.message);
    BOOST_TEST((e.hint.find("--take-over") != std::string::npos), e.hint);
    job_state other_job(folder.string(), "another", "run-1", false, real_effects());
    first.reset();
    BOOST_TEST(open(folder).taken_from().empty());
}

BOOST_AUTO_TEST_CASE(a_run_that_was_taken_over_cannot_save) {
    const temporary_folder folder;
    job_state first(folder.string(), "job", "run-1", false, real_effects());
    first.save("flow", at(1));
    job_state second(folder.string(), "job", "run-2", true, real_effects());
    BOOST_TEST((second.taken_from().find("run-1") != std::string::npos), second.taken_from());
    const auto e = thrown([&] { first.save("flow", at(2)); });
    BOOST_TEST(e.code == "state.fenced");
    BOOST_TEST(thrown([&] { first.check_held(); }).code == "state.fenced");
    BOOST_TEST(second.load("flow")->record.committed.batch == 1u);
    second.save("flow", at(5));
    BOOST_TEST(second.load("flow")->record.committed.batch == 5u);
    BOOST_TEST(thrown([&] { open(folder); }).code == "state.locked");
}

BOOST_AUTO_TEST_CASE(the_lock_of_a_dead_run_is_taken_over) {
    const temporary_folder folder;
    int ready[2];
    BOOST_REQUIRE(::pipe(ready) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        job_state state(folder.string(), "job", "dead-run", false, real_effects());
        const char byte = 1;
        if (::write(ready[1], &byte, 1) != 1) ::_exit(1);
        for (;;) ::pause();
    }
    char byte = 0;
    BOOST_REQUIRE(::read(ready[0], &byte, 1) == 1);
    const auto e = thrown([&] { open(folder); });
    BOOST_TEST(e.code == "state.locked");
    BOOST_TEST((e.message.find("pid " + std::to_string(child)) != std::string::npos), e.message);
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ::close(ready[0]);
    ::close(ready[1]);
    auto state = open(folder);
    BOOST_TEST((state.taken_from().find("pid " + std::to_string(child)) != std::string::npos), state.taken_from());
    BOOST_TEST((state.taken_from().find("dead-run") != std::string::npos));
}

BOOST_AUTO_TEST_CASE(a_folder_that_cannot_be_written_is_named) {
    const temporary_folder folder;
    put(folder.path() / "file", "x");
    const auto e = thrown([&] { job_state((folder.path() / "file").string(), "job", "run", false, real_effects()); });
    BOOST_TEST(e.code == "state.io");
    BOOST_TEST((e.message.find((folder.path() / "file").string()) != std::string::npos), e.message);
}

BOOST_AUTO_TEST_SUITE_END()
