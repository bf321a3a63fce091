// plugins/github/instant.cpp: see instant.hpp.
#include "instant.hpp"

#include <array>
#include <charconv>
#include <chrono>

namespace lakeflow::github {
namespace {

namespace chrono = std::chrono;

// Reads fixed forms from the front of a text.
class scanner {
  public:
    explicit scanner(std::string_view text) : rest_(text) {}

    bool done() const { return rest_.empty(); }
    bool take(char c) {
        if (rest_.empty() || rest_.front() != c) return false;
        rest_.remove_prefix(1);
        return true;
    }
    bool take(std::string_view word) {
        if (rest_.substr(0, word.size()) != word) return false;
        rest_.remove_prefix(word.size());
        return true;
    }
    // Exactly `digits` digits.
    std::optional<int> number(std::size_t digits) {
        if (rest_.size() < digits) return std::nullopt;
        int value = 0;
        for (char c : rest_.substr(0, digits)) {
            if (c < '0' || c > '9') return std::nullopt;
            value = value * 10 + (c - '0');
        }
        rest_.remove_prefix(digits);
        return value;
    }
    // The digits behind a point as microseconds; what lies below is cut off.
    std::optional<int> fraction() {
        int value = 0, digits = 0;
        for (; !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9'; rest_.remove_prefix(1)) {
            if (digits < 6) value = value * 10 + (rest_.front() - '0');
            ++digits;
        }
        if (digits == 0) return std::nullopt;
        for (; digits < 6; ++digits) value *= 10;
        return value;
    }

  private:
    std::string_view rest_;
};

std::optional<std::int64_t> day_us(int year, int month, int day) {
    chrono::year_month_day date{chrono::year(year), chrono::month(static_cast<unsigned>(month)),
                                chrono::day(static_cast<unsigned>(day))};
    if (!date.ok()) return std::nullopt;
    return chrono::sys_days(date).time_since_epoch().count() * 86'400 * second_us;
}

// hh:mm:ss; the second 60 of a leap second counts as the next one.
std::optional<std::int64_t> time_us(scanner& in) {
    auto hour = in.number(2);
    if (!hour || *hour > 23 || !in.take(':')) return std::nullopt;
    auto minute = in.number(2);
    if (!minute || *minute > 59 || !in.take(':')) return std::nullopt;
    auto second = in.number(2);
    if (!second || *second > 60) return std::nullopt;
    return (*hour * 3'600 + *minute * 60 + *second) * second_us;
}

}  // namespace

std::optional<std::int64_t> parse_instant(std::string_view text) {
    scanner in(text);
    auto year = in.number(4);
    if (!year || !in.take('-')) return std::nullopt;
    auto month = in.number(2);
    if (!month || !in.take('-')) return std::nullopt;
    auto day = in.number(2);
    if (!day) return std::nullopt;
    auto date = day_us(*year, *month, *day);
    if (!date || in.done()) return date;
    if (!in.take('T') && !in.take('t') && !in.take(' ')) return std::nullopt;
    auto time = time_us(in);
    if (!time) return std::nullopt;
    std::int64_t at = *date + *time;
    if (in.take('.')) {
        auto fraction = in.fraction();
        if (!fraction) return std::nullopt;
        at += *fraction;
    }
    if (in.take('Z') || in.take('z')) return in.done() ? std::optional(at) : std::nullopt;
    int sign = in.take('+') ? 1 : in.take('-') ? -1 : 0;
    auto hours = in.number(2);
    if (sign == 0 || !hours || !in.take(':')) return std::nullopt;
    auto minutes = in.number(2);
    if (!minutes || *hours > 23 || *minutes > 59 || !in.done()) return std::nullopt;
    return at - sign * (*hours * 3'600 + *minutes * 60) * second_us;
}

std::string format_instant(std::int64_t us) {
    std::int64_t whole = floor_second(us);
    chrono::sys_seconds moment{chrono::seconds(whole / second_us)};
    auto days = chrono::floor<chrono::days>(moment);
    chrono::year_month_day date(days);
    chrono::hh_mm_ss time(moment - days);
    auto put = [](std::string& out, std::int64_t value, std::size_t digits) {
        std::string text = std::to_string(value);
        out.append(text.size() < digits ? digits - text.size() : 0, '0').append(text);
    };
    std::string out;
    put(out, static_cast<int>(date.year()), 4);
    put(out += '-', static_cast<unsigned>(date.month()), 2);
    put(out += '-', static_cast<unsigned>(date.day()), 2);
    put(out += 'T', time.hours().count(), 2);
    put(out += ':', time.minutes().count(), 2);
    put(out += ':', time.seconds().count(), 2);
    if (us != whole) {
        put(out += '.', us - whole, 6);
        while (out.back() == '0') out.pop_back();
    }
    return out += 'Z';
}

std::optional<std::int64_t> parse_http_date(std::string_view text) {
    static constexpr std::array<std::string_view, 12> months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                                "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    std::size_t comma = text.find(", ");
    if (comma == std::string_view::npos) return std::nullopt;
    scanner in(text.substr(comma + 2));
    auto day = in.number(2);
    if (!day || !in.take(' ')) return std::nullopt;
    int month = 0;
    for (std::size_t i = 0; i < months.size() && month == 0; ++i)
        if (in.take(months[i])) month = static_cast<int>(i) + 1;
    if (month == 0 || !in.take(' ')) return std::nullopt;
    auto year = in.number(4);
    if (!year || !in.take(' ')) return std::nullopt;
    auto date = day_us(*year, month, *day);
    auto time = time_us(in);
    if (!date || !time || !in.take(" GMT")) return std::nullopt;
    return *date + *time;
}

std::optional<std::int64_t> parse_duration(std::string_view text) {
    std::int64_t value = 0;
    auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (status != std::errc() || value < 0) return std::nullopt;
    std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    std::int64_t seconds = unit.empty() || unit == "s" ? 1
                           : unit == "m"               ? 60
                           : unit == "h"               ? 3'600
                           : unit == "d"               ? 86'400
                           : unit == "w"               ? 7 * 86'400
                                                       : 0;
    // A thousand years is more than anybody means, and keeps the product far from its limit.
    if (seconds == 0 || value > 31'556'952'000 / seconds) return std::nullopt;
    return value * seconds * second_us;
}

}  // namespace lakeflow::github
