// host/base/time.cpp: see time.h. Day arithmetic by eras of 400 years, counted from 1 March, so that the leap day comes
// last.
#include "host/base/time.h"

#include <array>
#include <cstdio>

#include "host/base/text.h"

namespace lakeflow::host {
namespace {

constexpr std::int64_t second = 1'000'000;
constexpr std::int64_t day = 86'400 * second;

// Exactly `count` digits at the front of `text`, which are taken off; -1 if they are not there.
int digits(std::string_view& text, std::size_t count) noexcept {
    if (text.size() < count) return -1;
    int value = 0;
    for (std::size_t i = 0; i < count; ++i) {
        if (text[i] < '0' || text[i] > '9') return -1;
        value = value * 10 + (text[i] - '0');
    }
    text.remove_prefix(count);
    return value;
}

bool take(std::string_view& text, char c) noexcept {
    if (text.empty() || text.front() != c) return false;
    text.remove_prefix(1);
    return true;
}

int month_days(int year, int month) noexcept {
    static constexpr std::array<int, 12> length{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month == 2 && leap ? 29 : length[static_cast<std::size_t>(month - 1)];
}

std::optional<std::int64_t> take_date(std::string_view& text) noexcept {
    const int year = digits(text, 4);
    if (year < 1 || !take(text, '-')) return std::nullopt;
    const int month = digits(text, 2);
    if (month < 1 || month > 12 || !take(text, '-')) return std::nullopt;
    const int day_of_month = digits(text, 2);
    if (day_of_month < 1 || day_of_month > month_days(year, month)) return std::nullopt;
    return days_from_civil(year, static_cast<unsigned>(month), static_cast<unsigned>(day_of_month));
}

// "10:00:00.5": a leap second is taken as the next minute's first, as POSIX counts. RFC 3339 section 5.7.
std::optional<std::int64_t> take_time(std::string_view& text) noexcept {
    const int hour = digits(text, 2);
    if (hour < 0 || hour > 23 || !take(text, ':')) return std::nullopt;
    const int minute = digits(text, 2);
    if (minute < 0 || minute > 59 || !take(text, ':')) return std::nullopt;
    const int sec = digits(text, 2);
    if (sec < 0 || sec > 60) return std::nullopt;
    std::int64_t us = ((hour * 60 + minute) * 60 + std::int64_t{sec}) * second;
    if (take(text, '.') || take(text, ',')) {
        std::int64_t scale = 100'000;
        bool any = false;
        while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
            const int digit = text.front() - '0';
            if (scale == 0 && digit != 0) return std::nullopt;  // finer than a microsecond
            us += digit * scale;
            scale /= 10;
            any = true;
            text.remove_prefix(1);
        }
        if (!any) return std::nullopt;
    }
    return us;
}

std::optional<std::int64_t> take_date_time(std::string_view& text) noexcept {
    const auto days = take_date(text);
    if (!days || text.empty()) return std::nullopt;
    if (text.front() != 'T' && text.front() != 't' && text.front() != ' ') return std::nullopt;
    text.remove_prefix(1);
    const auto time = take_time(text);
    if (!time) return std::nullopt;
    return *days * day + *time;
}

struct civil {
    int year;
    unsigned month, day;
};

civil civil_from_days(std::int64_t days) noexcept {
    days += 719468;
    const std::int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    const auto of_era = static_cast<unsigned>(days - era * 146097);
    const unsigned year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    const unsigned of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const unsigned shifted = (5 * of_year + 2) / 153;
    const unsigned day_of_month = of_year - (153 * shifted + 2) / 5 + 1;
    const unsigned month = shifted < 10 ? shifted + 3 : shifted - 9;
    return {static_cast<int>(year_of_era) + static_cast<int>(era) * 400 + (month <= 2 ? 1 : 0), month, day_of_month};
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) noexcept { return a / b - (a % b < 0 ? 1 : 0); }

std::string date_time(std::int64_t us, int fraction_digits) {
    const std::int64_t days = floor_div(us, day);
    const std::int64_t rest = us - days * day;
    const civil c = civil_from_days(days);
    const auto s = static_cast<int>(rest / second);
    char out[64];
    int size = std::snprintf(out, sizeof out, "%04d-%02u-%02uT%02d:%02d:%02d", c.year, c.month, c.day, s / 3600,
                             s / 60 % 60, s % 60);
    const auto fraction = static_cast<int>(rest % second);
    if (fraction_digits == 3)
        size += std::snprintf(out + size, sizeof out - static_cast<std::size_t>(size), ".%03d", fraction / 1000);
    if (fraction_digits == 6)
        size += std::snprintf(out + size, sizeof out - static_cast<std::size_t>(size), ".%06d", fraction);
    return {out, static_cast<std::size_t>(size)};
}

int month_by_name(std::string_view name) noexcept {
    static constexpr std::array<std::string_view, 12> names{"jan", "feb", "mar", "apr", "may", "jun",
                                                            "jul", "aug", "sep", "oct", "nov", "dec"};
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (equal_no_case(name, names[i])) return static_cast<int>(i) + 1;
    }
    return 0;
}

std::optional<std::int64_t> assemble(int year, int month, int day_of_month, std::string_view time) noexcept {
    if (month < 1 || day_of_month < 1 || year < 1 || day_of_month > month_days(year, month)) return std::nullopt;
    const auto us = take_time(time);
    if (!us || !time.empty()) return std::nullopt;
    return days_from_civil(year, static_cast<unsigned>(month), static_cast<unsigned>(day_of_month)) * day + *us;
}

}  // namespace

std::int64_t days_from_civil(int year, unsigned month, unsigned day_of_month) noexcept {
    year -= month <= 2 ? 1 : 0;
    const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
    const auto year_of_era = static_cast<unsigned>(year - era * 400);
    const unsigned of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day_of_month - 1;
    const unsigned of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year;
    return era * 146097 + static_cast<std::int64_t>(of_era) - 719468;
}

std::optional<std::int64_t> parse_rfc3339_us(std::string_view text) noexcept {
    const auto local = take_date_time(text);
    if (!local) return std::nullopt;
    if (take(text, 'Z') || take(text, 'z')) return text.empty() ? local : std::nullopt;
    if (text.empty() || (text.front() != '+' && text.front() != '-')) return std::nullopt;
    const int sign = text.front() == '+' ? 1 : -1;
    text.remove_prefix(1);
    const int hours = digits(text, 2);
    if (hours < 0 || hours > 23) return std::nullopt;
    take(text, ':');
    const int minutes = digits(text, 2);
    if (minutes < 0 || minutes > 59 || !text.empty()) return std::nullopt;
    return *local - sign * (hours * 60 + std::int64_t{minutes}) * 60 * second;
}

std::optional<std::int64_t> parse_local_us(std::string_view text) noexcept {
    const auto local = take_date_time(text);
    return text.empty() ? local : std::nullopt;
}

std::optional<std::int32_t> parse_date(std::string_view text) noexcept {
    const auto days = take_date(text);
    if (!days || !text.empty()) return std::nullopt;
    return static_cast<std::int32_t>(*days);
}

std::string format_rfc3339(std::int64_t us) {
    const std::int64_t fraction = us - floor_div(us, second) * second;
    return date_time(us, fraction == 0 ? 0 : fraction % 1000 == 0 ? 3 : 6) + 'Z';
}

std::string format_local(std::int64_t us) { return date_time(us, 6); }

std::string format_date(std::int32_t days) { return date_time(std::int64_t{days} * day, 0).substr(0, 10); }

std::optional<std::int64_t> parse_http_date_us(std::string_view text, std::int64_t now_us) noexcept {
    text = trim(text);
    const std::size_t comma = text.find(',');
    if (comma == std::string_view::npos) {  // asctime: "Sun Nov  6 08:49:37 1994"
        if (text.size() != 24) return std::nullopt;
        const int month = month_by_name(text.substr(4, 3));
        const auto day_of_month = parse_int(trim(text.substr(8, 2)));
        const auto year = parse_int(text.substr(20, 4));
        if (!day_of_month || !year) return std::nullopt;
        return assemble(static_cast<int>(*year), month, static_cast<int>(*day_of_month), text.substr(11, 8));
    }
    text = trim(text.substr(comma + 1));
    if (!text.ends_with(" GMT")) return std::nullopt;
    text.remove_suffix(4);
    const bool imf = text.size() == 20;  // "06 Nov 1994 08:49:37"; RFC 850: "06-Nov-94 08:49:37"
    if (!imf && text.size() != 18) return std::nullopt;
    const auto day_of_month = parse_int(text.substr(0, 2));
    const int month = month_by_name(text.substr(3, 3));
    const auto year_part = parse_int(text.substr(7, imf ? 4 : 2));
    if (!day_of_month || !year_part) return std::nullopt;
    auto year = static_cast<int>(*year_part);
    if (!imf) {  // RFC 9110: a two-digit year more than 50 years ahead is the past one
        const int this_year = civil_from_days(floor_div(now_us, day)).year;
        year += this_year / 100 * 100;
        if (year > this_year + 50) year -= 100;
    }
    return assemble(year, month, static_cast<int>(*day_of_month), text.substr(text.size() - 8));
}

}  // namespace lakeflow::host
