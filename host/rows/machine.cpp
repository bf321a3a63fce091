// host/rows/machine.cpp: what is rare about a document's structure; values are in machine_values.cpp.
#include "host/rows/machine.h"

#include "host/arrow/schema.h"
#include "host/base/error.h"
#include "host/base/json.h"
#include "host/base/text.h"

namespace lakeflow::host {
namespace {

constexpr std::int64_t small_map = 16;  // up to here keys are compared one by one

}  // namespace

machine::machine(plan& p, const lf_context* context) : plan_(p) {
    if (context) flow_ = context->flow;
    element_.kind = slot_kind::element;
    frames_.reserve(64);
    if (!flow_) return;
    mends_ = flow_->on_mismatch != mismatch_policy::fail;
    for (const std::string& name : flow_->key_columns) {
        const std::int64_t i = find_column(*plan_.schema.get(), name);
        if (i >= 0) key_columns_.push_back(static_cast<std::size_t>(i));
    }
}

void machine::begin(slot* target) {
    current_ = target;
    skip_ = 0;
    json_.clear();
    frames_.clear();
    text_.clear();
    map_depth_ = 0;
    in_row_ = false;
    rescued_.clear();
    stray_.clear();
}

void machine::begin_document() {
    counts_ = {};
    found_ = {};
    counts_.watched.resize(plan_.watch.size());
    counts_.captures.resize(plan_.spec.captures.size());
    counts_.captured.resize(plan_.spec.captures.size());
}

std::string machine::who() const {
    std::string result = flow_ ? flow_->plugin + "." + flow_->table : std::string("rows");
    if (!plan_.spec.context.empty()) result += ", page " + plan_.spec.context;
    return result;
}

std::string machine::where() const {
    std::string result = who();
    if (!in_row_) return result;
    result += ", row " + std::to_string(counts_.rows + 1);
    std::string keys;
    const std::int64_t row = plan_.table->length();
    for (const std::size_t i : key_columns_) {
        const column& c = plan_.table->child(i);
        if (c.length() <= row) continue;
        const ArrowSchema& node = plan_.schema.column(static_cast<std::int64_t>(i));
        const arrow_array one = c.copy(row, 1);
        keys += (keys.empty() ? "" : ", ") + std::string(name_of(node)) + " " +
                std::string(cut_utf8(value_text(node, *one.get(), 0), 100));
    }
    return keys.empty() ? result : result + " (" + keys + ")";
}

void machine::wrong(const slot* s, std::string_view value, const std::string& rule, const char* code) const {
    blamed_ = s->of_column;
    if (s->document)
        throw failure("source.protocol", where() + ": the document: " +
                                             (s->path.empty() ? std::string("its top") : "\"" + s->path + "\"") +
                                             " is " + std::string(value) + ", " + rule);
    throw failure(
        code,
        where() + (s->path.empty() ? std::string() : ": column " + s->path) + ": " + std::string(value) + " " + rule,
        s->node ? "If the source really sends this, declare the column with a type that holds it." : "");
}

void machine::wrong_text(const slot* s, std::string_view text, const std::string& rule) const {
    const std::string_view cut = cut_utf8(text, 100);
    wrong(s, quote_json(cut) + (cut.size() < text.size() ? ".." : ""), rule);
}

void machine::wrong_kind(const slot* s, std::string_view value) const {
    switch (s->kind) {
        case slot_kind::row: wrong(s, value, "is not a row, which is an object");
        case slot_kind::records: wrong(s, value, "not an array of rows or an object");
        case slot_kind::object:
            if (s->document) wrong(s, value, "and the rows should lie below it");
            if (!s->node) wrong(s, value, "is not an object, and columns are read from below it");
            [[fallthrough]];
        default: wrong(s, value, "is no value of " + (s->node ? type_name(*s->node) : std::string("this place")));
    }
}

void machine::twice(std::string_view name) const {
    const std::string key = name.starts_with('"') ? std::string(cut_utf8(name, 102)) : quote_json(cut_utf8(name, 100));
    std::string place;
    const slot* in = json_.active() ? json_for_ : frames_.empty() ? nullptr : frames_.back().place;
    if (in) place = in->path;
    blamed_ = in ? in->of_column : -1;
    throw failure("value.mismatch", where() + (place.empty() ? std::string() : ": " + place) + ": the key " + key +
                                        " stands twice in one object");
}

void machine::other_object(slot* s) {
    switch (s->kind) {
        case slot_kind::skip: skip_ = 1; break;
        case slot_kind::object: open_object(s); break;
        case slot_kind::records: s = s->item; [[fallthrough]];
        case slot_kind::row:
            begin_row();
            if (mends_ && !replaying_) {
                json_begin(s);
                json_.begin_object();
                break;
            }
            open_object(s);
            break;
        case slot_kind::map: open_map(s); break;
        case slot_kind::text:
        case slot_kind::json:
        case slot_kind::rescued:
        case slot_kind::capture:
        case slot_kind::several:
            json_begin(s);
            json_.begin_object();
            break;
        case slot_kind::element: other_object(next_element()); break;
        default: wrong_kind(s, "an object");
    }
}

void machine::open_array(slot* s) {
    switch (s->kind) {
        case slot_kind::skip: skip_ = 1; break;
        case slot_kind::list:
            frames_.push_back({frame_kind::list, s, nullptr, nullptr, current_, 0});
            current_ = s->item;
            break;
        case slot_kind::records:
            frames_.push_back({frame_kind::records, s, nullptr, nullptr, current_, 0});
            current_ = s->item;
            break;
        case slot_kind::row:
            if (!mends_ || replaying_) wrong_kind(s, "an array");
            [[fallthrough]];
        case slot_kind::text:
        case slot_kind::json:
        case slot_kind::rescued:
        case slot_kind::capture:
        case slot_kind::several:
            json_begin(s);
            json_.begin_array();
            break;
        case slot_kind::object:
            if (!s->out && !s->below->by_index.empty()) {
                frames_.push_back({frame_kind::indexed, s, s->below, nullptr, current_, 0});
                current_ = &element_;
            } else if (s->document && !s->item) {
                skip_ = 1;
            } else {
                wrong_kind(s, "an array");
            }
            break;
        case slot_kind::element: open_array(next_element()); break;
        default: wrong_kind(s, "an array");
    }
}

void machine::close_array() {
    const frame& top = frames_.back();
    current_ = top.outside;
    if (top.kind == frame_kind::list) static_cast<list_column*>(top.place->out)->end_value();
    frames_.pop_back();
}

slot* machine::next_element() {
    frame& top = frames_.back();
    const std::int64_t i = top.count++;
    for (const auto& [index, m] : top.below->by_index)
        if (index == i) return m->target;
    return skip_slot();
}

void machine::open_map(slot* s) {
    if (map_keys_.size() <= map_depth_) map_keys_.emplace_back();
    map_keys_[map_depth_].clear();
    frames_.push_back({frame_kind::map, s, nullptr, nullptr, current_, static_cast<std::int64_t>(map_depth_)});
    ++map_depth_;
}

void machine::end_entry(const slot& map) {
    auto& entries = static_cast<struct_column&>(static_cast<list_column*>(map.out)->child());
    if (entries.child(0).length() > entries.length()) entries.end_value();
}

void machine::map_key(std::string_view name) {
    const frame& top = frames_.back();
    auto& list = static_cast<list_column&>(*top.place->out);
    end_entry(*top.place);
    auto& keys = static_cast<text_column&>(static_cast<struct_column&>(list.child()).child(0));
    const std::int64_t begin = list.open_begin();
    const std::int64_t count = keys.length() - begin;
    auto& large = map_keys_[static_cast<std::size_t>(top.count)];
    if (count < small_map) {
        for (std::int64_t i = begin; i < keys.length(); ++i)
            if (keys.value(i) == name) twice(name);
    } else {
        if (large.empty())
            for (std::int64_t i = begin; i < keys.length(); ++i) large.insert(std::string(keys.value(i)));
        if (!large.insert(std::string(name)).second) twice(name);
    }
    keys.append(name);
    current_ = top.place->item;
}

void machine::close_map() {
    const frame& top = frames_.back();
    end_entry(*top.place);
    current_ = top.outside;
    static_cast<list_column*>(top.place->out)->end_value();
    --map_depth_;
    frames_.pop_back();
}

void machine::stray_key(std::string_view name) {
    level& below = *frames_.back().below;
    if (!below.remember_stray(name)) twice(name);
    current_ = below.unknown;
    if (current_->kind == slot_kind::rescued) stray_ = name;
}

void machine::missing(const completion& c) {
    if (c.place->kind == slot_kind::skip)
        c.out->append_nothing();  // muted
    else if (c.constant)
        append_cell(*c.out, *c.constant);
    else if (c.place->nullable)
        c.out->append_null();
    else
        wrong(c.place, "a missing value", "is not allowed: the column is NOT NULL", "records.null_in_required");
}

void machine::json_begin(slot* s) {
    json_.clear();
    json_for_ = s;
}

void machine::json_complete() {
    slot* s = json_for_;
    if (s->kind == slot_kind::row) return raw_row(std::move(json_.text()));
    if (s->kind != slot_kind::several) return give_json(s, json_.text());
    const std::string text = std::move(json_.text());
    for (slot* taker : s->takers) give_json(taker, text);
}

void machine::give_json(slot* s, const std::string& text) {
    switch (s->kind) {
        case slot_kind::skip: return;
        case slot_kind::text:
        case slot_kind::json: return static_cast<text_column*>(s->out)->append(text);
        case slot_kind::capture: return capture(s, text);
        case slot_kind::rescued: return rescue(s, text);
        default: break;
    }
    slot* outside = current_;
    current_ = s;
    const std::string error = replay(text);
    if (!error.empty()) throw failure("host.internal", who() + ": a value could not be read again: " + error);
    current_ = outside;
}

void machine::capture(slot* s, std::string text) {
    counts_.captures[s->index] = std::move(text);
    counts_.captured[s->index] = true;
}

void machine::begin_row() { in_row_ = true; }

void machine::finish_row() {
    struct_column& table = *plan_.table;
    const std::int64_t row = table.length();
    if (!plan_.watch.empty()) watch_row(row);
    const bool stays = keeps(row);
    ++counts_.rows;
    in_row_ = false;
    if (stays && fault_ && flow_->on_mismatch == mismatch_policy::quarantine) {
        table.truncate(row);
        ++counts_.bad;
        fault_->row = (*raw_)();
        found_.rows.push_back(std::move(*fault_));
    } else if (stays) {
        if (plan_.rescued && rescued_.empty()) {
            plan_.rescued->append_null();
        } else if (plan_.rescued) {
            plan_.rescued->append("{" + rescued_ + "}");
        }
        table.end_value();
        ++counts_.kept;
        found_.nulled += static_cast<std::int64_t>(muted_.size());
    } else {
        table.truncate(row);
    }
    rescued_.clear();
    if (tell_rows) after_row();
}

void machine::watch_row(std::int64_t row) {
    for (std::size_t i = 0; i < plan_.watch.size(); ++i) {
        const column& from = *plan_.watch[i].from;
        if (is_muted(&from) && flow_->on_mismatch == mismatch_policy::quarantine) continue;  // it is not known
        watch_values& w = counts_.watched[i];
        read_cell(from, row, w.last);
        if (w.last.type == cell::kind::null_) {
            ++w.nulls;
            continue;
        }
        if (w.min.type == cell::kind::null_) {
            w.min = w.last;
            w.max = w.last;
            continue;
        }
        if (compare_cell(from, row, w.min) < 0) w.min = w.last;
        if (compare_cell(from, row, w.max) > 0) w.max = w.last;
    }
}

bool machine::keeps(std::int64_t row) {
    for (const condition& c : plan_.keep) {
        if (is_muted(c.from)) continue;  // it is not known; with policy null it is not muted
        const bool null = c.from->is_null(row);
        if (c.op == compare_op::is_null || c.op == compare_op::is_not_null) {
            if (null != (c.op == compare_op::is_null)) return false;
            continue;
        }
        if (null && c.or_null) continue;
        if (null || c.value.type == cell::kind::null_) return false;
        const int order = compare_cell(*c.from, row, c.value);
        const bool holds = c.op == compare_op::less            ? order < 0
                           : c.op == compare_op::less_equal    ? order <= 0
                           : c.op == compare_op::greater       ? order > 0
                           : c.op == compare_op::greater_equal ? order >= 0
                           : c.op == compare_op::equal         ? order == 0
                                                               : order != 0;
        if (!holds) return false;
    }
    if (plan_.drop_keys.empty()) return true;
    key_.clear();
    for (const column* from : plan_.drop_columns) {
        if (is_muted(from)) return true;
        read_cell(*from, row, scratch_);
        append_key(key_, scratch_);
    }
    return !plan_.drop_keys.contains(key_);
}

}  // namespace lakeflow::host
