// host/stream/plan.h: what a run of a job is to do, checked by the job floor. Plain data; the engine reads it and
// changes nothing.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/cancel.h"
#include "host/base/clock.h"
#include "host/base/context.h"
#include "host/base/log.h"
#include "host/base/secrets.h"
#include "host/land/destination.h"
#include "host/plugin/plugin.h"
#include "host/state/effects.h"

namespace lakeflow::host {

enum class trigger_kind { once, available_now, continuous };
std::string_view to_string(trigger_kind kind) noexcept;

// One [[tables]] entry. What is left out is taken from the table's metadata.
struct table_plan {
    std::string flow;               // unique in the job
    std::string source;             // the plugin's table
    std::string destination;        // the destination's table
    std::string options = "{}";     // table options as JSON, validated, defaults filled in
    std::optional<land_mode> mode;  // cdc, cdc_with_deletes -> scd1; append; snapshot
    std::optional<std::vector<std::string>> primary_keys;
    std::optional<std::string> sequence_by;  // the cursor field in scd1 and scd2
    std::vector<std::string> columns;  // empty: all. Names match without regard to case unless two differ only by it
    std::string limits;                // JSON as in lf_latest_args; empty: the plugin's default_read_limit, else all
    mismatch_policy on_mismatch = mismatch_policy::fail;
    std::optional<std::int64_t> max_mismatches;  // of a run; past it the flow fails
    bool allow_empty = false;                    // snapshot: may leave a table that has rows without any
    double max_delete_ratio = 1;
    std::vector<std::string> track;  // scd2; empty: all columns
    schema_policy schema_changes = schema_policy::evolve;
    std::string where;        // SQL; empty: every row
    std::string read_schema;  // DDL that the user gave, also in `options`; empty: the plugin's own
};

// How often a failed read is tried again, and when the laws give up. Tests shorten the times.
struct run_tuning {
    int partition_attempts = 3;  // of one partition while none of its batches has been handed on
    int batch_attempts = 3;      // of one micro-batch
    std::chrono::milliseconds first_backoff{500};
    std::chrono::milliseconds max_backoff{30'000};
    std::int64_t no_progress_limit = 1'000;       // empty batches without progress towards the bound (contract 3)
    std::chrono::milliseconds stop_grace{3'000};  // after the first signal: a batch may be finished in this time
    // [job] plugin_timeout: so long a reader may give no row and wait for no service; then plugin.timeout. 0: for ever.
    std::chrono::milliseconds stuck_after{3'600'000};
    // [job] spool: bytes on disk of one batch of a table that cannot be read again (spool.h).
    std::size_t spool_bytes = std::size_t{1} << 30;
    std::size_t queue_bytes = 16u << 20;  // between readers and landing, across the job
    int landings_at_once = 2;             // landings that write at the same time
    int flows_at_once = 0;                // 0: as many as parallelism
};

// What a run shows while it goes.
struct table_progress {
    std::string flow;
    bool active = false;  // its turn has come and it is not done
    bool done = false;
    std::int64_t batches = 0;
    std::int64_t rows = 0;         // read so far, the batch under way included
    std::int64_t rows_landed = 0;  // committed
    std::int64_t bytes = 0;        // http bodies as received
    std::int64_t requests = 0;
    std::optional<std::int64_t> pages_done;  // as the plugin says, through lakeflow.metrics/1
    std::optional<std::int64_t> pages_total;
    std::optional<std::int64_t> rows_total;
    std::int64_t partitions_done = 0;  // of the batch under way
    std::int64_t partitions = 0;
    std::string waiting;  // "waiting 12 s for the rate limit of ...", or nothing
    std::optional<double> lag_seconds;
};

struct run_progress {
    double seconds = 0;
    std::int64_t requests_in_flight = 0;
    std::vector<table_progress> tables;  // in the plan's order
};

// How a run is stopped from outside. stop(): flows finish the commit under way, or the batch if it takes less than
// stop_grace, and begin no other. cancel(): everything ends at once. Both from any thread, not from a signal handler.
class stop_source {
  public:
    void stop() noexcept { soft->cancel(); }
    void cancel() noexcept {
        soft->cancel();
        hard->cancel();
    }
    const std::shared_ptr<cancel_token> soft = std::make_shared<cancel_token>();
    const std::shared_ptr<cancel_token> hard = std::make_shared<cancel_token>();
};

struct run_plan {
    std::string job;     // identity: state and positions hang on it
    std::string run_id;  // random_id()
    std::int64_t init_time_us = 0;
    trigger_kind trigger = trigger_kind::available_now;
    std::chrono::milliseconds interval{30'000};  // continuous
    int parallelism = 8;

    std::shared_ptr<const lakeflow::host::plugin> plugin;
    std::string connection = "{}";  // options as JSON, validated, secrets filled in
    http_options http;
    std::vector<table_plan> tables;

    std::shared_ptr<lakeflow::host::destination> destination;
    std::string state_directory;  // absolute; the job's own folder is made below it
    bool take_over = false;       // break the lock of another holder
    std::string duckdb_library;   // as duck::load takes it

    std::shared_ptr<secrets> redactor = std::make_shared<secrets>();
    logger log;
    std::shared_ptr<stop_source> stop = std::make_shared<stop_source>();
    std::shared_ptr<http_counters> counters = std::make_shared<http_counters>();  // of the whole job
    std::function<void(const run_progress&)> on_progress;  // on the thread that called run_job; may be empty
    std::chrono::milliseconds progress_interval{250};

    run_tuning tuning;
    const clock* time = &system_clock();
    std::shared_ptr<effects> io;  // null: real_effects()
};

}  // namespace lakeflow::host
