// host/land/delta/rows.cpp: see rows.h.
#include "host/land/delta/rows.h"

#include <algorithm>

#include "host/base/error.h"

namespace lakeflow::host::delta {
namespace {

struct shared_top {
    std::shared_ptr<const record_batch> batch;
    static void release(ArrowArray* array) {
        const std::unique_ptr<shared_top> owned(static_cast<shared_top*>(array->private_data));
        array->release = nullptr;
    }
};

bool valid(const ArrowArray& column, std::int64_t row) {
    if (column.null_count == 0 || column.n_buffers == 0 || !column.buffers[0]) return true;
    const std::int64_t at = column.offset + row;
    return static_cast<const std::uint8_t*>(column.buffers[0])[at >> 3] >> (at & 7) & 1;
}

void put_integer(std::int64_t value, std::string& to) {
    const std::uint64_t ordered = static_cast<std::uint64_t>(value) ^ (1ull << 63);
    for (int shift = 56; shift >= 0; shift -= 8) to += static_cast<char>(ordered >> shift & 0xff);
}

template <class T>
T fixed(const ArrowArray& column, std::int64_t row) {
    return static_cast<const T*>(column.buffers[1])[column.offset + row];
}

template <class Offset>
std::string_view text(const ArrowArray& column, std::int64_t row) {
    const auto* offsets = static_cast<const Offset*>(column.buffers[1]) + column.offset + row;
    const auto* bytes = static_cast<const char*>(column.buffers[2]);
    return {bytes + offsets[0], static_cast<std::size_t>(offsets[1] - offsets[0])};
}

// Bytes that order as the text does and never run into the next column: 00 becomes 00 FF, the end is 00 00.
void put_text(std::string_view value, std::string& to) {
    for (const char c : value) {
        to += c;
        if (c == '\0') to += '\xff';
    }
    to.append(2, '\0');
}

}  // namespace

record_batch slice(const std::shared_ptr<const record_batch>& batch, std::int64_t first, std::int64_t rows) {
    ArrowArray top = *batch->array.get();
    top.offset += first;
    top.length = rows;
    top.private_data = std::make_unique<shared_top>(shared_top{batch}).release();
    top.release = &shared_top::release;
    record_batch made;
    made.schema = batch->schema;
    made.array = arrow_array(top);
    return made;
}

void row_buffer::push(record_batch batch, std::size_t bytes) {
    rows_ += batch.rows();
    bytes_ += bytes;
    budget_->add(bytes);
    pieces_.push_back({std::move(batch), bytes});
}

void row_buffer::append(row_buffer other) {
    rows_ += std::exchange(other.rows_, 0);
    bytes_ += std::exchange(other.bytes_, 0);
    std::move(other.pieces_.begin(), other.pieces_.end(), std::back_inserter(pieces_));
    other.pieces_.clear();
}

bool row_buffer::pop(record_batch& out) {
    if (pieces_.empty()) return false;
    piece first = std::move(pieces_.front());
    pieces_.pop_front();
    rows_ -= first.batch.rows();
    bytes_ -= first.bytes;
    budget_->subtract(first.bytes);
    out = std::move(first.batch);
    return true;
}

key_watch::key_watch(const ArrowSchema& schema, const std::vector<std::string>& keys)
    : watched_(!keys.empty()), known_(!keys.empty()) {
    for (const std::string& key : keys) {
        const std::int64_t index = find_column(schema, key);
        const type_id id = type_of(schema.children[index][0]).id;
        columns_.push_back({index, id, key});
        switch (id) {
            case type_id::int8:
            case type_id::int16:
            case type_id::int32:
            case type_id::int64:
            case type_id::date32:
            case type_id::timestamp_utc:
            case type_id::timestamp_local:
            case type_id::utf8:
            case type_id::large_utf8: break;
            default: known_ = false;
        }
    }
}

void key_watch::encode(const ArrowArray& batch, std::int64_t row, std::string& to) const {
    to.clear();
    for (const key_column& column : columns_) {
        const ArrowArray& values = *batch.children[column.index];
        const std::int64_t at = batch.offset + row;
        switch (column.id) {
            case type_id::int8: put_integer(fixed<std::int8_t>(values, at), to); break;
            case type_id::int16: put_integer(fixed<std::int16_t>(values, at), to); break;
            case type_id::int32:
            case type_id::date32: put_integer(fixed<std::int32_t>(values, at), to); break;
            case type_id::int64:
            case type_id::timestamp_utc:
            case type_id::timestamp_local: put_integer(fixed<std::int64_t>(values, at), to); break;
            case type_id::utf8: put_text(text<std::int32_t>(values, at), to); break;
            default: put_text(text<std::int64_t>(values, at), to); break;
        }
    }
}

void key_watch::observe(const record_batch& batch, const std::string& table) {
    if (!watched_) return;
    const ArrowArray& array = *batch.array.get();
    for (const key_column& column : columns_) {
        const ArrowArray& values = *array.children[column.index];
        if (values.null_count == 0) continue;
        for (std::int64_t row = 0; row < array.length; ++row) {
            if (valid(values, array.offset + row)) continue;
            throw failure("key.null", "table " + table + ": a row has no value in its key column " + column.name,
                          "name other `primary_keys`, or mend the row at its source");
        }
    }
    if (!known_) return;
    for (std::int64_t row = 0; row < array.length; ++row) {
        encode(array, row, now_);
        if (empty_) {
            empty_ = false;
            min_ = max_ = now_;
        } else {
            const int order = now_.compare(last_);
            ascending_ = ascending_ && order > 0;
            descending_ = descending_ && order < 0;
            if (now_ < min_) min_ = now_;
            if (max_ < now_) max_ = now_;
        }
        last_.swap(now_);
    }
}

void key_watch::restart() {
    ascending_ = descending_ = empty_ = true;
    last_.clear();
    min_.clear();
    max_.clear();
}

}  // namespace lakeflow::host::delta
