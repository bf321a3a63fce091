// host/land/delta_processes_test.cpp: eight processes write to one table at once, half of them by merges.
#include <sys/wait.h>
#include <unistd.h>
#include <boost/test/unit_test.hpp>

#include "host/land/test_lake.h"

using namespace lakeflow::host;
using namespace lakeflow::host::test;

namespace {

constexpr std::uint32_t processes = 8;
constexpr std::uint32_t commits_each = 50;

// One process: 50 batches of a flow of its own. A merge updates the flow's first row each time and adds another.
int write_batches(const destination_options& options, std::uint32_t number) {
    try {
        const auto to = make_destination(options, {}, nullptr);
        flow_spec flow = issue_flow(number % 2 ? land_mode::scd1 : land_mode::append);
        flow.flow = "writer" + std::to_string(number);
        const auto target = to->open(flow);
        const std::uint32_t epoch = target->take_over();
        const std::int64_t first = number * 1000;
        for (std::uint32_t batch = 1; batch <= commits_each; ++batch) {
            std::vector<issue> rows{{first + batch, batch, "new"}};
            if (flow.mode == land_mode::scd1) rows.push_back({first, batch, "edited " + std::to_string(batch)});
            land(*target, at_batch(batch, epoch), issues(rows));
        }
        return 0;
    } catch (const failure& f) {
        const std::string line = to_line(f.get()) + "\n";
        return write(2, line.data(), line.size()) < 0 ? 2 : 1;
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(eight_processes_and_fifty_commits_each) {  // case 48
    lake l;
    // The processes part before anything has started a thread or opened DuckDB.
    std::vector<pid_t> children;
    for (std::uint32_t number = 0; number < processes; ++number) {
        const pid_t child = fork();
        BOOST_REQUIRE(child >= 0);
        if (child == 0) _exit(write_batches(l.options, number));
        children.push_back(child);
    }
    for (const pid_t child : children) {
        int status = 0;
        BOOST_REQUIRE(waitpid(child, &status, 0) == child);
        BOOST_TEST((WIFEXITED(status) && WEXITSTATUS(status) == 0), "a writer ended with status " << status);
    }
    const auto versions = commits(l.table());
    BOOST_TEST(versions.size() == processes * commits_each);
    for (std::size_t i = 0; i < versions.size(); ++i) BOOST_REQUIRE(std::stoull(versions[i]) == i);
    std::map<std::int64_t, std::string> rows;
    for (std::uint32_t number = 0; number < processes; ++number) {
        for (std::uint32_t batch = 1; batch <= commits_each; ++batch) rows[number * 1000 + batch] = "new";
        if (number % 2) rows[number * 1000] = "edited " + std::to_string(commits_each);
    }
    check_rows(l.table(), rows);
    auto read = read_back(l.table());
    BOOST_TEST(read["rows"] == std::to_string(rows.size()));
    BOOST_TEST(read["version"] == std::to_string(versions.size() - 1));
}
