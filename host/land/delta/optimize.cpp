// host/land/delta/optimize.cpp: see optimize.h, and what a target does after a batch.
#include "host/land/delta/optimize.h"

#include <algorithm>
#include <set>

#include "host/base/error.h"
#include "host/base/text.h"
#include "host/land/delta/deletion_vector.h"
#include "host/land/delta/key_files.h"
#include "host/land/delta/retention.h"
#include "host/land/delta/target.h"

namespace lakeflow::host::delta {
namespace {

struct small_file {
    std::int64_t number = 0;  // the least key, where it is one
    std::string least;        // as the statistics spell it
    const add_file* file = nullptr;
    std::int64_t rows = 0;
};

small_file look_at(const add_file& file, const std::string& key) {
    small_file seen;
    seen.file = &file;
    const auto stats = string_members(file.stats);
    if (const auto rows = stats.find("numRecords"); rows != stats.end())
        seen.rows = parse_int(rows->second).value_or(0) - file.vector.rows;
    seen.number = file.modification_time;
    if (key.empty()) return seen;
    const auto least = stats.find("minValues");
    if (least == stats.end()) return seen;
    const auto values = string_members(least->second);
    if (const auto of = values.find(key); of != values.end()) {
        const auto number = parse_int(of->second);
        seen.number = number.value_or(0);
        if (!number) seen.least = of->second;
    }
    return seen;
}

// The name that vacuum meets of a vector's file; empty for one that has none.
std::string name_of(const deletion_vector& vector) {
    if (vector.storage == "u") return file_of(vector);
    return vector.storage == "p" ? vector.place.substr(vector.place.rfind('/') + 1) : std::string();
}

bool is_ours(const std::string& name) {
    if (name.empty() || name.front() == '_' || name.front() == '.') return false;
    return name.ends_with(".parquet") || (name.starts_with("deletion_vector_") && name.ends_with(".bin"));
}

}  // namespace

std::vector<file_group> small_files(const snapshot& table, const std::string& key, std::int64_t target_bytes) {
    std::vector<small_file> files;
    files.reserve(table.files.size());
    for (const auto& [path, file] : table.files) files.push_back(look_at(file, key));
    std::stable_sort(files.begin(), files.end(), [](const small_file& a, const small_file& b) {
        return std::pair(a.number, std::string_view(a.least)) < std::pair(b.number, std::string_view(b.least));
    });
    std::vector<file_group> groups;
    file_group next;
    bool marked = false;  // a file of the group has a vector
    const auto close = [&] {
        if (next.paths.size() > 1 || marked) groups.push_back(std::move(next));
        next = file_group();
        marked = false;
    };
    for (const small_file& seen : files) {
        const add_file& file = *seen.file;
        const bool large = file.size >= target_bytes / 4 * 3;
        if (large && !file.vector) {
            close();
            continue;
        }
        if (next.bytes + file.size > target_bytes) close();
        next.paths.push_back(file.path);
        next.bytes += file.size;
        next.rows += seen.rows;
        marked = marked || file.vector;
    }
    close();
    return groups;
}

std::int64_t vacuum(store& files, const snapshot& table, std::int64_t now_ms, std::int64_t retain_ms) {
    const std::int64_t limit = now_ms - retain_ms;
    std::set<std::string> used;
    const auto use = [&](const std::string& path, const deletion_vector& vector) {
        used.insert(file_of(path));
        if (std::string name = name_of(vector); !name.empty()) used.insert(std::move(name));
    };
    for (const auto& [path, file] : table.files) use(path, file.vector);
    std::set<std::string> old;  // in folders of their own
    for (const auto& [name, gone] : table.tombstones) {
        // One without a time may have gone just now.
        if (gone.deletion_timestamp == 0 || gone.deletion_timestamp >= limit)
            use(gone.path, gone.vector);
        else if (std::string file = file_of(gone.path); file.find('/') != std::string::npos)
            old.insert(std::move(file));
    }
    for (std::string& name : files.list("")) {
        if (is_ours(name)) old.insert(std::move(name));
    }
    std::int64_t removed = 0;
    for (const std::string& name : old) {
        const std::optional<std::int64_t> written = files.modified_ms(name);
        if (used.contains(name) || !written || *written >= limit) continue;
        files.remove(name);
        ++removed;
    }
    return removed;
}

// Small files are put together in a commit of its own, which changes no row and leaves the flow's position alone. Another writer that
// was quicker keeps what it did: groups of which it touched a file are left out, and all where it changed the columns.
void delta_target::compact(land_result& result) {
    const bool keyed = flow_.mode != land_mode::append && !flow_.primary_keys.empty();
    const std::vector<field> columns = columns_of(table_.meta);
    std::vector<file_group> groups =
        small_files(table_, keyed ? stored_name(flow_.primary_keys.front()) : "", shared_->options.optimize_file_bytes);
    if (groups.empty()) return;
    duck::connection connection = shared_->duck()->connect(shared_->stop);
    file_writer writer(connection, *files_, columns);
    try {
        gone_rows gone(connection, *files_);
        const std::vector<data_file> nothing;
        const merge_input in{connection, *files_, writer, table_, flow_, columns, {}, {},   {},
                             nothing,    "",      false,  false,  1,     1,       1,  &gone};
        struct made {
            std::vector<add_file> from;
            data_file file;
        };
        std::vector<made> all;
        for (const file_group& group : groups) {
            if (shared_->stop) shared_->stop->check();
            made one;
            for (const std::string& path : group.paths) one.from.push_back(table_.files.at(path));
            // In memory a row takes some times what it does in a file.
            const auto row_bytes =
                static_cast<std::size_t>(group.bytes * 6 / std::max<std::int64_t>(group.rows, 1) + 1);
            one.file = writer.write_query(
                "SELECT " + writer.column_list("t.") + " FROM " + table_relation(in, group.paths) + " t", row_bytes);
            files_->sync(one.file.name);
            all.push_back(std::move(one));
        }
        for (;;) {
            if (shared_->stop) shared_->stop->check();
            const std::vector<actions> others = log_.update(table_);
            if (std::any_of(others.begin(), others.end(), [](const actions& c) { return c.meta || c.proto; })) break;
            const std::int64_t now = log_.now_ms();
            std::string text = commit_info(now, "OPTIMIZE", "Append", false, random_id());
            std::vector<std::string> taken;
            std::int64_t count = 0;
            for (const made& one : all) {
                const bool untouched = std::all_of(one.from.begin(), one.from.end(), [&](const add_file& f) {
                    const auto still = table_.files.find(f.path);
                    return still != table_.files.end() && still->second.vector.id() == f.vector.id();
                });
                if (!untouched) continue;
                for (const add_file& f : one.from) text += to_json(remove_file{f.path, now, f.size, false, f.vector});
                count += static_cast<std::int64_t>(one.from.size());
                taken.push_back(one.file.name);
                if (one.file.rows == 0) continue;
                add_file add = one.file.add;
                add.data_change = false;
                text += to_json(add);
            }
            if (count == 0) break;
            if (!log_.commit(table_.version + 1, text)) continue;
            table_.apply(parse_commit(text, commit_name(table_.version + 1)), table_.version + 1);
            result.files_compacted += count;
            result.version = std::to_string(table_.version);
            for (const made& one : all) {
                if (one.file.rows > 0 && std::find(taken.begin(), taken.end(), one.file.name) != taken.end())
                    writer.forget(one.file.name);
            }
            result.log_files_removed += log_.checkpoint_if_due(table_);
            break;
        }
    } catch (...) {
        for (const std::string& name : writer.written()) files_->remove(name);
        throw;
    }
    for (const std::string& name : writer.written()) files_->remove(name);
}

// What a job asks for beside its rows. A failure here is no failure of the batch, which is committed.
void delta_target::after_batch(const position& at, land_result& result) {
    result.log_files_removed += log_.checkpoint_if_due(table_);
    const destination_options& options = shared_->options;
    try {
        if (options.optimize_every > 0 && at.batch % options.optimize_every == 0) compact(result);
        if (options.vacuum_retain_ms < 0) return;
        const std::int64_t now = log_.now_ms();
        if (vacuumed_ms_ != 0 && now - vacuumed_ms_ < day_ms) return;
        std::int64_t retain = options.vacuum_retain_ms;
        if (!options.vacuum_forced) {
            const std::optional<std::int64_t> own = file_retention_ms(table_.meta);
            if (!own) return;
            retain = std::max(retain, *own);
        }
        result.files_vacuumed += vacuum(*files_, table_, now, retain);
        vacuumed_ms_ = now;
    } catch (const failure& f) {
        shared_->log.write(log_level::warn, "delta", "table " + flow_.table + ": no upkeep: " + f.get().message);
    }
}

}  // namespace lakeflow::host::delta
