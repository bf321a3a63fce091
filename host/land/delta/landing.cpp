// host/land/delta/landing.cpp: one micro-batch into a Delta table. Rows wait in memory, within the destination's budget, until a file
// is full; a file is written by one COPY. At the commit the plan of the mode (merge.h) is made against the newest version, again if
// another writer was quicker. Threads: see target.h.
#include <malloc.h>

#include <algorithm>
#include <thread>

#include "host/base/error.h"
#include "host/base/text.h"
#include "host/land/delta/target.h"

namespace lakeflow::host::delta {
namespace {

// A file smaller than this is not written only because other landings use the memory.
constexpr std::size_t smallest_flush = 256 << 10;
constexpr std::size_t trim_after = 16 << 20;

// Key ranges of files or buffers, in order and apart from each other.
struct key_range {
    const std::string* min;
    const std::string* max;
};
bool apart(std::vector<key_range> ranges) {
    std::sort(ranges.begin(), ranges.end(), [](const key_range& a, const key_range& b) { return *a.min < *b.min; });
    for (std::size_t i = 1; i < ranges.size(); ++i) {
        if (!(*ranges[i - 1].max < *ranges[i].min)) return false;
    }
    return true;
}

// Whether files of the one have the columns of the other.
bool same_files(const std::vector<field>& a, const std::vector<field>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const field& x, const field& y) {
        return x.stored_name() == y.stored_name() && x.type.name == y.type.name &&
               same_files(x.type.fields, y.type.fields);
    });
}

}  // namespace

delta_landing::delta_landing(delta_target& owner) : owner_(owner), commit_id_(random_id()) {}

delta_landing::~delta_landing() {
    // A commit whose answer is not known may have taken the files: they stay then, and VACUUM finds them if it has not.
    if (finished_ || attempted_ || !writer_) return;
    try {
        for (const std::string& name : writer_->written()) owner_.files_->remove(name);
    } catch (const std::exception& e) {
        owner_.shared_->log.write(log_level::warn, "delta",
                                  "table " + owner_.flow_.table + ": files of a dropped batch stay: " + e.what());
    }
}

void delta_landing::open_duckdb() {
    if (connection_) return;
    owner_.files_->make_folder("");
    connection_.emplace(owner_.shared_->duck()->connect(owner_.shared_->stop));
    writer_.emplace(*connection_, *owner_.files_, owner_.next_columns().columns);
    if (owner_.flow_.mode == land_mode::scd2) writer_->begin_versions_at(owner_.stored_name(owner_.flow_.sequence_by));
}

void delta_landing::add(std::uint32_t partition, record_batch rows) {
    if (rows.rows() == 0) return;
    auto found = partitions_.find(partition);
    if (found == partitions_.end()) {
        found =
            partitions_
                .emplace(partition, partition_rows{row_buffer(owner_.shared_->budget),
                                                   key_watch(*owner_.flow_.schema->get(), owner_.flow_.primary_keys)})
                .first;
    }
    partition_rows& to = found->second;
    const destination_options& options = owner_.shared_->options;
    const std::size_t bytes = memory_size(*rows.schema->get(), *rows.array.get());
    const std::size_t row_bytes = bytes / static_cast<std::size_t>(rows.rows()) + 1;
    const auto room = [&] {
        const auto left =
            static_cast<std::int64_t>(options.max_file_bytes) - static_cast<std::int64_t>(to.rows.bytes());
        const std::int64_t by_bytes = std::max<std::int64_t>(left, 0) / static_cast<std::int64_t>(row_bytes);
        return std::max<std::int64_t>(std::min(options.max_file_rows - to.rows.rows(), by_bytes),
                                      to.rows.rows() == 0 ? 1 : 0);
    };
    if (rows.rows() <= room()) {
        push(partition, to, std::move(rows), bytes);
    } else {
        const auto shared = std::make_shared<const record_batch>(std::move(rows));
        for (std::int64_t first = 0; first < shared->rows();) {
            const std::int64_t some = std::min(room(), shared->rows() - first);
            if (some == 0) {
                write_file(partition, to);
                continue;
            }
            push(partition, to, slice(shared, first, some), row_bytes * static_cast<std::size_t>(some));
            first += some;
        }
    }
    while (owner_.shared_->budget->exceeded()) {
        const auto largest = std::max_element(partitions_.begin(), partitions_.end(), [](const auto& a, const auto& b) {
            return a.second.rows.bytes() < b.second.rows.bytes();
        });
        if (largest->second.rows.bytes() < smallest_flush) break;
        write_file(largest->first, largest->second);
    }
}

void delta_landing::push(std::uint32_t partition, partition_rows& to, record_batch rows, std::size_t bytes) {
    to.keys.observe(rows, owner_.flow_.table);
    rows_ += rows.rows();
    bytes_ += bytes;
    to.rows.push(std::move(rows), bytes);
    const destination_options& options = owner_.shared_->options;
    if (to.rows.rows() >= options.max_file_rows ||
        to.rows.bytes() >= static_cast<std::size_t>(options.max_file_bytes)) {
        write_file(partition, to);
    }
}

void delta_landing::write_file(std::uint32_t partition, partition_rows& from) {
    if (from.rows.rows() == 0) return;
    open_duckdb();
    row_buffer rows(owner_.shared_->budget);
    rows.append(std::move(from.rows));
    const std::size_t bytes = rows.bytes();
    data_file file = writer_->write(std::move(rows), owner_.flow_.schema);
    file.partition = partition;
    file.sequence = from.files++;
    file.ordered = from.keys.ordered();
    file.key_min = from.keys.min();
    file.key_max = from.keys.max();
    from.keys.restart();
    staged_.push_back(std::move(file));
    give_back(bytes);
}

// Rows are freed by this thread and were allocated by many: malloc keeps such memory, as much again as the rows that wait, unless it is
// told now and then.
void delta_landing::give_back(std::size_t bytes) {
    freed_ += bytes;
    if (freed_ < trim_after) return;
    freed_ = 0;
    malloc_trim(0);
}

void delta_landing::partition_done(std::uint32_t) {
    // The rest of a partition waits for those of its neighbours: together they make fewer and larger files.
}

// Every file and every buffer is in key order, and none overlaps another: no key comes twice.
bool delta_landing::all_apart() const {
    std::vector<key_range> ranges;
    for (const data_file& file : staged_) {
        if (!file.ordered) return false;
        ranges.push_back({&file.key_min, &file.key_max});
    }
    for (const auto& [number, p] : partitions_) {
        if (p.rows.rows() == 0) continue;
        if (!p.keys.ordered()) return false;
        ranges.push_back({&p.keys.min(), &p.keys.max()});
    }
    return apart(std::move(ranges));
}

// A file that is written already has keys between these two: one file over both would overlap it.
bool delta_landing::lies_between(const std::string& low, const std::string& high) const {
    return std::any_of(staged_.begin(), staged_.end(),
                       [&](const data_file& file) { return low < file.key_min && file.key_min < high; });
}

void delta_landing::write_rest() {
    if (rest_written_) return;
    rest_written_ = true;
    unique_ = all_apart();
    std::vector<std::pair<std::uint32_t, partition_rows*>> waiting;
    for (auto& [number, p] : partitions_) {
        if (p.rows.rows() > 0) waiting.emplace_back(number, &p);
    }
    // Neighbours share a file: by key where keys are in order, by partition otherwise. Where a key may come twice, and part of the
    // partitions is written already, each partition keeps to itself, so that files stay in order of arrival.
    const bool share = unique_ || staged_.empty() || owner_.flow_.primary_keys.empty();
    if (unique_) {
        std::sort(waiting.begin(), waiting.end(),
                  [](const auto& a, const auto& b) { return a.second->keys.min() < b.second->keys.min(); });
    }
    const destination_options& options = owner_.shared_->options;
    for (std::size_t i = 0; i < waiting.size();) {
        partition_rows& first = *waiting[i].second;
        if (!share) {
            write_file(waiting[i++].first, first);
            continue;
        }
        row_buffer rows(owner_.shared_->budget);
        data_file about;
        about.partition = waiting[i].first;
        about.sequence = first.files;
        about.ordered = unique_;
        about.key_min = first.keys.min();
        about.key_max = first.keys.max();
        do {
            partition_rows& p = *waiting[i].second;
            about.key_min = std::min(about.key_min, p.keys.min());
            about.key_max = std::max(about.key_max, p.keys.max());
            rows.append(std::move(p.rows));
            p.keys.restart();
            ++i;
        } while (i < waiting.size() && rows.rows() + waiting[i].second->rows.rows() <= options.max_file_rows &&
                 rows.bytes() + waiting[i].second->rows.bytes() <= static_cast<std::size_t>(options.max_file_bytes) &&
                 !(unique_ && lies_between(about.key_max, waiting[i].second->keys.min())));
        open_duckdb();
        const std::size_t bytes = rows.bytes();
        data_file file = writer_->write(std::move(rows), owner_.flow_.schema);
        give_back(bytes);
        file.partition = about.partition;
        file.sequence = about.sequence;
        file.ordered = about.ordered;
        file.key_min = std::move(about.key_min);
        file.key_max = std::move(about.key_max);
        staged_.push_back(std::move(file));
    }
    std::sort(staged_.begin(), staged_.end(), [](const data_file& a, const data_file& b) {
        return std::pair(a.partition, a.sequence) < std::pair(b.partition, b.sequence);
    });
    std::vector<key_range> ranges;
    bool watched = !owner_.flow_.primary_keys.empty();
    for (const data_file& file : staged_) {
        watched = watched && !file.key_max.empty();
        ranges.push_back({&file.key_min, &file.key_max});
    }
    disjoint_ = watched && apart(std::move(ranges));
}

void delta_landing::add_deletes(record_batch rows) {
    if (owner_.flow_.mode != land_mode::scd1 && owner_.flow_.mode != land_mode::scd2) {
        throw failure("config.mode", "table " + owner_.flow_.table + ": deletes land in the modes scd1 and scd2 only");
    }
    if (rows.rows() == 0) return;
    key_watch(*rows.schema->get(), owner_.flow_.primary_keys).observe(rows, owner_.flow_.table);
    open_duckdb();
    const std::string& sequence = owner_.flow_.sequence_by;
    std::string columns;
    for (std::size_t i = 0; i < owner_.flow_.primary_keys.size(); ++i) {
        columns += duck::quote_name(owner_.flow_.primary_keys[i]) + " AS k" + std::to_string(i) + ", ";
    }
    const bool sequenced = !sequence.empty() && find_column(*rows.schema->get(), sequence) >= 0;
    std::string type = "BIGINT";
    for (const field& column : owner_.next_columns().columns) {
        if (column.name == sequence) type = duckdb_type(column.type);
    }
    columns += (sequenced ? duck::quote_name(sequence) + "::" + type : "NULL::" + type) + " AS s";
    auto schema = rows.schema;
    struct once final : duck::batch_source {
        std::optional<record_batch> batch;
        bool next(record_batch& out) override {
            if (!batch) return false;
            out = std::move(*batch);
            batch.reset();
            return true;
        }
    };
    auto source = std::make_shared<once>();
    source->batch = std::move(rows);
    const duck::scan scan = connection_->add_scan(schema, source);
    const std::string select = "SELECT " + columns + " FROM " + scan.sql();
    connection_->run(has_deletes_ ? "INSERT INTO lf_deletes " + select
                                  : "CREATE OR REPLACE TEMP TABLE lf_deletes AS " + select);
    has_deletes_ = true;
}

plan delta_landing::make_plan() {
    if (rows_ == 0 && !has_deletes_ && owner_.flow_.mode != land_mode::snapshot) return {};
    open_duckdb();
    const auto stored = [&](const std::vector<std::string>& names) {
        std::vector<std::string> out;
        out.reserve(names.size());
        for (const std::string& name : names) out.push_back(owner_.stored_name(name));
        return out;
    };
    const std::string& sequence = owner_.flow_.sequence_by;
    gone_rows gone(*connection_, *owner_.files_);
    const merge_input in{*connection_,
                         *owner_.files_,
                         *writer_,
                         owner_.table_,
                         owner_.flow_,
                         owner_.next_columns().columns,
                         stored(owner_.flow_.primary_keys),
                         sequence.empty() ? std::string() : owner_.stored_name(sequence),
                         stored(owner_.flow_.track),
                         staged_,
                         has_deletes_ ? "lf_deletes" : "",
                         unique_,
                         disjoint_,
                         rows_ ? bytes_ / static_cast<std::size_t>(rows_) + 1 : 1,
                         owner_.shared_->options.max_file_rows,
                         static_cast<std::size_t>(owner_.shared_->options.max_file_bytes),
                         &gone};
    plan made = plan_mode(in);
    // Types that changed change in all files, unless the table's rows are replaced altogether.
    if (owner_.next_columns().rewrites) rewrite_rest(in, made);
    return made;
}

plan delta_landing::plan_mode(const merge_input& in) {
    switch (in.flow.mode) {
        case land_mode::append: return in.flow.rereads && !in.keys.empty() ? plan_keyed_append(in) : plan_append(in);
        case land_mode::scd1: return plan_scd1(in);
        case land_mode::scd2: return plan_scd2(in);
        case land_mode::snapshot: return plan_snapshot(in);
    }
    return {};
}

void delta_landing::drop_plan() {
    drop_plan_files();
    plan_.reset();
}

// Files that only this plan needed.
void delta_landing::drop_plan_files() {
    for (const data_file& file : plan_->adds) {
        const bool staged =
            std::any_of(staged_.begin(), staged_.end(), [&](const data_file& s) { return s.name == file.name; });
        if (staged) continue;
        owner_.files_->remove(file.name);
        writer_->forget(file.name);
    }
}

bool delta_landing::was_mine(const std::vector<actions>& others) const {
    return std::any_of(others.begin(), others.end(), [&](const actions& c) { return c.commit_id == commit_id_; });
}

bool delta_landing::still_valid(const std::vector<actions>& others) const {
    for (const actions& commit : others) {
        if (commit.meta || commit.proto) return false;
        if (!plan_->blind && (!commit.adds.empty() || !commit.removes.empty())) return false;
    }
    return true;
}

std::string delta_landing::commit_text(std::int64_t version, const plan& what) {
    const std::int64_t now = owner_.log_.now_ms();
    std::string_view operation = "WRITE", mode = "Append";
    if (owner_.flow_.mode == land_mode::scd1 || owner_.flow_.mode == land_mode::scd2) operation = "MERGE";
    if (owner_.flow_.mode == land_mode::snapshot) mode = "Overwrite";
    std::string text = commit_info(now, operation, mode, what.blind, commit_id_);
    // The columns of a table change with rows alone.
    if (owner_.table_.version < 0 || writer_) text += owner_.schema_actions(now);
    text += to_json(txn{owner_.app_id_, version, now});
    const auto remove = [&](const std::string& path, bool data_change) {
        const auto file = owner_.table_.files.find(path);
        const bool known = file != owner_.table_.files.end();
        text += to_json(remove_file{path, now, known ? file->second.size : 0, data_change,
                                    known ? file->second.vector : deletion_vector{}});
    };
    for (const std::string& path : what.removes) remove(path, true);
    for (const std::string& path : what.moved) remove(path, false);
    for (const data_file& file : what.adds) {
        add_file add = file.add;
        add.data_change = !file.moves_rows;
        text += to_json(add);
    }
    return text;
}

land_result delta_landing::replayed(const position& next) const {
    const std::int64_t version = to_version(next);
    const auto stored = owner_.positions_.find(version);
    if (!stored || !(stored->at == next)) owner_.fail_fenced(owner_.base_);
    land_result result;
    result.committed = false;
    result.version = std::to_string(owner_.table_.version);
    return result;
}

land_result delta_landing::commit(const position& next) {
    const std::int64_t version = to_version(next);
    if (owner_.base_ >= 0 && version <= owner_.base_) return replayed(next);
    write_rest();
    for (std::uint32_t attempt = 0;; ++attempt) {
        if (owner_.shared_->stop) owner_.shared_->stop->check();
        const std::vector<actions> others = owner_.log_.update(owner_.table_);
        const std::int64_t found = owner_.table_.txn_version(owner_.app_id_);
        if (found != owner_.base_) {
            if (!was_mine(others)) owner_.fail_fenced(found);
            break;  // the answer was lost, the commit was not
        }
        check_others(others);
        if (plan_ && !still_valid(others)) drop_plan();
        if (!plan_) plan_ = make_plan();
        if (plan_->unchanged) {
            if (owner_.base_ >= 0 && !owner_.position_->reset) return unchanged(next);
            // The flow has no position here yet: a commit of the position alone.
            drop_plan_files();
            plan_->adds.clear();
            plan_->unchanged = false;
        }
        for (const data_file& file : plan_->adds) owner_.files_->sync(file.name);
        if (!owner_.positions_.write(version, {next, false})) owner_.fail_fenced(version);
        const std::int64_t table_version = owner_.table_.version + 1;
        const std::string text = commit_text(version, *plan_);
        attempted_ = true;
        if (owner_.log_.commit(table_version, text)) {
            owner_.table_.apply(parse_commit(text, commit_name(table_version)), table_version);
            break;
        }
        attempted_ = false;
        // Another writer has that version: look again, after a moment that grows with the crowd.
        std::this_thread::sleep_for(
            std::chrono::microseconds(hash64(commit_id_, attempt) % (1000 * std::min(attempt + 1, 50u))));
    }
    attempted_ = false;
    finished_ = true;
    owner_.base_ = version;
    owner_.position_ = stored_position{next, false};
    land_result result = plan_ ? plan_->result : land_result{};
    result.version = std::to_string(owner_.table_.version);
    clean_up(plan_ ? &*plan_ : nullptr, version);
    owner_.after_batch(next, result);
    return result;
}

// Nothing to commit; the validator is kept beside the position, so that the next run need not read the table again.
land_result delta_landing::unchanged(const position& next) {
    owner_.positions_.write_seen(owner_.base_, next);
    owner_.position_->at.end = next.end;
    land_result result = plan_->result;
    result.committed = false;
    result.version = std::to_string(owner_.table_.version);
    clean_up(nullptr, owner_.base_);
    return result;
}

// A commit of another writer that changed the table's columns or features: our rows must fit it still.
void delta_landing::check_others(const std::vector<actions>& others) {
    if (std::none_of(others.begin(), others.end(), [](const actions& c) { return c.meta || c.proto; })) return;
    owner_.check(owner_.table_);
    if (writer_ && !same_files(owner_.next_columns().columns, writer_->columns())) {
        throw failure(
            "destination.conflict",
            "table " + owner_.flow_.table + ": another writer changed its columns while this batch was written",
            "start the job again", retry_class::transient);
    }
}

// Removes the files that the commit did not take, and positions that no one asks for any more. What stays is only in the way.
void delta_landing::clean_up(const plan* taken, std::int64_t version) {
    finished_ = true;
    try {
        if (writer_) {
            if (taken) {
                for (const data_file& file : taken->adds) writer_->forget(file.name);
            }
            for (const std::string& name : writer_->written()) owner_.files_->remove(name);
        }
        owner_.positions_.trim(version);
    } catch (const failure& f) {
        owner_.shared_->log.write(log_level::warn, "delta", "table " + owner_.flow_.table + ": " + f.get().message);
    }
}

}  // namespace lakeflow::host::delta
