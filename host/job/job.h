// host/job/job.h: job.toml -> a validated job. Every key of the product is known here; one that is not is refused by name, never
// ignored. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/base/context.h"
#include "host/base/secrets.h"
#include "host/land/destination.h"
#include "host/stream/plan.h"

namespace lakeflow::host {

struct job_table {
    std::string source;
    std::string destination;
    std::string name;
    std::optional<land_mode> mode;
    std::optional<std::vector<std::string>> primary_keys;
    std::optional<std::string> sequence_by;
    std::vector<std::string> columns;
    bool allow_empty = false;  // snapshot: may leave a table that has rows without any
    double max_delete_ratio = 1;
    std::vector<std::string> track;
    schema_policy schema_changes = schema_policy::evolve;
    mismatch_policy on_mismatch = mismatch_policy::fail;
    std::optional<std::int64_t> max_mismatches;
    std::string where;           // SQL; empty: every row
    std::string read_schema;     // DDL; empty: the plugin's own schema
    std::string limits;          // JSON as in lf_latest_args; empty: not stated
    std::string options = "{}";  // JSON, on_status among them; not yet checked against the plugin
    std::string place;           // "job.toml, line 12", for messages
};

struct job {
    std::string file;
    std::string directory;  // relative paths start here
    std::string name;
    std::optional<std::string> plugin;
    trigger_kind trigger = trigger_kind::available_now;
    std::int64_t interval_us = 30'000'000;
    std::string state;  // absolute
    int parallelism = 8;
    std::size_t memory_bytes = 0;  // 0: the default
    std::size_t spool_bytes = std::size_t{1} << 30;
    std::int64_t plugin_timeout_us = 3'600'000'000;  // 0: for ever

    std::string connection = "{}";  // JSON without the host's own keys; secrets are filled in
    http_options http;
    destination_options destination;
    std::string destination_plugin;  // of a destination of type connector: a name or path
    std::vector<job_table> tables;

    std::shared_ptr<secrets> redactor = std::make_shared<secrets>();
};

// Reads and checks a job file. `sets` are --set's assignments, applied in order. Throws config.*, naming file, line and key.
job load_job(const std::string& path, const std::vector<std::string>& sets);

// Checks the options against the plugin's schema, registers its secrets, and makes the engine's plan; without destination, log and
// stop. `only`: names of the flows to run, empty for all; an unknown one is config.unknown_flow.
run_plan make_plan(const job& j, std::shared_ptr<const plugin> p, const std::vector<std::string>& only);

// What a destination of type connector is made with, besides what the job says: its plugin, its options checked against that plugin's
// schema, its secrets registered; and what it shares with the run.
void complete_destination(job& j, const run_plan& plan, std::shared_ptr<const plugin> to);

// Which plugin a job reads from: [job] plugin, else the first --plugin; any other of the list must be the destination's. Throws
// config.no_plugin or config.plugin_conflict. The result is a name or path for load_plugin.
std::string choose_plugin(const std::optional<std::string>& in_job, const std::vector<std::string>& on_command_line,
                          const std::string& of_destination = {});
// Which plugin a job writes to: what [destination] plugin names, where --plugin says that it lies.
std::string choose_destination_plugin(const std::string& in_job, const std::vector<std::string>& on_command_line);

}  // namespace lakeflow::host
