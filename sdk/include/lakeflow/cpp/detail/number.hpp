// lakeflow/cpp/detail/number.hpp: numbers of JSON by their text, exact and free of the locale. Any thread.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace lakeflow::detail {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The length of the JSON number at the beginning of `text`; 0 if there is none.
inline size_t json_number_length(std::string_view text) {
    size_t i = 0;
    auto digits = [&] {
        size_t from = i;
        while (i < text.size() && is_digit(text[i])) ++i;
        return i > from;
    };
    if (i < text.size() && text[i] == '-') ++i;
    if (i < text.size() && text[i] == '0') {
        ++i;
    } else if (!digits()) {
        return 0;
    }
    if (i < text.size() && text[i] == '.') {
        ++i;
        if (!digits()) return 0;
    }
    if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
        ++i;
        if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
        if (!digits()) return 0;
    }
    return i;
}

inline bool is_json_number(std::string_view text) { return !text.empty() && json_number_length(text) == text.size(); }

// A number that is written as a whole one and fits 64 bits.
inline std::optional<int64_t> plain_integer(std::string_view text) {
    int64_t value = 0;
    auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

// A JSON number as sign, digits without leading or trailing zeros, and the power of ten of the last digit.
struct decimal_parts {
    bool negative = false;
    std::string digits;    // empty: zero
    int64_t exponent = 0;  // value = digits * 10^exponent
};

inline decimal_parts split_number(std::string_view text) {
    decimal_parts out;
    size_t i = 0;
    if (i < text.size() && text[i] == '-') out.negative = true, ++i;
    int64_t fraction = 0;
    bool after_point = false;
    for (; i < text.size() && (is_digit(text[i]) || text[i] == '.'); ++i) {
        if (text[i] == '.') {
            after_point = true;
            continue;
        }
        if (after_point) ++fraction;
        if (text[i] != '0' || !out.digits.empty()) out.digits.push_back(text[i]);
    }
    if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
        ++i;
        if (i < text.size() && text[i] == '+') ++i;
        auto part = text.substr(i);
        auto exponent = plain_integer(part);
        // Past 64 bits of exponent only zero stays exact; a bound far past any type keeps the arithmetic safe.
        constexpr int64_t far = int64_t{1} << 40;
        out.exponent = exponent ? std::min(far, std::max(-far, *exponent)) : (part.front() == '-' ? -far : far);
    }
    out.exponent -= fraction;
    while (!out.digits.empty() && out.digits.back() == '0') out.digits.pop_back(), ++out.exponent;
    if (out.digits.empty()) out.exponent = 0, out.negative = false;
    return out;
}

// The exact integer of a JSON number (7.0, 7E0, 0.07e2), or nothing if it has a fraction or is past 64 bits.
inline std::optional<int64_t> exact_integer(std::string_view text) {
    auto parts = split_number(text);
    if (parts.digits.empty()) return 0;
    if (parts.exponent < 0 || parts.exponent > 19) return std::nullopt;
    parts.digits.append(static_cast<size_t>(parts.exponent), '0');
    return plain_integer((parts.negative ? "-" : "") + parts.digits);
}

// The nearest double; past the range infinity.
inline double to_double(std::string_view text) {
    double value = 0;
    auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem == std::errc::result_out_of_range) {
        auto parts = split_number(text);
        bool small = parts.exponent + static_cast<int64_t>(parts.digits.size()) < 0;
        value = small ? 0.0 : std::numeric_limits<double>::infinity();
        if (parts.negative) value = -value;
    }
    return value;
}

// One text for equal numbers that are no 64-bit integers: digits, then the exponent.
inline std::string canonical_number(std::string_view text) {
    if (auto whole = exact_integer(text)) return std::to_string(*whole);
    auto parts = split_number(text);
    std::string out = (parts.negative ? "-" : "") + parts.digits;
    if (parts.exponent != 0) out += "e" + std::to_string(parts.exponent);
    return out;
}

}  // namespace lakeflow::detail
