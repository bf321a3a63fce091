// host/stream/resolve.h: a table of the plan and what the plugin says of it become one settled flow: mode, keys, sequence, columns,
// path. Every contradiction is found here, before the first row is asked for. On the thread that prepares the flow.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/land/destination.h"
#include "host/plugin/connector.h"
#include "host/scan/filter.h"
#include "host/stream/plan.h"

namespace lakeflow::host {

enum class read_path {
    simple,          // read_table, call after call
    partitions,      // latest_offset, get_partitions(start, end), read_partition
    snapshot_batch,  // get_partitions(none, none), read_partition; latest_offset is the validator where there is one
};

struct flow_settings {
    flow_spec spec;
    table_metadata metadata;
    read_path path = read_path::simple;
    std::shared_ptr<const arrow_schema> plugin_schema;  // as the plugin has it, without rescued members
    bool snapshot = false;                              // the offset is a validator
    bool deletes = false;                               // read_table_deletes is called
    bool validator = false;                             // snapshot_batch: latest_offset exists
    std::shared_ptr<const arrow_schema> source_schema;  // of the table
    std::vector<std::int64_t> columns;                  // places in it of the landed ones
    std::string scan = "{}";                            // what of `where` the plugin takes over
    std::shared_ptr<const row_filter> filter;           // the rest of it; null without a `where`
};

// Contract 16: throws config.read_schema for a user's schema that the connector does not take.
void check_read_schema(const table_plan& table, const table_metadata& metadata);

// Asks the instance for schema and metadata. Throws config.mode, config.primary_keys, config.sequence_by, config.columns,
// config.not_supported, plugin.missing_slot, and what the plugin says.
flow_settings settle(const run_plan& plan, const table_plan& table, plugin_connector& connector);

}  // namespace lakeflow::host
