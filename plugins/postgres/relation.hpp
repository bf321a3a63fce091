// plugins/postgres/relation.hpp: a table as the server has it: its columns, how each one travels and lands, its key, its size. Values; any
// thread may read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lakeflow/lakeflow.hpp"
#include "session.hpp"
#include "settings.hpp"

namespace lakeflow::postgres {

// What the bytes of a value are, in the server's binary form.
enum class wire : std::uint8_t {
    boolean,
    int2,
    int4,
    int8,
    float4,
    float8,
    decimal,       // numeric with a scale that DECIMAL can have
    numeric_text,  // numeric of any scale, as its digits
    text,          // text, varchar, json, xml, enums, and what the server was asked to write as text
    padded_text,   // char(n): its trailing blanks are no part of the value
    jsonb,
    bytea,
    uuid,
    date,
    time,
    timestamp,
    timestamptz,
    array,
};

// How one value is decoded.
struct value_plan {
    wire form = wire::text;
    int precision = 0, scale = 0;     // of decimal
    std::vector<value_plan> element;  // one, of an array

    lakeflow::type type() const;
};

struct column_plan {
    std::string name;
    value_plan value;
    bool nullable = true;
    std::string select;   // the expression that travels
    std::string compare;  // the expression that compares as the landed value does (text by its bytes); empty: none does
    std::string equal;    // the same for equality alone, where that can use an index
    bool temporal = false;  // date, timestamp, timestamptz

    field as_field() const { return {name, value.type(), nullable}; }
};

struct relation {
    std::string name;  // as messages say it: public.orders
    std::string from;  // "public"."orders", or (SELECT ..) AS "source"
    std::string oid;   // empty for a query
    char kind = 'q';   // pg_class.relkind; q: a query
    std::vector<column_plan> columns;
    std::vector<std::string> keys;

    const column_plan* find(std::string_view column) const;
    // Throws not_found(), naming table and column.
    const column_plan& at(std::string_view column) const;
    schema all_columns() const;
    bool has_pages() const { return kind == 'r' || kind == 'm' || kind == 't'; }  // rows have a ctid of one file
    bool has_xmin() const { return has_pages() || kind == 'p'; }
};

// Looks a table up: "schema.table", "table" by the search path, or the query of the settings. Throws not_found().
relation find_relation(session& server, std::string_view name, const table_settings& settings);

// Schemas that hold tables of people, in order; those on the search path of the session; the tables of one.
std::vector<std::string> list_schemas(session& server);
std::vector<std::string> list_default_tables(session& server);
std::vector<std::string> list_tables_of(session& server, const std::string& which);

}  // namespace lakeflow::postgres
