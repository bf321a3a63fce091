// host/plugin/loader.cpp: see loader.h.
#include "host/plugin/loader.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <boost/dll/runtime_symbol_info.hpp>
#include <boost/dll/shared_library.hpp>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>

#include "host/base/text.h"
#include "host/plugin/calls.h"
#include "host/plugin/elf.h"
#include "host/plugin/options.h"
#include "host/plugin/services.h"

namespace lakeflow::host {
namespace {

namespace fs = std::filesystem;

// Loaded libraries by their real path. Leaked on purpose: code of a plugin may run until the process has ended.
struct registry {
    std::mutex mutex;
    std::map<fs::path, std::shared_ptr<const plugin>> plugins;
    std::vector<boost::dll::shared_library> handles;
};
registry& the_registry() {
    static auto& instance = *std::make_unique<registry>().release();
    return instance;
}

std::vector<std::string> missing_dependencies(const std::vector<std::string>& needed) {
    std::vector<std::string> missing;
    for (const auto& name : needed) {
        if (void* handle = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL)) {
            dlclose(handle);
        } else {
            missing.push_back(name);
        }
    }
    return missing;
}

boost::dll::shared_library open_library(const fs::path& path) {
    const std::vector<std::string> needed = check_elf(path);
    boost::dll::shared_library library;
    boost::dll::fs::error_code ec;
    library.load(path, boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local, ec);
    if (!ec) return library;
    // Boost.DLL says "bad file descriptor" for every failure; dlopen's own text is the one that helps.
    std::string why = ec.message();
    if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        dlclose(handle);
    } else if (const char* said = dlerror()) {
        why = said;
    }
    const std::vector<std::string> missing = missing_dependencies(needed);
    if (missing.empty()) throw failure("plugin.not_a_library", path.string() + " cannot be loaded: " + why);
    std::string names;
    for (const auto& name : missing) names += (names.empty() ? "" : ", ") + name;
    throw failure("plugin.missing_dependency",
                  path.string() + " needs " + names + ", which was not found (" + why + ")",
                  "Install the package that has it, or set LD_LIBRARY_PATH.");
}

// A table that a plugin gave, if it is large enough to hold the slots that are required.
template <class T>
const T* interface(const lf_plugin& table, std::string_view id) {
    return static_cast<const T*>(table.interface(to_abi(id)));
}

class slots {
  public:
    explicit slots(std::string plugin) : plugin_(std::move(plugin)) {}

    // `present` is false for a slot that is null or beyond struct_size.
    void require(bool present, std::string name) {
        if (!present) missing_.push_back(std::move(name));
    }
    void check() const {
        if (missing_.empty()) return;
        std::string names;
        for (const auto& name : missing_) names += (names.empty() ? "" : ", ") + name;
        throw failure("plugin.missing_slot", "plugin " + plugin_ + " lacks required slots: " + names,
                      "The plugin is incomplete; ask its vendor.");
    }

  private:
    std::string plugin_;
    std::vector<std::string> missing_;
};

#define LF_REQUIRE(list, table, type, slot) \
    (list).require(LF_HAS(table, type, slot) && (table)->slot != nullptr, #type "." #slot)

void check_tables(const plugin& p) {
    slots required(p.path.string());
    LF_REQUIRE(required, p.connector, lf_connector_v1, create);
    LF_REQUIRE(required, p.connector, lf_connector_v1, destroy);
    LF_REQUIRE(required, p.connector, lf_connector_v1, list_tables);
    LF_REQUIRE(required, p.connector, lf_connector_v1, table_schema);
    LF_REQUIRE(required, p.connector, lf_connector_v1, table_metadata);
    LF_REQUIRE(required, p.connector, lf_connector_v1, read_table);
    if (p.partition) {
        LF_REQUIRE(required, p.partition, lf_partition_v1, get_partitions);
        LF_REQUIRE(required, p.partition, lf_partition_v1, read_partition);
    }
    if (p.namespaces) {
        LF_REQUIRE(required, p.namespaces, lf_namespaces_v1, list_namespaces);
        LF_REQUIRE(required, p.namespaces, lf_namespaces_v1, list_tables_in_namespace);
    }
    if (p.scan) LF_REQUIRE(required, p.scan, lf_scan_v1, plan);
    if (p.writer) {
        LF_REQUIRE(required, p.writer, lf_writer_v1, begin);
        LF_REQUIRE(required, p.writer, lf_writer_v1, open_writer);
        LF_REQUIRE(required, p.writer, lf_writer_v1, commit);
        LF_REQUIRE(required, p.writer, lf_writer_v1, abort);
    }
    required.check();
}

std::shared_ptr<const plugin> meet(const boost::dll::shared_library& library, const fs::path& path) {
    if (!library.has(LF_ENTRY_SYMBOL)) {
        throw failure("plugin.no_entry", path.string() + " does not export " LF_ENTRY_SYMBOL,
                      "It is a library, but not a lakeflow plugin.");
    }
    const auto entry = library.get<const lf_plugin*(std::uint32_t, const lf_host*, lf_error*)>(LF_ENTRY_SYMBOL);
    call_error raw;
    const lf_plugin* table = entry(LF_ABI_VERSION, host_table(), raw.out());
    if (!table) {
        const error said = raw.get("plugin " + path.string(), "plugin.abi_version");
        throw failure(
            "plugin.abi_version",
            path.string() + " refuses this host (ABI " + std::to_string(LF_ABI_VERSION) + "): " + said.message,
            said.hint);
    }
    if (!LF_HAS(table, lf_plugin, abi_version) || LF_ABI_MAJOR(table->abi_version) != LF_ABI_MAJOR(LF_ABI_VERSION)) {
        const std::string built =
            LF_HAS(table, lf_plugin, abi_version) ? std::to_string(table->abi_version) : "unknown";
        throw failure(
            "plugin.abi_version",
            path.string() + " was built for ABI " + built + "; this host speaks " + std::to_string(LF_ABI_VERSION),
            "Get a build of the plugin for this host's major ABI version.");
    }
    slots required(path.string());
    LF_REQUIRE(required, table, lf_plugin, options_schema);
    LF_REQUIRE(required, table, lf_plugin, interface);
    required.check();

    auto p = std::make_shared<plugin>();
    p->path = path;
    p->abi_version = table->abi_version;
    p->id = std::string(view(table->id));
    p->version = std::string(view(table->version));
    p->summary = std::string(view(table->summary));
    p->vendor = std::string(view(table->vendor));
    p->license = std::string(view(table->license));
    p->homepage = std::string(view(table->homepage));
    const bool plain = !p->id.empty() && p->id.size() <= 64 &&
                       p->id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
    if (!plain) {
        throw failure("plugin.contract", path.string() + " says that its id is \"" + p->id +
                                             "\"; an id is made of a-z, 0-9 and '-', at most 64 bytes");
    }
    p->connector = interface<lf_connector_v1>(*table, LF_CONNECTOR_ID);
    p->partition = interface<lf_partition_v1>(*table, LF_PARTITION_ID);
    p->namespaces = interface<lf_namespaces_v1>(*table, LF_NAMESPACES_ID);
    p->scan = interface<lf_scan_v1>(*table, LF_SCAN_ID);
    p->writer = interface<lf_writer_v1>(*table, LF_WRITER_ID);
    if (!p->connector) {
        throw failure("plugin.missing_slot", "plugin " + path.string() + " has no interface " LF_CONNECTOR_ID,
                      "The plugin is incomplete; ask its vendor.");
    }
    check_tables(*p);

    call_error schema_error;
    text_sink schema;
    schema_error.check(table->options_schema(schema.out(), schema_error.out()),
                       "plugin " + path.string() + ", options_schema");
    check_options_schema(schema.text(), path.string());
    p->options_schema = schema.take();
    return p;
}

std::shared_ptr<const plugin> load_file(const fs::path& given) {
    const fs::path path = fs::canonical(given);
    registry& all = the_registry();
    const std::scoped_lock lock(all.mutex);
    if (const auto found = all.plugins.find(path); found != all.plugins.end()) return found->second;
    // The handle is kept even if the plugin is refused: its code has run.
    all.handles.push_back(open_library(path));
    return all.plugins.emplace(path, meet(all.handles.back(), path)).first->second;
}

// Why a path is no candidate; empty if it is one.
std::string why_not(const fs::path& path) {
    std::error_code ec;
    const fs::file_status status = fs::status(path, ec);
    if (status.type() == fs::file_type::not_found)
        return fs::exists(path.parent_path(), ec) ? "no such file" : "no such directory";
    if (ec) return ec.message();
    if (fs::is_directory(status)) return "is a directory";
    if (!fs::is_regular_file(status)) return "is not a regular file";
    if (access(path.c_str(), R_OK) != 0) return "cannot be read: permission denied";
    return {};
}

}  // namespace

std::vector<search_place> search_order(const std::vector<std::string>& plugin_dirs) {
    std::vector<search_place> places;
    const auto add = [&](const fs::path& directory, std::string origin) {
        std::error_code ec;
        places.push_back({fs::absolute(directory, ec).lexically_normal(), std::move(origin)});
    };
    for (const auto& directory : plugin_dirs) add(directory, "--plugin-dir");
    if (const char* paths = std::getenv("LAKEFLOW_PLUGIN_PATH")) {
        for (const auto& directory : split(paths, ':')) {
            if (!directory.empty()) add(directory, "LAKEFLOW_PLUGIN_PATH");
        }
    }
    const fs::path program = boost::dll::program_location().parent_path();
    add(program / "plugins", "beside the executable");
    add(program / ".." / "lib" / "lakeflow" / "plugins", "installed");
    add(fs::current_path(), "working folder");
    return places;
}

std::shared_ptr<const plugin> load_plugin(const std::string& name_or_path, const std::vector<search_place>& places) {
    std::vector<std::pair<fs::path, std::string>> candidates;
    if (name_or_path.find('/') != std::string::npos) {
        candidates.emplace_back(fs::absolute(name_or_path).lexically_normal(), "--plugin");
    } else {
        const std::string file = name_or_path.ends_with(".so") ? name_or_path : name_or_path + ".so";
        for (const auto& place : places) candidates.emplace_back(place.directory / file, place.origin);
    }
    std::string tried;
    for (const auto& [path, origin] : candidates) {
        const std::string why = why_not(path);
        if (why.empty()) return load_file(path);
        tried += "\n  " + path.string() + " (" + origin + "): " + why;
    }
    throw failure(
        "plugin.not_found", "plugin \"" + name_or_path + "\" was not found. Tried:" + tried,
        "Give its path with --plugin ./name.so, its directory with --plugin-dir, or copy it into one of these places; "
        "`lakeflow-host plugins` lists what is there.");
}

std::vector<found_plugin> find_plugins(const std::vector<search_place>& places) {
    std::vector<found_plugin> found;
    std::set<fs::path> seen;
    for (const auto& place : places) {
        std::error_code ec;
        std::vector<fs::path> files;
        for (fs::directory_iterator it(place.directory, ec), end; !ec && it != end; it.increment(ec)) {
            if (it->path().extension() == ".so") files.push_back(it->path());
        }
        std::sort(files.begin(), files.end());
        for (const auto& file : files) {
            if (!seen.insert(fs::weakly_canonical(file, ec)).second) continue;
            found_plugin entry{file, place.origin, nullptr, std::nullopt};
            try {
                const std::string why = why_not(file);
                if (!why.empty()) throw failure("plugin.not_a_library", file.string() + " " + why);
                entry.loaded = load_file(file);
            } catch (...) {
                entry.reason = current_error("plugin.not_a_library");
            }
            found.push_back(std::move(entry));
        }
    }
    return found;
}

}  // namespace lakeflow::host
