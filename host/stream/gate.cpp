// host/stream/gate.cpp: see gate.h. Arrays were checked by the plugin floor; offsets of table and column add up.
#include "host/stream/gate.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "host/arrow/cells.h"
#include "host/base/error.h"
#include "host/base/text.h"
#include "host/base/time.h"

namespace lakeflow::host {
namespace {

template <class T>
std::int64_t number_at(const ArrowArray& column, std::int64_t at) {
    T value;
    std::memcpy(&value, static_cast<const char*>(column.buffers[1]) + at * static_cast<std::int64_t>(sizeof(T)),
                sizeof value);
    return static_cast<std::int64_t>(value);
}

bool is_whole_number(type_id id) {
    return id == type_id::int8 || id == type_id::int16 || id == type_id::int32 || id == type_id::int64;
}

// A batch with some of another's columns; it owns the other.
struct projection {
    arrow_array whole;
    std::vector<ArrowArray*> children;
};

void release_projection(ArrowArray* array) {
    const std::unique_ptr<projection> owned(static_cast<projection*>(array->private_data));
    array->release = nullptr;
}

}  // namespace

std::optional<cursor_column> cursor_column::make(const ArrowSchema& schema, const std::string& name, cursor_form form) {
    cursor_column out;
    out.index_ = find_column(schema, name);
    if (out.index_ < 0) return std::nullopt;
    out.type_ = type_of(*schema.children[out.index_]).id;
    out.form_ = form;
    const bool text = out.type_ == type_id::utf8 || out.type_ == type_id::large_utf8;
    bool fits = false;
    switch (form) {
        case cursor_form::rfc3339: fits = text || out.type_ == type_id::timestamp_utc; break;
        case cursor_form::text: fits = text; break;
        case cursor_form::integer: fits = is_whole_number(out.type_); break;
        case cursor_form::epoch_s:
        case cursor_form::epoch_ms:
            fits = is_whole_number(out.type_) || out.type_ == type_id::timestamp_utc;
            if (out.type_ != type_id::timestamp_utc) out.unit_ = form == cursor_form::epoch_s ? 1'000'000 : 1'000;
            break;
    }
    return fits ? std::optional(out) : std::nullopt;
}

std::optional<cursor_value> cursor_column::at(const ArrowArray& table, std::int64_t row) const {
    const ArrowArray& column = *table.children[index_];
    const std::int64_t at = column.offset + table.offset + row;
    if (is_null_at(column, at)) return std::nullopt;
    std::int64_t number = 0;
    switch (type_) {
        case type_id::int8: number = number_at<std::int8_t>(column, at); break;
        case type_id::int16: number = number_at<std::int16_t>(column, at); break;
        case type_id::int32: number = number_at<std::int32_t>(column, at); break;
        case type_id::int64:
        case type_id::timestamp_utc: number = number_at<std::int64_t>(column, at); break;
        default: {
            const auto text =
                type_ == type_id::utf8 ? text_at<std::int32_t>(column, at) : text_at<std::int64_t>(column, at);
            if (form_ == cursor_form::text) return cursor_value(std::string(text));
            const auto instant = parse_rfc3339_us(text);
            return instant ? std::optional<cursor_value>(*instant) : std::nullopt;
        }
    }
    if (__builtin_mul_overflow(number, unit_, &number)) return std::nullopt;
    return cursor_value(number);
}

// A run's rows all pass here, so numbers are compared as such: no value is made for each row.
template <class T>
cursor_column::weighed cursor_column::weigh_numbers(const ArrowArray& table, std::int64_t limit,
                                                    std::int64_t start) const {
    weighed out;
    const ArrowArray& column = *table.children[index_];
    const std::int64_t first = column.offset + table.offset;
    const bool nulls = column.buffers[0] && column.null_count != 0;
    std::int64_t highest = std::numeric_limits<std::int64_t>::min();
    bool any = false;
    for (std::int64_t row = 0; row < table.length; ++row) {
        if (nulls && is_null_at(column, first + row)) continue;
        std::int64_t value = number_at<T>(column, first + row);
        if (unit_ != 1 && __builtin_mul_overflow(value, unit_, &value)) continue;
        if (value > limit) {
            if (out.keep.empty()) out.keep.assign(static_cast<std::size_t>(table.length), 1);
            out.keep[static_cast<std::size_t>(row)] = 0;
            ++out.above;
            continue;
        }
        out.again += value <= start ? 1 : 0;
        highest = std::max(highest, value);
        any = true;
    }
    if (any) out.highest = highest;
    return out;
}

cursor_column::weighed cursor_column::weigh(const ArrowArray& table, const std::optional<cursor_value>& limit,
                                            const std::optional<cursor_value>& start) const {
    const auto is_number = [](const auto& v) { return !v || std::holds_alternative<std::int64_t>(*v); };
    constexpr auto least = std::numeric_limits<std::int64_t>::min();
    if (is_number(limit) && is_number(start) && table.length > 0) {
        const auto most = limit ? std::get<std::int64_t>(*limit) : std::numeric_limits<std::int64_t>::max();
        const auto begin = start ? std::get<std::int64_t>(*start) : least;
        std::optional<weighed> out;
        switch (type_) {
            case type_id::int8: out = weigh_numbers<std::int8_t>(table, most, begin); break;
            case type_id::int16: out = weigh_numbers<std::int16_t>(table, most, begin); break;
            case type_id::int32: out = weigh_numbers<std::int32_t>(table, most, begin); break;
            case type_id::int64:
            case type_id::timestamp_utc: out = weigh_numbers<std::int64_t>(table, most, begin); break;
            default: break;
        }
        if (out && !start) out->again = 0;
        if (out) return std::move(*out);
    }
    weighed out;
    for (std::int64_t row = 0; row < table.length; ++row) {
        auto value = at(table, row);
        if (!value) continue;
        if (limit && *value > *limit) {
            if (out.keep.empty()) out.keep.assign(static_cast<std::size_t>(table.length), 1);
            out.keep[static_cast<std::size_t>(row)] = 0;
            ++out.above;
            continue;
        }
        if (start && *value <= *start) ++out.again;
        if (!out.highest || *value > *out.highest) out.highest = std::move(value);
    }
    return out;
}

gate::gate(std::string what, std::shared_ptr<const arrow_schema> source, const std::vector<std::int64_t>& columns,
           std::vector<std::string> keys)
    : what_(std::move(what)), source_(std::move(source)), columns_(columns) {
    all_ = static_cast<std::int64_t>(columns_.size()) == source_->columns();
    std::vector<std::string> names;
    for (const auto i : columns_) names.emplace_back(name_of(source_->column(i)));
    landed_ = all_ ? source_ : std::make_shared<const arrow_schema>(select_columns(*source_->get(), names));
    for (const auto& key : keys) keys_.push_back(find_column(*source_->get(), key));
}

void gate::watch(cursor_column cursor, std::optional<cursor_value> limit, std::optional<cursor_value> start) {
    cursor_ = cursor;
    limit_ = std::move(limit);
    start_ = std::move(start);
}

void gate::check_schema(const arrow_schema& reader) const {
    std::string why;
    if (same_schema(*source_->get(), *reader.get(), &why)) return;
    throw failure("records.schema_drift", what_ + ": the reader's schema is not the one that the table has: " + why,
                  "the plugin's reader has to give the schema that table_schema promised; a source that has changed "
                  "since needs a new run");
}

void gate::check_keys(const ArrowArray& table) const {
    for (const auto key : keys_) {
        const ArrowArray& column = *table.children[key];
        const bool only_nulls = type_of(source_->column(key)).id == type_id::null_;
        if (!only_nulls && (column.null_count == 0 || !column.buffers[0])) continue;
        for (std::int64_t row = 0; row < table.length; ++row) {
            if (!only_nulls && !is_null_at(column, column.offset + table.offset + row)) continue;
            std::string others;
            for (const auto other : keys_) {
                if (other == key) continue;
                others += ", " + std::string(name_of(source_->column(other))) + " = " +
                          value_text(source_->column(other), *table.children[other], table.offset + row);
            }
            throw failure("key.null",
                          what_ + ": row " + std::to_string(row) + " of a batch has no value in the key column '" +
                              std::string(name_of(source_->column(key))) + "'" + others,
                          "a key is never null: choose other primary_keys, or mode = \"append\"");
        }
    }
}

arrow_array gate::project(arrow_array table) const {
    auto parts = std::make_unique<projection>();
    for (const auto i : columns_) parts->children.push_back(table.get()->children[i]);
    ArrowArray out = *table.get();
    parts->whole = std::move(table);
    out.n_children = static_cast<std::int64_t>(parts->children.size());
    out.children = parts->children.data();
    out.release = release_projection;
    out.private_data = parts.release();
    return arrow_array(out);
}

gate_result gate::pass(record_batch in) const {
    gate_result out;
    check_keys(*in.array.get());
    const ArrowArray& table = *in.array.get();
    std::vector<std::uint8_t> keep;
    if (cursor_) {
        auto weighed = cursor_->weigh(table, limit_, start_);
        out.above = weighed.above;
        out.again = weighed.again;
        out.highest = std::move(weighed.highest);
        keep = std::move(weighed.keep);
    }
    if (filter_ && !filter_->does_nothing()) {
        keep.resize(static_cast<std::size_t>(table.length), 1);
        out.filtered = filter_->apply(table, keep);
    }
    if (out.above || out.filtered) in.array = filter_rows(*source_->get(), table, keep);
    out.rows = {landed_, all_ ? std::move(in.array) : project(std::move(in.array))};
    return out;
}

}  // namespace lakeflow::host
