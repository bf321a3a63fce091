// plugins/http_api/cursor.cpp: see cursor.hpp.
#include "cursor.hpp"

#include <algorithm>

#include "cells.hpp"
#include "predicate.hpp"

namespace lakeflow::http_api {
namespace {

constexpr std::int64_t second = 1'000'000, day = 86'400 * second;

// The smallest step that a value in a request can show.
std::int64_t unit_of(const cursor_rule& rule, cursor_kind kind) {
    if (kind == cursor_kind::integer) return 1;
    if (kind == cursor_kind::day || rule.format == "date") return day;
    return rule.format == "epoch_ms" ? 1'000 : rule.format == "epoch_us" ? 1 : second;
}

std::string request_text(const cursor_rule& rule, const cursor_value& value) {
    switch (value.kind) {
        case cursor_kind::text: return value.text;
        case cursor_kind::integer: return std::to_string(value.number);
        case cursor_kind::day:
            return rule.format.empty() || rule.format == "rfc3339" ? date_text(value.number / day)
                                                                   : time_text(value.number, rule.format);
        case cursor_kind::instant: return time_text(value.number, rule.format);
    }
    return {};
}

}  // namespace

cursor_kind kind_of(const field& column) {
    switch (column.type.kind()) {
        case type_kind::timestamp: return cursor_kind::instant;
        case type_kind::date: return cursor_kind::day;
        case type_kind::int8:
        case type_kind::int16:
        case type_kind::int32:
        case type_kind::int64: return cursor_kind::integer;
        case type_kind::text:
        case type_kind::large_text: return cursor_kind::text;
        default:
            throw invalid("the cursor column '" + column.name + "' is of type " + column.type.ddl(),
                          "a cursor is a TIMESTAMP, a DATE, a whole number or a STRING")
                .with_code("config.invalid_option");
    }
}

cursor_value cursor_value::from(cursor_kind kind, const json& value) {
    cursor_value out;
    out.kind = kind;
    switch (kind) {
        case cursor_kind::text: out.text = plain_text(value); return out;
        case cursor_kind::integer: out.number = value.as_int(); return out;
        case cursor_kind::day:
        case cursor_kind::instant: {
            std::string text = value.as_text();
            if (text.size() == 10) text += "T00:00:00Z";
            const auto instant = parse_instant(text);
            if (!instant) throw invalid("'" + value.as_text() + "' is no instant");
            out.number = *instant;
            return out;
        }
    }
    return out;
}

json cursor_value::to_json() const {
    switch (kind) {
        case cursor_kind::text: return text;
        case cursor_kind::integer: return number;
        case cursor_kind::day: return date_text(number / day);
        case cursor_kind::instant: return format_instant(number);
    }
    return {};
}

void send_range(const cursor_rule& rule, const cursor_range& range, parameters& out) {
    if (range.from && rule.from) {
        cursor_value from = *range.from;
        // Rows at the bound are wanted, and the service gives those past what it is told.
        if (!rule.inclusive) from.number -= unit_of(rule, from.kind);
        out.push_back({rule.from->param, rule.from->fill(request_text(rule, from))});
    }
    if (range.to && rule.to) {
        cursor_value to = *range.to;
        // Rounded up to a unit, and one more, for a service that leaves its upper bound out.
        if (to.kind != cursor_kind::text) {
            const std::int64_t unit = unit_of(rule, to.kind);
            const std::int64_t over = ((to.number % unit) + unit) % unit;
            to.number += over == 0 ? unit : 2 * unit - over;
        }
        out.push_back({rule.to->param, rule.to->fill(request_text(rule, to))});
    }
}

void keep_range(const cursor_range& range, const std::string& column, bool undated, rows_spec& spec) {
    if (range.from) spec.keep(column, range.includes_from ? ">=" : ">", range.from->to_json(), undated);
    if (range.to) spec.keep(column, "<=", range.to->to_json(), undated);
}

std::vector<cursor_range> windows(const cursor_range& range, std::int64_t window_us) {
    std::vector<cursor_range> out;
    cursor_range rest = range;
    while (rest.from && rest.to && rest.to->number - rest.from->number > window_us) {
        cursor_range one = rest;
        one.to->number = one.from->number + window_us;
        rest.from = one.to;
        rest.includes_from = false;
        out.push_back(std::move(one));
    }
    out.push_back(std::move(rest));
    return out;
}

}  // namespace lakeflow::http_api
