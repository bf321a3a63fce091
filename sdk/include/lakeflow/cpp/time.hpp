// lakeflow/cpp/time.hpp: instants as RFC 3339 text and as microseconds since 1970 UTC. Exact, free of locale and zone. Any thread.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "lakeflow/cpp/detail/number.hpp"
#include "lakeflow/cpp/error.hpp"

namespace lakeflow {
namespace detail {

// Days since 1970-01-01 of a date of the proleptic Gregorian calendar, by counting 400-year eras from March.
constexpr int64_t days_of(int64_t year, int64_t month, int64_t day) {
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t in_era = year - era * 400;
    int64_t in_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + in_era * 365 + in_era / 4 - in_era / 100 + in_year - 719468;
}

constexpr int64_t month_length(int64_t year, int64_t month) {
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month == 2 ? (leap ? 29 : 28) : month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

}  // namespace detail

// "2026-03-01T12:00:00.25+01:00" -> microseconds since 1970 UTC; digits past the sixth are cut. Nothing if it is not RFC 3339.
inline std::optional<int64_t> parse_instant(std::string_view text) {
    size_t at = 0;
    auto number = [&](size_t digits) -> int64_t {
        int64_t value = 0;
        for (size_t end = at + digits; at < end; ++at) {
            if (at >= text.size() || !detail::is_digit(text[at])) return -1;
            value = value * 10 + (text[at] - '0');
        }
        return value;
    };
    auto mark = [&](std::string_view any) {
        if (at >= text.size() || any.find(text[at]) == std::string_view::npos) return false;
        ++at;
        return true;
    };
    int64_t year = number(4);
    if (year < 0 || !mark("-")) return std::nullopt;
    int64_t month = number(2);
    if (month < 1 || month > 12 || !mark("-")) return std::nullopt;
    int64_t day = number(2);
    if (day < 1 || day > detail::month_length(year, month) || !mark("Tt ")) return std::nullopt;
    int64_t hour = number(2);
    if (hour < 0 || hour > 23 || !mark(":")) return std::nullopt;
    int64_t minute = number(2);
    if (minute < 0 || minute > 59 || !mark(":")) return std::nullopt;
    int64_t second = number(2);
    if (second < 0 || second > 60) return std::nullopt;  // a leap second counts as the next one
    int64_t micro = 0;
    if (mark(".")) {
        size_t from = at;
        for (; at < text.size() && detail::is_digit(text[at]); ++at)
            if (at - from < 6) micro = micro * 10 + (text[at] - '0');
        if (at == from) return std::nullopt;
        for (size_t digits = at - from; digits < 6; ++digits) micro *= 10;
    }
    int64_t east = 0;
    if (!mark("Zz")) {
        if (at >= text.size() || (text[at] != '+' && text[at] != '-')) return std::nullopt;
        int64_t sign = text[at++] == '-' ? -1 : 1;
        int64_t hours = number(2);
        if (hours < 0 || hours > 23 || !mark(":")) return std::nullopt;
        int64_t minutes = number(2);
        if (minutes < 0 || minutes > 59) return std::nullopt;
        east = sign * (hours * 60 + minutes);
    }
    if (at != text.size()) return std::nullopt;
    int64_t minutes = (detail::days_of(year, month, day) * 24 + hour) * 60 + minute - east;
    return (minutes * 60 + second) * 1'000'000 + micro;
}

// Microseconds since 1970 UTC -> "2026-03-01T11:00:00.25Z", with as many digits as needed. Years 0000 to 9999; else invalid().
inline std::string format_instant(int64_t microseconds) {
    int64_t micro = microseconds % 1'000'000, seconds = microseconds / 1'000'000;
    if (micro < 0) micro += 1'000'000, --seconds;
    int64_t in_day = seconds % 86400, days = seconds / 86400;
    if (in_day < 0) in_day += 86400, --days;
    // The inverse of days_of.
    int64_t shifted = days + 719468;
    int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
    int64_t in_era = shifted - era * 146097;
    int64_t year_of_era = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
    int64_t in_year = in_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t shifted_month = (5 * in_year + 2) / 153;
    int64_t day = in_year - (153 * shifted_month + 2) / 5 + 1;
    int64_t month = shifted_month < 10 ? shifted_month + 3 : shifted_month - 9;
    int64_t year = year_of_era + era * 400 + (month <= 2 ? 1 : 0);
    if (year < 0 || year > 9999) throw invalid("an instant lies outside the years 0000 to 9999");
    std::string out;
    auto put = [&](int64_t value, size_t digits) {
        std::string text = std::to_string(value);
        out += std::string(digits - text.size(), '0') + text;
    };
    put(year, 4), out += '-', put(month, 2), out += '-', put(day, 2), out += 'T';
    put(in_day / 3600, 2), out += ':', put(in_day / 60 % 60, 2), out += ':', put(in_day % 60, 2);
    if (micro != 0) {
        out += '.', put(micro, 6);
        while (out.back() == '0') out.pop_back();
    }
    return out + "Z";
}

}  // namespace lakeflow
