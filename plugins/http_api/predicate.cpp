// plugins/http_api/predicate.cpp: see predicate.hpp.
#include "predicate.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "cells.hpp"
#include "keys.hpp"

namespace lakeflow::http_api {
namespace {

// Addresses have their limits; a longer list stays with the host.
constexpr std::size_t most_list_bytes = 4'000;

std::int64_t floor_to(std::int64_t value, std::int64_t unit) {
    const std::int64_t down = value / unit;
    return value % unit < 0 ? down - 1 : down;
}

std::optional<double> real_of(const json& value) {
    double out = 0;
    if (value.is_number()) {
        out = value.as_double();
        // An integer past 2^53 is not the double that it would become.
        if (value.is_integer() && std::abs(value.as_int()) > (std::int64_t{1} << 53)) return std::nullopt;
    } else if (value.is_text() && detail::is_json_number(value.as_text())) {
        out = detail::to_double(value.as_text());
    } else {
        return std::nullopt;
    }
    return std::isfinite(out) ? std::optional(out) : std::nullopt;
}

std::optional<std::int64_t> whole_of(const json& value) {
    if (value.is_integer()) return value.as_int();
    if (value.is_text() && detail::is_json_number(value.as_text())) return detail::exact_integer(value.as_text());
    return std::nullopt;
}

std::string real_text(double value, bool single) {
    char text[40];
    const auto end = single ? std::to_chars(text, text + sizeof text, static_cast<float>(value)).ptr
                            : std::to_chars(text, text + sizeof text, value).ptr;
    std::string out(text, end);
    return out.find_first_of(".e") == std::string::npos ? out + ".0" : out;
}

bool is_text_type(const type& of) { return of.kind() == type_kind::text || of.kind() == type_kind::large_text; }

std::string op_of(const json& conjunct) { return conjunct.text("op"); }

// Compares a value with a literal: less than, equal or greater than zero; nothing where the two do not compare.
std::optional<int> compare(const field& column, const ArrowArray& array, std::int64_t row, const json& literal) {
    const auto sign = [](const auto& a, const auto& b) { return a < b ? -1 : b < a ? 1 : 0; };
    switch (column.type.kind()) {
        case type_kind::boolean:
            if (literal.type() != json::kind::boolean) return std::nullopt;
            return sign(integer_cell(column.type, array, row), static_cast<std::int64_t>(literal.as_bool()));
        case type_kind::int8:
        case type_kind::int16:
        case type_kind::int32:
        case type_kind::int64:
        case type_kind::date:
        case type_kind::timestamp:
        case type_kind::timestamp_ntz: {
            const auto wanted = whole_of(literal);
            if (!wanted) return std::nullopt;
            return sign(integer_cell(column.type, array, row), *wanted);
        }
        case type_kind::float32:
        case type_kind::float64: {
            const auto wanted = real_of(literal);
            const double value = real_cell(column.type, array, row);
            if (!wanted) return std::nullopt;
            if (std::isnan(value)) return 1;  // the greatest number
            return sign(value, *wanted);
        }
        case type_kind::decimal: {
            const std::string text = literal.is_text() ? literal.as_text() : literal.dump();
            if (!detail::is_json_number(text)) return std::nullopt;
            const std::string value = decimal_cell(column.type, array, row);
            if (detail::canonical_number(value) == detail::canonical_number(text)) return 0;
            return sign(detail::to_double(value), detail::to_double(text));
        }
        case type_kind::text:
        case type_kind::large_text: {
            if (!literal.is_text()) return std::nullopt;
            const int order = text_cell(column.type, array, row).compare(literal.as_text());
            return order < 0 ? -1 : order > 0 ? 1 : 0;
        }
        default: return std::nullopt;
    }
}

// How `like` writes what begins with, ends with or holds a text; nothing where the text has a mark of its own.
std::optional<std::string> like_pattern(std::string_view op, const std::string& text) {
    if (text.find_first_of("%_\\") != std::string::npos) return std::nullopt;
    return (op == "starts_with" ? "" : "%") + text + (op == "ends_with" ? "" : "%");
}

std::optional<pushed> push_list(const filter_rule& rule, const field& column, const json& conjunct) {
    const sent_value* to = rule.find("in");
    const json* values = conjunct.find("values");
    if (to == nullptr || values == nullptr || !values->is_array()) return std::nullopt;
    json items = json::array();
    std::string joined;
    for (const json& value : values->items()) {
        if (value.is_null()) continue;  // c IN (1, NULL) holds where c IN (1) does
        auto text = literal_text(column.type, value, rule.format);
        if (!text || (rule.list == "comma" && text->find(',') != std::string::npos)) return std::nullopt;
        joined += (joined.empty() ? "" : ",") + *text;
        items.push(std::move(*text));
    }
    if (items.empty() || joined.size() > most_list_bytes) return std::nullopt;
    if (rule.list == "comma") return pushed{{to->param, to->fill(joined)}, rule.exact};
    json repeated = json::array();
    for (const json& one : items.items()) repeated.push(to->fill(one.as_text()));
    return pushed{{to->param, std::move(repeated)}, rule.exact};
}

}  // namespace

std::string time_text(std::int64_t microseconds, std::string_view format) {
    if (format == "epoch_s") return std::to_string(floor_to(microseconds, 1'000'000));
    if (format == "epoch_ms") return std::to_string(floor_to(microseconds, 1'000));
    if (format == "epoch_us") return std::to_string(microseconds);
    if (format == "date") return date_text(floor_to(microseconds, 86'400'000'000));
    return format_instant(microseconds);
}

std::optional<std::string> literal_text(const type& of, const json& value, std::string_view format) {
    if (value.is_null()) return std::nullopt;
    switch (of.kind()) {
        case type_kind::boolean:
            if (value.type() != json::kind::boolean) return std::nullopt;
            return value.as_bool() ? "true" : "false";
        case type_kind::int8:
        case type_kind::int16:
        case type_kind::int32:
        case type_kind::int64: {
            const auto whole = whole_of(value);
            return whole ? std::optional(std::to_string(*whole)) : std::nullopt;
        }
        case type_kind::float32:
        case type_kind::float64: {
            const auto real = real_of(value);
            return real ? std::optional(real_text(*real, of.kind() == type_kind::float32)) : std::nullopt;
        }
        case type_kind::decimal: {
            const std::string text = plain_text(value);
            return detail::is_json_number(text) ? std::optional(text) : std::nullopt;
        }
        case type_kind::text:
        case type_kind::large_text: return value.is_text() ? std::optional(value.as_text()) : std::nullopt;
        case type_kind::date: {
            const auto days = whole_of(value);
            if (!days) return std::nullopt;
            return format.empty() || format == "date" || format == "rfc3339"
                       ? date_text(*days)
                       : time_text(*days * 86'400'000'000, format);
        }
        case type_kind::timestamp: {
            const auto micros = whole_of(value);
            if (!micros) return std::nullopt;
            // A coarser unit would ask for other rows.
            const std::int64_t unit = format == "epoch_s"    ? 1'000'000
                                      : format == "epoch_ms" ? 1'000
                                      : format == "date"     ? 86'400'000'000
                                                             : 1;
            if (*micros % unit != 0) return std::nullopt;
            return time_text(*micros, format);
        }
        case type_kind::timestamp_ntz: {
            const auto micros = whole_of(value);
            if (!micros || !(format.empty() || format == "rfc3339")) return std::nullopt;
            std::string text = format_instant(*micros);
            text.pop_back();
            return text;
        }
        default: return std::nullopt;
    }
}

const field* column_of(const schema& columns, const json& conjunct) {
    const json* parts = conjunct.find("column");
    if (parts == nullptr || !parts->is_array() || parts->size() != 1 || !parts->items()[0].is_text()) return nullptr;
    const std::string& name = parts->items()[0].as_text();
    if (const field* exact = columns.find(name)) return exact;
    const auto lower = [](std::string text) {
        for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        return text;
    };
    const field* out = nullptr;
    for (const field& one : columns.fields()) {
        if (lower(one.name) != lower(name)) continue;
        if (out != nullptr) return nullptr;
        out = &one;
    }
    return out;
}

std::optional<pushed> push_filter(const resource& of, const schema& columns, const json& conjunct) {
    const field* column = column_of(columns, conjunct);
    if (column == nullptr) return std::nullopt;
    const auto rule = std::find_if(of.filters.begin(), of.filters.end(), [&](const filter_rule& one) {
        const json named = json::object({{"column", json::array({one.column})}});
        return column_of(columns, named) == column;
    });
    if (rule == of.filters.end()) return std::nullopt;
    std::string op = op_of(conjunct);
    if (op == "in") return push_list(*rule, *column, conjunct);
    const json* value = conjunct.find("value");
    if (op == "<=>") op = value == nullptr || value->is_null() ? "is_null" : "=";
    if (op == "not") {
        // NOT (c = v) is c <> v: neither holds for a null.
        const json* inner = conjunct.find("arg");
        if (inner == nullptr || op_of(*inner) != "=") return std::nullopt;
        op = "<>";
        value = inner->find("value");
    }
    if (op == "is_null" || op == "is_not_null") {
        const sent_value* to = rule->find(op);
        return to == nullptr ? std::nullopt : std::optional(pushed{{to->param, to->fill("true")}, rule->exact});
    }
    if (value == nullptr) return std::nullopt;
    const sent_value* to = rule->find(op);
    auto text = literal_text(column->type, *value, rule->format);
    if (!text) return std::nullopt;
    if (to == nullptr && (op == "starts_with" || op == "ends_with" || op == "contains")) {
        to = rule->find("like");
        text = like_pattern(op, *text);
        if (!text) return std::nullopt;
    }
    if (to == nullptr) return std::nullopt;
    return pushed{{to->param, to->fill(*text)}, rule->exact};
}

bool passes(const json& conjunct, const field& column, const ArrowArray& array, std::int64_t row) {
    const std::string op = op_of(conjunct);
    const bool null = is_null(array, row);
    if (op == "is_null") return null;
    if (op == "is_not_null") return !null;
    const json* value = conjunct.find("value");
    if (op == "<=>" && (value == nullptr || value->is_null())) return null;
    if (null) return false;
    if (op == "in") {
        const auto& values = conjunct.at("values").items();
        return std::any_of(values.begin(), values.end(),
                           [&](const json& one) { return compare(column, array, row, one) == 0; });
    }
    if (op == "not") {
        const auto order = compare(column, array, row, conjunct.at("arg").at("value"));
        return !order || *order != 0;
    }
    if (value == nullptr) return true;
    if (is_text_type(column.type) && value->is_text()) {
        const std::string_view text = text_cell(column.type, array, row), part = value->as_text();
        if (op == "starts_with") return text.substr(0, part.size()) == part;
        if (op == "ends_with") return text.size() >= part.size() && text.substr(text.size() - part.size()) == part;
        if (op == "contains") return text.find(part) != std::string_view::npos;
    }
    const auto order = compare(column, array, row, *value);
    if (!order) return true;  // not for us to judge
    if (op == "=" || op == "<=>") return *order == 0;
    if (op == "<>") return *order != 0;
    if (op == "<") return *order < 0;
    if (op == "<=") return *order <= 0;
    if (op == ">") return *order > 0;
    if (op == ">=") return *order >= 0;
    return true;
}

std::string describe(const json& conjunct) {
    static constexpr std::pair<std::string_view, std::string_view> names[] = {{"=", "EqualTo"},
                                                                              {"<=>", "EqualNullSafe"},
                                                                              {"<", "LessThan"},
                                                                              {"<=", "LessThanOrEqual"},
                                                                              {">", "GreaterThan"},
                                                                              {">=", "GreaterThanOrEqual"},
                                                                              {"in", "In"},
                                                                              {"is_null", "IsNull"},
                                                                              {"is_not_null", "IsNotNull"},
                                                                              {"starts_with", "StartsWith"},
                                                                              {"ends_with", "EndsWith"},
                                                                              {"contains", "Contains"},
                                                                              {"not", "Not"}};
    const std::string op = op_of(conjunct);
    std::string out(op);
    for (const auto& [sign, name] : names)
        if (op == sign) out = name;
    if (const json* inner = conjunct.find("arg")) return out + "(" + describe(*inner) + ")";
    std::string column;
    if (const json* parts = conjunct.find("column")) {
        for (const json& part : parts->items()) column += (column.empty() ? "" : ".") + part.as_text();
    }
    out += "(" + column;
    if (const json* values = conjunct.find("values")) {
        std::string all;
        for (const json& one : values->items()) all += (all.empty() ? "" : ", ") + plain_text(one);
        return out + ", [" + all + "])";
    }
    if (const json* value = conjunct.find("value")) {
        const std::string format = conjunct.text("type");
        std::string text = plain_text(*value);
        if (format == "g" || format == "f")
            text = literal_text(format == "g" ? type::float64() : type::float32(), *value, {}).value_or(text);
        if (format.substr(0, 3) == "tsu" && value->is_integer()) text = format_instant(value->as_int());
        if (format == "tdD" && value->is_integer()) text = date_text(value->as_int());
        out += ", " + text;
    }
    return out + ")";
}

}  // namespace lakeflow::http_api
