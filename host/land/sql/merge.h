// host/land/sql/merge.h: the modes as SQL that DuckDB and PostgreSQL both run: rows of a batch wait in a temporary table and are
// merged into the target within the caller's transaction. What each mode means is written in host/land/README.md. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "host/land/destination.h"

namespace lakeflow::host::sql {

inline constexpr const char* start_column = "__START_AT";
inline constexpr const char* end_column = "__END_AT";

// What differs between the two.
struct dialect {
    std::string temporary;  // schema of temporary tables: "temp", "pg_temp"
    std::string drop;       // after the name of a new temporary table: "", " ON COMMIT DROP"
    std::string row_id;     // of a row of the target: "rowid", "ctid"
    std::string arrival;    // of a staged row, growing with (partition, arrival): "rowid", "lf_no"
    bool analyze = false;   // a temporary table is looked at before it is joined
};

// Where statements go.
class executor {
  public:
    virtual ~executor() = default;
    // Rows that the statement changed.
    virtual std::int64_t run(const std::string& sql) = 0;
    // The one integer of the one row.
    virtual std::int64_t integer(const std::string& sql) = 0;
};

// The target's columns, and what a mode must know of them.
struct merge_input {
    executor& to;
    const dialect& words;
    const flow_spec& flow;
    std::string target;                // quoted, with its schema
    std::vector<std::string> columns;  // quoted; the flow's, in its order: staged as c0, c1, ...
    std::vector<std::string> types;    // of the columns in the target
    bool has_deletes = false;
    std::string within = {};  // snapshot: the condition of the target's rows that it is the whole of; empty: all
};

// CREATE statements of the two tables that the caller fills: lf_stage (c0, c1, ... and what `arrival` needs), and, where there are
// tombstones, lf_dead (k0, k1, ..., s).
std::string staged(const merge_input& in);
std::string create_stage(const merge_input& in, const std::string& more_columns);
std::string dead(const merge_input& in);
std::string create_dead(const merge_input& in, const std::string& more_columns);

struct merge_outcome {
    land_result result;
    bool unchanged = false;  // a snapshot that the table holds already
};
// Merges what is staged into the target. Throws value.null_cursor (scd2: a row without a sequence), destination.would_empty,
// destination.too_many_deletes.
merge_outcome merge(const merge_input& in);

// The place of a column in the flow's schema. It is there: the destination has checked the flow.
std::size_t place_of(const flow_spec& flow, const std::string& column);
// The checks of a flow that are the same wherever it lands: keys and sequence are columns, scd2 has a sequence, keyed modes have keys,
// no column has a name that is the host's. Throws config.*, destination.column_name or schema.unsupported.
void check_flow(const flow_spec& flow);

}  // namespace lakeflow::host::sql
