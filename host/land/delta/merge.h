// host/land/delta/merge.h: what a batch of staged rows does to a table: which files are added, rewritten and removed. All of it is
// SQL in DuckDB over Parquet files, keys first, wide columns only where they are needed. Used by one thread at a time.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "host/base/cancel.h"
#include "host/duck/duck.h"
#include "host/land/delta/actions.h"
#include "host/land/delta/deletion_vector.h"
#include "host/land/delta/schema.h"
#include "host/land/delta/writer.h"
#include "host/land/destination.h"
#include "host/land/store.h"

namespace lakeflow::host::delta {

struct plan {
    std::vector<data_file> adds;
    std::vector<std::string> removes;  // paths as the log has them
    std::vector<std::string> moved;    // removed too: their rows stand in other files now, as they were
    land_result result;
    bool blind = false;      // nothing of the table was read for it
    bool unchanged = false;  // a snapshot equal to the table
};

struct merge_input {
    duck::connection& connection;
    store& files;
    file_writer& writer;
    const snapshot& table;
    const flow_spec& flow;
    const std::vector<field>& columns;     // of the table
    std::vector<std::string> keys;         // the key columns; all names as the files have them
    std::string sequence;                  // the sequence column, empty: arrival
    std::vector<std::string> track;        // scd2: the columns of which a difference opens a version, empty: all
    const std::vector<data_file>& staged;  // by arrival
    std::string
        deletes;  // a table of the connection with the staged tombstones (k0, k1, ..., s); empty: there are none
    bool unique = false;    // no key comes twice in the staged rows
    bool disjoint = false;  // the key ranges of the staged files do not overlap
    std::size_t row_bytes = 1;
    std::int64_t max_file_rows = 1 << 20;
    std::size_t max_file_bytes = 64 << 20;
    gone_rows* gone = nullptr;  // of the table's files that have deletion vectors

    // How many rows a new file holds.
    std::int64_t file_rows() const noexcept {
        const auto by_bytes = static_cast<std::int64_t>(max_file_bytes / std::max<std::size_t>(row_bytes, 1));
        return std::max<std::int64_t>(1, std::min(max_file_rows, by_bytes));
    }
};

// All rows are new, and added as they are.
plan plan_append(const merge_input& in);
// append with rereads: rows whose key the table holds, or that came before in this batch, are dropped and counted.
plan plan_keyed_append(const merge_input& in);
// The last row of a key in the batch, by (sequence, arrival), replaces the table's unless that is newer.
plan plan_scd1(const merge_input& in);
// Each row opens a version of its key at its sequence, and closes the one before it (scd2.cpp).
plan plan_scd2(const merge_input& in);
// Makes the files anew that `made` leaves as they are, with the types that the table's columns have now.
void rewrite_rest(const merge_input& in, plan& made);
// The staged rows are the whole table.
plan plan_snapshot(const merge_input& in);

}  // namespace lakeflow::host::delta
