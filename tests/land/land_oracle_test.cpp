// The oracle itself, by examples that a person can follow.
#include "tests/support/land_oracle.h"

#include <boost/test/unit_test.hpp>

using namespace lakeflow::host;
using namespace lakeflow::host::testing;

namespace {

using namespace std::string_literals;
using rows = std::vector<std::string>;

flow_spec flow_of(land_mode mode) {
    flow_spec flow;
    flow.mode = mode;
    flow.schema = std::make_shared<const arrow_schema>(parse_ddl("k BIGINT, v STRING, s BIGINT"));
    flow.primary_keys = {"k"};
    flow.sequence_by = "s";
    return flow;
}

land_event row(std::int64_t k, const std::string& v, std::int64_t s, std::uint32_t partition = 0) {
    return {partition, {k, v, s}};
}
land_event gone(std::int64_t k, std::int64_t s) { return {0, {k, s}}; }

// "1 A 5 [5,9)" is easier to read than its hex.
rows shown(const land_oracle& oracle) {
    rows out;
    for (std::string text : oracle.rows()) {
        for (const auto& [hex, plain] : {std::pair("'41", "A"), std::pair("'42", "B"), std::pair("'43", "C")}) {
            if (const auto at = text.find(hex); at != std::string::npos) text.replace(at, 3, plain);
        }
        out.push_back(text);
    }
    return out;
}

rows after(land_mode mode, const std::vector<land_batch>& batches, const std::vector<std::string>& track = {}) {
    flow_spec flow = flow_of(mode);
    flow.track = track;
    land_oracle oracle(flow);
    for (const auto& batch : batches) oracle.apply(batch);
    return shown(oracle);
}

}  // namespace

BOOST_AUTO_TEST_CASE(scd1_keeps_the_last_event_of_a_key) {
    const auto scd1 = [](const std::vector<land_batch>& b) { return after(land_mode::scd1, b); };
    BOOST_TEST(scd1({{{row(1, "B", 3), row(1, "A", 1)}, {}}}) == rows{"1|B|3"});
    BOOST_TEST(scd1({{{row(1, "B", 3, 1), row(1, "A", 3, 0)}, {}}}) == rows{"1|B|3"});  // a tie: the higher partition
    BOOST_TEST(scd1({{{row(1, "B", 3), row(1, "A", 3)}, {}}}) == rows{"1|A|3"});        // then the later arrival
    BOOST_TEST(scd1({{{row(1, "B", 3)}, {}}, {{row(1, "A", 2)}, {}}}) == rows{"1|B|3"});
    BOOST_TEST(scd1({{{row(1, "B", 3)}, {}}, {{row(1, "A", 3)}, {}}}) == rows{"1|A|3"});
    BOOST_TEST(scd1({{{row(1, "A", 3), row(1, "B", 1)}, {gone(1, 2)}}}) == rows{"1|A|3"});
    BOOST_TEST(scd1({{{row(1, "A", 3)}, {gone(1, 3)}}}) == rows{});
    BOOST_TEST(scd1({{{row(1, "A", 3)}, {}}, {{}, {gone(1, 2), gone(7, 9)}}}) == rows{"1|A|3"});
    BOOST_TEST(scd1({{{row(1, "A", 3)}, {gone(1, 4)}}, {{row(1, "B", 5)}, {}}}) == rows{"1|B|5"});
}

BOOST_AUTO_TEST_CASE(scd2_keeps_every_version) {
    const auto scd2 = [](const std::vector<land_batch>& b) { return after(land_mode::scd2, b); };
    BOOST_TEST(scd2({{{row(1, "A", 5), row(1, "B", 2), row(1, "A", 1)}, {}}}) ==
               (rows{"1|A|1|1|2", "1|A|5|5|~", "1|B|2|2|5"}));
    // A late event splits history; one before all begins it; one at an instant that is there takes its place.
    BOOST_TEST(scd2({{{row(1, "A", 1), row(1, "C", 9)}, {}}, {{row(1, "B", 4)}, {}}}) ==
               (rows{"1|A|1|1|4", "1|B|4|4|9", "1|C|9|9|~"}));
    BOOST_TEST(scd2({{{row(1, "A", 5)}, {}}, {{row(1, "B", 2)}, {}}}) == (rows{"1|A|5|5|~", "1|B|2|2|5"}));
    BOOST_TEST(scd2({{{row(1, "A", 5)}, {}}, {{row(1, "B", 5)}, {}}}) == rows{"1|B|5|5|~"});
    BOOST_TEST(scd2({{{row(1, "A", 5)}, {}}, {{row(1, "A", 5)}, {}}}) == rows{"1|A|5|5|~"});
    // Tombstones: close, reopen, of a key that nobody knows, late, at the very start.
    BOOST_TEST(scd2({{{row(1, "A", 1)}, {gone(1, 3), gone(9, 3)}}}) == rows{"1|A|1|1|3"});
    BOOST_TEST(scd2({{{row(1, "A", 1)}, {gone(1, 3)}}, {{row(1, "A", 5)}, {}}}) == (rows{"1|A|1|1|3", "1|A|5|5|~"}));
    BOOST_TEST(scd2({{{row(1, "A", 1)}, {gone(1, 3)}}, {{row(1, "B", 3)}, {}}}) == (rows{"1|A|1|1|3", "1|B|3|3|~"}));
    BOOST_TEST(scd2({{{row(1, "A", 1), row(1, "B", 5)}, {}}, {{}, {gone(1, 3)}}}) == (rows{"1|A|1|1|3", "1|B|5|5|~"}));
    BOOST_TEST(scd2({{{row(1, "A", 1), row(1, "B", 5)}, {}}, {{}, {gone(1, 5)}}}) == rows{"1|A|1|1|5"});
    BOOST_TEST(scd2({{{row(1, "B", 5)}, {gone(1, 5)}}}) == rows{});
}

BOOST_AUTO_TEST_CASE(scd2_opens_versions_only_for_tracked_columns) {
    const auto scd2 = [](const std::vector<land_batch>& b) { return after(land_mode::scd2, b, {"v"}); };
    BOOST_TEST(scd2({{{row(1, "A", 1)}, {}}, {{row(1, "A", 5)}, {}}}) == rows{"1|A|5|1|~"});
    BOOST_TEST(scd2({{{row(1, "A", 1), row(1, "A", 5), row(1, "B", 6)}, {}}}) == (rows{"1|A|5|1|6", "1|B|6|6|~"}));
    // At 5 the key was A again: an event at 3 that comes later does not change that.
    BOOST_TEST(scd2({{{row(1, "A", 1), row(1, "A", 5)}, {}}, {{row(1, "B", 3)}, {}}}) ==
               (rows{"1|A|5|1|3", "1|A|5|5|~", "1|B|3|3|5"}));
    BOOST_TEST(scd2({{{row(1, "A", 1), row(1, "A", 5)}, {}}, {{}, {gone(1, 3)}}}) == (rows{"1|A|5|1|3", "1|A|5|5|~"}));
    BOOST_TEST(scd2({{{row(1, "A", 1), row(1, "A", 5)}, {}}, {{row(1, "A", 3)}, {}}}) == rows{"1|A|5|1|~"});
}

BOOST_AUTO_TEST_CASE(append_and_snapshot) {
    flow_spec flow = flow_of(land_mode::append);
    flow.rereads = true;
    land_oracle keyed(flow);
    keyed.apply({{row(1, "B", 2, 1), row(1, "A", 1, 0)}, {}});
    keyed.apply({{row(1, "C", 9), row(2, "C", 9)}, {}});
    BOOST_TEST(shown(keyed) == (rows{"1|A|1", "2|C|9"}));
    flow.rereads = false;
    land_oracle plain(flow);
    plain.apply({{row(1, "A", 1), row(1, "A", 1)}, {}});
    BOOST_TEST(shown(plain) == (rows{"1|A|1", "1|A|1"}));
    BOOST_TEST(after(land_mode::snapshot, {{{row(1, "A", 1)}, {}}, {{row(2, "B", 2), row(2, "A", 1)}, {}}}) ==
               rows{"2|B|2"});
    BOOST_TEST(after(land_mode::snapshot, {{{row(1, "A", 1)}, {}}, {}}) == rows{});
}

BOOST_AUTO_TEST_CASE(a_seed_always_makes_the_same_history_and_seeds_meet_every_shape) {
    history_options options;
    options.mode = land_mode::scd2;
    std::size_t late = 0, ties = 0, tombstones = 0, again = 0;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        const history a = generate_history(options, seed), b = generate_history(options, seed);
        BOOST_REQUIRE(a.batches.size() == b.batches.size());
        land_oracle first(a.flow), second(b.flow);
        std::map<std::vector<cell>, int> rows;
        const auto sequence = static_cast<std::size_t>(find_column(*a.flow.schema->get(), a.flow.sequence_by));
        cell newest;
        for (std::size_t i = 0; i < a.batches.size(); ++i) {
            first.apply(a.batches[i]);
            second.apply(b.batches[i]);
            tombstones += a.batches[i].tombstones.size();
            for (const auto& e : a.batches[i].rows) {
                again += ++rows[e.row] > 1;
                late += e.row[sequence] < newest;
                ties += e.row[sequence] == newest;
                newest = std::max(newest, e.row[sequence]);
            }
        }
        BOOST_TEST(first.rows() == second.rows());
    }
    BOOST_TEST((late > 50 && ties > 50 && tombstones > 50 && again > 50));
}
