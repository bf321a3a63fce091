// host/scan/sql_tree.h: expressions of a parsed SQL statement as predicates. What parses is DuckDB, above this floor; what comes here is
// the JSON of its json_serialize_sql. Literals take the type of the column that they are compared with (contract 22). Any thread.
#pragma once

#include <boost/json/fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/arrow/arrow.h"
#include "host/scan/predicate.h"

namespace lakeflow::host {

// The names of a statement's one table.
struct sql_scope {
    const arrow_schema& schema;
    std::vector<std::string> qualifiers;  // what may stand before a column: the alias, or the table's name
};

// A column of a struct schema by a name that a person wrote: exactly, or without regard to case where that is clear. -1: none;
// -2: several that differ only by case.
std::int64_t find_named(const ArrowSchema& node, std::string_view name) noexcept;

// A COLUMN_REF, or members taken out of one, by the names that the schema has; nothing if it names no column.
std::optional<column_path> column_of(const boost::json::value& node, const sql_scope& scope);

// The expressions that a WHERE joins by AND.
std::vector<const boost::json::value*> conjunct_nodes(const boost::json::value& where);

// The predicate of one expression; nothing if it is more than a predicate can say, and then `why` names what: "the function lower".
std::optional<predicate> predicate_of(const boost::json::value& node, const sql_scope& scope, std::string& why);

// The conjuncts of the job's `where`, from "SELECT * FROM t WHERE <text>": exactly one SELECT of one table with a WHERE and nothing else.
// Throws config.where, naming what else there is.
std::vector<predicate> where_of(const boost::json::value& statements, const arrow_schema& schema,
                                std::string_view text);

}  // namespace lakeflow::host
