// host/arrow/check.cpp: does an array from a plugin hold together? Runs on every batch before anything else touches it. The C data
// interface carries no sizes of buffers, so what can be checked is that all that is written down agrees. Any thread.
#include <algorithm>
#include <cstring>
#include <string>
#include <tuple>
#include <utility>

#include "host/arrow/buffer.h"
#include "host/arrow/builder.h"
#include "host/arrow/schema.h"
#include "host/arrow/utf8.h"
#include "host/base/error.h"

namespace lakeflow::host {
namespace {

constexpr std::int64_t max_length = std::int64_t{1} << 40;

// Where we are, as a chain on the stack: the path is written out only when something is wrong.
struct place {
    const place* parent;
    std::string_view name;
};

std::string path_of(const place& at) {
    if (!at.parent) return {};
    std::string path = path_of(*at.parent);
    if (!path.empty()) path += '.';
    return path.append(at.name);
}

class checker {
  public:
    explicit checker(std::string_view what) : what_(what) {}

    // Which rows of the parent this array's belong to, and the parent's validity, which excuses nulls below it.
    struct parent_marks {
        const void* bits = nullptr;  // null: no row of the parent is null
        std::int64_t offset = 0;     // bit of the parent's row 0
        std::int64_t first = 0;      // row of this array, counted behind its own offset, that belongs to that row
        std::int64_t count = 0;
    };

    void check(const ArrowSchema& schema, const ArrowArray& array, const place& at, const parent_marks& above) {
        const column_type type = type_of(schema);
        shape(schema, array, at, type);
        const std::int64_t nulls = null_count(array, at, type);
        if (nulls > 0 && !is_nullable(schema) && at.parent) required(array, at, type, above);
        if (array.length == 0 && type.id != type_id::struct_ && type.id != type_id::list && type.id != type_id::map)
            return;
        switch (type.id) {
            case type_id::null_:
            case type_id::boolean: break;
            case type_id::int8: values(array, at, 1); break;
            case type_id::int16: values(array, at, 2); break;
            case type_id::int32:
            case type_id::float32:
            case type_id::date32: values(array, at, 4); break;
            case type_id::int64:
            case type_id::float64:
            case type_id::timestamp_utc:
            case type_id::timestamp_local: values(array, at, 8); break;
            case type_id::decimal128: decimals(array, at, type); break;
            case type_id::utf8:
            case type_id::binary: text<std::int32_t>(array, at, type.id == type_id::utf8); break;
            case type_id::large_utf8:
            case type_id::large_binary: text<std::int64_t>(array, at, type.id == type_id::large_utf8); break;
            case type_id::struct_: struct_children(schema, array, at); break;
            case type_id::list:
            case type_id::map: list_child(schema, array, at, type.id == type_id::map); break;
        }
    }

    [[noreturn]] void fail(const char* code, const place& at, const std::string& why) const {
        const std::string path = path_of(at);
        throw failure(code, std::string(what_) + ": " + (path.empty() ? std::string("the batch") : "column " + path) +
                                ": " + why);
    }
    [[noreturn]] void invalid(const place& at, const std::string& why) const { fail("records.invalid_array", at, why); }

  private:
    static std::int64_t buffers_of(type_id id) {
        switch (id) {
            case type_id::null_: return 0;
            case type_id::struct_: return 1;
            case type_id::utf8:
            case type_id::large_utf8:
            case type_id::binary:
            case type_id::large_binary: return 3;
            default: return 2;
        }
    }

    void shape(const ArrowSchema& schema, const ArrowArray& array, const place& at, const column_type& type) const {
        if (!array.release) invalid(at, "it was released before it was given");
        if (array.length < 0 || array.length > max_length) invalid(at, "its length is " + std::to_string(array.length));
        if (array.offset < 0 || array.offset > max_length) invalid(at, "its offset is " + std::to_string(array.offset));
        if (array.null_count < -1 || array.null_count > array.length)
            invalid(at, "it says that it has " + std::to_string(array.null_count) + " nulls in " +
                            std::to_string(array.length) + " rows");
        if (array.dictionary) invalid(at, "it has a dictionary");
        if (array.n_children != schema.n_children) {
            const std::string why = "it has " + std::to_string(array.n_children) + " children and the schema has " +
                                    std::to_string(schema.n_children);
            fail(at.parent ? "records.invalid_array" : "records.schema_drift", at, why);
        }
        if (array.n_children > 0 && !array.children) invalid(at, "the pointer to its children is null");
        for (std::int64_t i = 0; i < array.n_children; ++i)
            if (!array.children[i]) invalid(at, "child " + std::to_string(i) + " is a null pointer");
        const std::int64_t buffers = buffers_of(type.id);
        if (array.n_buffers != buffers)
            invalid(at, "it has " + std::to_string(array.n_buffers) + " buffers; " + type_name(schema) + " has " +
                            std::to_string(buffers));
        if (buffers > 0 && !array.buffers) invalid(at, "the pointer to its buffers is null");
        if (array.length > 0 && buffers > 1 && !array.buffers[1]) invalid(at, "buffer 1 is a null pointer");
    }

    std::int64_t null_count(const ArrowArray& array, const place& at, const column_type& type) const {
        if (type.id == type_id::null_) {
            if (array.null_count != -1 && array.null_count != array.length)
                invalid(at, "a null column says that it has " + std::to_string(array.null_count) + " nulls in " +
                                std::to_string(array.length) + " rows");
            return array.length;
        }
        const void* bits = array.buffers[0];
        if (!bits) {
            if (array.null_count > 0)
                invalid(at, "it says that it has " + std::to_string(array.null_count) + " nulls and has no bitmap");
            return 0;
        }
        if (array.length == 0) return 0;
        const std::int64_t nulls = array.length - count_bits(bits, array.offset, array.length);
        if (array.null_count != -1 && array.null_count != nulls)
            invalid(at, "it says that it has " + std::to_string(array.null_count) + " nulls and its bitmap has " +
                            std::to_string(nulls));
        return nulls;
    }

    void required(const ArrowArray& array, const place& at, const column_type& type, const parent_marks& above) const {
        const void* bits = type.id == type_id::null_ ? nullptr : array.buffers[0];
        for (std::int64_t i = 0; i < array.length; ++i) {
            if (bits && get_bit(bits, array.offset + i)) continue;
            const std::int64_t row = i - above.first;
            if (row < 0 || row >= above.count) continue;  // not part of any row
            if (above.bits && !get_bit(above.bits, above.offset + row)) continue;
            fail("records.null_in_required", at, "it is NOT NULL and is null in row " + std::to_string(row));
        }
    }

    void aligned(const void* pointer, std::size_t size, const place& at) const {
        if (reinterpret_cast<std::uintptr_t>(pointer) % size != 0)
            invalid(at, "a buffer is not aligned to " + std::to_string(size) + " bytes");
    }

    void values(const ArrowArray& array, const place& at, std::size_t size) const {
        aligned(array.buffers[1], size, at);
    }

    void decimals(const ArrowArray& array, const place& at, const column_type& type) const {
        aligned(array.buffers[1], 8, at);
        int128 limit = 1;
        for (int i = 0; i < type.precision; ++i) limit *= 10;
        const void* bits = array.buffers[0];
        const auto* bytes = static_cast<const char*>(array.buffers[1]);
        for (std::int64_t i = array.offset; i < array.offset + array.length; ++i) {
            int128 value;
            std::memcpy(&value, bytes + i * 16, sizeof value);
            if (value < limit && value > -limit) continue;
            if (bits && !get_bit(bits, i)) continue;
            invalid(at, "the value of row " + std::to_string(i - array.offset) + " has more than " +
                            std::to_string(type.precision) + " digits");
        }
    }

    // Offsets that begin at 0 or above and never decrease; gives the first and last.
    template <class T>
    std::pair<T, T> offsets(const ArrowArray& array, const place& at) const {
        aligned(array.buffers[1], sizeof(T), at);
        const T* offset = static_cast<const T*>(array.buffers[1]) + array.offset;
        T wrong = offset[0] < 0;
        for (std::int64_t i = 0; i < array.length; ++i) wrong |= static_cast<T>(offset[i + 1] < offset[i]);
        if (wrong) {
            if (offset[0] < 0) invalid(at, "its first offset is " + std::to_string(offset[0]));
            for (std::int64_t i = 0; i < array.length; ++i)
                if (offset[i + 1] < offset[i])
                    invalid(at, "its offsets decrease in row " + std::to_string(i) + ", from " +
                                    std::to_string(offset[i]) + " to " + std::to_string(offset[i + 1]));
        }
        return {offset[0], offset[array.length]};
    }

    template <class T>
    void text(const ArrowArray& array, const place& at, bool utf8) const {
        const auto [first, last] = offsets<T>(array, at);
        if (first == last) return;
        const auto* data = static_cast<const char*>(array.buffers[2]);
        if (!data) invalid(at, "its data are a null pointer");
        if (!utf8) return;
        const char* begin = data + first;
        const char* end = data + last;
        const char* other = skip_ascii(begin, end);
        if (other == end) return;
        // All at once is right if it is UTF-8 as a whole and no value begins inside a character.
        const T* offset = static_cast<const T*>(array.buffers[1]) + array.offset;
        if (utf8_valid(other, end)) {
            bool split = false;
            for (std::int64_t i = 0; i < array.length; ++i)
                split |= offset[i] < last && (static_cast<unsigned char>(data[offset[i]]) & 0xC0) == 0x80;
            if (!split) return;
        }
        const void* bits = array.buffers[0];
        for (std::int64_t i = 0; i < array.length; ++i) {
            if (bits && !get_bit(bits, array.offset + i)) continue;  // what lies under a null is nobody's
            if (!utf8_valid(data + offset[i], data + offset[i + 1]))
                invalid(at, "the text of row " + std::to_string(i) + " is not UTF-8");
        }
    }

    void struct_children(const ArrowSchema& schema, const ArrowArray& array, const place& at) {
        for (std::int64_t i = 0; i < array.n_children; ++i) {
            const ArrowArray& child = *array.children[i];
            const place below{&at, name_of(*schema.children[i])};
            if (child.length >= 0 && child.length < array.offset + array.length)
                invalid(below, "it has " + std::to_string(child.length) + " rows, fewer than the " +
                                   std::to_string(array.offset + array.length) + " of what it is in");
            check(*schema.children[i], child, below, {array.buffers[0], array.offset, array.offset, array.length});
        }
    }

    void list_child(const ArrowSchema& schema, const ArrowArray& array, const place& at, bool map) {
        std::int32_t first = 0;
        std::int32_t last = 0;
        if (array.length > 0) std::tie(first, last) = offsets<std::int32_t>(array, at);
        const ArrowArray& child = *array.children[0];
        const place below{&at, map ? "entries" : "element"};
        if (child.length >= 0 && child.length < last)
            invalid(below, "it has " + std::to_string(child.length) + " elements, and the lists reach to " +
                               std::to_string(last));
        check(*schema.children[0], child, below, {nullptr, 0, first, last - first});
        if (map && child.null_count != 0 && child.buffers[0] &&
            count_bits(child.buffers[0], child.offset, child.length) != child.length)
            fail("records.null_in_required", below, "an entry of a map is null");
    }

    std::string_view what_;
};

std::size_t text_bytes(const ArrowArray& array, bool large) {
    if (array.length == 0 || !array.buffers[1]) return 0;
    const auto rows = static_cast<std::size_t>(array.length);
    if (large) {
        const auto* offset = static_cast<const std::int64_t*>(array.buffers[1]) + array.offset;
        return (rows + 1) * 8 + static_cast<std::size_t>(offset[array.length] - offset[0]);
    }
    const auto* offset = static_cast<const std::int32_t*>(array.buffers[1]) + array.offset;
    return (rows + 1) * 4 + static_cast<std::size_t>(offset[array.length] - offset[0]);
}

}  // namespace

void check_array(const ArrowSchema& schema, const ArrowArray& array, std::string_view what) {
    checker check(what);
    const place top{nullptr, {}};
    check.check(schema, array, top, {});
    if (array.length > 0 && array.buffers[0] &&
        count_bits(array.buffers[0], array.offset, array.length) != array.length)
        check.invalid(top, "a row is null as a whole");
}

std::size_t memory_size(const ArrowSchema& schema, const ArrowArray& array) {
    const auto rows = static_cast<std::size_t>(array.length);
    std::size_t result = array.n_buffers > 0 && array.buffers[0] ? (rows + 7) / 8 : 0;
    switch (type_of(schema).id) {
        case type_id::null_: break;
        case type_id::boolean: result += (rows + 7) / 8; break;
        case type_id::int8: result += rows; break;
        case type_id::int16: result += rows * 2; break;
        case type_id::int32:
        case type_id::float32:
        case type_id::date32: result += rows * 4; break;
        case type_id::int64:
        case type_id::float64:
        case type_id::timestamp_utc:
        case type_id::timestamp_local: result += rows * 8; break;
        case type_id::decimal128: result += rows * 16; break;
        case type_id::utf8:
        case type_id::binary: result += text_bytes(array, false); break;
        case type_id::large_utf8:
        case type_id::large_binary: result += text_bytes(array, true); break;
        case type_id::list:
        case type_id::map: result += (rows + 1) * 4; [[fallthrough]];
        case type_id::struct_:
            for (std::int64_t i = 0; i < array.n_children; ++i)
                result += memory_size(*schema.children[i], *array.children[i]);
    }
    return result;
}

}  // namespace lakeflow::host
