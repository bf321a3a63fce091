// host/state/effects.h: every change that the state makes to the outside passes here, one call a step, so that a test
// can stop the process after any of them, tear a write or fail an fsync. The calls are used by one thread at a time a
// file; any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lakeflow::host {

class effects {
  public:
    virtual ~effects() = default;

    // Makes a folder and those above it. Throws state.io, like all below.
    virtual void make_directories(const std::filesystem::path& folder) = 0;
    // A file's whole content; nothing if there is no such file.
    virtual std::optional<std::string> read(const std::filesystem::path& file) = 0;
    // Makes or empties the file (mode 0600) and writes all bytes; not durable yet.
    virtual void write(const std::filesystem::path& file, std::string_view bytes) = 0;
    // fsync of a file.
    virtual void sync(const std::filesystem::path& file) = 0;
    // Atomically gives the file its new name, over what is there.
    virtual void rename(const std::filesystem::path& from, const std::filesystem::path& to) = 0;
    // fsync of a folder: makes a rename or removal in it durable.
    virtual void sync_directory(const std::filesystem::path& folder) = 0;
    // Removes a file; no error if there is none.
    virtual void remove(const std::filesystem::path& file) = 0;
    // Names in a folder, sorted; empty if there is no such folder.
    virtual std::vector<std::string> list(const std::filesystem::path& folder) = 0;
    // The wall clock, microseconds since 1970 UTC.
    virtual std::int64_t now_us() = 0;
};

// The machine's files and clock.
std::shared_ptr<effects> real_effects();

}  // namespace lakeflow::host
