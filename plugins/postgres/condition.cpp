// plugins/postgres/condition.cpp: predicates of lakeflow/scan.h as SQL. See statement.hpp.
#include "sql.hpp"
#include "statement.hpp"

namespace lakeflow::postgres {
namespace {

bool is_text_form(wire form) {
    return form == wire::text || form == wire::padded_text || form == wire::jsonb || form == wire::uuid ||
           form == wire::time || form == wire::numeric_text;
}

// Instants from the year 1 to 9999 have a text form that both sides agree on.
std::optional<std::string> instant_text(std::int64_t us) {
    static constexpr std::int64_t first = -62'135'596'800'000'000, last = 253'402'300'799'999'999;
    if (us < first || us > last) return std::nullopt;
    return format_instant(us);
}

// A value in the type of the column; "NULL" for null, nothing for what SQL text cannot say.
std::optional<std::string> value_sql(const column_plan& column, const json& value) {
    if (value.is_null()) return "NULL";
    const wire form = column.value.form;
    if (is_text_form(form)) {
        const std::string& text = value.as_text();
        if (text.find('\0') != std::string::npos) return std::nullopt;
        return literal(text);
    }
    switch (form) {
        case wire::boolean: return value.as_bool() ? "true" : "false";
        case wire::int2:
        case wire::int4:
        case wire::int8: return "(" + std::to_string(value.as_int()) + ")";
        case wire::float4: return literal(value.is_text() ? value.as_text() : value.dump()) + "::float4";
        case wire::float8: return literal(value.is_text() ? value.as_text() : value.dump()) + "::float8";
        case wire::decimal: return literal(value.is_text() ? value.as_text() : value.dump()) + "::numeric";
        case wire::bytea: return "pg_catalog.decode(" + literal(value.as_text()) + ", 'base64')";
        case wire::date: {
            std::int64_t days = value.as_int(), us = 0;
            if (__builtin_mul_overflow(days, std::int64_t{86'400'000'000}, &us)) return std::nullopt;
            auto text = instant_text(us);
            if (!text) return std::nullopt;
            return literal(text->substr(0, 10)) + "::date";
        }
        case wire::timestamp:
        case wire::timestamptz: {
            auto text = instant_text(value.as_int());
            if (!text) return std::nullopt;
            if (form == wire::timestamptz) return literal(*text) + "::timestamptz";
            return literal(text->substr(0, text->size() - 1)) + "::timestamp";
        }
        default: return std::nullopt;
    }
}

std::optional<std::string> list_sql(const relation& table, const json& conjunct, std::string_view between) {
    std::vector<std::string> parts;
    for (const json& one : conjunct.at("args").items()) {
        auto part = condition(table, one);
        if (!part) return std::nullopt;
        parts.push_back("(" + *part + ")");
    }
    if (parts.empty()) return std::nullopt;
    return join(parts, between);
}

std::optional<std::string> pattern_sql(const column_plan& column, const std::string& op, const json& conjunct) {
    if (!is_text_form(column.value.form) || conjunct.at("value").is_null()) return std::nullopt;
    auto value = value_sql(column, conjunct.at("value"));
    if (!value) return std::nullopt;
    const std::string text = *value + "::text COLLATE \"C\"";
    if (op == "starts_with")
        return "pg_catalog.left(" + column.compare + ", pg_catalog.length(" + text + ")) = " + text;
    if (op == "ends_with") {
        // right(x, 0) is the empty text, which everything ends with.
        return "pg_catalog.right(" + column.compare + ", pg_catalog.length(" + text + ")) = " + text;
    }
    return "pg_catalog.strpos(" + column.compare + ", " + text + ") > 0";
}

}  // namespace

std::optional<std::string> condition(const relation& table, const json& conjunct) {
    const std::string op = conjunct.text("op");
    if (op == "true" || op == "false") return op;
    if (op == "and") return list_sql(table, conjunct, " AND ");
    if (op == "or") return list_sql(table, conjunct, " OR ");
    if (op == "not") {
        auto inside = condition(table, conjunct.at("arg"));
        if (!inside) return std::nullopt;
        return "NOT (" + *inside + ")";
    }
    const json* path = conjunct.find("column");
    if (path == nullptr || path->size() != 1) return std::nullopt;
    const column_plan* column = table.find(path->items()[0].as_text());
    if (column == nullptr) return std::nullopt;
    if (op == "is_null") return column->select + " IS NULL";
    if (op == "is_not_null") return column->select + " IS NOT NULL";
    if (column->compare.empty()) return std::nullopt;
    if (op == "starts_with" || op == "ends_with" || op == "contains") return pattern_sql(*column, op, conjunct);
    if (op == "in") {
        std::vector<std::string> values;
        for (const json& one : conjunct.at("values").items()) {
            auto value = value_sql(*column, one);
            if (!value) return std::nullopt;
            values.push_back(*value);
        }
        if (values.empty()) return std::nullopt;
        return column->equal + " IN (" + join(values, ", ") + ")";
    }
    static constexpr std::string_view comparisons[] = {"=", "<=>", "<", "<=", ">", ">="};
    for (std::string_view known : comparisons) {
        if (op != known) continue;
        auto value = value_sql(*column, conjunct.at("value"));
        if (!value) return std::nullopt;
        if (op == "=") return column->equal + " = " + *value;
        if (op == "<=>") return column->equal + " IS NOT DISTINCT FROM " + *value;
        return column->compare + " " + op + " " + *value;
    }
    return std::nullopt;
}

}  // namespace lakeflow::postgres
