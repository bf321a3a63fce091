// host/rows/values.h: texts to values, exactly. Any thread; an instant_parser belongs to one thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "host/arrow/builder.h"
#include "host/base/time.h"

namespace lakeflow::host {

// The years 0001 to 9999.
constexpr std::int64_t min_instant_us = -62'135'596'800'000'000;
constexpr std::int64_t max_instant_us = 253'402'300'799'999'999;

// JSON's grammar of a number; `lenient` also takes a '+' and zeros in front, as CSV files have them.
bool is_number(std::string_view text, bool lenient) noexcept;

enum class number_result { ok, not_a_number, out_of_range, inexact };

// A number's text as an integer: 7, 7.0 and 7E0 are 7; `inexact` for 7.5.
number_result parse_integer(std::string_view text, std::int64_t min, std::int64_t max, std::int64_t& value) noexcept;
// Nearest double or float; too small becomes 0, too large is out_of_range. `text` is a number.
number_result parse_real(std::string_view text, double& value) noexcept;
number_result parse_real(std::string_view text, float& value) noexcept;
// An epoch with `digits` fractional digits of its unit below which nothing may stand (6 for seconds, 3, 0) as microseconds.
number_result parse_epoch(std::string_view text, int digits, std::int64_t& us) noexcept;

// Base64 of RFC 4648 with padding, or its URL form, appended to `out`; false if it is none.
bool decode_base64(std::string_view text, std::string& out);

// RFC 3339 with a fast path for "2026-03-01T10:00:00Z", which remembers the last date.
class instant_parser {
  public:
    bool parse(std::string_view text, std::int64_t& us) noexcept {
        if (text.size() == 20 && fast(text.data(), us)) return true;
        const auto slow = parse_rfc3339_us(text);
        if (slow) us = *slow;
        return slow.has_value();
    }

  private:
    bool fast(const char* p, std::int64_t& us) noexcept;

    std::array<char, 10> date_{};
    std::int64_t date_us_ = 0;
};

}  // namespace lakeflow::host
