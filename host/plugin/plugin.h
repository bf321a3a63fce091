// host/plugin/plugin.h: a loaded plugin: who it is, what it can do, which options it takes. Immutable once loaded; any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lakeflow/lakeflow.h"

namespace lakeflow::host {

// Interface tables point into the library, which stays loaded for the life of the process.
struct plugin {
    std::string id;
    std::string version;
    std::string summary;
    std::string vendor;
    std::string license;
    std::string homepage;
    std::filesystem::path path;
    std::uint32_t abi_version = 0;
    std::string options_schema;  // {"connection": schema, "table": schema}, checked

    const lf_connector_v1* connector = nullptr;  // never null
    const lf_partition_v1* partition = nullptr;  // may be null, as those below
    const lf_namespaces_v1* namespaces = nullptr;
    const lf_scan_v1* scan = nullptr;
    const lf_writer_v1* writer = nullptr;

    bool has_batch_partitions() const noexcept { return partition != nullptr; }
    bool has_stream_partitions() const noexcept {
        return partition && LF_HAS(partition, lf_partition_v1, latest_offset) && partition->latest_offset;
    }
    bool has_deletes() const noexcept {
        return LF_HAS(connector, lf_connector_v1, read_table_deletes) && connector->read_table_deletes;
    }
};

}  // namespace lakeflow::host
