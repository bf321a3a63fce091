// Which commits are new: random histories against reachability worked out in full. Cases 08 and 10 of the field's faults: what
// arrives late with an old date.
#include "ancestry.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <queue>
#include <random>
#include <set>
#include <string>
#include <vector>

using lakeflow::github::ancestry;

namespace {

struct history {
    std::vector<std::vector<int>> parents;
    std::vector<std::int64_t> dates;

    std::set<int> reach(int head) const {
        std::set<int> out;
        std::vector<int> todo{head};
        while (!todo.empty()) {
            int one = todo.back();
            todo.pop_back();
            if (out.insert(one).second) todo.insert(todo.end(), parents[one].begin(), parents[one].end());
        }
        return out;
    }

    // As git log shows it: of all that was reached, the newest date first.
    std::vector<int> listing(int head) const {
        std::vector<int> out;
        std::set<int> reached{head};
        std::priority_queue<std::pair<std::int64_t, int>> queue;
        queue.emplace(dates[head], head);
        while (!queue.empty()) {
            int one = queue.top().second;
            queue.pop();
            out.push_back(one);
            for (int parent : parents[one])
                if (reached.insert(parent).second) queue.emplace(dates[parent], parent);
        }
        return out;
    }
};

// Parents have smaller numbers. honest: a commit is newer than its parents; else any date.
history random_history(std::mt19937_64& random, int size, bool honest) {
    history out;
    for (int i = 0; i < size; ++i) {
        std::set<int> parents;
        if (i > 0) {
            auto pick = [&] {
                return static_cast<int>(
                    i - 1 - random() % std::min<std::uint64_t>(static_cast<std::uint64_t>(i), 1 + random() % 12));
            };
            if (random() % 25 != 0) parents.insert(pick());  // else a root: an imported history
            if (random() % 4 == 0) parents.insert(pick());
        }
        out.parents.emplace_back(parents.begin(), parents.end());
        out.dates.push_back(honest ? i * 10 : static_cast<std::int64_t>(random() % 1'000));
    }
    return out;
}

std::string name(int commit) { return "c" + std::to_string(commit); }

std::vector<std::string> names(const std::vector<int>& commits) {
    std::vector<std::string> out;
    for (int one : commits) out.push_back(name(one));
    return out;
}

struct outcome {
    std::set<int> given;
    std::size_t rows = 0;
};

// As the reader does it: page by page, old rows left out, until nothing new can be left.
outcome walk(const history& all, int from, int to, std::size_t page, bool look_at_old) {
    ancestry known(name(from), name(to));
    std::vector<int> rows = all.listing(to), old_rows = all.listing(from);
    outcome out;
    std::size_t old_at = 0;
    for (std::size_t at = 0; at < rows.size() && !known.complete(); at += page) {
        std::vector<int> shown(rows.begin() + static_cast<std::ptrdiff_t>(at),
                               rows.begin() + static_cast<std::ptrdiff_t>(std::min(rows.size(), at + page)));
        for (int row : shown) known.saw(name(row), names(all.parents[row]));
        for (std::size_t i = 0; look_at_old && i < page && old_at < old_rows.size(); ++i, ++old_at) {
            known.saw_old(name(old_rows[old_at]), names(all.parents[old_rows[old_at]]));
        }
        out.rows += shown.size();
        for (int row : shown)
            if (!known.is_old(name(row))) out.given.insert(row);
    }
    return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(commits_between_two_heads)

BOOST_AUTO_TEST_CASE(nothing_new_is_ever_left_out) {
    std::mt19937_64 random(20'261'130);
    for (int round = 0; round < 4'000; ++round) {
        history all = random_history(random, 3 + static_cast<int>(random() % 60), random() % 2 == 0);
        int size = static_cast<int>(all.parents.size());
        int from = static_cast<int>(random() % size), to = static_cast<int>(random() % size);
        if (from == to) continue;
        outcome got = walk(all, from, to, 1 + random() % 7, random() % 2 == 0);
        std::set<int> before = all.reach(from);
        for (int one : all.reach(to)) {
            if (!before.contains(one))
                BOOST_TEST_REQUIRE(got.given.contains(one), "round " << round << " loses " << one);
        }
    }
}

BOOST_AUTO_TEST_CASE(nothing_comes_twice_where_dates_are_honest) {
    std::mt19937_64 random(7);
    for (int round = 0; round < 2'000; ++round) {
        history all = random_history(random, 3 + static_cast<int>(random() % 60), true);
        int to = static_cast<int>(all.parents.size()) - 1;
        std::set<int> reached = all.reach(to);
        int from = *std::next(reached.begin(), static_cast<std::ptrdiff_t>(random() % reached.size()));
        if (from == to) continue;
        outcome got = walk(all, from, to, 1 + random() % 7, false);
        for (int old : all.reach(from))
            BOOST_TEST_REQUIRE(!got.given.contains(old), "round " << round << " repeats " << old);
    }
}

BOOST_AUTO_TEST_CASE(a_push_reads_one_page_of_a_long_history) {
    history line;
    for (int i = 0; i < 5'000; ++i) {
        line.parents.push_back(i == 0 ? std::vector<int>{} : std::vector<int>{i - 1});
        line.dates.push_back(i);
    }
    outcome got = walk(line, 4'989, 4'999, 100, false);
    BOOST_TEST(got.rows == 100u);
    BOOST_TEST(got.given.size() == 10u);
}

// A branch of last year, merged today: the walk goes down to its commits, and no further.
BOOST_AUTO_TEST_CASE(a_late_merge_is_found_at_its_dates) {
    history all;
    for (int i = 0; i < 1'000; ++i) {
        all.parents.push_back(i == 0 ? std::vector<int>{} : std::vector<int>{i - 1});
        all.dates.push_back(i * 10);
    }
    all.parents.push_back({900});
    all.dates.push_back(5'001);  // dated before its parent
    all.parents.push_back({999, 1'000});
    all.dates.push_back(10'000);
    outcome got = walk(all, 999, 1'001, 10, false);
    BOOST_TEST(got.given == (std::set<int>{1'000, 1'001}), boost::test_tools::per_element());
    BOOST_TEST(got.rows == 510u);
}

// An amended commit: the old head is gone from the listing, and its own listing tells what is old.
BOOST_AUTO_TEST_CASE(a_forced_push_needs_no_whole_listing) {
    history all;
    for (int i = 0; i < 1'000; ++i) {
        all.parents.push_back(i == 0 ? std::vector<int>{} : std::vector<int>{i - 1});
        all.dates.push_back(i);
    }
    all.parents.push_back({998});
    all.dates.push_back(2'000);
    outcome got = walk(all, 999, 1'000, 100, true);
    BOOST_TEST(got.rows == 100u);
    BOOST_TEST(got.given == (std::set<int>{1'000}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
