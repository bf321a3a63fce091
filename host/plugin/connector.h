// host/plugin/connector.h: a plugin's instance and its readers as C++ objects. Every pointer, status and text that comes back is
// checked here, so that nothing above sees a raw one: a wrong status is plugin.bad_status, an error becomes a `failure` with the
// plugin's code, an offset is canonical, a batch was checked against its schema.
// One instance and its readers are used by one thread at a time; cancel() may come from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/arrow/arrow.h"
#include "host/base/context.h"
#include "host/plugin/plugin.h"

namespace lakeflow::host {

enum class ingestion_type { snapshot, cdc, cdc_with_deletes, append };
std::string_view to_string(ingestion_type type) noexcept;

enum class cursor_form { rfc3339, epoch_s, epoch_ms, integer, text };

// The offset's member that the host may compare (contract 4).
struct offset_cursor {
    std::string member;
    cursor_form form = cursor_form::text;
};

// What read_table_metadata says, checked (lakeflow/connector.h).
struct table_metadata {
    ingestion_type ingestion = ingestion_type::snapshot;
    std::vector<std::string> primary_keys;
    std::string cursor_field;  // empty: none
    std::optional<host::offset_cursor> cursor;
    bool replayable = true;
    bool windowed = false;
    bool rereads = false;
    bool external_schema = false;
    bool whole_snapshot = false;  // one call of read_table gives all of a snapshot
    std::vector<std::string> capabilities;
};

// What to read; texts are JSON, an absent offset is nullopt.
struct read_request {
    std::string table;
    std::string options = "{}";
    std::optional<std::string> start;
    std::optional<std::string> end;
    std::optional<std::string> bound;
    std::string limits = "{}";
    std::string scan = "{}";
    std::string descriptor;  // of a partition; empty for the simple read
};

// latest_offset's answer.
struct latest {
    std::string offset;                 // canonical
    std::vector<std::string> honoured;  // limit kinds
};

class plugin_writer;  // writing.h, as those below
struct write_request;

class plugin_reader {
  public:
    ~plugin_reader();  // closes
    plugin_reader(const plugin_reader&) = delete;
    plugin_reader& operator=(const plugin_reader&) = delete;

    // The schema of the batches, checked; with the rescued members at its end where the flow wants them. The same object for all.
    const std::shared_ptr<const arrow_schema>& schema() const noexcept { return schema_; }
    // The next batch, checked; nothing at the end.
    std::optional<record_batch> next();
    // Canonical, after next() gave nothing; nullopt if the read has no offset. Throws offset.not_an_object, offset.not_primitive,
    // secret.in_descriptor.
    std::optional<std::string> end_offset();
    void cancel() noexcept;  // any thread

  private:
    friend class plugin_connector;
    plugin_reader(lf_reader* raw, std::shared_ptr<flow_context> flow, std::shared_ptr<cancel_token> stop,
                  std::string what);

    lf_reader* raw_;
    std::shared_ptr<flow_context> flow_;
    std::shared_ptr<cancel_token> stop_;
    std::uint64_t cancel_id_ = 0;
    std::string what_;  // "github/issues", for messages
    std::shared_ptr<const arrow_schema> schema_;
    std::shared_ptr<const arrow_schema> given_;  // by the plugin: without what is rescued
    bool ended_ = false;
    bool failed_ = false;
};

class plugin_connector {
  public:
    // Creates an instance. `options` are the connection's, validated, secrets included. A child of `stop` is made for it.
    plugin_connector(std::shared_ptr<const plugin> p, const std::string& options, std::shared_ptr<flow_context> flow,
                     std::shared_ptr<cancel_token> stop, std::uint32_t pace_share = 1000);
    ~plugin_connector();
    plugin_connector(const plugin_connector&) = delete;
    plugin_connector& operator=(const plugin_connector&) = delete;

    std::vector<std::string> list_tables();
    // As the plugin has it, without the rescued members.
    arrow_schema table_schema(const std::string& table, const std::string& options);
    table_metadata metadata(const std::string& table, const std::string& options);

    std::unique_ptr<plugin_reader> read_table(const read_request& request);
    std::unique_ptr<plugin_reader> read_table_deletes(const read_request& request);

    bool is_partitioned(const std::string& table, const std::string& options);  // false without partition slots
    // start and end both or neither (contract 1).
    std::vector<std::string> get_partitions(const read_request& request, std::uint32_t parallelism);
    std::unique_ptr<plugin_reader> read_partition(const read_request& request);
    latest latest_offset(const read_request& request);

    // "lakeflow.scan/1": JSON in and out, the reply not yet read. nullopt where the plugin has no such slot, or declines.
    std::optional<std::string> plan_scan(const std::string& table, const std::string& options,
                                         const std::string& request);
    std::optional<std::string> explain_scan(const std::string& table, const std::string& options,
                                            const std::string& scan);

    // nullopt where the plugin has no such slot.
    std::optional<std::string> prepare_for_trigger_available_now(const std::string& table, const std::string& options);
    std::optional<std::string> default_read_limit(const std::string& table, const std::string& options);
    std::optional<std::string> report_latest_offset(const std::string& table, const std::string& options);
    void commit(const std::string& table, const std::string& options, const std::string& end);  // failure is logged
    void stop(const std::string& table) noexcept;

    // "lakeflow.writer/1", of a plugin that has it. begin_write gives JSON for each writer's options.
    std::string begin_write(const write_request& request);
    std::unique_ptr<plugin_writer> open_writer(const write_request& request);
    void commit_write(const write_request& request, const std::string& messages);
    // The ids of the batches that could not be rolled back.
    std::vector<std::string> abort_write(const write_request& request, const std::string& messages);
    std::optional<bool> was_committed(const write_request& request);  // nullopt where the plugin has no such slot

    std::vector<std::string> list_namespaces(const std::string& prefix);
    std::vector<std::string> list_tables_in_namespace(const std::string& name_space);

    // From now on values that do not fit are kept for take_mismatches, as the flow's policy has it; without it they are forgotten.
    void collect_mismatches() { context_.mismatches = std::make_shared<mismatch_sink>(); }
    mismatches take_mismatches() { return context_.mismatches ? context_.mismatches->take() : mismatches{}; }

    void cancel() noexcept;  // any thread: the instance, its readers and every wait in a service
    const plugin& about() const noexcept { return *plugin_; }
    const std::shared_ptr<cancel_token>& token() const noexcept { return context_.cancelled; }

  private:
    std::string what(std::string_view table) const;

    std::shared_ptr<const plugin> plugin_;
    lf_context context_;
    lf_connector* raw_ = nullptr;
    std::uint64_t cancel_id_ = 0;
};

}  // namespace lakeflow::host
