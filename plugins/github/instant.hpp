// plugins/github/instant.hpp: instants as microseconds since 1970 UTC, and their texts. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lakeflow::github {

inline constexpr std::int64_t second_us = 1'000'000;

// RFC 3339 with Z or an offset, up to microseconds; or a date alone, which is its first instant in UTC.
std::optional<std::int64_t> parse_instant(std::string_view text);
// "2026-03-01T00:00:00Z", with as many digits of the second as it needs.
std::string format_instant(std::int64_t us);
// The Date of an answer: "Sun, 06 Nov 1994 08:49:37 GMT".
std::optional<std::int64_t> parse_http_date(std::string_view text);
// "90s", "5m", "12h", "7d", "2w"; a number alone is seconds.
std::optional<std::int64_t> parse_duration(std::string_view text);

constexpr std::int64_t floor_second(std::int64_t us) {
    std::int64_t rest = us % second_us;
    return us - (rest < 0 ? rest + second_us : rest);
}

}  // namespace lakeflow::github
