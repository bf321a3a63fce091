// plugins/http_api/cells.cpp: see cells.hpp.
#include "cells.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <memory>

namespace lakeflow::http_api {
namespace {

template <class T>
T at(const ArrowArray& array, std::int64_t row) {
    T out;
    std::memcpy(
        &out, static_cast<const char*>(array.buffers[1]) + (row + array.offset) * static_cast<std::int64_t>(sizeof(T)),
        sizeof(T));
    return out;
}

bool bit(const void* bits, std::int64_t row) {
    return (static_cast<const std::uint8_t*>(bits)[row / 8] >> (row % 8) & 1) != 0;
}

template <class Offset>
std::string_view text_at(const ArrowArray& array, std::int64_t row) {
    const Offset* ends = static_cast<const Offset*>(array.buffers[1]) + array.offset + row;
    const auto* bytes = static_cast<const char*>(array.buffers[2]);
    if (ends[0] == ends[1]) return {};
    return {bytes + ends[0], static_cast<std::size_t>(ends[1] - ends[0])};
}

std::string base64(std::string_view bytes) {
    static constexpr char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        std::uint32_t group = 0;
        const std::size_t size = std::min<std::size_t>(3, bytes.size() - i);
        for (std::size_t j = 0; j < 3; ++j) {
            group = group << 8 | (j < size ? static_cast<std::uint8_t>(bytes[i + j]) : 0);
        }
        for (std::size_t j = 0; j < 4; ++j) out.push_back(j <= size ? letters[group >> (18 - 6 * j) & 63] : '=');
    }
    return out;
}

json real(double value, bool single) {
    if (!std::isfinite(value)) return {};
    char text[32];
    const auto end = single ? std::to_chars(text, text + sizeof text, static_cast<float>(value)).ptr
                            : std::to_chars(text, text + sizeof text, value).ptr;
    return json::number(std::string_view(text, static_cast<std::size_t>(end - text)));
}

json list_cell(const field& element, const ArrowArray& array, std::int64_t row) {
    const auto* ends = static_cast<const std::int32_t*>(array.buffers[1]) + array.offset + row;
    json out = json::array();
    for (std::int32_t i = ends[0]; i < ends[1]; ++i) out.push(cell(element, *array.children[0], i));
    return out;
}

json map_cell(const type& of, const ArrowArray& array, std::int64_t row) {
    const auto* ends = static_cast<const std::int32_t*>(array.buffers[1]) + array.offset + row;
    const ArrowArray& entries = *array.children[0];
    json out = json::object();
    for (std::int32_t i = ends[0]; i < ends[1]; ++i) {
        const json key = cell(of.children()[0], *entries.children[0], i + entries.offset);
        out.set(key.is_text() ? key.as_text() : key.dump(),
                cell(of.children()[1], *entries.children[1], i + entries.offset));
    }
    return out;
}

struct part {
    batch whole;
    std::vector<ArrowArray*> children;
    const void* validity = nullptr;
};

void release_part(ArrowArray* array) {
    const std::unique_ptr<part> owner(static_cast<part*>(array->private_data));
    array->release = nullptr;
}

}  // namespace

bool is_null(const ArrowArray& array, std::int64_t row) {
    if (array.n_buffers == 0) return true;  // the null type
    return array.null_count != 0 && array.buffers[0] != nullptr && !bit(array.buffers[0], row + array.offset);
}

std::int64_t integer_cell(const type& of, const ArrowArray& array, std::int64_t row) {
    switch (of.kind()) {
        case type_kind::boolean: return bit(array.buffers[1], row + array.offset) ? 1 : 0;
        case type_kind::int8: return at<std::int8_t>(array, row);
        case type_kind::int16: return at<std::int16_t>(array, row);
        case type_kind::int32:
        case type_kind::date: return at<std::int32_t>(array, row);
        default: return at<std::int64_t>(array, row);
    }
}

double real_cell(const type& of, const ArrowArray& array, std::int64_t row) {
    return of.kind() == type_kind::float32 ? static_cast<double>(at<float>(array, row)) : at<double>(array, row);
}

std::string_view text_cell(const type& of, const ArrowArray& array, std::int64_t row) {
    const bool large = of.kind() == type_kind::large_text || of.kind() == type_kind::large_binary;
    return large ? text_at<std::int64_t>(array, row) : text_at<std::int32_t>(array, row);
}

std::string decimal_cell(const type& of, const ArrowArray& array, std::int64_t row) {
    __extension__ using wide = __int128;
    wide value = at<wide>(array, row);
    const bool negative = value < 0;
    std::string digits;
    do {
        const int digit = static_cast<int>(value % 10);
        digits.push_back(static_cast<char>('0' + (digit < 0 ? -digit : digit)));
        value /= 10;
    } while (value != 0);
    const auto scale = static_cast<std::size_t>(of.scale());
    while (digits.size() <= scale) digits.push_back('0');
    std::reverse(digits.begin(), digits.end());
    if (scale > 0) digits.insert(digits.size() - scale, ".");
    return (negative ? "-" : "") + digits;
}

std::string date_text(std::int64_t days) { return format_instant(days * 86'400'000'000).substr(0, 10); }

json cell(const field& column, const ArrowArray& array, std::int64_t row) {
    if (is_null(array, row)) return {};
    switch (column.type.kind()) {
        case type_kind::null: return {};
        case type_kind::boolean: return integer_cell(column.type, array, row) != 0;
        case type_kind::int8:
        case type_kind::int16:
        case type_kind::int32:
        case type_kind::int64: return integer_cell(column.type, array, row);
        case type_kind::float32:
        case type_kind::float64:
            return real(real_cell(column.type, array, row), column.type.kind() == type_kind::float32);
        case type_kind::decimal: return json::number(decimal_cell(column.type, array, row));
        case type_kind::text:
        case type_kind::large_text: return text_cell(column.type, array, row);
        case type_kind::binary:
        case type_kind::large_binary: return base64(text_cell(column.type, array, row));
        case type_kind::date: return date_text(integer_cell(column.type, array, row));
        case type_kind::timestamp: return format_instant(integer_cell(column.type, array, row));
        case type_kind::timestamp_ntz: {
            std::string text = format_instant(integer_cell(column.type, array, row));
            text.pop_back();
            return text;
        }
        case type_kind::list: return list_cell(column.type.children()[0], array, row);
        case type_kind::structure: {
            json out = json::object();
            const auto& members = column.type.children();
            for (std::size_t i = 0; i < members.size(); ++i)
                out.set(members[i].name, cell(members[i], *array.children[i], row + array.offset));
            return out;
        }
        case type_kind::map: return map_cell(column.type, array, row);
    }
    return {};
}

batch cut(batch whole, std::int64_t columns, std::int64_t rows) {
    if (whole->n_children == columns && whole->length <= rows) return whole;
    auto owner = std::make_unique<part>();
    for (std::int64_t i = 0; i < columns; ++i) owner->children.push_back(whole->children[i]);
    ArrowArray out = *whole.get();
    out.length = std::min(out.length, rows);
    out.n_children = columns;
    out.n_buffers = 1;
    out.buffers = &owner->validity;
    out.null_count = 0;
    owner->whole = std::move(whole);
    out.children = owner->children.data();
    out.release = release_part;
    out.private_data = owner.release();
    return batch(&out);
}

}  // namespace lakeflow::http_api
