// tests/support/land_oracle.cpp: the oracle. The generator is in land_history.cpp, the harness in land_check.cpp.
#include "tests/support/land_oracle.h"

#include <algorithm>
#include <tuple>

#include "host/arrow/builder.h"
#include "host/duck/duck.h"

namespace lakeflow::host::testing {
namespace {

std::string hex_of(std::string_view bytes) {
    static constexpr char digits[] = "0123456789ABCDEF";
    std::string out;
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        out += digits[byte >> 4];
        out += digits[byte & 15];
    }
    return out;
}

std::string text_of_row(const std::vector<cell>& row) {
    std::string out;
    for (const cell& value : row) out += (&value == row.data() ? "" : "|") + to_text(value);
    return out;
}

// Null is before every value: std::variant orders so.
bool older(const cell& a, const cell& b) { return a < b; }

}  // namespace

std::string to_text(const cell& value) {
    if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
    if (const auto* text = std::get_if<std::string>(&value)) return "'" + hex_of(*text);
    return "~";
}

land_oracle::land_oracle(flow_spec flow) : flow_(std::move(flow)) {
    const ArrowSchema& schema = *flow_.schema->get();
    const auto place = [&](const std::string& name) { return static_cast<std::size_t>(find_column(schema, name)); };
    for (const std::string& name : flow_.primary_keys) keys_.push_back(place(name));
    for (const std::string& name : flow_.track) tracked_.push_back(place(name));
    if (tracked_.empty()) {
        for (std::size_t i = 0; i < static_cast<std::size_t>(schema.n_children); ++i) tracked_.push_back(i);
    }
    if (!flow_.sequence_by.empty()) sequence_ = find_column(schema, flow_.sequence_by);
}

land_oracle::key land_oracle::key_of(const event& e) const {
    key out;
    for (std::size_t i = 0; i < keys_.size(); ++i) out.push_back(e.from->row[e.tombstone ? i : keys_[i]]);
    return out;
}

cell land_oracle::sequence_of(const event& e) const {
    if (sequence_ < 0) return {};
    return e.from->row[e.tombstone ? keys_.size() : static_cast<std::size_t>(sequence_)];
}

// Older first: of two events the later in this order counts.
std::vector<land_oracle::event> land_oracle::in_order(const land_batch& batch) const {
    std::vector<event> events;
    for (const land_event& row : batch.rows) events.push_back({&row, false, events.size()});
    for (const land_event& gone : batch.tombstones) events.push_back({&gone, true, events.size()});
    const auto rank = [&](const event& e) {
        return std::tuple(sequence_of(e), e.tombstone, e.tombstone ? 0 : e.from->partition, e.arrival);
    };
    std::sort(events.begin(), events.end(), [&](const event& a, const event& b) { return rank(a) < rank(b); });
    return events;
}

void land_oracle::apply(const land_batch& batch) {
    switch (flow_.mode) {
        case land_mode::append: append(batch); break;
        case land_mode::scd1:
            for (const event& e : in_order(batch)) upsert(e);
            break;
        case land_mode::scd2: {
            const auto events = in_order(batch);
            for (auto e = events.begin(); e != events.end(); ++e) {
                const bool again = std::any_of(e + 1, events.end(), [&](const event& later) {
                    return key_of(later) == key_of(*e) && sequence_of(later) == sequence_of(*e);
                });
                if (!again) change_history(*e);
            }
            break;
        }
        case land_mode::snapshot: {
            all_.clear();
            current_.clear();
            for (const event& e : in_order(batch)) {
                if (keys_.empty()) {
                    all_.push_back(e.from->row);
                } else {
                    current_[key_of(e)] = e.from->row;
                }
            }
        }
    }
}

void land_oracle::append(const land_batch& batch) {
    std::vector<const land_event*> events;
    for (const land_event& row : batch.rows) events.push_back(&row);
    std::stable_sort(events.begin(), events.end(),
                     [](const land_event* a, const land_event* b) { return a->partition < b->partition; });
    for (const land_event* e : events) {
        if (flow_.rereads && !current_.emplace(key_of({e, false, 0}), e->row).second) continue;
        all_.push_back(e->row);
    }
}

void land_oracle::upsert(const event& e) {
    const auto held = current_.find(key_of(e));
    if (held != current_.end() && sequence_ >= 0 &&
        older(sequence_of(e), held->second[static_cast<std::size_t>(sequence_)])) {
        return;
    }
    if (!e.tombstone) {
        current_[key_of(e)] = e.from->row;
    } else if (held != current_.end()) {
        current_.erase(held);
    }
}

bool land_oracle::tracked_equal(const std::vector<cell>& a, const std::vector<cell>& b) const {
    return std::all_of(tracked_.begin(), tracked_.end(), [&](std::size_t i) { return a[i] == b[i]; });
}

void land_oracle::change_history(const event& e) {
    auto& versions = versions_[key_of(e)];
    const std::int64_t at = std::get<std::int64_t>(sequence_of(e));
    const auto next = versions.upper_bound(at);
    version* holds = nullptr;
    if (next != versions.begin()) {
        version& before = std::prev(next)->second;
        if (!before.end || *before.end > at) holds = &before;
    }
    if (e.tombstone && !holds) return;

    // Until when the event holds: until the version did, or the next one begins, or for ever.
    std::optional<std::int64_t> end;
    if (holds) {
        end = holds->end;
    } else if (next != versions.end()) {
        end = next->first;
    }
    if (holds) {
        // The instant from which a later event has said that the version holds still.
        const std::int64_t confirmed = std::get<std::int64_t>(holds->row[static_cast<std::size_t>(sequence_)]);
        const bool within = confirmed > at && holds->start < confirmed && (!holds->end || confirmed < *holds->end);
        if (!e.tombstone && tracked_equal(holds->row, e.from->row)) {
            if (!within) holds->row = e.from->row;
            return;
        }
        if (within) {
            version again = *holds;
            again.start = confirmed;
            versions[confirmed] = std::move(again);
            end = confirmed;
        }
        if (holds->start == at) {
            versions.erase(at);
        } else {
            holds->end = at;
        }
    }
    if (!e.tombstone) versions[at] = {e.from->row, at, end};
}

std::vector<std::string> land_oracle::rows() const {
    std::vector<std::string> out;
    for (const auto& row : all_) out.push_back(text_of_row(row));
    if (flow_.mode != land_mode::append) {
        for (const auto& [k, row] : current_) out.push_back(text_of_row(row));
    }
    for (const auto& [k, versions] : versions_) {
        for (const auto& [start, v] : versions) {
            out.push_back(text_of_row(v.row) + "|" + std::to_string(v.start) + "|" +
                          (v.end ? std::to_string(*v.end) : "~"));
        }
    }
    std::sort(out.begin(), out.end());
    return out;
}

// ---- Arrow, and the text of rows in SQL

std::shared_ptr<const arrow_schema> deletes_schema(const flow_spec& flow) {
    std::vector<std::string> names = flow.primary_keys;
    if (!flow.sequence_by.empty()) names.push_back(flow.sequence_by);
    return std::make_shared<const arrow_schema>(select_columns(*flow.schema->get(), names));
}

record_batch to_arrow(const std::shared_ptr<const arrow_schema>& schema, const std::vector<std::vector<cell>>& rows) {
    auto table = make_table(*schema->get());
    for (const auto& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            column& to = table->child(i);
            if (const auto* number = std::get_if<std::int64_t>(&row[i])) {
                static_cast<fixed_column<std::int64_t>&>(to).append(*number);
            } else if (const auto* text = std::get_if<std::string>(&row[i])) {
                static_cast<text_column&>(to).append(*text);
            } else {
                to.append_null();
            }
        }
        table->end_value();
    }
    record_batch batch;
    batch.schema = schema;
    batch.array = table->finish();
    return batch;
}

namespace {

std::string row_text(const flow_spec& flow, const std::function<std::string(type_id, const std::string&)>& value) {
    std::string out;
    const auto put = [&](type_id type, const std::string& name) {
        out += (out.empty() ? "" : " || '|' || ") + ("coalesce(" + value(type, duck::quote_name(name)) + ", '~')");
    };
    type_id sequence = type_id::int64;
    for (std::int64_t i = 0; i < flow.schema->columns(); ++i) {
        const ArrowSchema& column = flow.schema->column(i);
        put(type_of(column).id, std::string(name_of(column)));
        if (name_of(column) == flow.sequence_by) sequence = type_of(column).id;
    }
    if (flow.mode == land_mode::scd2) {
        put(sequence, "__START_AT");
        put(sequence, "__END_AT");
    }
    return out;
}

}  // namespace

std::string duckdb_row_text(const flow_spec& flow) {
    return row_text(flow, [](type_id type, const std::string& name) {
        if (type == type_id::utf8 || type == type_id::binary) return "'''' || hex(" + name + ")";
        return (type == type_id::timestamp_utc ? "epoch_us(" + name + ")" : name) + "::VARCHAR";
    });
}

std::string postgres_row_text(const flow_spec& flow) {
    return row_text(flow, [](type_id type, const std::string& name) {
        if (type == type_id::utf8) return "'''' || upper(encode(convert_to(" + name + ", 'UTF8'), 'hex'))";
        if (type == type_id::binary) return "'''' || upper(encode(" + name + ", 'hex'))";
        if (type == type_id::timestamp_utc) return "(extract(epoch FROM " + name + ") * 1000000)::bigint::text";
        return name + "::text";
    });
}

}  // namespace lakeflow::host::testing
