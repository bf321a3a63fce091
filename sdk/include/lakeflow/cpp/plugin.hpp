// lakeflow/cpp/plugin.hpp: a plugin's identity, and the macro that makes a class into one. Use it in one source file:
//   constexpr lakeflow::plugin_info info{.id = "example", .version = "1.0.0", .summary = "..", .connection = options};
//   LAKEFLOW_PLUGIN(example, info)
// The class takes a lakeflow::environment. The macro defines the one function that the library exports.
#pragma once

#include <span>
#include <string_view>
#include <type_traits>

#include "lakeflow/cpp/connector.hpp"
#include "lakeflow/cpp/detail/instance.hpp"
#include "lakeflow/cpp/detail/side_slots.hpp"
#include "lakeflow/cpp/detail/writer_slots.hpp"
#include "lakeflow/cpp/options.hpp"
#include "lakeflow/entry.h"

namespace lakeflow {

struct plugin_info {
    std::string_view id;       // what an operator types: [a-z0-9-], at most 64 bytes
    std::string_view version;  // "1.4.0"
    std::string_view summary;  // one line
    std::string_view vendor = "";
    std::string_view license = "";  // an SPDX expression
    std::string_view homepage = "";
    std::span<const option> connection = {}, table = {};
    std::span<const std::string_view> needs = {};  // services without which it refuses to load: LF_HTTP_ID, LF_ROWS_ID
};

namespace detail {

template <const plugin_info& Info>
lf_status write_options(const lf_sink* out, lf_error* error) noexcept {
    return guard(error, [&] {
        json connection = options_schema(Info.connection), table = options_schema(Info.table);
        emit(out, json::object({{"connection", connection}, {"table", table}}).dump());
        return LF_OK;
    });
}

template <class T>
const void* find_interface(lf_str id) noexcept {
    std::string_view wanted = view(id);
    if (wanted == LF_CONNECTOR_ID) return &connector_table<T>;
    if constexpr (std::is_base_of_v<partitions, T>) {
        if (wanted == LF_PARTITION_ID) return &partition_table<T>;
    }
    if constexpr (std::is_base_of_v<namespaces, T>) {
        if (wanted == LF_NAMESPACES_ID) return &namespaces_table;
    }
    if constexpr (std::is_base_of_v<scan, T>) {
        if (wanted == LF_SCAN_ID) return &scan_table<T>;
    }
    if constexpr (std::is_base_of_v<writer, T>) {
        if (wanted == LF_WRITER_ID) return &writer_table<T>;
    }
    return nullptr;
}

template <class T, const plugin_info& Info>
constexpr lf_plugin plugin_table = {
    sizeof(lf_plugin), LF_ABI_VERSION,    str(Info.id),       str(Info.version),    str(Info.summary),
    str(Info.vendor),  str(Info.license), str(Info.homepage), &write_options<Info>, &find_interface<T>,
};

template <class T, const plugin_info& Info>
const lf_plugin* entry(uint32_t host_abi_version, const lf_host* host, lf_error* error) noexcept {
    static_assert(std::is_base_of_v<connector, T>, "a plugin's class derives from lakeflow::connector");
    const lf_plugin* out = nullptr;
    guard(error, [&] {
        need(host, "host");
        if (LF_ABI_MAJOR(host_abi_version) != LF_ABI_MAJOR(LF_ABI_VERSION)) {
            throw failure(retry::unsupported,
                          "the plugin is built for ABI " + std::to_string(LF_ABI_VERSION) + ", the host has " +
                              std::to_string(host_abi_version),
                          "rebuild the plugin with the SDK of this host", "plugin.abi_version");
        }
        for (std::string_view id : Info.needs) {
            if (!has(host, &lf_host::service) || host->service(host, str(id)) == nullptr) {
                throw unsupported("the host does not offer " + std::string(id), "use a newer host");
            }
        }
        entry_host().store(host);
        out = &plugin_table<T, Info>;
        return LF_OK;
    });
    return out;
}

}  // namespace detail
}  // namespace lakeflow

#define LAKEFLOW_PLUGIN(type, info) \
    LF_DECLARE_ENTRY;               \
    LF_DECLARE_ENTRY { return ::lakeflow::detail::entry<type, info>(host_abi_version, host, error); }
