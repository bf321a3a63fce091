// host/land/delta/schema.h: the columns of a Delta table: from Arrow, from and to Spark's JSON, as DuckDB types, and whether a flow's
// columns fit a table's. Plain data; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/arrow/arrow.h"
#include "host/land/delta/actions.h"

namespace lakeflow::host::delta {

struct field;

struct type {
    std::string name;           // "long", "decimal(10,2)", "struct", "array", "map", ...
    std::vector<field> fields;  // of a struct; the element of an array; key and value of a map
};

struct field {
    std::string name;
    delta::type type;
    bool nullable = true;
    std::string metadata = "{}";  // JSON text
    std::string stored = {};      // the name that files use, where a table maps names; empty: its own

    const std::string& stored_name() const noexcept { return stored.empty() ? name : stored; }
};

// The bounds of a version, in a table of mode scd2.
inline constexpr const char* start_column = "__START_AT";
inline constexpr const char* end_column = "__END_AT";

// The columns that land: all but those of type null, which are left out until they have a type. Throws schema.unsupported, naming
// the column, for a null type below the top.
std::vector<field> from_arrow(const ArrowSchema& schema);
// Throws destination.corrupt for what is no schema.
std::vector<field> parse_schema(std::string_view schema_string);
std::string to_schema_string(const std::vector<field>& columns);

// "BIGINT", "STRUCT(\"a\" VARCHAR)", with the names that files use. Throws destination.unsupported_table for a type that DuckDB does not have.
std::string duckdb_type(const type& t);
// "BIGINT", "STRUCT<a: STRING>": for people.
std::string spark_type(const type& t);

// Checks names before anything is written: no empty name, none that differs from another of its level only by case. Throws
// destination.column_name naming the columns.
void check_names(const std::vector<field>& columns, const std::string& table);

// The same, for the duckdb destination.
void check_case(const std::vector<field>& columns, const std::string& table);

// Whether Delta or Parquet take a name only under another that the table maps it to: for a space or one of ,;{}()=, a tab, a newline.
bool needs_mapping(std::string_view name);
// Any name at any depth.
bool need_mapping(const std::vector<field>& columns);

// What a new table of these columns needs.
protocol protocol_for(const std::vector<field>& columns);

// What the flow wants to do with the table.
enum class intent { append, rewrite };
// Checks that we may write to an existing table: its protocol, features, properties and columns. Throws
// destination.unsupported_table naming the feature; nothing has been written then.
void check_table(const snapshot& table, intent what, const std::string& name);

}  // namespace lakeflow::host::delta
