// host/land/destination.h: where rows land. A destination makes one target a flow; a target lands whole micro-batches, rows and
// position in one transaction. A target is used by one thread at a time; targets of different flows run side by side, also two of
// the same table.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/arrow/arrow.h"
#include "host/base/cancel.h"
#include "host/base/context.h"
#include "host/base/error.h"
#include "host/base/log.h"
#include "host/plugin/plugin.h"
#include "host/state/position.h"

namespace lakeflow::host {

enum class land_mode { append, scd1, scd2, snapshot };
std::string_view to_string(land_mode mode) noexcept;

// What may happen to a table whose source's columns have changed: it grows with them, or the change is refused. `rescue` grows too, and
// keeps the members that no column has as JSON in `_rescued_data`; by the time a flow lands that is a column like another.
enum class schema_policy { evolve, fixed, rescue };

class mismatch_log;
struct predicate;

// What a destination must know of a flow before its first batch.
struct flow_spec {
    std::string job;
    std::string flow;
    std::string table;  // the destination's table
    land_mode mode = land_mode::append;
    std::vector<std::string> primary_keys;
    std::string sequence_by;   // empty: arrival
    std::string cursor;        // the cursor field, for append's look for rows that come again; may be empty
    bool deletes = false;      // tombstones come too
    bool rereads = false;      // append: rows whose key the table already holds are dropped and counted
    bool allow_empty = false;  // snapshot: may leave a table that has rows without any (else destination.would_empty)
    double max_delete_ratio = 1;     // snapshot: share of the rows that may go (else destination.too_many_deletes)
    std::vector<std::string> track;  // scd2: columns of which a difference opens a version; empty: all
    schema_policy schema_changes = schema_policy::evolve;
    std::shared_ptr<const arrow_schema> schema;  // of the landed columns, checked
    std::shared_ptr<const predicate> filter;     // snapshot: it is the whole of the rows that pass; null: of all
    std::shared_ptr<mismatch_log> mismatches;    // on_mismatch and what it counts (quarantine.h); null: fail

    // Rows may come that go to the side table.
    bool quarantines() const noexcept;
};

struct land_result {
    std::int64_t rows_landed = 0;  // inserted, or changed by the merge
    std::int64_t rows_again = 0;   // came, and the table held them already just so
    std::int64_t rows_deleted = 0;
    std::int64_t files_written = 0;
    std::int64_t files_rewritten = 0;
    std::int64_t files_compacted = 0;    // small files that became larger ones
    std::int64_t files_vacuumed = 0;     // deleted: no version needs them any more
    std::int64_t log_files_removed = 0;  // commits and checkpoints that have expired
    bool committed = true;               // false: nothing changed (an unchanged snapshot), and no commit was made
    std::string version;                 // the table's version, for the log; may be empty
};

// A batch that was read to its end before it is landed, and lies on disk until its commit is marked.
struct whole_batch {
    std::string id;           // unlike that of any other batch, and the same in every attempt, also of another process
    std::uint32_t batch = 0;  // of its position
    std::uint32_t parts = 0;
    std::int64_t rows = 0;
    bool again = false;  // an attempt before this one may have come as far as its commit
};

// The workers of a run, for a destination that has work for them. A task blocks on nothing but condition variables of ours, waits
// for no other task, and never throws.
struct worker_pool {
    std::function<void(std::function<void()>)> enqueue;
    int width = 1;
};

// One micro-batch that is being landed. Nothing shows in the table before commit has returned; destroyed without commit, it leaves
// nothing behind that a reader sees.
class landing {
  public:
    virtual ~landing() = default;

    // Takes rows of one partition; batches of one partition come in its order, partitions interleave. Blocks while it writes. The
    // schema is the flow's.
    virtual void add(std::uint32_t partition, record_batch rows) = 0;
    // Takes tombstones: the key columns and, if there is one, the sequence column, in a schema of their own.
    virtual void add_deletes(record_batch rows) = 0;
    // Takes rows for the side table of a flow that quarantines, in quarantine.h's schema. They land with the batch; those that the side
    // table holds already land nowhere.
    virtual void quarantine(record_batch rows);
    // No more rows of this partition come: what is buffered for it may be written.
    virtual void partition_done(std::uint32_t partition) = 0;

    // Lands everything and `next` in one transaction. Called again after a crash with the same position it changes nothing: a
    // position at or below the table's own is recognised. Throws state.fenced if another run has a newer epoch.
    virtual land_result commit(const position& next) = 0;

    // No further attempt is made at this batch: what has gone out of it is taken back as far as that can be done. Gives the error
    // that the table fails with: `why`, and what was taken back.
    virtual error give_up(error why) { return why; }
};

class target {
  public:
    virtual ~target() = default;

    // The newest position of this flow that the destination holds; nothing before the first commit. The destination's record wins
    // over any local state.
    virtual std::optional<position> committed() = 0;
    // False if the destination cannot keep a position (stdout): the local state then has the only record.
    virtual bool holds_position() const { return true; }

    // True if the destination has no transaction that would drop half a batch: a batch is then read to its end first, and kept on
    // disk, so that every further attempt, also of another process, sends out just the same.
    virtual bool lands_whole_batches() const { return false; }
    // begin() of such a target.
    virtual std::unique_ptr<landing> begin_whole(const whole_batch&) { return begin(); }

    // Opens the batch that follows. `first_of_run` lets a target look for left-overs of a dead run.
    virtual std::unique_ptr<landing> begin() = 0;

    // Takes the flow over for a run and returns its epoch, which is greater than any that left a trace in the destination. Two runs
    // that started from the same position cannot both commit: a commit builds on the position that its target saw last, and fails
    // with state.fenced if another run has moved it.
    virtual std::uint32_t take_over() = 0;
    // Until a new run's first commit, the older one may still be the quicker of the two. After this, a commit of an older epoch
    // fails; it costs a commit of the position alone, so it is for `run --take-over`.
    virtual void fence(std::uint32_t) {}

    // Forgets the position and keeps the rows (contract 39).
    virtual void reset() = 0;
};

class destination {
  public:
    virtual ~destination() = default;

    // Checks names, types, mode and an existing table before anything is read, and gives the flow's target. Throws
    // config.not_supported, destination.* or schema.unsupported, naming table and column; nothing has been written then.
    virtual std::unique_ptr<target> open(const flow_spec& flow) = 0;
    // What a person calls it: "delta lake/bronze_issues".
    virtual std::string describe(const std::string& table) const = 0;
    // Before the first batch of a run; kept until its end.
    virtual void use(worker_pool) {}
};

// A destination of type connector: the plugin and what its instances are made with.
struct connector_options {
    std::shared_ptr<const plugin> to;
    std::string connection = "{}";     // options as JSON, validated, secrets filled in
    std::string table_options = "{}";  // the defaults of the plugin's table options
    std::string resource;              // the plugin's table; empty: named as the flow's destination
    http_options http;
    std::string run_id;
    std::int64_t init_time_us = 0;
    std::string state_directory;  // the job's folder in it keeps what a batch that failed has left to be taken back
    std::shared_ptr<secrets> redactor;
    std::shared_ptr<http_counters> counters;
};

// The [destination] block, paths absolute.
struct destination_options {
    std::string type;                                       // delta | duckdb | jsonl | postgres | connector
    std::string path;                                       // "-" for jsonl on stdout; of postgres the dsn, a secret
    std::function<void(std::string_view)> standard_output;  // where jsonl with path "-" writes; empty: to descriptor 1
    std::string schema;
    std::string duckdb_library;              // empty: found by environment, next to the host, in the cache
    std::size_t memory_bytes = 192u << 20;   // what landing and DuckDB may use together
    std::string temp_directory;              // for spilling; empty: under path
    std::int64_t max_file_bytes = 64 << 20;  // Arrow bytes of rows in one new Parquet file, about
    std::int64_t max_file_rows = 1 << 20;

    // Upkeep of Delta tables. After every batch whose number is a multiple of `optimize_every` small files are put together; 0: never.
    std::int64_t optimize_every = 0;
    std::int64_t optimize_file_bytes = 128 << 20;
    // Files that no version of that time needs are deleted, once a run; -1: never. `forced`: however short it is, and whatever the
    // table itself asks for.
    std::int64_t vacuum_retain_ms = -1;
    bool vacuum_forced = false;

    connector_options connector;
};

// Throws config.destination for an unknown type, destination.* if it cannot be opened. `stop` ends long work between steps.
std::unique_ptr<destination> make_destination(const destination_options& options, logger log,
                                              std::shared_ptr<cancel_token> stop);

}  // namespace lakeflow::host
