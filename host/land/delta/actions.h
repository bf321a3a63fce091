// host/land/delta/actions.h: the actions of a Delta log, their JSON, and the state of a table that they add up to. Source: the
// Delta transaction log protocol. Plain data; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lakeflow::host::delta {

// Rows of a data file that are gone, as the log has it: where a bitmap of their numbers lies. deletion_vector.h reads it.
struct deletion_vector {
    std::string
        storage;  // "u": a file of the table, "p": a file by its full path, "i": in `place` itself; empty: there is none
    std::string place;
    std::int64_t offset = -1;  // in the file; -1: not stated
    std::int64_t size = 0;
    std::int64_t rows = 0;  // how many it takes out

    explicit operator bool() const noexcept { return !storage.empty(); }
    std::string id() const;  // tells two vectors of one file apart
};

struct add_file {
    std::string path;  // as the log has it: percent-encoded, relative to the table
    std::int64_t size = 0;
    std::int64_t modification_time = 0;  // ms
    std::string stats;                   // JSON text, may be empty
    std::string tags;                    // JSON text of an object, may be empty
    std::string partition_values = "{}";
    bool data_change = true;  // false: its rows were in the table before
    deletion_vector vector = {};
};

struct remove_file {
    std::string path;
    std::int64_t deletion_timestamp = 0;  // ms
    std::int64_t size = 0;
    bool data_change = true;
    deletion_vector vector = {};
};

struct txn {
    std::string app_id;
    std::int64_t version = 0;
    std::int64_t last_updated = 0;  // ms
};

struct metadata {
    std::string id;
    std::string name;
    std::string description;
    std::string schema_string;
    std::vector<std::string> partition_columns;
    std::map<std::string, std::string> configuration;
    std::int64_t created_time = 0;  // ms
};

struct protocol {
    int min_reader = 1;
    int min_writer = 2;
    bool has_reader_features = false;
    bool has_writer_features = false;
    std::vector<std::string> reader_features;
    std::vector<std::string> writer_features;
};

// One commit, or what a checkpoint holds.
struct actions {
    std::vector<add_file> adds;
    std::vector<remove_file> removes;
    std::vector<txn> txns;
    std::optional<metadata> meta;
    std::optional<protocol> proto;
    std::string commit_id;              // commitInfo.txnId
    std::vector<std::string> sidecars;  // of a v2 checkpoint: files with its adds and removes
};

// Reads the lines of a commit file. Unknown actions and members are skipped. `wanted` of false leaves adds and removes out, which
// is much quicker. Throws destination.corrupt naming `file`.
actions parse_commit(std::string_view text, std::string_view file, bool files_wanted = true);

std::string to_json(const add_file& add);
std::string to_json(const remove_file& remove);
std::string to_json(const txn& t);
std::string to_json(const metadata& meta);
std::string to_json(const protocol& proto);
// commitInfo; `blind` says that nothing of the table was read for it.
std::string commit_info(std::int64_t now_ms, std::string_view operation, std::string_view mode, bool blind,
                        std::string_view commit_id);

// Reads the members of a JSON object of strings (tags, configuration); numbers and booleans as their text.
std::map<std::string, std::string> string_members(std::string_view json);

// A table at one version.
struct snapshot {
    std::int64_t version = -1;  // -1: there is no table
    protocol proto;
    metadata meta;
    std::map<std::string, add_file> files;
    std::map<std::string, remove_file> tombstones;  // by path, and the id of the vector where it had one
    std::map<std::string, txn> txns;

    void apply(actions commit, std::int64_t commit_version);
    std::int64_t txn_version(const std::string& app_id) const;  // -1: none
};

// The path of a data file in the store: decoded. Throws destination.unsupported_table for one that lies elsewhere.
std::string file_of(const std::string& encoded_path);

}  // namespace lakeflow::host::delta
