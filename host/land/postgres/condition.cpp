// host/land/postgres/condition.cpp: see condition.h.
#include "host/land/postgres/condition.h"

#include <variant>

#include "host/base/error.h"
#include "host/land/postgres/connection.h"

namespace lakeflow::host::postgres {
namespace {

bool is_text(const predicate& p) { return p.type.id == type_id::utf8 || p.type.id == type_id::large_utf8; }

std::string literal_sql(const literal& value, const predicate& p) {
    if (std::holds_alternative<std::monostate>(value)) return "NULL";
    const std::string text = to_text(value, p.type);
    // A text that holds a NUL is in no row.
    if (text.find('\0') != std::string::npos) return "NULL";
    const auto cast = [&](const std::string& type) { return "CAST(" + quote_text(text) + " AS " + type + ")"; };
    switch (p.type.id) {
        case type_id::float32: return cast("real");
        case type_id::float64: return cast("double precision");
        case type_id::decimal128: return cast("numeric");
        case type_id::date32: return cast("date");
        case type_id::timestamp_utc: return cast("timestamp with time zone");
        case type_id::timestamp_local: return cast("timestamp without time zone");
        case type_id::utf8:
        case type_id::large_utf8: return cast("text");
        case type_id::binary:
        case type_id::large_binary: return "CAST('\\x" + text.substr(2) + "' AS bytea)";
        default: return text;
    }
}

}  // namespace

std::string to_sql(const predicate& p) {
    std::string column;
    if (p.column.size() > 1) {
        throw failure("config.not_supported",
                      "where asks for a member of column " + p.column.front() +
                          ", which is jsonb in PostgreSQL, and the mode is \"snapshot\"",
                      "ask for a column of its own", retry_class::invalid);
    }
    if (!p.column.empty()) column = quote_name(short_name(p.column.front()));
    if (is_text(p) && !p.column.empty()) column = "CAST(" + column + " AS text) COLLATE \"C\"";
    const auto value = [&] { return literal_sql(p.values.front(), p); };
    switch (p.op) {
        case predicate_op::equal_null_safe: return "(" + column + " IS NOT DISTINCT FROM " + value() + ")";
        case predicate_op::in: {
            std::string list;
            for (const literal& v : p.values) list += (list.empty() ? "" : ", ") + literal_sql(v, p);
            return list.empty() ? "FALSE" : "(" + column + " IN (" + list + "))";
        }
        case predicate_op::is_null: return "(" + column + " IS NULL)";
        case predicate_op::is_not_null: return "(" + column + " IS NOT NULL)";
        case predicate_op::starts_with: return "starts_with(" + column + ", " + value() + ")";
        case predicate_op::ends_with: return "(right(" + column + ", length(" + value() + ")) = " + value() + ")";
        case predicate_op::contains: return "(strpos(" + column + ", " + value() + ") > 0)";
        case predicate_op::like: return "(" + column + " LIKE " + value() + " ESCAPE '')";
        case predicate_op::and_:
        case predicate_op::or_: {
            std::string out;
            for (const predicate& arg : p.args)
                out += (out.empty() ? "(" : p.op == predicate_op::and_ ? " AND " : " OR ") + to_sql(arg);
            return out + ")";
        }
        case predicate_op::not_: return "(NOT " + to_sql(p.args.front()) + ")";
        case predicate_op::always_true: return "TRUE";
        case predicate_op::always_false: return "FALSE";
        default: return "(" + column + " " + std::string(to_string(p.op)) + " " + value() + ")";
    }
}

}  // namespace lakeflow::host::postgres
