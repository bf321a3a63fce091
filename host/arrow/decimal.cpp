// host/arrow/decimal.cpp: see decimal.h.
#include "host/arrow/decimal.h"

#include <algorithm>

namespace lakeflow::host {

std::string decimal_text(int128 value, int scale) {
    const bool negative = value < 0;
    uint128 rest = negative ? uint128{0} - static_cast<uint128>(value) : static_cast<uint128>(value);
    std::string digits;
    do {
        digits += static_cast<char>('0' + static_cast<int>(rest % 10));
        rest /= 10;
    } while (rest != 0 || digits.size() <= static_cast<std::size_t>(scale));
    if (negative) digits += '-';
    std::reverse(digits.begin(), digits.end());
    if (scale > 0) digits.insert(digits.size() - static_cast<std::size_t>(scale), 1, '.');
    return digits;
}

decimal_result parse_decimal(std::string_view text, int precision, int scale, int128& value) noexcept {
    std::size_t i = 0;
    bool negative = false;
    if (i < text.size() && (text[i] == '-' || text[i] == '+')) negative = text[i++] == '-';
    const auto digit = [&](std::size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '9'; };

    // First the shape and the exponent, then the digits in one pass from the left.
    const std::size_t whole_begin = i;
    while (digit(i)) ++i;
    const std::size_t whole_end = i;
    std::size_t fraction_begin = i;
    std::size_t fraction_end = i;
    if (i < text.size() && text[i] == '.') {
        fraction_begin = ++i;
        while (digit(i)) ++i;
        fraction_end = i;
        if (fraction_begin == fraction_end) return decimal_result::not_a_number;
    }
    if (whole_begin == whole_end) return decimal_result::not_a_number;
    long long exponent = 0;
    if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
        ++i;
        bool down = false;
        if (i < text.size() && (text[i] == '-' || text[i] == '+')) down = text[i++] == '-';
        if (!digit(i)) return decimal_result::not_a_number;
        for (; digit(i); ++i) exponent = std::min(exponent * 10 + (text[i] - '0'), 1'000'000'000LL);
        if (down) exponent = -exponent;
    }
    if (i != text.size()) return decimal_result::not_a_number;

    // A digit's weight is 10^(place); those below 10^-scale must be zeros.
    long long place = static_cast<long long>(whole_end - whole_begin) - 1 + exponent + scale;
    uint128 result = 0;
    int digits = 0;
    bool inexact = false;
    const auto take = [&](char c) {
        if (place < 0) {
            inexact = inexact || c != '0';
        } else if (digits > 0 || c != '0') {
            if (++digits > precision) return false;
            result = result * 10 + static_cast<unsigned>(c - '0');
        }
        --place;
        return true;
    };
    for (std::size_t at = whole_begin; at < whole_end; ++at)
        if (!take(text[at])) return decimal_result::out_of_range;
    for (std::size_t at = fraction_begin; at < fraction_end; ++at)
        if (!take(text[at])) return decimal_result::out_of_range;
    if (inexact) return decimal_result::inexact;
    if (digits > 0) {
        for (; place >= 0; --place) {
            if (++digits > precision) return decimal_result::out_of_range;
            result *= 10;
        }
    }
    value = negative ? -static_cast<int128>(result) : static_cast<int128>(result);
    return decimal_result::ok;
}

}  // namespace lakeflow::host
