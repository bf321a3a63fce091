// Instants, dates and durations as GitHub and people write them.
#include "instant.hpp"

#include <boost/test/unit_test.hpp>

#include "pages.hpp"

using namespace lakeflow::github;

BOOST_AUTO_TEST_SUITE(instants)

BOOST_AUTO_TEST_CASE(rfc3339_in_all_forms) {
    constexpr std::int64_t noon = 1'717'243'200'000'000;  // 2024-06-01T12:00:00Z
    BOOST_TEST(*parse_instant("2024-06-01T12:00:00Z") == noon);
    BOOST_TEST(*parse_instant("2024-06-01t12:00:00z") == noon);
    BOOST_TEST(*parse_instant("2024-06-01T14:30:00+02:30") == noon);
    BOOST_TEST(*parse_instant("2024-06-01T07:00:00-05:00") == noon);
    BOOST_TEST(*parse_instant("2024-06-01T12:00:00.25Z") == noon + 250'000);
    BOOST_TEST(*parse_instant("2024-06-01T12:00:00.123456789Z") == noon + 123'456);
    BOOST_TEST(*parse_instant("2024-06-01") == noon - 12 * 3'600 * second_us);
    BOOST_TEST(*parse_instant("1969-12-31T23:59:59.5Z") == -500'000);
    for (const char* wrong :
         {"", "x", "2024-06", "2024-02-30", "2024-13-01", "2024-06-01T", "2024-06-01T12:00", "2024-06-01T24:00:00Z",
          "2024-06-01T12:00:00", "2024-06-01T12:00:00.Z", "2024-06-01T12:00:00Zx", "2024-06-01T12:00:00+5:00"}) {
        BOOST_TEST(!parse_instant(wrong), wrong);
    }
}

BOOST_AUTO_TEST_CASE(written_text_reads_back) {
    for (std::int64_t us : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1'717'243'200'000'000},
                            std::int64_t{1'717'243'200'000'010}, std::int64_t{253'402'300'799'000'000}}) {
        BOOST_TEST(*parse_instant(format_instant(us)) == us);
    }
    BOOST_TEST(format_instant(1'717'243'200'000'000) == "2024-06-01T12:00:00Z");
    BOOST_TEST(format_instant(1'717'243'200'250'000) == "2024-06-01T12:00:00.25Z");
    BOOST_TEST(floor_second(-1) == -second_us);
}

BOOST_AUTO_TEST_CASE(date_headers) {
    BOOST_TEST(*parse_http_date("Sat, 01 Jun 2024 12:00:00 GMT") == 1'717'243'200'000'000);
    BOOST_TEST(!parse_http_date("Saturday, 01-Jun-24 12:00:00 GMT"));
    BOOST_TEST(!parse_http_date(""));
}

BOOST_AUTO_TEST_CASE(durations) {
    BOOST_TEST(*parse_duration("90") == 90 * second_us);
    BOOST_TEST(*parse_duration("0s") == 0);
    BOOST_TEST(*parse_duration("5m") == 300 * second_us);
    BOOST_TEST(*parse_duration("12h") == 43'200 * second_us);
    BOOST_TEST(*parse_duration("2w") == 1'209'600 * second_us);
    for (const char* wrong : {"", "-5m", "5 m", "m", "1.5h", "5x", "99999999999999w"})
        BOOST_TEST(!parse_duration(wrong), wrong);
}

// What `since` is asked for so that a range comes whole and no row of the one before with it.
BOOST_AUTO_TEST_CASE(since_of_a_range) {
    constexpr std::int64_t noon = 1'717'243'200'000'000;
    BOOST_TEST((time_range{noon, false, {}}).since().value() == "2024-06-01T12:00:01Z");
    BOOST_TEST((time_range{noon, true, {}}).since().value() == "2024-06-01T12:00:00Z");
    // GitHub Enterprise might one day answer fractions: then the second is asked for, and the decoder drops what is below.
    BOOST_TEST((time_range{noon + 5, false, {}}).since().value() == "2024-06-01T12:00:00Z");
    BOOST_TEST(!(time_range{}).since());
    // since=1970-01-01T00:00:00Z has been seen to find nothing.
    BOOST_TEST(!(time_range{0, true, {}}).since());
    BOOST_TEST((time_range{noon, false, {}}).below(noon));
    BOOST_TEST(!(time_range{noon, true, {}}).below(noon));
    BOOST_TEST((time_range{{}, true, noon}).passed_by(noon + 1));
    BOOST_TEST(!(time_range{{}, true, noon}).passed_by(noon));
}

BOOST_AUTO_TEST_SUITE_END()
