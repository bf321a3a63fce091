// host/query/values.cpp: see values.h.
#include "host/query/values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "host/arrow/decimal.h"
#include "host/base/json.h"
#include "host/base/text.h"
#include "host/base/time.h"

namespace lakeflow::host {
namespace {

template <class T>
std::string real(T value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
    std::array<char, 64> digits{};
    return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr};
}

// base/time.h writes the years 0001 to 9999; DuckDB has more, and infinities.
std::string instant(std::int64_t us, bool zone) {
    constexpr std::int64_t least = -62'135'596'800'000'000;
    constexpr std::int64_t most = 253'402'300'799'999'999;
    if (us < least || us > most) return std::to_string(us);
    return zone ? format_rfc3339(us) : format_local(us);
}

std::string date(std::int64_t days) {
    return days < -719'162 || days > 2'932'896 ? std::to_string(days) : format_date(static_cast<std::int32_t>(days));
}

// A scalar's text, and whether JSON puts it into quotes.
std::string scalar(const duck::value& v, const duck::value_type& type, bool& quoted) {
    quoted = false;
    switch (type.id) {
        case duck::type_boolean: return v.integer() ? "true" : "false";
        case duck::type_float: {
            const auto value = static_cast<float>(v.real());
            quoted = !std::isfinite(value);
            return real(value);
        }
        case duck::type_double: quoted = !std::isfinite(v.real()); return real(v.real());
        case duck::type_decimal: return decimal_text(v.wide(), type.scale);
        case duck::type_hugeint: return decimal_text(v.wide(), 0);
        case duck::type_date: quoted = true; return date(v.integer());
        case duck::type_timestamp: quoted = true; return instant(v.integer(), false);
        case duck::type_timestamp_tz: quoted = true; return instant(v.integer(), true);
        case duck::type_varchar: quoted = true; return std::string(v.text());
        case duck::type_blob: quoted = true; return base64(v.text());
        default: return std::to_string(v.integer());
    }
}

bool is_nested(int id) { return id == duck::type_list || id == duck::type_struct || id == duck::type_map; }

void append_map(const duck::value& v, const duck::value_type& type, std::string& out) {
    const bool object = type.children[0].id == duck::type_varchar;
    out += object ? '{' : '[';
    for (std::uint64_t i = 0; i < v.size(); ++i) {
        const auto entry = v.element(i);
        if (i) out += ',';
        if (!object) out += "{\"key\":";
        append_json(entry.field(0), type.children[0], out);
        out += object ? ":" : ",\"value\":";
        append_json(entry.field(1), type.children[1], out);
        if (!object) out += '}';
    }
    out += object ? '}' : ']';
}

}  // namespace

bool can_print(const duck::value_type& type) noexcept {
    const bool known = (type.id >= duck::type_boolean && type.id <= duck::type_date && type.id != duck::type_ubigint) ||
                       type.id == duck::type_hugeint || type.id == duck::type_varchar || type.id == duck::type_blob ||
                       type.id == duck::type_decimal || type.id == duck::type_timestamp_tz || is_nested(type.id);
    return known && std::all_of(type.children.begin(), type.children.end(), can_print);
}

std::string printable_as(const duck::value_type& type) { return type.id == duck::type_ubigint ? "HUGEINT" : "VARCHAR"; }

bool is_number(const duck::value_type& type) noexcept {
    return (type.id > duck::type_boolean && type.id <= duck::type_double) || type.id == duck::type_hugeint ||
           type.id == duck::type_decimal;
}

void append_json(const duck::value& v, const duck::value_type& type, std::string& out) {
    if (v.is_null()) {
        out += "null";
    } else if (type.id == duck::type_map) {
        append_map(v, type, out);
    } else if (type.id == duck::type_list) {
        out += '[';
        for (std::uint64_t i = 0; i < v.size(); ++i) {
            if (i) out += ',';
            append_json(v.element(i), type.children[0], out);
        }
        out += ']';
    } else if (type.id == duck::type_struct) {
        out += '{';
        for (std::size_t i = 0; i < type.children.size(); ++i) {
            if (i) out += ',';
            out += quote_json(type.names[i]) + ":";
            append_json(v.field(i), type.children[i], out);
        }
        out += '}';
    } else {
        bool quoted = false;
        const auto text = scalar(v, type, quoted);
        out += quoted ? quote_json(text) : text;
    }
}

std::string plain_text(const duck::value& v, const duck::value_type& type, bool& null) {
    null = v.is_null();
    if (null) return {};
    bool quoted = false;
    if (!is_nested(type.id)) return scalar(v, type, quoted);
    std::string out;
    append_json(v, type, out);
    return out;
}

}  // namespace lakeflow::host
