// host/rows/values.cpp: see values.h.
#include "host/rows/values.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "host/arrow/decimal.h"

namespace lakeflow::host {
namespace {

number_result from(decimal_result r) noexcept {
    switch (r) {
        case decimal_result::ok: return number_result::ok;
        case decimal_result::not_a_number: return number_result::not_a_number;
        case decimal_result::out_of_range: return number_result::out_of_range;
        case decimal_result::inexact: return number_result::inexact;
    }
    return number_result::not_a_number;
}

// Where the first digit that is not 0 stands: 1 for 1 to 9.9, 0 for 0.1; tells too large from too small.
long long magnitude(std::string_view text) noexcept {
    std::size_t i = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
    long long place = 0;
    bool found = false;
    bool fraction = false;
    for (; i < text.size() && text[i] != 'e' && text[i] != 'E'; ++i) {
        if (text[i] == '.') {
            fraction = true;
        } else if (found || text[i] != '0') {
            found = true;
            if (!fraction) ++place;
        } else if (fraction) {
            --place;
        }
    }
    if (!found) return std::numeric_limits<long long>::min();
    long long exponent = 0;
    if (i < text.size()) {
        ++i;
        const bool down = i < text.size() && text[i] == '-';
        if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
        for (; i < text.size(); ++i)
            if (exponent < 1'000'000'000) exponent = exponent * 10 + (text[i] - '0');
        if (down) exponent = -exponent;
    }
    return place + exponent;
}

template <class T>
number_result real(std::string_view text, T& value) noexcept {
    if (text.starts_with('+')) text.remove_prefix(1);
    T parsed{};
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), parsed);
    if (ec == std::errc() && end == text.data() + text.size() && !std::isinf(parsed)) {
        value = parsed;
        return number_result::ok;
    }
    if (ec != std::errc() && ec != std::errc::result_out_of_range) return number_result::not_a_number;
    if (magnitude(text) > 0) return number_result::out_of_range;
    value = text.starts_with('-') ? -T{} : T{};
    return number_result::ok;
}

int base64_digit(char c) noexcept {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    if (c == '+' || c == '-') return 62;
    if (c == '/' || c == '_') return 63;
    return -1;
}

}  // namespace

bool is_number(std::string_view text, bool lenient) noexcept {
    std::size_t i = 0;
    const auto digits = [&] {
        const std::size_t begin = i;
        while (i < text.size() && text[i] >= '0' && text[i] <= '9') ++i;
        return i - begin;
    };
    if (i < text.size() && (text[i] == '-' || (lenient && text[i] == '+'))) ++i;
    const std::size_t first = i;
    const std::size_t whole = digits();
    if (whole == 0 || (!lenient && whole > 1 && text[first] == '0')) return false;
    if (i < text.size() && text[i] == '.') {
        ++i;
        if (digits() == 0) return false;
    }
    if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
        ++i;
        if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
        if (digits() == 0) return false;
    }
    return i == text.size();
}

number_result parse_integer(std::string_view text, std::int64_t min, std::int64_t max, std::int64_t& value) noexcept {
    std::int64_t parsed = 0;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), parsed);
    if (ec != std::errc() || end != text.data() + text.size()) {
        int128 wide = 0;
        const decimal_result r = parse_decimal(text, 38, 0, wide);
        if (r != decimal_result::ok) return from(r);
        if (wide < min || wide > max) return number_result::out_of_range;
        parsed = static_cast<std::int64_t>(wide);
    }
    if (parsed < min || parsed > max) return number_result::out_of_range;
    value = parsed;
    return number_result::ok;
}

number_result parse_real(std::string_view text, double& value) noexcept { return real(text, value); }
number_result parse_real(std::string_view text, float& value) noexcept { return real(text, value); }

number_result parse_epoch(std::string_view text, int digits, std::int64_t& us) noexcept {
    int128 wide = 0;
    const decimal_result r = parse_decimal(text, 38, digits, wide);
    if (r != decimal_result::ok) return from(r);
    if (wide < min_instant_us || wide > max_instant_us) return number_result::out_of_range;
    us = static_cast<std::int64_t>(wide);
    return number_result::ok;
}

bool decode_base64(std::string_view text, std::string& out) {
    std::size_t size = text.size();
    std::size_t padding = 0;
    while (padding < 2 && size > 0 && text[size - 1] == '=') {
        --size;
        ++padding;
    }
    if (padding > 0 && text.size() % 4 != 0) return false;
    if (size % 4 == 1) return false;
    std::uint32_t bits = 0;
    int count = 0;
    for (std::size_t i = 0; i < size; ++i) {
        const int digit = base64_digit(text[i]);
        if (digit < 0) return false;
        bits = (bits << 6) | static_cast<std::uint32_t>(digit);
        count += 6;
        if (count >= 8) {
            count -= 8;
            out += static_cast<char>((bits >> count) & 0xFF);
        }
    }
    return (bits & ((1u << count) - 1)) ==
           0;  // what is left over must be zeros, or two texts would mean the same bytes
}

bool instant_parser::fast(const char* p, std::int64_t& us) noexcept {
    const auto digit = [p](int i) { return static_cast<unsigned>(static_cast<unsigned char>(p[i])) - '0'; };
    if (p[10] != 'T' || p[13] != ':' || p[16] != ':' || p[19] != 'Z') return false;
    unsigned wrong = 0;
    const auto two = [&](int i) {
        const unsigned a = digit(i);
        const unsigned b = digit(i + 1);
        wrong |= (a > 9) | (b > 9);
        return a * 10 + b;
    };
    const unsigned hour = two(11);
    const unsigned minute = two(14);
    const unsigned second = two(17);
    if (wrong || hour > 23 || minute > 59 || second > 59) return false;
    if (std::memcmp(p, date_.data(), date_.size()) != 0) {
        const auto days = parse_date(std::string_view(p, 10));
        if (!days) return false;
        std::memcpy(date_.data(), p, date_.size());
        date_us_ = std::int64_t{*days} * 86'400'000'000;
    }
    us = date_us_ + static_cast<std::int64_t>((hour * 60 + minute) * 60 + second) * 1'000'000;
    return true;
}

}  // namespace lakeflow::host
