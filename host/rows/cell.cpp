// host/rows/cell.cpp: see cell.h.
#include "host/rows/cell.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "host/arrow/decimal.h"
#include "host/base/json.h"
#include "host/base/text.h"
#include "host/rows/values.h"

namespace lakeflow::host {
namespace {

template <class T>
const fixed_column<T>& fixed(const column& c) noexcept {
    return static_cast<const fixed_column<T>&>(c);
}

int128 integer_at(const column& from, std::int64_t row) noexcept {
    switch (from.id()) {
        case type_id::boolean: return static_cast<const bool_column&>(from).value(row);
        case type_id::int8: return fixed<std::int8_t>(from).value(row);
        case type_id::int16: return fixed<std::int16_t>(from).value(row);
        case type_id::int32:
        case type_id::date32: return fixed<std::int32_t>(from).value(row);
        case type_id::decimal128: return fixed<int128>(from).value(row);
        default: return fixed<std::int64_t>(from).value(row);
    }
}

double real_at(const column& from, std::int64_t row) noexcept {
    return from.id() == type_id::float32 ? static_cast<double>(fixed<float>(from).value(row))
                                         : fixed<double>(from).value(row);
}

cell::kind kind_of(type_id id) noexcept {
    switch (id) {
        case type_id::float32:
        case type_id::float64: return cell::kind::real;
        case type_id::utf8:
        case type_id::large_utf8:
        case type_id::binary:
        case type_id::large_binary: return cell::kind::text;
        default: return cell::kind::integer;
    }
}

template <class T>
int sign(const T& a, const T& b) noexcept {
    return a < b ? -1 : b < a ? 1 : 0;
}

std::int64_t max_of(type_id id) noexcept {
    switch (id) {
        case type_id::int8: return std::numeric_limits<std::int8_t>::max();
        case type_id::int16: return std::numeric_limits<std::int16_t>::max();
        case type_id::int32: return std::numeric_limits<std::int32_t>::max();
        default: return std::numeric_limits<std::int64_t>::max();
    }
}

bool instant_of(const spec_value& value, type_id id, std::int64_t& us) {
    if (value.type == spec_value::kind::number)
        return parse_integer(value.text, min_instant_us, max_instant_us, us) == number_result::ok;
    if (value.type != spec_value::kind::text) return false;
    const auto parsed = id == type_id::timestamp_utc ? parse_rfc3339_us(value.text) : parse_local_us(value.text);
    if (parsed) us = *parsed;
    return parsed.has_value();
}

}  // namespace

bool has_cells(type_id id) noexcept {
    return id != type_id::list && id != type_id::struct_ && id != type_id::map && id != type_id::null_;
}

void read_cell(const column& from, std::int64_t row, cell& out) {
    if (from.is_null(row)) {
        out.type = cell::kind::null_;
        return;
    }
    out.type = kind_of(from.id());
    if (out.type == cell::kind::integer)
        out.integer = integer_at(from, row);
    else if (out.type == cell::kind::real)
        out.real = real_at(from, row);
    else
        out.text = static_cast<const text_column&>(from).value(row);
}

int compare_cell(const column& from, std::int64_t row, const cell& other) noexcept {
    switch (other.type) {
        case cell::kind::null_: return 1;
        case cell::kind::integer: return sign(integer_at(from, row), other.integer);
        case cell::kind::real: return sign(real_at(from, row), other.real);
        case cell::kind::text: {
            const int order = static_cast<const text_column&>(from).value(row).compare(other.text);
            return order < 0 ? -1 : order > 0 ? 1 : 0;
        }
    }
    return 0;
}

cell make_cell(const spec_value& value, const ArrowSchema& node, const std::string& what) {
    cell result;
    if (value.type == spec_value::kind::null_) return result;
    const column_type type = type_of(node);
    const bool number = value.type == spec_value::kind::number;
    const bool text = value.type == spec_value::kind::text;
    bool fits = false;
    result.type = kind_of(type.id);
    switch (type.id) {
        case type_id::boolean:
            fits = value.type == spec_value::kind::boolean;
            result.integer = value.flag;
            break;
        case type_id::int8:
        case type_id::int16:
        case type_id::int32:
        case type_id::int64: {
            std::int64_t i = 0;
            const std::int64_t max = max_of(type.id);
            fits = number && parse_integer(value.text, -max - 1, max, i) == number_result::ok;
            result.integer = i;
            break;
        }
        case type_id::float32:
        case type_id::float64:
            fits = number && parse_real(value.text, result.real) == number_result::ok;
            if (type.id == type_id::float32) result.real = static_cast<double>(static_cast<float>(result.real));
            fits = fits && std::isfinite(result.real);
            break;
        case type_id::decimal128:
            fits = (number || text) &&
                   parse_decimal(value.text, type.precision, type.scale, result.integer) == decimal_result::ok;
            break;
        case type_id::utf8:
        case type_id::large_utf8:
            fits = text;
            result.text = value.text;
            break;
        case type_id::date32: {
            const auto days = text ? parse_date(value.text) : std::nullopt;
            fits = days.has_value();
            result.integer = days.value_or(0);
            break;
        }
        case type_id::timestamp_utc:
        case type_id::timestamp_local: {
            std::int64_t us = 0;
            fits = instant_of(value, type.id, us);
            result.integer = us;
            break;
        }
        default: break;
    }
    if (!fits) {
        const std::string shown = value.type == spec_value::kind::boolean ? (value.flag ? "true" : "false")
                                  : text                                  ? quote_json(cut_utf8(value.text, 100))
                                                                          : value.text;
        bad_spec(what + ": " + shown + " is no value of " + type_name(node));
    }
    return result;
}

void append_cell(column& to, const cell& value) {
    if (value.type == cell::kind::null_) return to.append_null();
    const auto i64 = static_cast<std::int64_t>(value.integer);
    switch (to.id()) {
        case type_id::boolean: return static_cast<bool_column&>(to).append(value.integer != 0);
        case type_id::int8: return static_cast<fixed_column<std::int8_t>&>(to).append(static_cast<std::int8_t>(i64));
        case type_id::int16: return static_cast<fixed_column<std::int16_t>&>(to).append(static_cast<std::int16_t>(i64));
        case type_id::int32:
        case type_id::date32:
            return static_cast<fixed_column<std::int32_t>&>(to).append(static_cast<std::int32_t>(i64));
        case type_id::decimal128: return static_cast<fixed_column<int128>&>(to).append(value.integer);
        case type_id::float32: return static_cast<fixed_column<float>&>(to).append(static_cast<float>(value.real));
        case type_id::float64: return static_cast<fixed_column<double>&>(to).append(value.real);
        case type_id::utf8:
        case type_id::large_utf8:
        case type_id::binary:
        case type_id::large_binary: return static_cast<text_column&>(to).append(value.text);
        default: return static_cast<fixed_column<std::int64_t>&>(to).append(i64);
    }
}

void append_key(std::string& key, const cell& value) {
    const auto raw = [&](const auto& v) { key.append(reinterpret_cast<const char*>(&v), sizeof v); };
    key += static_cast<char>('0' + static_cast<int>(value.type));
    switch (value.type) {
        case cell::kind::null_: break;
        case cell::kind::integer: raw(value.integer); break;
        case cell::kind::real: raw(value.real == 0 ? 0.0 : value.real); break;
        case cell::kind::text:
            raw(value.text.size());
            key += value.text;
            break;
    }
}

std::string cell_json(const cell& value, const ArrowSchema& node) {
    if (value.type == cell::kind::null_) return "null";
    const column_type type = type_of(node);
    const auto i64 = static_cast<std::int64_t>(value.integer);
    switch (type.id) {
        case type_id::boolean: return value.integer != 0 ? "true" : "false";
        case type_id::decimal128: return decimal_text(value.integer, type.scale);
        case type_id::float32:
        case type_id::float64: {
            char text[64];
            char* end = type.id == type_id::float32
                            ? std::to_chars(text, text + sizeof text, static_cast<float>(value.real)).ptr
                            : std::to_chars(text, text + sizeof text, value.real).ptr;
            return std::string(text, end);
        }
        case type_id::utf8:
        case type_id::large_utf8: return quote_json(value.text);
        case type_id::binary:
        case type_id::large_binary: return quote_json(base64(value.text));
        case type_id::date32: return quote_json(format_date(static_cast<std::int32_t>(i64)));
        case type_id::timestamp_utc: return quote_json(format_rfc3339(i64));
        case type_id::timestamp_local: return quote_json(format_local(i64));
        default: return std::to_string(i64);
    }
}

}  // namespace lakeflow::host
