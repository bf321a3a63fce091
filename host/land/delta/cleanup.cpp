// host/land/delta/cleanup.cpp: commits and checkpoints that have expired are removed, by the rules of the protocol's "Metadata Cleanup".
// Threads: see log.h.
#include <algorithm>
#include <limits>
#include <set>

#include "host/base/error.h"
#include "host/land/delta/log.h"
#include "host/land/delta/retention.h"

namespace lakeflow::host::delta {

// Kept are the newest commit that is not younger than the limit, a checkpoint at it or before it, and everything after that checkpoint: so
// each version that is kept can be read. The checkpoint is read in full before anything goes: a torn one is none.
std::int64_t delta_log::remove_expired(const snapshot& table) {
    const std::optional<std::int64_t> retention = log_retention_ms(table.meta);
    if (!retention) return 0;
    const std::int64_t today = now_ms() / day_ms * day_ms;
    const std::int64_t limit = (now_ms() - *retention) / day_ms * day_ms;
    const listing log = list();
    // Clocks of several writers may run apart; a commit is never older than the one before it.
    std::int64_t expired = -1;
    std::int64_t at = std::numeric_limits<std::int64_t>::min();
    for (const std::int64_t version : log.commits) {
        const std::optional<std::int64_t> written = files_->modified_ms(commit_name(version));
        if (!written) return 0;  // another writer is cleaning up
        at = std::max(at, *written);
        if (at > limit) break;
        expired = version;
    }
    std::int64_t keep = -1;
    for (auto known = log.checkpoints.rbegin(); known != log.checkpoints.rend() && keep < 0; ++known) {
        if (known->first > expired) continue;
        if (log.commits.front() >= known->first && log.checkpoints.front().first >= known->first) return 0;
        try {
            read_checkpoint(known->first, known->second);
            keep = known->first;
        } catch (const failure& f) {
            if (f.get().retry == retry_class::cancelled) throw;
        }
    }
    if (keep < 0) return 0;
    std::int64_t removed = 0;
    // Oldest first: a run that ends on the way leaves a shorter log and no gap in it.
    for (const std::string& name : files_->list("_delta_log")) {
        const std::optional<std::int64_t> version = leading_version(name);
        if (!version || *version > keep) continue;
        if (*version == keep && !name.ends_with(".compacted.json")) continue;
        const std::string_view rest = std::string_view(name).substr(21);
        if (rest != "json" && rest != "crc" && !rest.ends_with(".compacted.json") && !rest.starts_with("checkpoint."))
            continue;
        files_->remove("_delta_log/" + name);
        ++removed;
    }
    return removed + remove_sidecars(list(), today);
}

// Sidecars that no checkpoint names. One of the last two days may belong to a checkpoint that is being written.
std::int64_t delta_log::remove_sidecars(const listing& log, std::int64_t today_ms) {
    const std::vector<std::string> names = files_->list("_delta_log/_sidecars");
    if (names.empty()) return 0;
    std::set<std::string> used;
    duck::connection c = duck_()->connect();
    for (const auto& [version, parts] : log.checkpoints) {
        for (std::string& name : sidecars_of(c, parts)) used.insert(std::move(name));
    }
    std::int64_t removed = 0;
    for (const std::string& name : names) {
        const std::string path = "_delta_log/_sidecars/" + name;
        const std::optional<std::int64_t> written = files_->modified_ms(path);
        if (used.contains(name) || !written || *written >= today_ms - day_ms) continue;
        files_->remove(path);
        ++removed;
    }
    return removed;
}

}  // namespace lakeflow::host::delta
