// host/land/delta/key_files.h: reading files of a table by SQL, and finding those that can hold a key. For merge.cpp. Used by one
// thread at a time.
#pragma once

#include <string>
#include <vector>

#include "host/land/delta/merge.h"

namespace lakeflow::host::delta {

// The columns of data files as a relation, with "lf_fi" (which file, from 0) and "lf_rn" (which row in it).
std::string staged_relation(const merge_input& in, const std::vector<const data_file*>& files);
// The same of committed files, with the table's types; a column that a file does not have yet is null.
std::string table_relation(const merge_input& in, const std::vector<std::string>& paths);

// The paths of the files that may hold a key of `keys`, a table of the connection with columns k0, k1, ...: those whose statistics
// do not say otherwise.
std::vector<std::string> files_with_keys(const merge_input& in, const std::string& keys);

// The table's rows by its statistics, counted where a file has none.
std::int64_t count_rows(const merge_input& in);

// "\"id\" AS k0, \"org\" AS k1", "k0, k1", and "a.k0 = b.k0 AND a.k1 = b.k1".
std::string keys_as(const merge_input& in, const std::string& prefix = {});
std::string key_names(const merge_input& in, const std::string& prefix = {});
// A query of every staged row and tombstone as (k0.., s, fi, rn, del); `s` is null unless `sequenced`.
std::string staged_events(const merge_input& in, bool sequenced);
std::string keys_equal(const merge_input& in, const std::string& a, const std::string& b);

// Small pieces that the modes share.
std::vector<const data_file*> all(const std::vector<data_file>& files);
std::int64_t total_rows(const std::vector<data_file>& files);
// Every file with its rows as they are.
void add_all(const std::vector<data_file>& files, plan& made);

}  // namespace lakeflow::host::delta
