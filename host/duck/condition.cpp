// host/duck/condition.cpp: see condition.h.
#include "host/duck/condition.h"

#include <variant>

#include "host/duck/duck.h"

namespace lakeflow::host::duck {
namespace {

std::string literal_sql(const literal& value, const predicate& p) {
    if (std::holds_alternative<std::monostate>(value)) return "NULL";
    const auto text = to_text(value, p.type);
    const auto cast = [&](const std::string& type) { return "CAST(" + quote_text(text) + " AS " + type + ")"; };
    switch (p.type.id) {
        case type_id::float32: return cast("FLOAT");
        case type_id::float64: return cast("DOUBLE");
        case type_id::decimal128:
            return cast("DECIMAL(" + std::to_string(p.type.precision) + "," + std::to_string(p.type.scale) + ")");
        case type_id::date32: return cast("DATE");
        case type_id::timestamp_utc: return cast("TIMESTAMP WITH TIME ZONE");
        case type_id::timestamp_local: return cast("TIMESTAMP");
        case type_id::utf8:
        case type_id::large_utf8: return quote_text(text);
        case type_id::binary:
        case type_id::large_binary: return "from_hex('" + text.substr(2) + "')";
        default: return text;
    }
}

}  // namespace

std::string to_sql(const predicate& p, const std::function<std::string(const std::string&)>& name) {
    std::string column;
    if (!p.column.empty()) {
        column = quote_name(name(p.column.front()));
        for (std::size_t i = 1; i < p.column.size(); ++i)
            column = "struct_extract(" + column + ", " + quote_text(p.column[i]) + ")";
    }
    const auto value = [&] { return literal_sql(p.values.front(), p); };
    switch (p.op) {
        case predicate_op::equal_null_safe: return "(" + column + " IS NOT DISTINCT FROM " + value() + ")";
        case predicate_op::in: {
            std::string list;
            for (const auto& v : p.values) list += (list.empty() ? "" : ", ") + literal_sql(v, p);
            return "(" + column + " IN (" + list + "))";
        }
        case predicate_op::is_null: return "(" + column + " IS NULL)";
        case predicate_op::is_not_null: return "(" + column + " IS NOT NULL)";
        case predicate_op::starts_with: return "starts_with(" + column + ", " + value() + ")";
        case predicate_op::ends_with: return "suffix(" + column + ", " + value() + ")";
        case predicate_op::contains: return "contains(" + column + ", " + value() + ")";
        case predicate_op::like: return "(" + column + " LIKE " + value() + ")";
        case predicate_op::and_:
        case predicate_op::or_: {
            std::string out;
            for (const auto& arg : p.args) {
                out += (out.empty() ? "(" : p.op == predicate_op::and_ ? " AND " : " OR ") + to_sql(arg, name);
            }
            return out + ")";
        }
        case predicate_op::not_: return "(NOT " + to_sql(p.args.front(), name) + ")";
        case predicate_op::always_true: return "TRUE";
        case predicate_op::always_false: return "FALSE";
        default: return "(" + column + " " + std::string(to_string(p.op)) + " " + value() + ")";
    }
}

}  // namespace lakeflow::host::duck
