// host/land/postgres/table.h: a table of a PostgreSQL database as a flow finds it: what of it fits, and what has to change first. One thread.
#pragma once

#include <string>
#include <vector>

#include "host/land/destination.h"
#include "host/land/postgres/connection.h"

namespace lakeflow::host::postgres {

struct table_place {
    std::string schema;
    std::string table;  // shortened

    std::string qualified() const { return quote_name(schema) + "." + quote_name(table); }
};

struct table_change {
    std::string column;
    std::string sql;
};

struct table_shape {
    bool exists = false;
    std::vector<std::string> names;  // of the flow's columns in the table, quoted, shortened
    std::vector<std::string> types;  // of the flow's columns in the table, once it is changed
    std::vector<table_change> changes;
};

bool has_table(connection& c, const table_place& place);

// Looks at the table and plans what has to change for rows of the flow to land. A column that the table lacks is added as one that may be
// null; one of a narrower type is widened. A value also fits a column that holds it exactly: an integer a numeric, any scalar a text.
// Throws destination.schema, naming the column: for any other type, for a change with schema = "fixed", for a NOT NULL column that the flow
// lacks or may leave null, for a generated column, for what is no table, for a table that scd2 has not made.
table_shape look_at_table(connection& c, const table_place& place, const flow_spec& flow);
// Makes the changes, within the caller's transaction.
void change_table(connection& c, const table_place& place, const table_shape& shape);

// Every value of type `from` lands in a column of type `to` as it is, or the server refuses it.
bool fits(const std::string& from, const std::string& to);
// A column of type `from` may become one of `to` without a loss.
bool widens(const std::string& from, const std::string& to);

}  // namespace lakeflow::host::postgres
