// tests/support/land_oracle.h: what the modes mean, once. `land_oracle` applies batches row by row, in memory, with nothing clever in
// it; `generate_history` makes batches of every ugly shape from a seed; `check_destination` drives any destination through its
// interface and compares. Knows no destination. One thread.
//
// The answer, where the contract leaves room:
//  * Rows of a batch are ordered by (sequence, tombstones after rows, partition, arrival in the partition); a row without a sequence
//    is older than any with one. A batch that lands later arrived later. Of two events of a key at one instant the later one counts;
//    within a batch the other does not even come.
//  * append: every row. With `rereads`, of each key the row that came first, by (partition, arrival).
//  * scd1: the last row of each key. An event that is older than the row that the table holds is dropped; one as old wins. A
//    tombstone removes the row; it leaves no trace, so an older row that lands in a later batch comes back.
//  * snapshot: the rows of the batch, the last of each key; without keys all of them.
//  * scd2: a version holds in [__START_AT, __END_AT), both of the type of the sequence. An event opens a version at its sequence,
//    which ends where the version did that held there, or where the next one begins, or not at all. An event at the start of a version
//    takes its place. A tombstone ends the version that holds at its sequence; if it is the version's very start, the version goes; where none
//    holds, nothing happens. No version is merged with another.
//    An event that equals the version that holds there in all tracked columns (all columns, the sequence among them, unless `track`
//    names some) opens nothing: the version's other columns become the event's if no later event has confirmed the version, that is
//    unless the version's own sequence column, where it lies within the version, is greater. If it is greater and the event differs in
//    a tracked column, the version holds again from that sequence on.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "host/land/destination.h"

namespace lakeflow::host::testing {

using cell = std::variant<std::monostate, std::int64_t, std::string>;  // null; BIGINT or TIMESTAMP; STRING or BINARY

// A cell as text that says what it is: "~", "-7", "'C3A9" (hex). A row is its cells with '|' between them.
std::string to_text(const cell& value);

struct land_event {
    std::uint32_t partition = 0;
    std::vector<cell> row;  // of a tombstone: the columns of deletes_schema
};
// In order of arrival.
struct land_batch {
    std::vector<land_event> rows;
    std::vector<land_event> tombstones;
};

class land_oracle {
  public:
    explicit land_oracle(flow_spec flow);

    void apply(const land_batch& batch);
    // What a reader must see: columns in the flow's order, then for scd2 __START_AT and __END_AT; sorted.
    std::vector<std::string> rows() const;

  private:
    using key = std::vector<cell>;
    struct event {
        const land_event* from;
        bool tombstone;
        std::size_t arrival;
    };
    struct version {
        std::vector<cell> row;
        std::int64_t start = 0;
        std::optional<std::int64_t> end;
    };

    std::vector<event> in_order(const land_batch& batch) const;
    key key_of(const event& e) const;
    cell sequence_of(const event& e) const;
    bool tracked_equal(const std::vector<cell>& a, const std::vector<cell>& b) const;
    void append(const land_batch& batch);
    void upsert(const event& e);
    void change_history(const event& e);

    flow_spec flow_;
    std::vector<std::size_t> keys_;
    std::vector<std::size_t> tracked_;
    std::int64_t sequence_ = -1;
    std::vector<std::vector<cell>> all_;                       // append, snapshot
    std::map<key, std::vector<cell>> current_;                 // scd1
    std::map<key, std::map<std::int64_t, version>> versions_;  // scd2, by start
};

// The columns of tombstones: the keys, and the sequence if there is one.
std::shared_ptr<const arrow_schema> deletes_schema(const flow_spec& flow);
// Rows as an Arrow batch of `schema`.
record_batch to_arrow(const std::shared_ptr<const arrow_schema>& schema, const std::vector<std::vector<cell>>& rows);

struct history_options {
    land_mode mode = land_mode::append;
    bool nul_in_text = true;  // false for a destination whose text cannot hold U+0000
    bool tombstones = true;   // in scd1 and scd2
    bool tracks = true;       // scd2: some histories name `track`
    bool bytes_as_keys = true;
    bool odd_names = false;  // some histories have columns named "select", with quotes, dots, spaces, non-ASCII
};
struct history {
    flow_spec flow;
    std::vector<land_batch> batches;
};
history generate_history(const history_options& options, std::uint64_t seed);

// Reads a table's rows back as to_text() would have them, in any order, by means that are not the destination's own.
using row_reader = std::function<std::vector<std::string>(const flow_spec& flow)>;
// The select list that makes a row's text of a table with the flow's columns, in DuckDB's and in PostgreSQL's SQL.
std::string duckdb_row_text(const flow_spec& flow);
std::string postgres_row_text(const flow_spec& flow);

// Lands the history of a seed, with replays of any batch, dropped batches, targets opened anew, a reset and a second pass, and compares
// with the oracle on the way; checks the laws of scd2 on what is read back. The table's name is made of mode and seed, so many seeds may
// share one destination. Fails the Boost test, with the seed in its context.
void check_destination(destination& to, const history_options& options, std::uint64_t seed, const row_reader& read);

// 1 to `count` and some that are new each time, or what LAKEFLOW_LAND_SEEDS says: "17" alone, or "1-2000". A failure names its seed.
std::vector<std::uint64_t> history_seeds(std::uint64_t count);

}  // namespace lakeflow::host::testing
