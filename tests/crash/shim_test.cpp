// tests/crash/shim_test.cpp: the fates strike as they say, so that a matrix that is all green means something.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "host/base/error.h"
#include "host/state/effects.h"
#include "tests/crash/shim.h"
#include "tests/support/temporary_folder.h"

using namespace lakeflow;
using namespace lakeflow::crash;

namespace {

struct told {
    trace steps;
    char error[256];
};

// Runs `work` below a fate in a child; its wait status.
int in_child(told& out, const std::string& root, fate what, int at, const std::function<void()>& work) {
    out.steps.steps = 0;
    out.steps.struck = 0;
    out.error[0] = 0;
    const auto pid = ::fork();
    if (pid == 0) {
        arm(root, out.steps, what, at, false);
        try {
            work();
        } catch (const host::failure& f) {
            std::snprintf(out.error, sizeof out.error, "%s", f.get().message.c_str());
        }
        disarm();
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    return status;
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_fate_strikes_at_its_step) {
    const host::testing::temporary_folder folder;
    const auto file = folder.string() + "/f";
    auto& out =
        *static_cast<told*>(::mmap(nullptr, sizeof(told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    const auto io = host::real_effects();
    const auto work = [&] {
        io->write(file, "0123456789");  // creates, writes
        io->sync(file);
        io->rename(file, file + "2");
    };
    const auto left = [&](const char* end = "") { return io->read(file + end).value_or("none"); };
    const auto clean = [&] {
        io->remove(file);
        io->remove(file + "2");
    };
    BOOST_TEST(in_child(out, folder.string(), fate::none, 0, work) == 0);
    BOOST_TEST(out.steps.steps == 4);
    BOOST_TEST(left("2") == "0123456789");

    for (const auto& [at, content] :
         std::vector<std::pair<int, std::string>>{{1, "none"}, {2, ""}, {3, "0123456789"}, {4, "0123456789"}}) {
        clean();
        const int status = in_child(out, folder.string(), fate::killed, at, work);
        BOOST_TEST((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
        BOOST_TEST(out.steps.struck == at);
        BOOST_TEST(left() == content);
        BOOST_TEST(left("2") == "none");
    }
    clean();
    BOOST_TEST(WIFSIGNALED(in_child(out, folder.string(), fate::torn, 2, work)));
    BOOST_TEST(left() == "01234");
    clean();
    BOOST_TEST(in_child(out, folder.string(), fate::full, 2, work) == 0);
    BOOST_TEST((std::string(out.error).find("No space left") != std::string::npos), out.error);
    BOOST_TEST(left() == "01234");
    clean();
    BOOST_TEST(in_child(out, folder.string(), fate::sync_fails, 3, work) == 0);
    BOOST_TEST((std::string(out.error).find("Input/output error") != std::string::npos), out.error);
    clean();
    BOOST_TEST(in_child(out, folder.string(), fate::answer_lost, 4, work) == 0);
    BOOST_TEST((std::string(out.error).find("Input/output error") != std::string::npos), out.error);
    BOOST_TEST(left("2") == "0123456789");
    // What lies elsewhere is no step.
    BOOST_TEST(in_child(out, folder.string() + "/elsewhere", fate::killed, 1, work) == 0);
    BOOST_TEST(out.steps.steps == 0);
    ::munmap(&out, sizeof(told));
}
