// host/rows/machine.h: takes the events of a parser and drives the columns. What happens for most values is inline here, because
// the parser's code is compiled around it; what is rare is in machine.cpp. Throws `failure` for a value that does not fit. Used by
// one thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "host/base/context.h"
#include "host/base/error.h"
#include "host/rows/counts.h"
#include "host/rows/json_text.h"
#include "host/rows/plan.h"
#include "host/rows/values.h"

namespace lakeflow::host {

class machine {
  public:
    machine(plan& p, const lf_context* context);

    // Parses a JSON text that is complete and gives its events to this machine: for values that more than one place takes.
    // Returns what is wrong with it, or nothing.
    std::function<std::string(std::string_view)> replay;
    // Called after each row while `tell_rows` is set; may move rows out of the table.
    std::function<void()> after_row;
    bool tell_rows = false;

    // True if rows are taken apart only once they are whole: what does not fit is no failure, but mended or given up.
    bool mends() const noexcept { return mends_; }
    // Takes a row apart by `decode`, again without a column that does not fit, and does what the policy says. `raw` gives its JSON text.
    void mend_row(const std::function<void()>& decode, const std::function<std::string()>& raw);
    // What the document's rows lacked.
    mismatches take_mismatches() { return std::exchange(found_, {}); }

    // Before a document, and to drop one: nothing is open. `target` takes its value.
    void begin(slot* target);
    void begin_document();
    const document_counts& counts() const noexcept { return counts_; }
    document_counts take_counts() { return std::move(counts_); }
    // "github.issues, row 7 (id 12), page {..}: " without the row outside one.
    std::string where() const;
    std::string who() const;

    // A row whose fields come one by one (CSV).
    void begin_row();
    void csv_field(slot* target, std::string_view text, bool quoted);
    // A field that no column asks for.
    void csv_unknown(const std::string& name, std::string_view text, bool quoted);
    void end_row() {
        complete(*plan_.row->below);
        finish_row();
    }

    void object_begin() {
        if (skip_ > 0) {
            ++skip_;
        } else if (json_.active()) {
            json_.begin_object();
        } else if (current_->kind == slot_kind::object) {
            open_object(current_);
        } else {
            other_object(current_);
        }
    }
    void object_end() {
        if (skip_ > 0) {
            --skip_;
        } else if (json_.active()) {
            if (json_.end_object()) json_complete();
        } else {
            close_object();
        }
    }
    void array_begin() {
        if (skip_ > 0) {
            ++skip_;
        } else if (json_.active()) {
            json_.begin_array();
        } else {
            open_array(current_);
        }
    }
    void array_end() {
        if (skip_ > 0) {
            --skip_;
        } else if (json_.active()) {
            if (json_.end_array()) json_complete();
        } else {
            close_array();
        }
    }

    void key_part(std::string_view part) {
        if (skip_ > 0) return;
        if (json_.active()) return json_.key_part(part);
        text_ += part;
    }
    void key(std::string_view last) {
        if (skip_ > 0) return;
        if (json_.active()) {
            // A row's own text is only kept: what stands twice is found when it is taken apart.
            if (!json_.key_end(last) && json_for_->kind != slot_kind::row) twice(json_.last_key());
            return;
        }
        if (!text_.empty()) {
            text_ += last;
            choose(text_);
            text_.clear();
        } else {
            choose(last);
        }
    }

    void string_part(std::string_view part) {
        if (skip_ > 0 || current_->kind == slot_kind::skip) return;
        if (json_.active()) return json_.string_part(part);
        if (current_->kind == slot_kind::text)
            static_cast<text_column*>(current_->out)->append_part(part);
        else
            text_ += part;
    }
    void string(std::string_view last) {
        if (skip_ > 0 || current_->kind == slot_kind::skip) return;
        if (json_.active()) return json_.string_end(last);
        if (current_->kind == slot_kind::text) {
            static_cast<text_column*>(current_->out)->append(last);
        } else if (text_.empty()) {
            text_value(current_, last);
        } else {
            text_ += last;
            const std::string whole = std::move(text_);
            text_.clear();
            text_value(current_, whole);
        }
    }

    void number_part(std::string_view part) {
        if (skip_ > 0 || (current_->kind == slot_kind::skip && !json_.active())) return;
        text_ += part;
    }
    // `exact`: the value as an integer, if it is one.
    void number(std::string_view last, const std::int64_t* exact) {
        if (skip_ > 0 || (current_->kind == slot_kind::skip && !json_.active())) return;
        if (text_.empty()) {
            whole_number(last, exact);
        } else {
            text_ += last;
            const std::string whole = std::move(text_);
            text_.clear();
            whole_number(whole, exact);
        }
    }
    void boolean(bool value) {
        if (skip_ > 0) return;
        if (json_.active()) return json_.literal(value ? "true" : "false");
        bool_value(current_, value);
    }
    void null() {
        if (skip_ > 0) return;
        if (json_.active()) return json_.literal("null");
        null_value(current_);
    }

  private:
    void choose(std::string_view name) {
        frame& top = frames_.back();
        if (top.kind != frame_kind::object) return map_key(name);
        member* m = top.last->next;
        if (!m || m->key != name) {
            m = top.below->find(name);
            if (!m) return stray_key(name);
            top.last->next = m;
        }
        if (m->seen == top.below->object) twice(name);
        m->seen = top.below->object;
        top.last = m;
        current_ = m->target;
    }

    void open_object(slot* s) {
        level* below = s->below;
        ++below->object;
        frames_.push_back({frame_kind::object, s, below, &below->first, current_, 0});
    }
    void close_object() {
        frame& top = frames_.back();
        if (top.kind != frame_kind::object) return close_map();
        level* below = top.below;
        slot* place = top.place;
        current_ = top.outside;
        if (below->out) {
            complete(*below);
            if (place->kind == slot_kind::row) {
                frames_.pop_back();
                return finish_row();
            }
            below->out->end_value();
        }
        frames_.pop_back();
    }
    void complete(level& below) {
        const std::int64_t length = below.out->length();
        for (const completion& c : below.columns)
            if (c.out->length() == length) missing(c);
    }

    void whole_number(std::string_view text, const std::int64_t* exact) {
        if (json_.active()) return json_.literal(text);
        if (exact && current_->kind == slot_kind::int64)
            static_cast<fixed_column<std::int64_t>*>(current_->out)->append(*exact);
        else
            number_value(current_, text, exact, false);
    }

    void other_object(slot* s);
    void open_array(slot* s);
    void close_array();
    void close_map();
    void finish_row();
    void missing(const completion& c);
    void map_key(std::string_view name);
    static void end_entry(const slot& map);
    void open_map(slot* s);
    void stray_key(std::string_view name);
    void json_begin(slot* s);
    void json_complete();
    void give_json(slot* s, const std::string& text);
    void capture(slot* s, std::string text);
    slot* next_element();
    void rescue(const slot* s, std::string_view json);
    void raw_row(std::string text);
    void mute(std::ptrdiff_t column);
    void unmute();
    bool is_muted(const column* of) const;
    bool may_be_null(std::ptrdiff_t column) const;
    [[noreturn]] void cannot_be_null(const failure& f) const;
    void instead_of_struct(slot* s, const std::function<void(slot*)>& give);

    void text_value(slot* s, std::string_view text);
    void number_value(slot* s, std::string_view text, const std::int64_t* exact, bool lenient);
    void bool_value(slot* s, bool value);
    void null_value(slot* s);
    template <class T>
    void integer(slot* s, std::string_view text, const std::int64_t* exact);
    template <class T>
    void real(slot* s, std::string_view text);
    void decimal(slot* s, std::string_view text, bool quoted);
    void instant_text(slot* s, std::string_view text);
    void instant_number(slot* s, std::string_view text);

    void watch_row(std::int64_t row);
    bool keeps(std::int64_t row);

    [[noreturn]] void wrong(const slot* s, std::string_view value, const std::string& rule,
                            const char* code = "value.mismatch") const;
    [[noreturn]] void wrong_text(const slot* s, std::string_view text, const std::string& rule) const;
    [[noreturn]] void wrong_kind(const slot* s, std::string_view value) const;
    [[noreturn]] void twice(std::string_view name) const;

    plan& plan_;
    std::shared_ptr<flow_context> flow_;
    std::vector<std::size_t> key_columns_;  // of the table, for messages

    slot* current_ = skip_slot();  // what takes the next value
    int skip_ = 0;                 // depth inside a value that nobody wants
    json_text json_;               // active inside a value that is kept as text
    slot* json_for_ = nullptr;
    std::vector<frame> frames_;
    std::string text_;  // a key, string or number that comes in parts
    slot element_;      // stands for the next element of an array that is read by index
    std::deque<std::unordered_set<std::string>> map_keys_;  // of the open maps that are large, by nesting
    std::size_t map_depth_ = 0;
    bool in_row_ = false;

    bool mends_ = false;
    bool replaying_ = false;        // a row that is whole is taken apart
    std::optional<bad_row> fault_;  // of that row, the first
    const std::function<std::string()>* raw_ = nullptr;
    std::vector<std::pair<std::size_t, slot_kind>> muted_;  // columns of that row that take no value
    mutable std::ptrdiff_t blamed_ = -1;                    // the column of the failure that is on its way
    mismatches found_;
    std::string rescued_;  // of the open row: members without its braces
    std::string stray_;    // the key of the value that comes, where its level does not remember it

    instant_parser instants_;
    cell scratch_;
    std::string key_;
    document_counts counts_;
};

}  // namespace lakeflow::host
