// host/scan/literals.cpp: see literals.h.
#include "host/scan/literals.h"

#include <cmath>
#include <limits>

#include "host/arrow/decimal.h"
#include "host/base/text.h"
#include "host/base/time.h"
#include "host/rows/values.h"

namespace lakeflow::host {
namespace {

// The greatest value with `scale` digits that is not above the number.
std::optional<int128> floor_of(const std::string& text, int scale) {
    const auto point = text.find('.');
    if (point == std::string::npos || text.find_first_of("eE") != std::string::npos) return std::nullopt;
    int128 value = 0;
    const auto cut = text.substr(0, point + (scale > 0 ? 1 + static_cast<std::size_t>(scale) : 0));
    if (parse_decimal(cut, 38, scale, value) != decimal_result::ok) return std::nullopt;
    return text.front() == '-' ? value - 1 : value;
}

std::optional<typed_constant> decimal_in(const std::string& text, int precision, int scale) {
    int128 value = 0;
    switch (parse_decimal(text, precision, scale, value)) {
        case decimal_result::ok: return typed_constant{value, false};
        case decimal_result::inexact: {
            const auto below = floor_of(text, scale);
            if (!below) return std::nullopt;
            return typed_constant{*below, true};
        }
        default: return std::nullopt;
    }
}

std::optional<typed_constant> integer_in(const std::string& text, std::int64_t least, std::int64_t most) {
    const auto found = decimal_in(text, 38, 0);
    if (!found) return std::nullopt;
    const auto value = std::get<int128>(found->value);
    if (value < least || value > most) return std::nullopt;
    return typed_constant{static_cast<std::int64_t>(value), found->rounded};
}

template <class T>
std::optional<typed_constant> integer_in(const std::string& text) {
    return integer_in(text, std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
}

std::optional<typed_constant> real_in(const sql_constant& c, bool single) {
    const auto word = lower_ascii(c.text);
    const bool special = !c.cast_to.empty() && c.what == sql_constant::kind::text;
    const double infinity = std::numeric_limits<double>::infinity();
    if (special && word == "nan") return typed_constant{std::nan(""), false};
    if (special && (word == "inf" || word == "infinity")) return typed_constant{infinity, false};
    if (special && (word == "-inf" || word == "-infinity")) return typed_constant{-infinity, false};
    if (!is_number(c.text, true)) return std::nullopt;
    double value = 0;
    if (!single) {
        if (parse_real(c.text, value) != number_result::ok) return std::nullopt;
        return typed_constant{value, false};
    }
    float narrow = 0;
    if (parse_real(c.text, narrow) != number_result::ok) return std::nullopt;
    return typed_constant{static_cast<double>(narrow), false};
}

std::optional<typed_constant> instant_in(const std::string& text, bool with_zone) {
    if (const auto days = parse_date(text)) return typed_constant{std::int64_t{*days} * 86'400'000'000, false};
    if (const auto local = parse_local_us(text)) return typed_constant{*local, false};
    if (!with_zone) return std::nullopt;
    if (const auto instant = parse_rfc3339_us(text)) return typed_constant{*instant, false};
    return std::nullopt;
}

bool cast_fits(const std::string& cast, const column_type& type) {
    if (cast.empty()) return true;
    switch (type.id) {
        case type_id::float32:
        case type_id::float64: return cast == "DOUBLE" || cast == "FLOAT";
        case type_id::utf8:
        case type_id::large_utf8: return cast == "VARCHAR";
        case type_id::date32: return cast == "DATE";
        case type_id::timestamp_utc: return cast == "DATE" || cast == "TIMESTAMP" || cast == "TIMESTAMP WITH TIME ZONE";
        case type_id::timestamp_local: return cast == "DATE" || cast == "TIMESTAMP";
        default: return false;
    }
}

}  // namespace

std::optional<typed_constant> in_type(const sql_constant& c, const column_type& type) {
    using kind = sql_constant::kind;
    if (c.what == kind::null) return typed_constant{};
    if (!cast_fits(c.cast_to, type)) return std::nullopt;
    const bool text = c.what == kind::text;
    const bool number = (c.what == kind::number || text) && is_number(c.text, true);
    switch (type.id) {
        case type_id::boolean: {
            if (c.what == kind::boolean) return typed_constant{c.text == "true", false};
            const auto word = lower_ascii(c.text);
            if (text && (word == "true" || word == "false")) return typed_constant{word == "true", false};
            return std::nullopt;
        }
        case type_id::int8: return number ? integer_in<std::int8_t>(c.text) : std::nullopt;
        case type_id::int16: return number ? integer_in<std::int16_t>(c.text) : std::nullopt;
        case type_id::int32: return number ? integer_in<std::int32_t>(c.text) : std::nullopt;
        case type_id::int64: return number ? integer_in<std::int64_t>(c.text) : std::nullopt;
        case type_id::decimal128: return number ? decimal_in(c.text, type.precision, type.scale) : std::nullopt;
        case type_id::float32:
        case type_id::float64:
            return c.what == kind::number || text ? real_in(c, type.id == type_id::float32) : std::nullopt;
        case type_id::utf8:
        case type_id::large_utf8:
            if (text || (c.what == kind::number && c.whole)) return typed_constant{c.text, false};
            return std::nullopt;
        case type_id::binary:
        case type_id::large_binary:
            if (c.what == kind::binary) return typed_constant{c.text, false};
            return std::nullopt;
        case type_id::date32: {
            const auto days = text ? parse_date(c.text) : std::nullopt;
            if (!days) return std::nullopt;
            return typed_constant{std::int64_t{*days}, false};
        }
        case type_id::timestamp_utc:
        case type_id::timestamp_local:
            return text ? instant_in(c.text, type.id == type_id::timestamp_utc) : std::nullopt;
        default: return std::nullopt;
    }
}

}  // namespace lakeflow::host
