// host/land/delta/stats.cpp: see stats.h.
#include "host/land/delta/stats.h"

#include "host/base/error.h"
#include "host/base/json.h"
#include "host/base/text.h"
#include "host/base/time.h"
#include "host/duck/duck.h"

namespace lakeflow::host::delta {
namespace {

constexpr std::size_t prefix_characters = 32;

// Bytes of the first characters, at most prefix_characters.
std::size_t prefix_bytes(std::string_view text) {
    std::size_t at = 0;
    for (std::size_t n = 0; n < prefix_characters && at < text.size(); ++n) {
        ++at;
        while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) ++at;
    }
    return at;
}

std::uint32_t code_point(std::string_view c) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(c[i]); };
    switch (c.size()) {
        case 1: return byte(0);
        case 2: return (byte(0) & 0x1fu) << 6 | (byte(1) & 0x3fu);
        case 3: return (byte(0) & 0x0fu) << 12 | (byte(1) & 0x3fu) << 6 | (byte(2) & 0x3fu);
        default: return (byte(0) & 0x07u) << 18 | (byte(1) & 0x3fu) << 12 | (byte(2) & 0x3fu) << 6 | (byte(3) & 0x3fu);
    }
}

std::string utf8(std::uint32_t point) {
    const auto tail = [&](int shift) { return static_cast<char>(0x80 | (point >> shift & 0x3f)); };
    if (point < 0x80) return {static_cast<char>(point)};
    if (point < 0x800) return {static_cast<char>(0xc0 | point >> 6), tail(0)};
    if (point < 0x10000) return {static_cast<char>(0xe0 | point >> 12), tail(6), tail(0)};
    return {static_cast<char>(0xf0 | point >> 18), tail(12), tail(6), tail(0)};
}

// "2026-01-01 00:00:00.123456+00" -> microseconds.
std::optional<std::int64_t> parse_instant(std::string text, bool zoned) {
    if (zoned) {
        if (!text.ends_with("+00")) return std::nullopt;
        text.resize(text.size() - 3);
    }
    if (text.size() < 19 || text[10] != ' ') return std::nullopt;
    text[10] = 'T';
    return parse_local_us(text);
}

std::int64_t floor_ms(std::int64_t us) { return us >= 0 ? us / 1000 : -((-us + 999) / 1000); }

std::string instant_json(std::int64_t ms, bool zoned) {
    // Always three digits: "2026-01-01T00:00:00.120".
    std::string text = format_local(ms * 1000);
    text.resize(text.size() - 3);
    return "\"" + text + (zoned ? "Z\"" : "\"");
}

std::optional<std::string> number_json(const std::string& text) {
    // A JSON number has no "inf" or "nan", and a digit before its point, which DuckDB leaves out of a decimal that has only places:
    // ".5". Exponents come as "1e+300".
    if (text.empty()) return std::nullopt;
    for (const char c : text) {
        if (!(c >= '0' && c <= '9') && c != '-' && c != '+' && c != '.' && c != 'e' && c != 'E') return std::nullopt;
    }
    const std::size_t sign = text.front() == '-' ? 1 : 0;
    if (text.find('.') == sign) return text.substr(0, sign) + "0" + text.substr(sign);
    return text;
}

std::optional<std::string> bound_json(const type& t, const std::string& text, bool upper) {
    const std::string& n = t.name;
    if (n == "byte" || n == "short" || n == "integer" || n == "long" || n.starts_with("decimal"))
        return number_json(text);
    if (n == "float" || n == "double") return upper ? std::nullopt : number_json(text);
    if (n == "string") {
        if (!is_utf8(text)) return std::nullopt;
        if (!upper) return quote_json(lower_text(text));
        const std::optional<std::string> bound = upper_text(text);
        return bound ? std::optional(quote_json(*bound)) : std::nullopt;
    }
    if (n == "date") {
        return parse_date(text) ? std::optional(quote_json(text)) : std::nullopt;
    }
    if (n == "timestamp" || n == "timestamp_ntz") {
        const bool zoned = n == "timestamp";
        const std::optional<std::int64_t> us = parse_instant(text, zoned);
        if (!us) return std::nullopt;
        const std::int64_t ms = upper ? -floor_ms(-*us) : floor_ms(*us);
        // 9999-12-31T23:59:59.9999 rounds up to a year that the text form does not have.
        if (upper && ms > 253402300799999) return std::nullopt;
        return instant_json(ms, zoned);
    }
    return std::nullopt;
}

struct parts {
    std::string min, max, nulls;
};

void put(std::string& object, const std::string& name, const std::string& value) {
    object += (object.empty() ? "{" : ",") + quote_json(name) + ":" + value;
}

parts collect(const std::vector<field>& columns, const file_stats& from, const std::string& path) {
    parts made;
    for (const field& f : columns) {
        const std::string key = (path.empty() ? "" : path + ".") + duck::quote_name(f.stored_name());
        if (f.type.name == "struct") {
            const parts inner = collect(f.type.fields, from, key);
            if (!inner.min.empty()) put(made.min, f.stored_name(), inner.min + "}");
            if (!inner.max.empty()) put(made.max, f.stored_name(), inner.max + "}");
            if (!inner.nulls.empty()) put(made.nulls, f.stored_name(), inner.nulls + "}");
            continue;
        }
        if (f.type.name == "array" || f.type.name == "map") continue;
        const auto found = from.find(key);
        if (found == from.end()) continue;
        const column_stats& stats = found->second;
        const auto has = [&](const char* name) { return stats.find(name) != stats.end(); };
        if (has("min")) {
            if (const auto bound = bound_json(f.type, stats.find("min")->second, false))
                put(made.min, f.stored_name(), *bound);
        }
        if (has("max")) {
            if (const auto bound = bound_json(f.type, stats.find("max")->second, true))
                put(made.max, f.stored_name(), *bound);
        }
        if (has("null_count")) put(made.nulls, f.stored_name(), stats.find("null_count")->second);
    }
    return made;
}

}  // namespace

std::string lower_text(std::string_view text) { return std::string(text.substr(0, prefix_bytes(text))); }

std::optional<std::string> upper_text(std::string_view text) {
    std::size_t end = prefix_bytes(text);
    if (end == text.size()) return std::string(text);
    // Raise the last character that can be raised; everything that begins with the prefix lies below then.
    std::string prefix(text.substr(0, end));
    while (!prefix.empty()) {
        std::size_t begin = prefix.size() - 1;
        while (begin > 0 && (static_cast<unsigned char>(prefix[begin]) & 0xc0) == 0x80) --begin;
        std::uint32_t point = code_point(std::string_view(prefix).substr(begin));
        prefix.resize(begin);
        if (point >= 0x10ffff) continue;
        ++point;
        if (point == 0xd800) point = 0xe000;
        return prefix + utf8(point);
    }
    return std::nullopt;
}

std::string to_stats(std::int64_t rows, const std::vector<field>& columns, const file_stats& from) {
    const parts made = collect(columns, from, {});
    const auto object = [](const std::string& text) { return text.empty() ? std::string("{}") : text + "}"; };
    return "{\"numRecords\":" + std::to_string(rows) + ",\"minValues\":" + object(made.min) +
           ",\"maxValues\":" + object(made.max) + ",\"nullCount\":" + object(made.nulls) + "}";
}

}  // namespace lakeflow::host::delta
