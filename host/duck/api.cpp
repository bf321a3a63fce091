// host/duck/api.cpp: finds and loads libduckdb.so with Boost.DLL and fills the table of functions. Any thread.
#include "host/duck/api.h"

#include <dlfcn.h>

#include <boost/dll/runtime_symbol_info.hpp>
#include <boost/dll/shared_library.hpp>
#include <cstdlib>
#include <filesystem>

#include "host/base/error.h"

namespace lakeflow::host::duck {
namespace {

namespace fs = std::filesystem;

constexpr const char* file_name = "libduckdb.so";

struct place {
    std::string origin;
    fs::path file;
};

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
}

std::vector<place> places(const std::string& option) {
    if (!option.empty()) return {{"destination.duckdb_library", option}};
    std::vector<place> all;
    if (const std::string named = environment("LAKEFLOW_DUCKDB"); !named.empty()) {
        return {{"LAKEFLOW_DUCKDB", named}};
    }
    std::error_code none;
    const fs::path self = fs::read_symlink("/proc/self/exe", none);
    if (!none) all.push_back({"next to the executable", self.parent_path() / file_name});
    fs::path cache = environment("LAKEFLOW_CACHE");
    if (cache.empty() && !environment("HOME").empty()) cache = fs::path(environment("HOME")) / ".cache/lakeflow";
    if (!cache.empty()) all.push_back({"cache", cache / "duckdb" / file_name});
    return all;
}

// An absent symbol makes the whole library useless, so the first one is named.
template <class Function>
void bind(const boost::dll::shared_library& library, Function& to, const char* name, std::string& missing) {
    if (!missing.empty()) return;
    if (!library.has(name)) {
        missing = name;
        return;
    }
    to = library.get<std::remove_pointer_t<Function>>(name);
}

std::shared_ptr<const api> try_load(const fs::path& file, std::string& reason) {
    std::error_code none;
    if (!fs::exists(file, none)) {
        reason = "is not there";
        return nullptr;
    }
    using boost::dll::load_mode::type;
    // Never unloaded: DuckDB may have threads and thread-local destructors of its own.
    const auto mode = static_cast<type>(static_cast<unsigned>(type::rtld_now) |
                                        static_cast<unsigned>(type::rtld_local) | static_cast<unsigned>(RTLD_NODELETE));
    std::error_code failed;
    boost::dll::shared_library library;
    library.load(fs::absolute(file), failed, mode);
    if (failed) {
        const char* text = dlerror();
        reason = text ? text : failed.message();
        return nullptr;
    }
    auto table = std::make_shared<api>();
    std::string missing;
#define LAKEFLOW_DUCKDB_BIND(result, name, parameters) bind(library, table->name, "duckdb_" #name, missing);
    LAKEFLOW_DUCKDB_FUNCTIONS(LAKEFLOW_DUCKDB_BIND)
#undef LAKEFLOW_DUCKDB_BIND
    if (!missing.empty()) {
        reason = "has no " + missing + ": it is another version than 1.5 or no DuckDB";
        return nullptr;
    }
    table->path = file.string();
    return table;
}

}  // namespace

std::shared_ptr<const api> load(const std::string& option) {
    std::string tried;
    for (const place& p : places(option)) {
        std::string reason;
        if (auto found = try_load(p.file, reason)) return found;
        tried += "\n  " + p.file.string() + " (" + p.origin + "): " + reason;
    }
    throw failure("destination.duckdb", "libduckdb.so was not found or cannot be loaded; tried:" + tried,
                  "run conan/setup.sh, which brings it, or name the file in LAKEFLOW_DUCKDB");
}

}  // namespace lakeflow::host::duck
