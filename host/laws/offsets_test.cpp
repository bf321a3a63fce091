// host/laws/offsets_test.cpp: what the host can compare, and what it must not.
#include "host/laws/offsets.h"

#include <boost/test/unit_test.hpp>

using namespace lakeflow::host;

namespace {
offset_order by(cursor_form form) { return offset_order(offset_cursor{"c", form}); }
}  // namespace

BOOST_AUTO_TEST_SUITE(offsets)

BOOST_AUTO_TEST_CASE(without_a_cursor_offsets_are_equal_or_not) {
    const offset_order none;
    BOOST_TEST(none.same(R"({"c":1})", R"({"c":1})"));
    BOOST_TEST(!none.same(R"({"c":1})", R"({"c":2})"));
    BOOST_TEST(!none.compare(R"({"c":1})", R"({"c":2})").has_value());
    BOOST_TEST(!none.compare("{}", R"({"c":2})").has_value());
    BOOST_TEST(!none.only_cursor(R"({"c":1})"));
    BOOST_TEST(!none.at_instant(0).has_value());
}

BOOST_AUTO_TEST_CASE(instants_are_compared_not_texts) {
    const auto order = by(cursor_form::rfc3339);
    const auto* const utc = R"({"c":"2026-03-01T10:00:00Z"})";
    const auto* const east = R"({"c":"2026-03-01T12:00:00+02:00"})";
    const auto* const fraction = R"({"c":"2026-03-01T10:00:00.000Z"})";
    const auto* const later = R"({"c":"2026-03-01T10:00:00.000001Z"})";
    BOOST_TEST(order.same(utc, east));
    BOOST_TEST(order.same(utc, fraction));
    BOOST_TEST(!order.same(utc, later));
    BOOST_TEST(*order.compare(utc, east) == 0);
    BOOST_TEST(*order.compare(later, utc) == 1);
    BOOST_TEST(*order.compare(utc, later) == -1);
    // As text the first is the greater one.
    BOOST_TEST(*order.compare(R"({"c":"2026-03-01T10:00:00Z"})", R"({"c":"2026-03-01T09:30:00-02:00"})") == -1);
}

BOOST_AUTO_TEST_CASE(other_members_make_offsets_differ_at_one_instant) {
    const auto order = by(cursor_form::rfc3339);
    const auto* const a = R"({"c":"2026-03-01T10:00:00Z","id":5})";
    const auto* const b = R"({"c":"2026-03-01T12:00:00+02:00","id":5})";
    BOOST_TEST(!order.same(a, b));
    BOOST_TEST(*order.compare(a, b) == 0);
    BOOST_TEST(!order.only_cursor(a));
    BOOST_TEST(order.only_cursor(R"({"c":"2026-03-01T10:00:00Z"})"));
}

BOOST_AUTO_TEST_CASE(numbers_are_compared_as_numbers) {
    const auto order = by(cursor_form::integer);
    BOOST_TEST(*order.compare(R"({"c":9})", R"({"c":10})") == -1);
    BOOST_TEST(*order.compare(R"({"c":-1})", R"({"c":-2})") == 1);
    BOOST_TEST(*order.compare(R"({"c":9007199254740993})", R"({"c":9007199254740992})") == 1);
    BOOST_TEST(*by(cursor_form::epoch_s).compare(R"({"c":"1700000000"})", R"({"c":1700000000})") == 0);
    BOOST_TEST(std::get<std::int64_t>(*by(cursor_form::epoch_s).value(R"({"c":2})")) == 2'000'000);
    BOOST_TEST(std::get<std::int64_t>(*by(cursor_form::epoch_ms).value(R"({"c":2})")) == 2'000);
    // Past the range of microseconds there is no instant to compare.
    BOOST_TEST(!by(cursor_form::epoch_s).value(R"({"c":9223372036854775807})").has_value());
}

BOOST_AUTO_TEST_CASE(text_is_compared_byte_by_byte) {
    const auto order = by(cursor_form::text);
    BOOST_TEST(*order.compare(R"({"c":"a\"b"})", R"({"c":"a\"c"})") == -1);
    BOOST_TEST(*order.compare(R"({"c":"B"})", R"({"c":"a"})") == -1);
    BOOST_TEST(std::get<std::string>(*order.value(R"({"c":"q\"\\\n\u0001z"})")) == "q\"\\\n\x01z");
    BOOST_TEST(!order.value(R"({"c":7})").has_value());
}

BOOST_AUTO_TEST_CASE(the_beginning_lies_below_everything) {
    const auto order = by(cursor_form::integer);
    BOOST_TEST(*order.compare("{}", R"({"c":-5})") == -1);
    BOOST_TEST(*order.compare(R"({"c":-5})", "{}") == 1);
    BOOST_TEST(*order.compare("{}", "{}") == 0);
    BOOST_TEST(!order.same("{}", R"({"c":0})"));
}

BOOST_AUTO_TEST_CASE(a_cursor_that_cannot_be_read_compares_with_nothing) {
    const auto order = by(cursor_form::rfc3339);
    BOOST_TEST(!order.compare(R"({"c":"yesterday"})", R"({"c":"2026-03-01T10:00:00Z"})").has_value());
    BOOST_TEST(!order.compare(R"({"c":"2026-03-01T10:00:00"})", R"({"c":"2026-03-01T10:00:00Z"})").has_value());
    BOOST_TEST(!order.compare(R"({"page":3})", R"({"c":"2026-03-01T10:00:00Z"})").has_value());
}

BOOST_AUTO_TEST_CASE(an_instant_as_an_offset_is_never_later_than_it) {
    constexpr std::int64_t us = 1'772'359'200'999'999;  // 2026-03-01T10:00:00.999999Z
    BOOST_TEST(*by(cursor_form::rfc3339).at_instant(us) == R"({"c":"2026-03-01T10:00:00.999999Z"})");
    BOOST_TEST(*by(cursor_form::epoch_s).at_instant(us) == R"({"c":1772359200})");
    BOOST_TEST(*by(cursor_form::epoch_ms).at_instant(us) == R"({"c":1772359200999})");
    BOOST_TEST(*by(cursor_form::epoch_s).at_instant(-1) == R"({"c":-1})");
    BOOST_TEST(!by(cursor_form::integer).at_instant(us).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
