// host/rows/machine_mend.cpp: rows with a value that does not fit, where the policy is not to fail; and members that no column asks for.
#include "host/arrow/schema.h"
#include "host/base/error.h"
#include "host/base/json.h"
#include "host/rows/machine.h"

namespace lakeflow::host {

void machine::raw_row(std::string text) {
    const std::string raw = std::move(text);
    begin_row();
    mend_row(
        [&] {
            const std::string error = replay(raw);
            if (!error.empty()) throw failure("host.internal", who() + ": a row could not be read again: " + error);
        },
        [&] { return raw; });
}

void machine::mend_row(const std::function<void()>& decode, const std::function<std::string()>& raw) {
    const std::size_t depth = frames_.size();
    slot* const outside = current_;
    const std::int64_t row = plan_.table->length();
    const bool quarantines = flow_->on_mismatch == mismatch_policy::quarantine;
    const auto done = [&] {
        unmute();
        fault_.reset();
        current_ = outside;
        replaying_ = false;
    };
    raw_ = &raw;
    replaying_ = true;
    for (bool whole = false; !whole;) {
        in_row_ = true;
        current_ = plan_.row;
        blamed_ = -1;
        try {
            decode();
            whole = true;
        } catch (const failure& f) {
            const bool misfit = f.get().code == "value.mismatch" || f.get().code == "records.null_in_required";
            const std::ptrdiff_t column = blamed_;
            const bool can_go_on = column >= 0 && plan_.columns[static_cast<std::size_t>(column)] &&
                                   plan_.columns[static_cast<std::size_t>(column)]->kind != slot_kind::skip;
            try {
                if (!misfit) throw;
                if (!quarantines && (!can_go_on || !may_be_null(column))) cannot_be_null(f);
            } catch (...) {
                done();
                throw;
            }
            frames_.erase(frames_.begin() + static_cast<std::ptrdiff_t>(depth), frames_.end());
            json_.clear();
            text_.clear();
            stray_.clear();
            rescued_.clear();
            skip_ = 0;
            map_depth_ = 0;
            plan_.table->truncate(row);
            const std::string name = column < 0
                                         ? std::string()
                                         : std::string(name_of(plan_.schema.column(static_cast<std::int64_t>(column))));
            if (!fault_) fault_ = bad_row{{}, f.get().message, f.get().code, name};
            if (can_go_on) {
                mute(column);
                continue;
            }
            // Nothing more can be known of it.
            ++counts_.rows;
            ++counts_.bad;
            in_row_ = false;
            fault_->row = raw();
            found_.rows.push_back(std::move(*fault_));
            whole = true;
        }
    }
    done();
}

void machine::mute(std::ptrdiff_t column) {
    const auto i = static_cast<std::size_t>(column);
    muted_.emplace_back(i, plan_.columns[i]->kind);
    plan_.columns[i]->kind = slot_kind::skip;
}

void machine::unmute() {
    for (const auto& [i, kind] : muted_) plan_.columns[i]->kind = kind;
    muted_.clear();
}

bool machine::is_muted(const column* of) const {
    for (const auto& [i, kind] : muted_) {
        if (plan_.columns[i]->out == of) return true;
    }
    return false;
}

// A column that decides whether the row is wanted at all is no more to be made null than one that may not be.
bool machine::may_be_null(std::ptrdiff_t column) const {
    const auto i = static_cast<std::size_t>(column);
    const slot& s = *plan_.columns[i];
    if (!s.nullable) return false;
    for (const std::size_t key : key_columns_)
        if (key == i) return false;
    for (const condition& c : plan_.keep)
        if (c.from == s.out) return false;
    for (const auto* from : plan_.drop_columns)
        if (from == s.out) return false;
    return true;
}

void machine::cannot_be_null(const failure& f) const {
    error e = f.get();
    e.hint =
        "on_mismatch = \"null\" makes null of a value, and here none may stand: the column is required, a key or a "
        "bound of the read, or "
        "the row as a whole does not fit. \"quarantine\" puts the row aside";
    throw failure(std::move(e));
}

void machine::rescue(const slot* s, std::string_view json) {
    const std::string& key = stray_.empty() ? frames_.back().last->key : stray_;
    rescued_ += (rescued_.empty() ? "" : ",") + quote_json(s->path + key) + ":" + std::string(json);
    stray_.clear();
}

void machine::csv_unknown(const std::string& name, std::string_view text, bool quoted) {
    if (!plan_.rescued || (text.empty() && !quoted)) return;
    rescued_ += (rescued_.empty() ? "" : ",") + quote_json(name) + ":" + quote_json(text);
}

}  // namespace lakeflow::host
