// host/land/delta/log.h: the transaction log of one Delta table: reading it, adding a commit to it, checkpoints. A log object is used
// by one thread at a time; several, of several processes, may work on one table.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/base/clock.h"
#include "host/base/log.h"
#include "host/duck/duck.h"
#include "host/land/delta/actions.h"
#include "host/land/store.h"

namespace lakeflow::host::delta {

// Opens DuckDB on first use: an idle run needs none.
using duck_provider = std::function<std::shared_ptr<duck::database>()>;

// What can be known of a table without its files.
struct header {
    std::int64_t version = -1;  // -1: there is no table
    std::optional<metadata> meta;
    std::optional<protocol> proto;
    std::optional<txn> own;  // of the application that was asked for
};

class delta_log {
  public:
    delta_log(std::shared_ptr<store> files, duck_provider duck, logger log, std::string table,
              const clock& time = system_clock());

    // Brings `known` up to date: protocol, metadata and the newest txn of `app_id`. From nothing (version -1) it reads the JSON commits
    // backwards until they have said all three, and a checkpoint only if they do not; later, only newer commits.
    void peek(const std::string& app_id, header& known);

    // Brings `table` to the newest version, from nothing (version -1) through a checkpoint. Returns the commits that were read one by
    // one, oldest first; after a checkpoint was read the list is no history.
    std::vector<actions> update(snapshot& table);

    // Writes commit `version`. False if another writer has it.
    bool commit(std::int64_t version, const std::string& text);

    // Writes a checkpoint of `table` if its version asks for one, and replaces a broken _last_checkpoint. After a checkpoint, commits
    // that have expired (delta.logRetentionDuration) are removed; returns how many files went. Failures are logged: the table is
    // right without. `force` writes one at any version.
    std::int64_t checkpoint_if_due(const snapshot& table, bool force = false);

    // Checkpoints keep removed files at least that long, for vacuum to know of.
    void keep_removed_files(std::int64_t ms) noexcept { keep_removed_ms_ = ms; }

    std::int64_t now_ms() const noexcept { return time_.now_us() / 1000; }
    store& files() noexcept { return *files_; }

  private:
    struct listing {
        std::vector<std::int64_t> commits;  // sorted
        // Complete checkpoints, of both specifications: version and files, sorted.
        std::vector<std::pair<std::int64_t, std::vector<std::string>>> checkpoints;
    };
    listing list();
    std::string read_commit(std::int64_t version);
    snapshot read_checkpoint(std::int64_t version, const std::vector<std::string>& parts);
    // What a v2 checkpoint points to; empty for one that holds its files itself.
    std::vector<std::string> sidecars_of(duck::connection& c, const std::vector<std::string>& parts);
    void write_checkpoint(const snapshot& table);
    std::int64_t write_sidecar_checkpoint(const snapshot& table, std::int64_t oldest_tombstone);
    bool last_checkpoint_is_broken(const listing& log);

    // cleanup.cpp
    std::int64_t remove_expired(const snapshot& table);
    std::int64_t remove_sidecars(const listing& log, std::int64_t today_ms);

    std::shared_ptr<store> files_;
    duck_provider duck_;
    logger log_;
    std::string table_;
    const clock& time_;
    std::int64_t keep_removed_ms_ = 0;
};

std::string commit_name(std::int64_t version);  // "_delta_log/00000000000000000007.json"
// The number that the name of a file of the log begins with: "00000000000000000007.checkpoint.parquet" -> 7.
std::optional<std::int64_t> leading_version(std::string_view name);

}  // namespace lakeflow::host::delta
