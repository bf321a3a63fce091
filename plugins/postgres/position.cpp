// plugins/postgres/position.cpp: see position.hpp.
#include "position.hpp"

#include "sql.hpp"

namespace lakeflow::postgres {
namespace {

constexpr const char* xid_epoch = "4294967296";  // 2^32: the xmin of a row has 32 bits of its transaction's 64

bool is_integer(const column_plan& column) {
    return column.value.form == wire::int2 || column.value.form == wire::int4 || column.value.form == wire::int8;
}

// The cursor's value as an offset holds it.
std::string shown(const column_plan& column, const std::string& expression) {
    switch (column.value.form) {
        case wire::timestamptz: return "pg_catalog.to_char(" + expression + R"(, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))";
        case wire::timestamp: return "pg_catalog.to_char(" + expression + R"(, 'YYYY-MM-DD"T"HH24:MI:SS.US'))";
        default: return expression + "::text";
    }
}

std::string cast_of(const column_plan& column) {
    switch (column.value.form) {
        case wire::timestamptz: return "::timestamptz";
        case wire::timestamp: return "::timestamp";
        case wire::date: return "::date";
        default: return is_integer(column) ? "::int8" : "::numeric";
    }
}

std::string value_sql(const column_plan& column, const json& offset) {
    const json& value = offset.at("cursor");
    return literal(value.is_text() ? value.as_text() : value.dump()) + cast_of(column);
}

json offset_of(const column_plan& column, const std::string& text) {
    if (is_integer(column)) return json::object({{"cursor", json::number(text)}});
    return json::object({{"cursor", text}});
}

// What was read once and may have got company since.
std::string lookback_sql(const column_plan& column, std::int64_t lookback) {
    std::string amount = std::to_string(lookback);
    switch (column.value.form) {
        case wire::timestamptz:
        case wire::timestamp: return " - interval '" + amount + " microseconds'";
        case wire::date: return " - " + std::to_string((lookback + 86'399'999'999) / 86'400'000'000);
        default: return " - " + amount;
    }
}

json newest_by_cursor(session& server, const relation& table, const column_plan& column, const json& start) {
    const std::string name = identifier(column.name);
    if (column.nullable) {
        auto undated = server.ask_value("SELECT EXISTS (SELECT FROM " + table.from + " WHERE " + name + " IS NULL)");
        if (undated == "t") {
            throw failure(
                retry::permanent, "table " + table.name + " has rows whose cursor '" + column.name + "' is null",
                "give the column a value and NOT NULL, or leave such rows out by a query", "value.null_cursor");
        }
    }
    auto newest =
        server.ask("SELECT " + shown(column, "max(" + name + ")") +
                   (column.temporal ? ", pg_catalog.isfinite(max(" + name + "))" : "") + " FROM " + table.from);
    const answer_row& row = newest.at(0);
    if (!row.at(0)) return start;
    if ((column.temporal && row.at(1) != "t") || row.at(0) == "NaN" || row.at(0)->ends_with("Infinity")) {
        throw failure(retry::permanent,
                      "table " + table.name + " has a row whose cursor '" + column.name + "' is infinite",
                      "an infinite value orders nothing: leave such rows out by a query", "value.mismatch");
    }
    return offset_of(column, *row.at(0));
}

}  // namespace

const column_plan& check_cursor(const relation& table, const table_settings& settings) {
    const column_plan& column = table.at(settings.cursor);
    bool numeric = column.value.form == wire::decimal || column.value.form == wire::numeric_text;
    if (!is_integer(column) && !column.temporal && !numeric) {
        throw invalid("cursor '" + column.name + "' of table " + table.name + " is " + column.value.type().ddl() +
                      ", neither number nor timestamp")
            .with_code("config.invalid");
    }
    if (!settings.lookback && !table.has_xmin()) {
        throw invalid(
            "table " + table.name +
                " is no table of the server's own, so that only a lookback tells which rows may come late",
            "lookback = \"5m\": longer than the longest transaction that writes it; \"0s\" where none overlap")
            .with_code("config.missing");
    }
    return column;
}

std::pair<std::string, std::string> offset_order(const relation& table, const table_settings& settings) {
    if (!settings.lookback) return {};
    const column_plan& column = table.at(settings.cursor);
    if (is_integer(column)) return {"cursor", "integer"};
    if (column.value.form == wire::timestamptz) return {"cursor", "rfc3339"};
    return {};
}

latest latest_position(session& server, const relation& table, const table_settings& settings,
                       const latest_args& args) {
    latest out;
    const column_plan& column = check_cursor(table, settings);
    if (!settings.lookback) {
        if (args.bound) {
            out.offset = *args.bound;
            return out;
        }
        if (server.version() < 130000) {
            throw unsupported("version 13 of PostgreSQL is the first whose transactions can be told apart",
                              "set lookback instead");
        }
        std::int64_t now =
            json::number(server.ask_value("SELECT pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot())::text"))
                .as_int();
        if (const json* before = args.start.find("xmin"); before != nullptr && before->as_int() > now) {
            throw failure(retry::permanent,
                          "table " + table.name + " was read up to transaction " + before->dump() + ", and " +
                              server.place() + " is at " + std::to_string(now),
                          "this is another server, or one that was restored: lakeflow-host reset FLOW reads all again",
                          "source.rewound");
        }
        out.offset = json::object({{"xmin", now}});
        return out;
    }
    json newest = args.bound ? *args.bound : newest_by_cursor(server, table, column, args.start);
    out.offset = newest;
    if (newest.find("cursor") == nullptr) return out;
    if (args.limits.max_rows) {
        out.honoured = {"max_rows"};
        // The value of the last row within the limit: rows that share it come together.
        const std::string name = identifier(column.name);
        std::string where = name + " <= " + value_sql(column, newest);
        if (args.start.contains("cursor")) where += " AND " + name + " > " + value_sql(column, args.start);
        auto rows = server.ask("SELECT " + shown(column, name) + " FROM " + table.from + " WHERE " + where +
                               " ORDER BY " + name + " OFFSET " +
                               std::to_string(std::max<std::int64_t>(1, *args.limits.max_rows) - 1) + " LIMIT 1");
        if (!rows.empty() && rows[0].at(0)) out.offset = offset_of(column, *rows[0].at(0));
    }
    return out;
}

std::vector<std::string> range_conditions(const relation& table, const table_settings& settings, const json& start,
                                          const json& end) {
    std::vector<std::string> out;
    if (!settings.lookback) {
        const std::int64_t last = end.at("xmin").as_int();
        // How far a row's writer lies above a transaction, on the circle of 2^32 numbers. Numbers below 3 are no transactions, but very old.
        auto above = [](std::int64_t from) {
            return "((xmin::text::int8 - " + std::to_string(from & 0xffffffff) + " + " + xid_epoch + ") % " +
                   xid_epoch + ")";
        };
        if (const json* first = start.find("xmin")) {
            std::int64_t from = first->as_int();
            out.push_back("xmin::text::int8 >= 3 AND " + above(from) + " < " + std::to_string(last - from));
        } else {
            // All but what lies between the position and now: that comes with the next range.
            out.push_back("xmin::text::int8 < 3 OR " + above(last) +
                          " >= (SELECT pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())::text::int8 - " +
                          std::to_string(last) + ")");
        }
        return out;
    }
    const column_plan& column = table.at(settings.cursor);
    const std::string name = identifier(column.name);
    if (start.contains("cursor")) {
        std::string from = value_sql(column, start);
        out.push_back(*settings.lookback == 0 ? name + " > " + from
                                              : name + " >= (" + from + lookback_sql(column, *settings.lookback) + ")");
    }
    out.push_back(name + " <= " + value_sql(column, end));
    return out;
}

std::string deleted_condition(const relation& table, const table_settings& settings, bool removed) {
    const column_plan& column = table.at(settings.deleted);
    const std::string name = identifier(column.name);
    if (column.value.form == wire::boolean) return name + (removed ? " IS TRUE" : " IS NOT TRUE");
    return name + (removed ? " IS NOT NULL" : " IS NULL");
}

}  // namespace lakeflow::postgres
