// host/laws/laws_test.cpp: each law of contract 1 to 5, kept and broken, with what its message names.
#include "host/laws/laws.h"

#include <boost/test/unit_test.hpp>

#include "host/base/error.h"

using namespace lakeflow::host;

namespace {

law_config config(std::optional<cursor_form> form = std::nullopt) {
    law_config out{"github", "issues", false, std::nullopt, 3};
    if (form) out.cursor = offset_cursor{"c", *form};
    return out;
}

law_config snapshot() {
    auto out = config();
    out.snapshot = true;
    return out;
}

// Runs it, wants the failure `code`, and wants every text in its message.
template <class Call>
void breaks(std::string_view code, std::vector<std::string> named, Call call) {
    try {
        call();
        BOOST_ERROR("nothing was thrown, wanted " << code);
    } catch (const failure& f) {
        BOOST_TEST(f.get().code == code);
        BOOST_TEST(std::string(to_string(f.get().retry)) == "permanent");
        BOOST_TEST(!f.get().hint.empty());
        named.insert(named.end(), {"github/issues", "The law: "});
        for (const auto& text : named) {
            BOOST_TEST((f.get().message.find(text) != std::string::npos), f.get().message << " does not name " << text);
        }
    }
}

std::string n(int value) { return "{\"c\":" + std::to_string(value) + "}"; }

}  // namespace

BOOST_AUTO_TEST_SUITE(laws)

BOOST_AUTO_TEST_CASE(an_equal_latest_offset_ends_the_flow) {
    flow_laws laws(config(), n(5));
    BOOST_TEST((laws.planned(n(5)).next == verdict::ends));
    const auto end = laws.planned(n(6));
    BOOST_TEST((end.next == verdict::goes_on));
    BOOST_TEST(end.end == n(6));
    laws.moved(n(6), 10);
    BOOST_TEST((laws.planned(n(6)).next == verdict::ends));
    flow_laws fresh(config(), "{}");
    BOOST_TEST((fresh.planned("{}").next == verdict::ends));
}

BOOST_AUTO_TEST_CASE(read_table_ends_where_its_offset_stands_still) {
    flow_laws laws(config(), "{}");
    const auto first = laws.read(n(1), 100);
    BOOST_TEST((first.next == verdict::goes_on));
    laws.moved(first.end, 100);
    BOOST_TEST((laws.read(n(1), 0).next == verdict::ends));
    BOOST_TEST(laws.position() == n(1));
}

BOOST_AUTO_TEST_CASE(rows_without_a_moved_offset) {
    flow_laws laws(config(), n(7));
    breaks("offset.rows_without_progress", {"12 rows", n(7)}, [&] { laws.read(n(7), 12); });
}

BOOST_AUTO_TEST_CASE(the_same_instant_in_other_words_is_no_progress) {
    flow_laws laws(config(cursor_form::rfc3339), R"({"c":"2026-03-01T10:00:00Z"})");
    breaks("offset.rows_without_progress", {"1 rows"}, [&] { laws.read(R"({"c":"2026-03-01T12:00:00+02:00"})", 1); });
    BOOST_TEST((laws.read(R"({"c":"2026-03-01T12:00:00+02:00"})", 0).next == verdict::ends));
    BOOST_TEST((laws.planned(R"({"c":"2026-03-01T12:00:00+02:00"})").next == verdict::ends));
}

BOOST_AUTO_TEST_CASE(rows_that_an_inclusive_read_brings_again_are_no_progress_and_no_breach) {
    flow_laws laws(config(cursor_form::integer), n(7));
    const auto end = laws.read(n(7), 3, 3);
    BOOST_TEST((end.next == verdict::goes_on));  // they may hold a change at that very cursor
    BOOST_TEST(end.complete);
    BOOST_TEST(end.end == n(7));
    breaks("offset.rows_without_progress", {"4 rows"}, [&] { laws.read(n(7), 4, 3); });
}

BOOST_AUTO_TEST_CASE(a_moved_offset_without_rows_is_lawful) {
    flow_laws laws(config(), n(1));
    BOOST_TEST((laws.read(n(2), 0).next == verdict::goes_on));
}

BOOST_AUTO_TEST_CASE(a_return_to_an_earlier_offset) {
    flow_laws laws(config(), n(1));
    laws.moved(n(2), 5);
    laws.moved(n(3), 5);
    breaks("offset.repeated", {"latest_offset", n(2), n(3)}, [&] { laws.planned(n(2)); });
    breaks("offset.repeated", {"read_table", n(1), n(3)}, [&] { laws.read(n(1), 5); });
    breaks("offset.repeated", {n(1)}, [&] { laws.read(n(1), 0); });
}

BOOST_AUTO_TEST_CASE(an_offset_that_goes_back_where_the_cursor_can_be_read) {
    flow_laws laws(config(cursor_form::integer), n(10));
    breaks("offset.went_back", {n(9), n(10), "c"}, [&] { laws.planned(n(9)); });
    breaks("offset.went_back", {"{}", n(10)}, [&] { laws.read("{}", 3); });
    // Without a cursor it is another offset, and no more can be said.
    flow_laws blind(config(), n(10));
    BOOST_TEST(blind.planned(n(9)).end == n(9));
}

BOOST_AUTO_TEST_CASE(ties_may_move_at_one_cursor) {
    flow_laws laws(config(cursor_form::integer), R"({"c":10,"k":"a"})");
    BOOST_TEST(laws.planned(R"({"c":10,"k":"b"})").end == R"({"c":10,"k":"b"})");
}

BOOST_AUTO_TEST_CASE(an_end_past_the_bound_is_capped_where_the_cursor_is_all) {
    flow_laws laws(config(cursor_form::integer), n(1));
    laws.set_bound(n(5));
    const auto end = laws.planned(n(8));
    BOOST_TEST(end.capped);
    BOOST_TEST(end.end == n(5));
    BOOST_TEST(!laws.reached());
    laws.moved(end.end, 4);
    BOOST_TEST(laws.reached());
}

BOOST_AUTO_TEST_CASE(an_uncapped_offset_keeps_the_plugins_text) {
    flow_laws laws(config(cursor_form::rfc3339), "{}");
    laws.set_bound(R"({"c":"2026-03-01T10:00:00Z"})");
    const auto end = laws.planned(R"({"c":"2026-03-01T12:00:00.000+02:00"})");
    BOOST_TEST(!end.capped);
    BOOST_TEST(end.end == R"({"c":"2026-03-01T12:00:00.000+02:00"})");
    laws.moved(end.end, 1);
    BOOST_TEST(laws.reached());
}

BOOST_AUTO_TEST_CASE(an_end_past_the_bound_with_other_members) {
    flow_laws laws(config(cursor_form::integer), n(1));
    laws.set_bound(n(5));
    breaks("offset.beyond_bound", {R"({"c":8,"k":"x"})", n(5), "latest_offset"},
           [&] { laws.planned(R"({"c":8,"k":"x"})"); });
    breaks("offset.beyond_bound", {"read_table"}, [&] { laws.read(R"({"c":8,"k":"x"})", 9); });
    BOOST_TEST(laws.planned(R"({"c":5,"k":"x"})").end == R"({"c":5,"k":"x"})");
}

BOOST_AUTO_TEST_CASE(offsets_that_cannot_be_compared_are_not_beyond_anything) {
    flow_laws laws(config(), n(1));
    laws.set_bound(n(5));
    BOOST_TEST(laws.planned(n(8)).end == n(8));
    laws.moved(n(5), 1);
    BOOST_TEST(laws.reached());
}

BOOST_AUTO_TEST_CASE(rows_at_the_bounds_cursor_may_be_left) {
    flow_laws laws(config(cursor_form::integer), R"({"c":5,"k":"a"})");
    laws.set_bound(R"({"c":5,"k":"c"})");
    BOOST_TEST(!laws.reached());
    laws.moved(R"({"c":5,"k":"c"})", 2);
    BOOST_TEST(laws.reached());
}

BOOST_AUTO_TEST_CASE(the_init_time_is_a_bound_of_a_plugin_that_windows) {
    constexpr std::int64_t init = 1'772'359'200'000'000;  // 2026-03-01T10:00:00Z
    flow_laws laws(config(cursor_form::rfc3339), "{}");
    laws.set_bound_time(init, true);
    BOOST_TEST(laws.bound().value() == R"({"c":"2026-03-01T10:00:00Z"})");
    BOOST_TEST(laws.planned(R"({"c":"2026-03-01T10:00:01Z"})").capped);
    breaks("offset.beyond_bound", {"2026-03-01T10:00:00Z"},
           [&] { laws.planned(R"({"c":"2026-03-01T10:00:01Z","k":1})"); });
}

BOOST_AUTO_TEST_CASE(the_init_time_only_stops_a_plugin_that_says_nothing) {
    constexpr std::int64_t init = 1'772'359'200'000'000;
    flow_laws laws(config(cursor_form::rfc3339), "{}");
    laws.set_bound_time(init, false);
    const auto end = laws.read(R"({"c":"2026-03-01T10:00:01Z","k":1})", 4);  // the source's clock is ahead of ours
    BOOST_TEST(!end.capped);
    laws.moved(end.end, 4);
    BOOST_TEST(laws.reached());
    flow_laws numbers(config(cursor_form::integer), "{}");
    numbers.set_bound_time(init, false);
    BOOST_TEST(!numbers.bound().has_value());
}

BOOST_AUTO_TEST_CASE(a_replayed_batch_is_never_beyond_the_bound) {
    flow_laws laws(config(cursor_form::integer), n(1));
    laws.set_bound(n(5));
    const auto end = laws.replayed(n(8));
    BOOST_TEST(end.end == n(8));
    BOOST_TEST(!end.capped);
    laws.moved(end.end, 3);
    BOOST_TEST(laws.reached());
}

BOOST_AUTO_TEST_CASE(empty_batches_without_a_bound_end_at_the_limit) {
    flow_laws laws(config(), "{}");
    for (int i = 1; i <= 3; ++i) laws.moved(n(i), 0);
    breaks("offset.no_progress_limit", {"4 batches", n(3), n(4), "any known bound"}, [&] { laws.moved(n(4), 0); });
}

BOOST_AUTO_TEST_CASE(rows_start_the_count_of_empty_batches_anew) {
    flow_laws laws(config(), "{}");
    for (int i = 1; i <= 20; ++i) laws.moved(n(i), i % 3 == 0 ? 1 : 0);
    BOOST_TEST(laws.position() == n(20));
}

// Contract 3: a 20-year backfill in windows of 7 days over empty years.
BOOST_AUTO_TEST_CASE(empty_windows_that_come_nearer_to_the_bound_are_lawful) {
    flow_laws laws(config(cursor_form::epoch_s), n(0));
    laws.set_bound(n(20 * 365 * 86'400));
    int windows = 0;
    for (; !laws.reached(); ++windows) {
        const auto end = laws.planned(n((windows + 1) * 7 * 86'400));
        BOOST_REQUIRE((end.next == verdict::goes_on));
        laws.moved(end.end, 0);
    }
    BOOST_TEST(windows == 1'043);
}

BOOST_AUTO_TEST_CASE(empty_batches_that_stand_at_one_cursor_come_no_nearer) {
    flow_laws laws(config(cursor_form::integer), R"({"c":1})");
    laws.set_bound(n(5));
    const auto at = [](int k) { return R"({"c":1,"k":)" + std::to_string(k) + "}"; };
    for (int i = 1; i <= 3; ++i) laws.moved(at(i), 0);
    breaks("offset.no_progress_limit", {"4 batches", "the bound " + n(5)}, [&] { laws.moved(at(4), 0); });
}

BOOST_AUTO_TEST_CASE(a_stream_read_without_an_end) {
    flow_laws laws(config(), n(1));
    breaks("plugin.contract", {"read_table", n(1)}, [&] { laws.read(std::nullopt, 5); });
}

BOOST_AUTO_TEST_CASE(an_unchanged_snapshot) {
    flow_laws laws(snapshot(), R"({"etag":"a"})");
    BOOST_TEST((laws.read(R"({"etag":"a"})", 0).next == verdict::ends));
    BOOST_TEST((laws.planned(R"({"etag":"a"})").next == verdict::ends));
}

BOOST_AUTO_TEST_CASE(a_snapshot_and_its_validator) {
    flow_laws laws(snapshot(), R"({"etag":"a"})");
    auto end = laws.read(R"({"etag":"b"})", 50);
    BOOST_TEST((end.next == verdict::goes_on));
    BOOST_TEST(!end.complete);
    laws.moved(end.end, 50);
    end = laws.read(R"({"etag":"b"})", 0);
    BOOST_TEST((end.next == verdict::goes_on));  // what was staged is to be landed
    BOOST_TEST(end.complete);
    BOOST_TEST(end.end == R"({"etag":"b"})");
}

BOOST_AUTO_TEST_CASE(a_snapshot_without_an_offset_is_the_whole_table) {
    flow_laws laws(snapshot(), "{}");
    const auto end = laws.read(std::nullopt, 50);
    BOOST_TEST((end.next == verdict::goes_on));
    BOOST_TEST(end.complete);
    BOOST_TEST(end.end == "{}");
    flow_laws empty(snapshot(), "{}");
    BOOST_TEST(empty.read("{}", 50).complete);
}

BOOST_AUTO_TEST_CASE(a_snapshot_that_is_read_in_pieces) {
    flow_laws laws(snapshot(), "{}");
    for (int page = 1; page <= 3; ++page) {
        const auto end = laws.read(R"({"page":)" + std::to_string(page) + "}", page < 3 ? 1'000 : 500);
        BOOST_TEST((end.next == verdict::goes_on));
        BOOST_TEST(!end.complete);
        laws.moved(end.end, 1'000);
    }
    BOOST_TEST(laws.read(R"({"page":3})", 0).complete);
    flow_laws stuck(snapshot(), "{}");
    stuck.moved(stuck.read(R"({"page":1})", 1'000).end, 1'000);
    breaks("offset.rows_without_progress", {"1000 rows", R"({"page":1})"}, [&] { stuck.read(R"({"page":1})", 1'000); });
}

BOOST_AUTO_TEST_CASE(a_snapshot_whose_pieces_go_round) {
    flow_laws laws(snapshot(), R"({"page":0})");
    laws.moved(laws.read(R"({"page":1})", 5).end, 5);
    laws.moved(laws.read(R"({"page":2})", 5).end, 5);
    breaks("offset.repeated", {R"({"page":1})"}, [&] { laws.read(R"({"page":1})", 5); });
}

BOOST_AUTO_TEST_CASE(limits_that_were_not_honoured) {
    const auto left = flow_laws::not_honoured(R"({"max_rows":10,"max_bytes":5})", {"max_rows"});
    BOOST_REQUIRE(left.size() == 1u);
    BOOST_TEST(left.front() == "max_bytes");
    BOOST_TEST(flow_laws::not_honoured("{}", {}).empty());
}

BOOST_AUTO_TEST_CASE(a_message_shows_a_long_offset_cut) {
    const std::string large = R"({"c":")" + std::string(60'000, 'x') + "\"}";
    flow_laws laws(config(), large);
    try {
        laws.read(large, 1);
        BOOST_ERROR("nothing was thrown");
    } catch (const failure& f) {
        BOOST_TEST(f.get().message.size() < 1'000u);
        BOOST_TEST((f.get().message.find("60008 bytes") != std::string::npos));
    }
}

BOOST_AUTO_TEST_SUITE_END()
