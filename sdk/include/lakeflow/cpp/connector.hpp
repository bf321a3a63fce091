// lakeflow/cpp/connector.hpp: what a connector derives from. `connector` always; the mixins for what the source can serve:
//   partitions          batch reads that can be split; streams stay on read_table
//   partitioned_stream  partitions, for streams too
//   available_now       records the target of a run itself
//   reports_lag         knows the newest offset of the source
//   namespaces, deletes, scan, explained_scan, writer, recoverable_writer
// A method that is forgotten is a compile error, a mixin that is absent an empty slot of the C table.
// Calls on one instance never overlap (but cancel); each may come from another thread. Instances are independent. The host
// makes one for each worker: a constructor does no I/O.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lakeflow/connector.h"
#include "lakeflow/cpp/http.hpp"
#include "lakeflow/cpp/json.hpp"
#include "lakeflow/cpp/reader.hpp"
#include "lakeflow/cpp/rows.hpp"
#include "lakeflow/cpp/schema.hpp"
#include "lakeflow/cpp/services.hpp"
#include "lakeflow/namespaces.h"
#include "lakeflow/partition.h"
#include "lakeflow/scan.h"

namespace lakeflow {

// The host's services of one instance. Copy it into readers.
struct services {
    log_service log;
    clock_service clock;
    cancel_service cancel;
    metrics_service metrics;
    http_service http;
    rows_service rows;

    services() = default;
    services(const lf_host* host, lf_context* context)
        : log(host, context, LF_LOG_ID),
          clock(host, context, LF_CLOCK_ID),
          cancel(host, context, LF_CANCEL_ID),
          metrics(host, context, LF_METRICS_ID),
          http(host, context, LF_HTTP_ID),
          rows(host, context, LF_ROWS_ID) {}
};

// What the host tells an instance when it makes it.
struct environment : services {
    json options;                // the connection's options, validated, with defaults and secrets filled in
    std::string run_id;          // unique to the run
    int64_t init_time_us = 0;    // when the run began: the clock that bounds it
    uint32_t pace_share = 1000;  // this process's share of the source's rate, in 1/1000
};

enum class ingestion : uint8_t { snapshot, cdc, cdc_with_deletes, append };

// A table's metadata (connector.h, table_metadata).
struct table_metadata {
    ingestion kind = ingestion::snapshot;
    std::vector<std::string> primary_keys = {};  // required but for append
    std::string cursor_field = "";               // required for cdc and cdc_with_deletes
    std::string offset_member = "";              // the offset's member that orders it, if one does ...
    std::string offset_form = "";  // ... and its form: "rfc3339", "epoch_s", "epoch_ms", "integer", "text"
    bool replayable = true;        // (start, end] can be read again
    bool windowed = false;         // the plugin cuts its own batches; the bound is the init time alone
    bool rereads = false;          // a read may bring rows at or below its start again
    bool external_schema = false;  // the user may give the schema
    bool whole_snapshot = false;   // one read_table gives all of a snapshot: no further piece is asked for
    bool batch_read = true, stream_read = true, batch_write = false, truncate = false, upsert = false;

    json to_json() const {
        static constexpr std::string_view names[] = {"snapshot", "cdc", "cdc_with_deletes", "append"};
        json out = json::object({{"ingestion_type", names[static_cast<size_t>(kind)]}});
        if (!primary_keys.empty()) out.set("primary_keys", json::array_of(primary_keys));
        if (!cursor_field.empty()) out.set("cursor_field", cursor_field);
        if (!offset_member.empty()) {
            out.set("offset_cursor", json::object({{"member", offset_member}, {"form", offset_form}}));
        }
        out.set("replayable", replayable).set("windowed", windowed).set("rereads", rereads);
        out.set("external_schema", external_schema).set("whole_snapshot", whole_snapshot);
        json can = json::array();
        if (batch_read) can.push("batch_read");
        if (stream_read) can.push("stream_read");
        if (batch_write) can.push("batch_write");
        if (truncate) can.push("truncate");
        if (upsert) can.push("upsert");
        return out.set("capabilities", std::move(can));
    }
};

class connector {
  public:
    explicit connector(environment env) : env_(std::move(env)) {}
    virtual ~connector() = default;
    connector(const connector&) = delete;
    connector& operator=(const connector&) = delete;

    // The names of the tables, unique, in a stable order.
    virtual std::vector<std::string> list_tables() = 0;
    // Pure: the same arguments give the same answer. Throws not_found() for an unknown table.
    virtual schema table_schema(std::string_view table, const json& options) = 0;
    virtual lakeflow::table_metadata table_metadata(std::string_view table, const json& options) = 0;
    // The simple read: what lies after args.start, or the whole table. See connector.h for the protocol.
    virtual std::unique_ptr<reader> read_table(const read_args& args) = 0;

    // The limits that apply when the job states none.
    virtual read_limits default_read_limit(std::string_view /*table*/, const json& /*options*/) { return {}; }
    // Everything up to `end` is durable. Advice: may come late, twice, in another process, or never.
    virtual void commit(std::string_view /*table*/, const json& /*options*/, const json& /*end*/) {}
    // The run is over for this table, after success, failure or a signal.
    virtual void stop(std::string_view /*table*/) {}
    // From any thread while a call runs: must not block. Waits inside the host's services end by themselves.
    virtual void cancel() {}

  protected:
    const environment& env() const { return env_; }

  private:
    environment env_;
};

// What get_partitions splits.
struct plan_args {
    std::string table;
    json options;
    std::optional<json> start, end;  // absent together: the whole table; else (start, end]
    json scan = json::object();
    uint32_t parallelism = 1;  // how many partitions are read at once: a hint

    bool is_batch() const { return !start.has_value(); }
};

class partitions {
  public:
    virtual ~partitions() = default;
    // Whether this table takes the partitioned path.
    virtual bool is_partitioned(std::string_view /*table*/, const json& /*options*/) { return true; }
    // JSON objects, each all that a fresh instance in another process needs to read its part; no secret in it. Throw
    // unsupported() to decline. Equal offsets never reach this: the layer answers [].
    virtual std::vector<json> get_partitions(const plan_args& args) = 0;
    // One part, on a fresh instance: args.descriptor.
    virtual std::unique_ptr<reader> read_partition(const read_args& args) = 0;
};

// Where the next micro-batch shall end.
struct latest_args {
    std::string table;
    json options;
    json start = json::object();  // the last committed end; {} at the beginning
    std::optional<json> bound;    // the run's bound; absent while it is being taken
    read_limits limits;
};

struct latest {
    json offset = json::object();       // equal to start: nothing more for now
    std::vector<std::string> honoured;  // the limit kinds that were obeyed: "max_rows", "max_bytes", ...
};

class partitioned_stream : public partitions {
  public:
    // A cheap metadata call: reads no rows, keeps no state, costs the same for any size of the table.
    virtual latest latest_offset(const latest_args& args) = 0;
};

class available_now {
  public:
    virtual ~available_now() = default;
    // The offset past which this run does not go; once a table and run, before its first latest_offset.
    virtual json prepare_for_trigger_available_now(std::string_view table, const json& options) = 0;
};

class reports_lag {
  public:
    virtual ~reports_lag() = default;
    // The newest offset that the source has now. Cheap.
    virtual json report_latest_offset(std::string_view table, const json& options) = 0;
};

class deletes {
  public:
    virtual ~deletes() = default;
    // The protocol of read_table for tombstones, with an offset of its own. Rows need the keys and the cursor field.
    virtual std::unique_ptr<reader> read_table_deletes(const read_args& args) = 0;
};

class namespaces {
  public:
    using name = std::vector<std::string>;  // {"catalog", "schema"}; {} is the root
    virtual ~namespaces() = default;
    // One level below prefix; nothing for an unknown one.
    virtual std::vector<name> list_namespaces(const name& prefix) = 0;
    // The tables of a namespace, as the other methods take them ("public.orders").
    virtual std::vector<std::string> list_tables_in_namespace(const name& which) = 0;
};

class scan {
  public:
    virtual ~scan() = default;
    // Answers a pushdown request (scan.h). Pure; asked again with a growing request. Throw unsupported() to decline.
    virtual json plan_scan(std::string_view table, const json& options, const json& request) = 0;
};

class explained_scan : public scan {
  public:
    // {"description", "lines", "requests"} of an accepted scan document.
    virtual json explain_scan(std::string_view table, const json& options, const json& accepted) = 0;
};

}  // namespace lakeflow
