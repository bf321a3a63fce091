// host/land/postgres/values.cpp: see values.h.
#include "host/land/postgres/values.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "host/arrow/cells.h"
#include "host/arrow/decimal.h"
#include "host/base/error.h"
#include "host/land/json_row.h"

namespace lakeflow::host::postgres {
namespace {

template <class T>
void append_number(T value, std::string& out) {
    char digits[64];
    out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

template <class T>
void append_real(T value, std::string& out) {
    if (std::isnan(value)) {
        out += "NaN";
    } else if (std::isinf(value)) {
        out += value < 0 ? "-Infinity" : "Infinity";
    } else {
        append_number(value, out);
    }
}

[[noreturn]] void refuse_nul() {
    throw failure("value.mismatch", "the text holds a NUL character (U+0000), which PostgreSQL cannot hold",
                  "take it out at the source, or land this table in delta or duckdb, which hold it");
}

void append_text(std::string_view value, std::string& out) {
    for (const char c : value) {
        switch (c) {
            case '\0': refuse_nul();
            case '\\': out += "\\\\"; break;
            case '\n': out += "\\n"; break;
            case '\r': out += "\\r"; break;
            case '\t': out += "\\t"; break;
            default: out += c;
        }
    }
}

void append_bytes(std::string_view value, std::string& out) {
    static constexpr char digits[] = "0123456789abcdef";
    out += "\\\\x";
    for (const char c : value) {
        const auto byte = static_cast<unsigned char>(c);
        out += digits[byte >> 4];
        out += digits[byte & 15];
    }
}

void append_padded(std::int64_t value, int width, std::string& out) {
    std::string digits;
    append_number(value, digits);
    for (auto size = static_cast<int>(digits.size()); size < width; ++size) out += '0';
    out += digits;
}

// Days since 1970 as "2026-03-01"; returns whether the year is before Christ, which PostgreSQL writes at the end.
bool append_date(std::int64_t days, std::string& out) {
    // Howard Hinnant's civil_from_days.
    days += 719468;
    const std::int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    const std::int64_t day_of_era = days - era * 146097;
    const std::int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    const std::int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const std::int64_t shifted = (5 * day_of_year + 2) / 153;
    const std::int64_t day = day_of_year - (153 * shifted + 2) / 5 + 1;
    const std::int64_t month = shifted < 10 ? shifted + 3 : shifted - 9;
    const std::int64_t year = year_of_era + era * 400 + (month <= 2 ? 1 : 0);
    append_padded(year > 0 ? year : 1 - year, 4, out);
    out += '-';
    append_padded(month, 2, out);
    out += '-';
    append_padded(day, 2, out);
    return year <= 0;
}

void append_instant(std::int64_t us, bool zoned, std::string& out) {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    if (us == most) {
        out += "infinity";
        return;
    }
    if (us <= -most) {
        out += "-infinity";
        return;
    }
    constexpr std::int64_t day = 86'400'000'000;
    const std::int64_t days = us / day - (us % day < 0 ? 1 : 0);
    const std::int64_t rest = us - days * day;
    const bool before_christ = append_date(days, out);
    out += ' ';
    append_padded(rest / 3'600'000'000, 2, out);
    out += ':';
    append_padded(rest / 60'000'000 % 60, 2, out);
    out += ':';
    append_padded(rest / 1'000'000 % 60, 2, out);
    out += '.';
    append_padded(rest % 1'000'000, 6, out);
    if (zoned) out += "+00";
    if (before_christ) out += " BC";
}

// jsonb refuses \u0000 too.
void append_json(const ArrowSchema& column, const ArrowArray& array, std::int64_t row, std::string& out) {
    std::string json;
    append_json_value(column, array, row, json);
    for (std::size_t at = 0; (at = json.find("\\u0000", at)) != std::string::npos; at += 6) {
        std::size_t slashes = 0;
        while (slashes < at && json[at - slashes - 1] == '\\') ++slashes;
        if (slashes % 2 == 0) refuse_nul();
    }
    append_text(json, out);
}

}  // namespace

std::string type_of_column(const ArrowSchema& column) {
    const column_type t = type_of(column);
    switch (t.id) {
        case type_id::boolean: return "boolean";
        case type_id::int8:
        case type_id::int16: return "smallint";
        case type_id::int32: return "integer";
        case type_id::int64: return "bigint";
        case type_id::float32: return "real";
        case type_id::float64: return "double precision";
        case type_id::decimal128: return "numeric(" + std::to_string(t.precision) + "," + std::to_string(t.scale) + ")";
        case type_id::utf8:
        case type_id::large_utf8: return "text";
        case type_id::binary:
        case type_id::large_binary: return "bytea";
        case type_id::date32: return "date";
        case type_id::timestamp_utc: return "timestamp with time zone";
        case type_id::timestamp_local: return "timestamp without time zone";
        case type_id::list:
        case type_id::struct_:
        case type_id::map: return "jsonb";
        case type_id::null_: break;
    }
    return "text";
}

void append_copy_value(const ArrowSchema& column, const ArrowArray& array, std::int64_t row, std::string& out) {
    const std::int64_t at = array.offset + row;
    const column_type t = type_of(column);
    if (t.id == type_id::null_ || is_null_at(array, at)) {
        out += "\\N";
        return;
    }
    switch (t.id) {
        case type_id::boolean:
            out += static_cast<const std::uint8_t*>(array.buffers[1])[at >> 3] >> (at & 7) & 1 ? "true" : "false";
            break;
        case type_id::int8: append_number(static_cast<int>(value_at<std::int8_t>(array, at)), out); break;
        case type_id::int16: append_number(value_at<std::int16_t>(array, at), out); break;
        case type_id::int32: append_number(value_at<std::int32_t>(array, at), out); break;
        case type_id::int64: append_number(value_at<std::int64_t>(array, at), out); break;
        case type_id::float32: append_real(value_at<float>(array, at), out); break;
        case type_id::float64: append_real(value_at<double>(array, at), out); break;
        case type_id::decimal128: out += decimal_text(value_at<int128>(array, at), t.scale); break;
        case type_id::utf8: append_text(text_at<std::int32_t>(array, at), out); break;
        case type_id::large_utf8: append_text(text_at<std::int64_t>(array, at), out); break;
        case type_id::binary: append_bytes(text_at<std::int32_t>(array, at), out); break;
        case type_id::large_binary: append_bytes(text_at<std::int64_t>(array, at), out); break;
        case type_id::date32:
            if (append_date(value_at<std::int32_t>(array, at), out)) out += " BC";
            break;
        case type_id::timestamp_utc: append_instant(value_at<std::int64_t>(array, at), true, out); break;
        case type_id::timestamp_local: append_instant(value_at<std::int64_t>(array, at), false, out); break;
        default: append_json(column, array, row, out);
    }
}

}  // namespace lakeflow::host::postgres
