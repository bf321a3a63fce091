// plugins/postgres/statement.hpp: what a read leaves to the server ("lakeflow.scan/1"), and the SELECT that comes of it. A condition is taken
// over only where the server's answer is the host's: text compares by its bytes (COLLATE "C"), patterns are calls of functions, not LIKE.
// Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "relation.hpp"

namespace lakeflow::postgres {

// A SELECT in its parts.
struct statement {
    std::string from;                  // with TABLESAMPLE, if any
    std::vector<column_plan> columns;  // what travels, in order
    std::vector<std::string> where;    // conjuncts
    std::vector<std::string> group_by;
    bool aggregates = false;
    std::string order_by;
    std::optional<std::int64_t> limit;
    std::int64_t offset = 0;

    std::string select() const;  // SELECT .. FROM ..
    std::string copy() const;    // COPY (SELECT ..) TO STDOUT (FORMAT binary)
    schema columns_out() const;
};

// A conjunct of lakeflow/scan.h as SQL; nothing for one that the server does not decide just as the host does.
std::optional<std::string> condition(const relation& table, const json& conjunct);

// The answer to a request of lakeflow/scan.h.
json answer_scan(const relation& table, const table_settings& settings, const json& request);

// The statement of an accepted scan document ("{}": all of the table).
statement make_statement(const relation& table, const json& scan);

// Whether a read with this scan may be split by pages: not what one statement gives complete.
bool wants_one_statement(const json& scan);

}  // namespace lakeflow::postgres
