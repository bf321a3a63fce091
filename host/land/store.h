// host/land/store.h: where a destination keeps its files. Every effect on files passes here, one call a step, so that tests can stop
// or fail a run after any of them, and an object store can follow. Names are relative, with '/'. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lakeflow::host {

class store {
  public:
    virtual ~store() = default;

    // A file's whole content; nothing if there is no such file. Throws destination.io, like all below.
    virtual std::optional<std::string> get(const std::string& name) = 0;
    // Names of the files in a folder, sorted, without the folder; empty if there is no such folder.
    virtual std::vector<std::string> list(const std::string& folder) = 0;
    // When a file was last written, in milliseconds since 1970; nothing if there is no such file.
    virtual std::optional<std::int64_t> modified_ms(const std::string& name) = 0;

    // Writes or replaces a file, in full or not at all; durable when it returns. Makes the folders above it.
    virtual void put(const std::string& name, std::string_view bytes) = 0;
    // The same, unless the name exists: false then, and the file is as it was. Of several callers one wins.
    // Throws destination.no_atomic_create where the file system cannot do that.
    virtual bool put_if_absent(const std::string& name, std::string_view bytes) = 0;
    // Removes a file or an empty folder; no error if there is none.
    virtual void remove(const std::string& name) = 0;
    // Gives a file another name in this store; durable after sync of the new name.
    virtual void rename(const std::string& from, const std::string& to) = 0;
    virtual void make_folder(const std::string& name) = 0;
    // Makes durable a file that DuckDB wrote at path(name), and its name.
    virtual void sync(const std::string& name) = 0;

    // Where DuckDB reads and writes that file.
    virtual std::string path(const std::string& name) const = 0;
};

// Files below a folder of this machine. The folder need not exist.
std::shared_ptr<store> make_local_store(std::string root);

}  // namespace lakeflow::host
