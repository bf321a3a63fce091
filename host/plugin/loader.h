// host/plugin/loader.h: finds plugins and loads them, strictly and in order: file, ELF header, dependencies, dlopen, entry symbol,
// version, tables, options. Each step has its own error code (design 8) and a failure lists every place that was tried. Loaded
// libraries are never unloaded. Any thread.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/base/error.h"
#include "host/plugin/plugin.h"

namespace lakeflow::host {

// Where plugins are looked for, in order, and where each place comes from ("--plugin-dir", "LAKEFLOW_PLUGIN_PATH", ...).
struct search_place {
    std::filesystem::path directory;
    std::string origin;
};

// Places in the order of design 8: the given directories, LAKEFLOW_PLUGIN_PATH, plugins/ beside the executable,
// ../lib/lakeflow/plugins; and the working folder last (contract 17).
std::vector<search_place> search_order(const std::vector<std::string>& plugin_dirs);

// Loads "github", "github.so" (looked up in `places`) or a path (a value with a slash). Throws plugin.not_found with all places and
// reasons, plugin.not_a_library, plugin.wrong_architecture, plugin.missing_dependency, plugin.no_entry, plugin.abi_version,
// plugin.missing_slot, plugin.contract.
std::shared_ptr<const plugin> load_plugin(const std::string& name_or_path, const std::vector<search_place>& places);

// Every library in `places`, for `lakeflow-host plugins`: loaded, or the reason why not.
struct found_plugin {
    std::filesystem::path path;
    std::string origin;
    std::shared_ptr<const plugin> loaded;  // null: see reason
    std::optional<error> reason;
};
std::vector<found_plugin> find_plugins(const std::vector<search_place>& places);

}  // namespace lakeflow::host
