// host/land/delta/target.cpp: what a flow is in a Delta table: its position, its epoch, its checks. Threads: see target.h.
#include "host/land/delta/target.h"

#include <algorithm>

#include "host/base/error.h"
#include "host/base/text.h"

namespace lakeflow::host::delta {
namespace {

intent intent_of(land_mode mode) { return mode == land_mode::append ? intent::append : intent::rewrite; }

}  // namespace

delta_target::delta_target(std::shared_ptr<environment> shared, flow_spec flow)
    : shared_(std::move(shared)),
      flow_(std::move(flow)),
      columns_(from_arrow(*flow_.schema->get())),
      files_(shared_->open_store(flow_.table)),
      log_(files_, shared_->duck, shared_->log, flow_.table, *shared_->time),
      positions_(*files_, flow_),
      app_id_(app_id(flow_)) {
    if (columns_.empty()) {
        throw failure("schema.unsupported", "table " + flow_.table + " has no column that could land",
                      "name columns with `columns`, or declare a schema");
    }
    check_flow();
    check_names(columns_, flow_.table);
    log_.keep_removed_files(shared_->options.vacuum_retain_ms);
    refresh();
}

// What the mode needs of the flow's columns.
void delta_target::check_flow() {
    const auto column = [&](const std::string& name) {
        return std::find_if(columns_.begin(), columns_.end(), [&](const field& f) { return f.name == name; });
    };
    const bool merges = flow_.mode == land_mode::scd1 || flow_.mode == land_mode::scd2;
    const std::string mode(to_string(flow_.mode));
    if (merges && flow_.primary_keys.empty()) {
        throw failure("config.primary_keys", "table " + flow_.table + " has mode " + mode + " and no primary keys",
                      "name them with `primary_keys`, or use mode = \"append\"");
    }
    if (flow_.mode == land_mode::scd2 && flow_.sequence_by.empty()) {
        throw failure("config.sequence_by",
                      "table " + flow_.table + " has mode scd2 and no column that says when a version begins",
                      "name it with `sequence_by`, or use mode = \"scd1\"");
    }
    for (const std::string& key : flow_.primary_keys) {
        const auto found = column(key);
        if (found == columns_.end()) {
            throw failure("config.primary_keys",
                          "table " + flow_.table + " has no column " + key + ", which is to be a key");
        }
        if (!found->type.fields.empty()) {
            throw failure("config.primary_keys", "table " + flow_.table + ": column " + key + " is a " +
                                                     spark_type(found->type) + ", which cannot be a key");
        }
    }
    // A sequence column that is null in all rows so far has no type, and says nothing: arrival decides.
    if (!flow_.sequence_by.empty() && column(flow_.sequence_by) == columns_.end()) {
        if (find_column(*flow_.schema->get(), flow_.sequence_by) < 0) {
            throw failure("config.sequence_by", "table " + flow_.table + " has no column " + flow_.sequence_by +
                                                    ", which is to be its sequence");
        }
        if (flow_.mode == land_mode::scd2) {
            throw failure("config.sequence_by",
                          "table " + flow_.table + ": column " + flow_.sequence_by +
                              " has no value yet that would give it a type",
                          "declare its type, or name another `sequence_by`");
        }
        flow_.sequence_by.clear();
    }
    if (flow_.mode == land_mode::scd2) add_bounds();
}

// The columns of a version's bounds, of the type of the sequence.
void delta_target::add_bounds() {
    const auto sequence =
        std::find_if(columns_.begin(), columns_.end(), [&](const field& f) { return f.name == flow_.sequence_by; });
    if (!sequence->type.fields.empty()) {
        throw failure("config.sequence_by", "table " + flow_.table + ": column " + sequence->name + " is a " +
                                                spark_type(sequence->type) + ", which cannot be a sequence");
    }
    const type bound = sequence->type;
    for (const char* name : {start_column, end_column}) {
        const auto same = [&](const field& f) { return equal_no_case(f.name, name); };
        if (const auto taken = std::find_if(columns_.begin(), columns_.end(), same); taken != columns_.end()) {
            throw failure("destination.column_name",
                          "table " + flow_.table + ": mode scd2 adds a column " + name +
                              ", and the source has a column " + taken->name,
                          "leave it out with `columns`");
        }
        columns_.push_back({name, bound, true, "{}"});
    }
}

void delta_target::check(const snapshot& table) const {
    check_table(table, intent_of(flow_.mode), flow_.table);
    const auto columns = columns_of(table.meta);
    const bool history =
        std::any_of(columns.begin(), columns.end(), [](const field& f) { return f.name == end_column; });
    if (history != (flow_.mode == land_mode::scd2) && flow_.mode != land_mode::append) {
        throw failure("destination.schema",
                      history ? "table " + flow_.table + " holds history (mode scd2), which mode " +
                                    std::string(to_string(flow_.mode)) + " would overwrite"
                              : "table " + flow_.table + " holds no history: its rows do not say since when they hold",
                      "land into another table with `destination`");
    }
    evolve(table, columns_, flow_);
}

void delta_target::refresh() {
    log_.peek(app_id_, header_);
    base_ = -1;
    position_.reset();
    if (header_.version < 0) return;
    // The header alone is enough to refuse a table: files are looked at when the first batch begins.
    snapshot table;
    table.version = header_.version;
    table.meta = *header_.meta;
    table.proto = *header_.proto;
    check(table);
    if (!header_.own) return;
    base_ = header_.own->version;
    position_ = positions_.read(base_);
}

std::optional<position> delta_target::committed() {
    refresh();
    if (!position_ || position_->reset) return std::nullopt;
    return position_->at;
}

std::unique_ptr<landing> delta_target::begin() {
    log_.update(table_);
    if (table_.version >= 0) check(table_);
    return std::make_unique<delta_landing>(*this);
}

const evolution& delta_target::next_columns() {
    const std::string& now = table_.meta.schema_string;
    if (!evolution_ || evolved_from_ != now) {
        evolution_ = evolve(table_, columns_, flow_);
        evolved_from_ = now;
    }
    return *evolution_;
}

std::string delta_target::stored_name(const std::string& column) {
    for (const field& f : next_columns().columns) {
        if (f.name == column) return f.stored_name();
    }
    return column;
}

std::uint32_t delta_target::take_over() {
    refresh();
    const std::uint32_t stored = base_ < 0 ? 0 : static_cast<std::uint32_t>(base_ >> 32);
    return std::max(stored, positions_.greatest_epoch()) + 1;
}

void delta_target::fence(std::uint32_t epoch) {
    if (base_ < 0 || epoch <= static_cast<std::uint32_t>(base_ >> 32)) return;
    stored_position p = *position_;
    p.at.epoch = epoch;
    commit_position(p, "TAKE OVER");
}

void delta_target::reset() {
    refresh();
    if (base_ < 0 || position_->reset) return;
    stored_position p;
    p.at.epoch = std::max(static_cast<std::uint32_t>(base_ >> 32), positions_.greatest_epoch()) + 1;
    p.at.batch = 0;
    p.reset = true;
    commit_position(p, "RESET");
}

void delta_target::commit_position(const stored_position& p, std::string_view operation) {
    const std::int64_t version = to_version(p.at);
    for (;;) {
        if (shared_->stop) shared_->stop->check();
        log_.update(table_);
        if (table_.txn_version(app_id_) != base_) fail_fenced(table_.txn_version(app_id_));
        if (!positions_.write(version, p)) fail_fenced(version);
        const std::int64_t now = log_.now_ms();
        const std::string text =
            commit_info(now, operation, "Append", true, random_id()) + to_json(txn{app_id_, version, now});
        if (!log_.commit(table_.version + 1, text)) continue;
        table_.apply(parse_commit(text, commit_name(table_.version + 1)), table_.version + 1);
        base_ = version;
        position_ = p;
        log_.checkpoint_if_due(table_);
        return;
    }
}

std::string delta_target::schema_actions(std::int64_t now_ms) {
    const evolution& next = next_columns();
    if (!next.changed) return {};
    metadata meta = next.meta;
    if (table_.version < 0) {
        meta.id = random_id();
        for (const std::size_t at : {8u, 13u, 18u, 23u}) meta.id.insert(at, "-");
        meta.created_time = now_ms;
    }
    const std::string proto = to_json(next.proto);
    return (table_.version < 0 || proto != to_json(table_.proto) ? proto : std::string()) + to_json(meta);
}

void delta_target::fail_fenced(std::int64_t found) const {
    throw failure("state.fenced",
                  "table " + flow_.table + ": another run of job " + flow_.job + " has moved flow " + flow_.flow +
                      " (it stands at epoch " + std::to_string(found < 0 ? 0 : found >> 32) + ", batch " +
                      std::to_string(found < 0 ? 0 : found & 0xffffffff) + "); nothing of this batch was committed",
                  "let one run at a time work on a job; this one can simply be started again");
}

}  // namespace lakeflow::host::delta
