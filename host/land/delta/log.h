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

    // Writes a checkpoint of `table` if its version asks for one, and replaces a broken _last_checkpoint. Failures are logged: the
    // table is right without. `force` writes one at any version.
    void checkpoint_if_due(const snapshot& table, bool force = false);

    std::int64_t now_ms() const noexcept { return time_.now_us() / 1000; }
    store& files() noexcept { return *files_; }

  private:
    struct listing {
        std::vector<std::int64_t> commits;  // sorted
        // Complete checkpoints: version -> its files.
        std::vector<std::pair<std::int64_t, std::vector<std::string>>> checkpoints;
        bool has_v2 = false;
    };
    listing list();
    std::string read_commit(std::int64_t version);
    snapshot read_checkpoint(std::int64_t version, const std::vector<std::string>& parts);
    void write_checkpoint(const snapshot& table);
    bool last_checkpoint_is_broken(const listing& log);

    std::shared_ptr<store> files_;
    duck_provider duck_;
    logger log_;
    std::string table_;
    const clock& time_;
};

std::string commit_name(std::int64_t version);  // "_delta_log/00000000000000000007.json"

}  // namespace lakeflow::host::delta
