// host/land/delta/optimize.h: the upkeep of a table that a job asks for: small files become larger ones, and files that no version needs
// any more are deleted. Used by one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/land/delta/actions.h"
#include "host/land/store.h"

namespace lakeflow::host::delta {

// Files that become one.
struct file_group {
    std::vector<std::string> paths;  // as the log has them
    std::int64_t bytes = 0;
    std::int64_t rows = 0;  // by their statistics, without those that are gone
};

// Two or more neighbours that are small, together at most `target_bytes`; a file with a deletion vector also alone. Neighbours by the
// least value of column `key` (its name in the files; empty: by age), so that key ranges which lie apart stay apart.
std::vector<file_group> small_files(const snapshot& table, const std::string& key, std::int64_t target_bytes);

// Deletes data files and deletion vectors that no version of the last `retain_ms` needs, and those that no version ever had, as killed
// writers leave them, where they are as old. Returns how many. Throws destination.unsupported_table where files lie elsewhere.
std::int64_t vacuum(store& files, const snapshot& table, std::int64_t now_ms, std::int64_t retain_ms);

}  // namespace lakeflow::host::delta
