// host/land/postgres/table.cpp: see table.h.
#include "host/land/postgres/table.h"

#include <algorithm>
#include <cstdio>

#include "host/base/error.h"
#include "host/land/postgres/values.h"
#include "host/land/sql/merge.h"

namespace lakeflow::host::postgres {
namespace {

struct wanted_column {
    std::string name;  // shortened
    std::string type;
    bool nullable = true;
    bool own = false;  // of scd2
    std::ptrdiff_t place = -1;
};

[[noreturn]] void refuse(const table_place& place, const std::string& why) {
    throw failure("destination.schema", "table " + place.schema + "." + place.table + ": " + why,
                  "land into another table with `destination`, or change this one");
}

int digits_of(const std::string& type) {
    if (type == "smallint") return 5;
    if (type == "integer") return 10;
    if (type == "bigint") return 19;
    return 0;
}

struct numeric_type {
    bool is = false;
    bool bounded = false;
    int precision = 0;
    int scale = 0;
};
numeric_type numeric_of(const std::string& type) {
    numeric_type n;
    n.bounded = std::sscanf(type.c_str(), "numeric(%d,%d)", &n.precision, &n.scale) == 2;
    n.is = n.bounded || type == "numeric";
    return n;
}

std::vector<wanted_column> wanted_columns(const flow_spec& flow) {
    std::vector<wanted_column> wanted;
    std::string sequence;
    for (std::int64_t i = 0; i < flow.schema->columns(); ++i) {
        const ArrowSchema& column = flow.schema->column(i);
        const std::string type = type_of_column(column);
        wanted.push_back({short_name(std::string(name_of(column))), type, is_nullable(column), false, i});
        if (name_of(column) == flow.sequence_by) sequence = type;
    }
    if (flow.mode == land_mode::scd2) {
        wanted.push_back({sql::start_column, sequence, false, true, -1});
        wanted.push_back({sql::end_column, sequence, true, true, -1});
    }
    return wanted;
}

// A merge into a large table looks its keys up. A btree holds entries of up to a third of a page, and a text or bytea may be longer: where no
// key has a fixed size, a hash of the last one serves.
std::string index_of_keys(const table_place& place, const flow_spec& flow, const std::vector<wanted_column>& wanted) {
    if (flow.primary_keys.empty() || (flow.mode == land_mode::append && !flow.rereads)) return {};
    std::string fixed, last;
    for (const std::string& key : flow.primary_keys) {
        const auto w = std::find_if(wanted.begin(), wanted.end(),
                                    [&](const wanted_column& x) { return x.name == short_name(key); });
        last = quote_name(w->name);
        if (w->type == "jsonb") return {};
        if (w->type != "text" && w->type != "bytea") fixed += (fixed.empty() ? "" : ", ") + last;
    }
    return "CREATE INDEX ON " + place.qualified() + (fixed.empty() ? " USING hash (" + last : " (" + fixed) + ")";
}

}  // namespace

bool has_table(connection& c, const table_place& place) {
    return !c.rows(
                 "SELECT 1 FROM pg_class t JOIN pg_namespace n ON n.oid = t.relnamespace WHERE n.nspname = $1 AND "
                 "t.relname = $2",
                 {place.schema, place.table})
                .empty();
}

bool widens(const std::string& from, const std::string& to) {
    if (from == to) return true;
    const int digits = digits_of(from);
    const numeric_type target = numeric_of(to);
    if (digits > 0) {
        if (digits_of(to) > 0) return digits_of(to) >= digits;
        if (to == "double precision") return digits <= 10;
        return target.is && (!target.bounded || target.precision - target.scale >= digits);
    }
    if (const numeric_type source = numeric_of(from); source.is) {
        if (!target.is || !target.bounded) return target.is;
        return source.bounded && target.scale >= source.scale &&
               target.precision - target.scale >= source.precision - source.scale;
    }
    if (from.starts_with("character varying")) return to == "text";
    return from == "real" && to == "double precision";
}

bool fits(const std::string& from, const std::string& to) {
    if (widens(from, to)) return true;
    const numeric_type source = numeric_of(from), target = numeric_of(to);
    // Too many digits before the point are an error of the server; it would round those behind it.
    if (digits_of(from) > 0 && target.is) return true;
    if (source.is && target.is) return !target.bounded || (source.bounded && target.scale >= source.scale);
    const bool scalar = digits_of(from) > 0 || source.is || from == "boolean" || from == "text";
    return scalar && (to == "text" || to == "character varying");
}

table_shape look_at_table(connection& c, const table_place& place, const flow_spec& flow) {
    const std::vector<wanted_column> wanted = wanted_columns(flow);
    table_shape shape;
    for (const wanted_column& w : wanted) {
        if (w.place < 0) continue;
        shape.names.push_back(quote_name(w.name));
        shape.types.push_back(w.type);
    }
    const auto table = c.rows(
        "SELECT t.relkind::text FROM pg_class t JOIN pg_namespace n ON n.oid = t.relnamespace WHERE n.nspname = $1 AND "
        "t.relname = $2",
        {place.schema, place.table});
    shape.exists = !table.empty();
    if (!shape.exists) {
        std::string list;
        for (const wanted_column& w : wanted)
            list += (list.empty() ? "" : ", ") + quote_name(w.name) + " " + w.type + (w.nullable ? "" : " NOT NULL");
        shape.changes.push_back({"", "CREATE TABLE " + place.qualified() + " (" + list + ")"});
        if (const std::string index = index_of_keys(place, flow, wanted); !index.empty())
            shape.changes.push_back({"", index});
        return shape;
    }
    if (*table[0][0] != "r" && *table[0][0] != "p") refuse(place, "it is no table, so nothing can be merged into it");
    const auto alter = [&](const wanted_column& w, const std::string& what, const std::string& sql) {
        if (flow.schema_changes == schema_policy::fixed)
            refuse(place, "column " + w.name + " " + what + ", and schema is \"fixed\"");
        shape.changes.push_back({w.name, "ALTER TABLE " + place.qualified() + " " + sql});
    };
    std::vector<bool> found(wanted.size());
    const auto columns = c.rows(
        "SELECT a.attname::text, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.atthasdef OR a.attidentity <> "
        "'', a.attgenerated <> '' OR a.attidentity = 'a' FROM pg_attribute a JOIN pg_class t ON t.oid = a.attrelid "
        "JOIN "
        "pg_namespace n ON n.oid = t.relnamespace WHERE n.nspname = $1 AND t.relname = $2 AND a.attnum > 0 AND NOT "
        "a.attisdropped ORDER BY a.attnum",
        {place.schema, place.table});
    for (const auto& row : columns) {
        const std::string& name = *row[0];
        const std::string& type = *row[1];
        const bool not_null = *row[2] == "t", filled = *row[3] == "t" || *row[4] == "t", generated = *row[4] == "t";
        const auto w =
            std::find_if(wanted.begin(), wanted.end(), [&](const wanted_column& x) { return x.name == name; });
        if (w == wanted.end()) {
            if (not_null && !filled)
                refuse(place, "column " + name + " may not be null, and the source does not have it");
            continue;
        }
        found[static_cast<std::size_t>(w - wanted.begin())] = true;
        if (generated) refuse(place, "column " + name + " is generated by the server, and the source has it too");
        std::string stays = type;
        if (!fits(w->type, type)) {
            if (!widens(type, w->type)) refuse(place, "column " + name + ": " + w->type + " does not fit " + type);
            alter(*w, "would become " + w->type + " where it is " + type,
                  "ALTER COLUMN " + quote_name(name) + " TYPE " + w->type);
            stays = w->type;
        }
        const bool ordered = w->own || (w->place >= 0 && name_of(flow.schema->column(w->place)) == flow.sequence_by);
        if (ordered && stays != w->type && (stays == "text" || stays == "character varying"))
            refuse(place,
                   "column " + name + ": " + w->type + " has another order as " + stays + ", and it is the sequence");
        if (w->nullable && not_null)
            refuse(place, "column " + name + " may be null in the source and not in the table");
        if (w->place >= 0) shape.types[static_cast<std::size_t>(w->place)] = stays;
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (found[i]) continue;
        const wanted_column& w = wanted[i];
        if (w.own) refuse(place, "it has no column " + w.name + ", so it is no table of mode scd2");
        const bool is_key = std::any_of(flow.primary_keys.begin(), flow.primary_keys.end(),
                                        [&](const std::string& key) { return short_name(key) == w.name; });
        if (is_key) refuse(place, "column " + w.name + " is a key and is not in the table");
        alter(w, "(" + w.type + ") is not in the table", "ADD COLUMN " + quote_name(w.name) + " " + w.type);
    }
    return shape;
}

void change_table(connection& c, const table_place& place, const table_shape& shape) {
    for (const table_change& change : shape.changes) {
        try {
            c.run(change.sql);
        } catch (const failure& f) {
            if (change.column.empty() || f.get().code != "destination.postgres") throw;
            refuse(place, "column " + change.column + " cannot be changed: " + f.get().message);
        }
    }
}

}  // namespace lakeflow::host::postgres
