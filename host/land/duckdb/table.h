// host/land/duckdb/table.h: a table of a DuckDB file as a flow finds it: what of it fits, and what has to change first. One thread.
#pragma once

#include <string>
#include <vector>

#include "host/duck/duck.h"
#include "host/land/delta/schema.h"
#include "host/land/destination.h"

namespace lakeflow::host::duckdb {

struct table_place {
    std::string schema;
    std::string table;
    std::string file;  // for messages

    std::string qualified() const { return duck::quote_name(schema) + "." + duck::quote_name(table); }
};

struct table_change {
    std::string column;
    std::string sql;
};

// What a batch needs to know of its table.
struct table_shape {
    bool exists = false;
    std::vector<std::string> names;     // of the flow's columns, as the table spells them, quoted
    std::vector<std::string> types;     // of the flow's columns in the table, once it is changed
    std::vector<table_change> changes;  // to be made first: CREATE, ADD COLUMN, ALTER TYPE
};

bool has_table(duck::connection& c, const table_place& place);

// Looks at the table and plans what has to change for rows of the flow to land. `columns` are those of the flow that have a type. A
// column that the table lacks is added as one that may be null; one of a narrower type is widened; a narrower one in the flow fits. Throws
// destination.schema, naming the column: for any other type, for a change with schema = "fixed", for a NOT NULL column that the
// flow lacks or may leave null, for a table that scd2 has not made.
table_shape look_at_table(duck::connection& c, const table_place& place, const flow_spec& flow,
                          const std::vector<delta::field>& columns);
// Makes the changes, within the caller's transaction. Throws destination.schema, naming the column, for what DuckDB refuses.
void change_table(duck::connection& c, const table_place& place, const table_shape& shape);

// Every value of type `from` is one of type `to`, by their names in DuckDB: "INTEGER" to "BIGINT", "DECIMAL(5,2)" to "DECIMAL(9,2)".
bool widens(const std::string& from, const std::string& to);

}  // namespace lakeflow::host::duckdb
