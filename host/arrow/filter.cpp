// host/arrow/filter.cpp: picks rows of a checked array into a new one. Any thread.
#include <cstring>
#include <vector>

#include "host/arrow/buffer.h"
#include "host/arrow/schema.h"
#include "host/base/error.h"

namespace lakeflow::host {
namespace {

// Rows that stay, as runs: most filters keep long ones, and a run is one memcpy a buffer. Rows are counted from the first
// element of the buffers, the array's own offset included.
struct run {
    std::int64_t first;
    std::int64_t count;
};
using runs = std::vector<run>;

void add(runs& rows, std::int64_t first, std::int64_t count) {
    if (count == 0) return;
    if (!rows.empty() && rows.back().first + rows.back().count == first)
        rows.back().count += count;
    else
        rows.push_back({first, count});
}

std::int64_t total(const runs& rows) {
    std::int64_t result = 0;
    for (const run& r : rows) result += r.count;
    return result;
}

buffer gather_bits(const void* bits, const runs& rows) {
    bitmap result;
    for (const run& r : rows) result.append(bits, r.first, r.count);
    return result.release();
}

buffer gather_values(const void* values, std::size_t size, const runs& rows) {
    buffer result;
    result.reserve(static_cast<std::size_t>(total(rows)) * size);
    for (const run& r : rows)
        result.append(static_cast<const char*>(values) + static_cast<std::size_t>(r.first) * size,
                      static_cast<std::size_t>(r.count) * size);
    return result;
}

// New offsets, and the ranges of what they point into.
template <class T>
buffer gather_offsets(const void* offsets, const runs& rows, runs& elements) {
    const auto* from = static_cast<const T*>(offsets);
    buffer result;
    result.reserve((static_cast<std::size_t>(total(rows)) + 1) * sizeof(T));
    T end = 0;
    result.push(end);
    for (const run& r : rows) {
        add(elements, from[r.first], from[r.first + r.count] - from[r.first]);
        for (std::int64_t i = r.first; i < r.first + r.count; ++i) {
            end = static_cast<T>(end + (from[i + 1] - from[i]));
            result.push(end);
        }
    }
    return result;
}

arrow_array gather(const ArrowSchema& schema, const ArrowArray& array, const runs& rows);

void shift(runs& rows, std::int64_t by) {
    for (run& r : rows) r.first += by;
}

arrow_array gather(const ArrowSchema& schema, const ArrowArray& array, const runs& rows) {
    const type_id id = type_of(schema).id;
    const std::int64_t length = total(rows);
    if (id == type_id::null_) return make_array(length, length, {}, {}, false);

    std::vector<buffer> buffers;
    std::vector<arrow_array> children;
    std::int64_t nulls = 0;
    buffers.emplace_back();
    if (array.buffers[0]) {
        for (const run& r : rows) nulls += r.count - count_bits(array.buffers[0], r.first, r.count);
        if (nulls > 0) buffers[0] = gather_bits(array.buffers[0], rows);
    }
    const auto values = [&](std::size_t size) { buffers.push_back(gather_values(array.buffers[1], size, rows)); };
    const auto text = [&](bool large) {
        runs bytes;
        buffers.push_back(large ? gather_offsets<std::int64_t>(array.buffers[1], rows, bytes)
                                : gather_offsets<std::int32_t>(array.buffers[1], rows, bytes));
        buffers.push_back(gather_values(array.buffers[2], 1, bytes));
    };
    switch (id) {
        case type_id::null_: break;
        case type_id::boolean: buffers.push_back(gather_bits(array.buffers[1], rows)); break;
        case type_id::int8: values(1); break;
        case type_id::int16: values(2); break;
        case type_id::int32:
        case type_id::float32:
        case type_id::date32: values(4); break;
        case type_id::int64:
        case type_id::float64:
        case type_id::timestamp_utc:
        case type_id::timestamp_local: values(8); break;
        case type_id::decimal128: values(16); break;
        case type_id::utf8:
        case type_id::binary: text(false); break;
        case type_id::large_utf8:
        case type_id::large_binary: text(true); break;
        case type_id::struct_:
            for (std::int64_t i = 0; i < array.n_children; ++i) {
                runs below = rows;
                shift(below, array.children[i]->offset);
                children.push_back(gather(*schema.children[i], *array.children[i], below));
            }
            break;
        case type_id::list:
        case type_id::map: {
            runs elements;
            buffers.push_back(gather_offsets<std::int32_t>(array.buffers[1], rows, elements));
            shift(elements, array.children[0]->offset);
            children.push_back(gather(*schema.children[0], *array.children[0], elements));
            break;
        }
    }
    return make_array(length, nulls, std::move(buffers), std::move(children));
}

}  // namespace

arrow_array filter_rows(const ArrowSchema& schema, const ArrowArray& array, const std::vector<std::uint8_t>& keep) {
    if (keep.size() != static_cast<std::size_t>(array.length))
        throw failure("host.internal", "a filter of " + std::to_string(keep.size()) + " rows for a batch of " +
                                           std::to_string(array.length));
    runs rows;
    for (std::int64_t i = 0; i < array.length; ++i)
        if (keep[static_cast<std::size_t>(i)]) add(rows, array.offset + i, 1);
    return gather(schema, array, rows);
}

}  // namespace lakeflow::host
