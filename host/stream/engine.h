// host/stream/engine.h: runs a job: one flow a table, micro-batches on a TBB arena (design section 4). One run of a job
// at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/error.h"
#include "host/stream/plan.h"

namespace lakeflow::host {

enum class table_status { reached_bound, failed, skipped, stopped };
std::string_view to_string(table_status status) noexcept;

// One entry of the report's `tables` (design 8; contract 27, 41).
struct table_result {
    std::string name;
    std::string plugin;
    std::string source;
    std::string destination;
    std::string mode;  // "append", ...; empty if the flow failed before it was known
    table_status status = table_status::skipped;
    std::int64_t batches = 0;     // committed
    std::int64_t partitions = 0;  // tasks planned
    std::int64_t rows_read = 0;   // of committed batches, without rows that came again
    std::int64_t rows_landed = 0;
    std::int64_t rows_deleted = 0;
    std::int64_t rows_again = 0;
    std::int64_t rows_above_bound = 0;
    std::int64_t rows_quarantined = 0;
    std::int64_t values_nulled = 0;
    std::int64_t items_skipped = 0;
    std::string start = "{}";
    std::string end = "{}";
    bool fell_back = false;
    std::int64_t retries = 0;           // partitions and batches that were read again
    std::optional<double> lag_seconds;  // cursor of time
    std::optional<std::int64_t> lag;    // cursor of integers; 0 where the offsets are equal
    double partition_median_seconds = 0;
    double partition_max_seconds = 0;
    std::string partition_hint;  // contract 27; empty: none
    double seconds = 0;
    std::int64_t requests = 0;
    std::int64_t http_retries = 0;
    double throttled_seconds = 0;
    std::int64_t bytes = 0;
    std::int64_t files_written = 0;
    std::int64_t files_rewritten = 0;
    std::int64_t files_compacted = 0;
    std::int64_t files_vacuumed = 0;
    std::int64_t log_files_removed = 0;
    std::map<std::string, std::int64_t> metrics;  // of the plugin
    std::optional<host::error> error;
};

struct run_result {
    std::string job;
    std::string run_id;
    std::string status;  // succeeded | partial | failed
    int exit_code = 0;   // 0, 3, 1; 2 with `error`
    std::int64_t init_time_us = 0;
    double seconds = 0;
    double cpu_seconds = 0;
    std::int64_t peak_rss_bytes = 0;
    std::int64_t requests = 0;
    std::int64_t http_retries = 0;
    double throttled_seconds = 0;
    std::int64_t bytes = 0;
    std::vector<table_result> tables;  // in the plan's order; empty with `error`
    std::optional<host::error> error;  // the job failed before its tables did: state.locked, config.*, an unknown table
};

// Runs the job to its end on this thread and threads of its own, which have ended when it returns. Does not throw: what
// goes wrong is in the result. First every flow is prepared (metadata, schema, mode, keys, columns, destination); a
// mistake found there without a request is the job's `error`, anything else is its table's.
run_result run_job(const run_plan& plan);

// What a flow would be, for `tables`, `schema` and `check` of a job: mode, keys, columns resolved as run_job does.
// Throws failure.
struct resolved_flow {
    flow_spec spec;
    bool partitioned = false;
    std::string ingestion;
};
resolved_flow resolve_flow(const run_plan& plan, const table_plan& table);

}  // namespace lakeflow::host
