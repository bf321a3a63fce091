// host/land/duckdb/table.cpp: see table.h.
#include "host/land/duckdb/table.h"

#include <algorithm>
#include <cstdio>
#include <optional>

#include "host/base/error.h"
#include "host/base/text.h"
#include "host/land/sql/merge.h"

namespace lakeflow::host::duckdb {
namespace {

struct wanted_column {
    std::string name;
    std::string type;  // as DuckDB spells it
    bool nullable = true;
    bool own = false;  // of scd2
    std::ptrdiff_t place = -1;
};

[[noreturn]] void refuse(const table_place& place, const std::string& why) {
    throw failure("destination.schema", "table " + place.table + " in " + place.file + ": " + why,
                  "land into another table with `destination`, or change this one");
}

// Digits before the point of whole numbers, by their type; and whether a DOUBLE holds them all.
std::optional<int> digits_of(const std::string& type) {
    if (type == "TINYINT") return 3;
    if (type == "SMALLINT") return 5;
    if (type == "INTEGER") return 10;
    if (type == "BIGINT") return 19;
    return std::nullopt;
}

struct decimal_type {
    int precision = 0;
    int scale = 0;
};
std::optional<decimal_type> decimal_of(const std::string& type) {
    decimal_type d;
    if (std::sscanf(type.c_str(), "DECIMAL(%d,%d)", &d.precision, &d.scale) != 2) return std::nullopt;
    return d;
}

std::vector<wanted_column> wanted_columns(duck::connection& c, const flow_spec& flow,
                                          const std::vector<delta::field>& columns) {
    std::vector<wanted_column> wanted;
    std::string types;
    std::string sequence;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        const std::string type = delta::duckdb_type(columns[i].type);
        wanted.push_back({columns[i].name, type, columns[i].nullable, false, static_cast<std::ptrdiff_t>(i)});
        if (columns[i].name == flow.sequence_by) sequence = type;
    }
    if (flow.mode == land_mode::scd2) {
        wanted.push_back({sql::start_column, sequence, false, true, -1});
        wanted.push_back({sql::end_column, sequence, true, true, -1});
    }
    // DuckDB's own spelling of each type.
    for (const wanted_column& w : wanted) types += (types.empty() ? "" : ", ") + ("typeof(NULL::" + w.type + ")");
    auto spelt = c.query("SELECT " + types);
    spelt.next();
    for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i].type = std::string(spelt[i].text());
    return wanted;
}

}  // namespace

bool has_table(duck::connection& c, const table_place& place) {
    return c.integer(
               "SELECT count(*) FROM duckdb_tables() WHERE database_name = current_database() AND schema_name = " +
               duck::quote_text(place.schema) + " AND lower(table_name) = lower(" + duck::quote_text(place.table) +
               ")") > 0;
}

bool widens(const std::string& from, const std::string& to) {
    if (from == to) return true;
    const auto digits = digits_of(from);
    const auto target = decimal_of(to);
    if (digits) {
        if (const auto other = digits_of(to)) return *other >= *digits;
        if (to == "HUGEINT") return true;
        if (to == "DOUBLE") return *digits <= 10;
        return target && target->precision - target->scale >= *digits;
    }
    if (const auto source = decimal_of(from)) {
        return target && target->scale >= source->scale &&
               target->precision - target->scale >= source->precision - source->scale;
    }
    return from == "FLOAT" && to == "DOUBLE";
}

table_shape look_at_table(duck::connection& c, const table_place& place, const flow_spec& flow,
                          const std::vector<delta::field>& columns) {
    const std::vector<wanted_column> wanted = wanted_columns(c, flow, columns);
    table_shape shape;
    shape.names.resize(columns.size());
    shape.types.resize(columns.size());
    for (const wanted_column& w : wanted) {
        if (w.place < 0) continue;
        shape.names[static_cast<std::size_t>(w.place)] = duck::quote_name(w.name);
        shape.types[static_cast<std::size_t>(w.place)] = w.type;
    }
    shape.exists = has_table(c, place);
    if (!shape.exists) {
        std::string list;
        for (const wanted_column& w : wanted) {
            list +=
                (list.empty() ? "" : ", ") + duck::quote_name(w.name) + " " + w.type + (w.nullable ? "" : " NOT NULL");
        }
        shape.changes.push_back({"", "CREATE TABLE " + place.qualified() + " (" + list + ")"});
        return shape;
    }
    const auto alter = [&](const wanted_column& w, const std::string& what, const std::string& sql) {
        if (flow.schema_changes == schema_policy::fixed)
            refuse(place, "column " + w.name + " " + what + ", and schema is \"fixed\"");
        shape.changes.push_back({w.name, "ALTER TABLE " + place.qualified() + " " + sql});
    };
    std::vector<bool> found(wanted.size());
    auto rows = c.query(
        "SELECT column_name, data_type, is_nullable OR column_default IS NOT NULL, is_nullable FROM duckdb_columns() "
        "WHERE database_name = current_database() AND schema_name = " +
        duck::quote_text(place.schema) + " AND lower(table_name) = lower(" + duck::quote_text(place.table) + ")");
    while (rows.next()) {
        const std::string name(rows[0].text());
        const std::string type(rows[1].text());
        const auto w = std::find_if(wanted.begin(), wanted.end(),
                                    [&](const wanted_column& x) { return equal_no_case(x.name, name); });
        if (w == wanted.end()) {
            if (rows[2].integer() == 0)
                refuse(place, "column " + name + " may not be null, and the source does not have it");
            continue;
        }
        found[static_cast<std::size_t>(w - wanted.begin())] = true;
        std::string stays = type;
        if (!widens(w->type, type)) {
            if (!widens(type, w->type)) refuse(place, "column " + name + ": " + w->type + " does not fit " + type);
            alter(*w, "would become " + w->type + " where it is " + type,
                  "ALTER COLUMN " + duck::quote_name(name) + " TYPE " + w->type);
            stays = w->type;
        }
        if (w->nullable && rows[3].integer() == 0)
            refuse(place, "column " + name + " may be null in the source and not in the table");
        if (w->place >= 0) {
            shape.names[static_cast<std::size_t>(w->place)] = duck::quote_name(name);
            shape.types[static_cast<std::size_t>(w->place)] = stays;
        }
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (found[i]) continue;
        const wanted_column& w = wanted[i];
        if (w.own) refuse(place, "it has no column " + w.name + ", so it is no table of mode scd2");
        const bool is_key =
            std::find(flow.primary_keys.begin(), flow.primary_keys.end(), w.name) != flow.primary_keys.end();
        if (is_key) refuse(place, "column " + w.name + " is a key and is not in the table");
        alter(w, "(" + w.type + ") is not in the table", "ADD COLUMN " + duck::quote_name(w.name) + " " + w.type);
    }
    return shape;
}

void change_table(duck::connection& c, const table_place& place, const table_shape& shape) {
    for (const table_change& change : shape.changes) {
        try {
            c.run(change.sql);
        } catch (const failure& f) {
            if (change.column.empty() || f.get().code != "destination.duckdb") throw;
            refuse(place, "column " + change.column + " cannot be changed: " + f.get().message);
        }
    }
}

}  // namespace lakeflow::host::duckdb
