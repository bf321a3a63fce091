// host/land/json_row.cpp: see json_row.h.
#include "host/land/json_row.h"

#include <charconv>
#include <cmath>

#include "host/arrow/cells.h"
#include "host/base/json.h"
#include "host/base/text.h"
#include "host/base/time.h"

namespace lakeflow::host {
namespace {

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;

void append_integer(std::int64_t value, std::string& out) {
    char digits[24];
    out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

template <class T>
void append_real(T value, std::string& out) {
    if (std::isnan(value)) {
        out += "\"NaN\"";
    } else if (std::isinf(value)) {
        out += value < 0 ? "\"-Infinity\"" : "\"Infinity\"";
    } else {
        char digits[64];
        out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
    }
}

void append_decimal(int128 value, int scale, std::string& out) {
    const bool negative = value < 0;
    uint128 rest = negative ? ~static_cast<uint128>(value) + 1 : static_cast<uint128>(value);
    std::string digits;
    do {
        digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(rest % 10)));
        rest /= 10;
    } while (rest != 0);
    if (scale > 0) {
        const auto places = static_cast<std::size_t>(scale);
        if (digits.size() <= places) digits.insert(0, places + 1 - digits.size(), '0');
        digits.insert(digits.size() - places, ".");
    }
    if (negative) out += '-';
    out += digits;
}

void append_map(const ArrowSchema& type, const ArrowArray& array, std::int64_t at, std::string& out) {
    const auto* offsets = static_cast<const std::int32_t*>(array.buffers[1]);
    const ArrowSchema& entry = *type.children[0];
    const ArrowArray& entries = *array.children[0];
    const type_id key = type_of(*entry.children[0]).id;
    const bool object = key == type_id::utf8 || key == type_id::large_utf8;
    out += object ? '{' : '[';
    for (std::int32_t i = offsets[at]; i < offsets[at + 1]; ++i) {
        if (i != offsets[at]) out += ',';
        const std::int64_t row = entries.offset + i;
        if (!object) out += "{\"key\":";
        append_json_value(*entry.children[0], *entries.children[0], row, out);
        out += object ? ":" : ",\"value\":";
        append_json_value(*entry.children[1], *entries.children[1], row, out);
        if (!object) out += '}';
    }
    out += object ? '}' : ']';
}

}  // namespace

void append_json_value(const ArrowSchema& type, const ArrowArray& array, std::int64_t row, std::string& out) {
    const std::int64_t at = array.offset + row;
    const column_type t = type_of(type);
    if (t.id == type_id::null_ || is_null_at(array, at)) {
        out += "null";
        return;
    }
    switch (t.id) {
        case type_id::boolean:
            out += static_cast<const std::uint8_t*>(array.buffers[1])[at >> 3] >> (at & 7) & 1 ? "true" : "false";
            break;
        case type_id::int8: append_integer(value_at<std::int8_t>(array, at), out); break;
        case type_id::int16: append_integer(value_at<std::int16_t>(array, at), out); break;
        case type_id::int32: append_integer(value_at<std::int32_t>(array, at), out); break;
        case type_id::int64: append_integer(value_at<std::int64_t>(array, at), out); break;
        case type_id::float32: append_real(value_at<float>(array, at), out); break;
        case type_id::float64: append_real(value_at<double>(array, at), out); break;
        case type_id::decimal128: append_decimal(value_at<int128>(array, at), t.scale, out); break;
        case type_id::utf8: out += quote_json(text_at<std::int32_t>(array, at)); break;
        case type_id::large_utf8: out += quote_json(text_at<std::int64_t>(array, at)); break;
        case type_id::binary: out += "\"" + base64(text_at<std::int32_t>(array, at)) + "\""; break;
        case type_id::large_binary: out += "\"" + base64(text_at<std::int64_t>(array, at)) + "\""; break;
        case type_id::date32: out += "\"" + format_date(value_at<std::int32_t>(array, at)) + "\""; break;
        case type_id::timestamp_utc: out += "\"" + format_rfc3339(value_at<std::int64_t>(array, at)) + "\""; break;
        case type_id::timestamp_local: out += "\"" + format_local(value_at<std::int64_t>(array, at)) + "\""; break;
        case type_id::list: {
            const auto* offsets = static_cast<const std::int32_t*>(array.buffers[1]);
            out += '[';
            for (std::int32_t i = offsets[at]; i < offsets[at + 1]; ++i) {
                if (i != offsets[at]) out += ',';
                append_json_value(*type.children[0], *array.children[0], i, out);
            }
            out += ']';
            break;
        }
        case type_id::struct_: append_json_row(type, array, row, out); break;
        case type_id::map: append_map(type, array, at, out); break;
        case type_id::null_: break;
    }
}

void append_json_row(const ArrowSchema& schema, const ArrowArray& array, std::int64_t row, std::string& out) {
    out += '{';
    for (std::int64_t i = 0; i < schema.n_children; ++i) {
        if (i) out += ',';
        out += quote_json(name_of(*schema.children[i]));
        out += ':';
        append_json_value(*schema.children[i], *array.children[i], array.offset + row, out);
    }
    out += '}';
}

}  // namespace lakeflow::host
