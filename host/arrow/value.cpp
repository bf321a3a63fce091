// host/arrow/value.cpp: one value as text, for messages and keys. Any thread.
#include <charconv>
#include <cmath>
#include <cstring>

#include "host/arrow/buffer.h"
#include "host/arrow/builder.h"
#include "host/arrow/decimal.h"
#include "host/arrow/schema.h"
#include "host/base/json.h"
#include "host/base/text.h"
#include "host/base/time.h"

namespace lakeflow::host {
namespace {

template <class T>
T load(const ArrowArray& array, std::int64_t at) {
    T value;
    std::memcpy(&value, static_cast<const char*>(array.buffers[1]) + static_cast<std::size_t>(at) * sizeof(T),
                sizeof(T));
    return value;
}

template <class T>
std::string number(T value) {
    char text[64];
    return std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
}

template <class T>
std::string_view bytes(const ArrowArray& array, std::int64_t at) {
    const T begin = load<T>(array, at);
    const T end = load<T>(array, at + 1);
    if (begin == end) return {};
    return {static_cast<const char*>(array.buffers[2]) + begin, static_cast<std::size_t>(end - begin)};
}

// base/time.h writes the years 0001 to 9999; a plugin may send any int64.
constexpr std::int64_t min_us = -62'135'596'800'000'000;
constexpr std::int64_t max_us = 253'402'300'799'999'999;
constexpr std::int32_t min_days = -719'162;
constexpr std::int32_t max_days = 2'932'896;

std::string text_of(const ArrowSchema& column, const ArrowArray& array, std::int64_t row, bool quoted) {
    const std::int64_t at = array.offset + row;
    const column_type type = type_of(column);
    if (type.id == type_id::null_ || (array.buffers[0] && !get_bit(array.buffers[0], at))) return "null";
    const auto wrap = [&](std::string text) { return quoted ? quote_json(text) : text; };
    switch (type.id) {
        case type_id::null_: break;
        case type_id::boolean: return get_bit(array.buffers[1], at) ? "true" : "false";
        case type_id::int8: return number<int>(load<std::int8_t>(array, at));
        case type_id::int16: return number(load<std::int16_t>(array, at));
        case type_id::int32: return number(load<std::int32_t>(array, at));
        case type_id::int64: return number(load<std::int64_t>(array, at));
        case type_id::float32: {
            const auto value = load<float>(array, at);
            return std::isfinite(value) ? number(value) : wrap(number(value));
        }
        case type_id::float64: {
            const auto value = load<double>(array, at);
            return std::isfinite(value) ? number(value) : wrap(number(value));
        }
        case type_id::decimal128: return decimal_text(load<int128>(array, at), type.scale);
        case type_id::utf8: return wrap(std::string(bytes<std::int32_t>(array, at)));
        case type_id::large_utf8: return wrap(std::string(bytes<std::int64_t>(array, at)));
        case type_id::binary: return wrap(base64(bytes<std::int32_t>(array, at)));
        case type_id::large_binary: return wrap(base64(bytes<std::int64_t>(array, at)));
        case type_id::date32: {
            const auto days = load<std::int32_t>(array, at);
            return days < min_days || days > max_days ? number(days) : wrap(format_date(days));
        }
        case type_id::timestamp_utc:
        case type_id::timestamp_local: {
            const auto us = load<std::int64_t>(array, at);
            if (us < min_us || us > max_us) return number(us);
            return wrap(type.id == type_id::timestamp_utc ? format_rfc3339(us) : format_local(us));
        }
        case type_id::struct_: {
            std::string result = "{";
            for (std::int64_t i = 0; i < array.n_children; ++i) {
                if (i) result += ',';
                result += quote_json(name_of(*column.children[i])) + ":" +
                          text_of(*column.children[i], *array.children[i], at, true);
            }
            return result + "}";
        }
        case type_id::list: {
            std::string result = "[";
            const auto end = load<std::int32_t>(array, at + 1);
            for (auto i = load<std::int32_t>(array, at); i < end; ++i) {
                if (result.size() > 1) result += ',';
                result += text_of(list_item(column), *array.children[0], i, true);
            }
            return result + "]";
        }
        case type_id::map: {
            std::string result = "{";
            const ArrowArray& entries = *array.children[0];
            const auto end = load<std::int32_t>(array, at + 1);
            for (auto i = load<std::int32_t>(array, at); i < end; ++i) {
                if (result.size() > 1) result += ',';
                const std::int64_t entry = entries.offset + i;
                const std::string key = text_of(map_key(column), *entries.children[0], entry, true);
                result += (key.starts_with('"') ? key : quote_json(key)) + ":" +
                          text_of(map_value(column), *entries.children[1], entry, true);
            }
            return result + "}";
        }
    }
    return "null";
}

}  // namespace

std::string value_text(const ArrowSchema& column, const ArrowArray& array, std::int64_t row) {
    return text_of(column, array, row, false);
}

std::string value_json(const ArrowSchema& column, const ArrowArray& array, std::int64_t row) {
    return text_of(column, array, row, true);
}

}  // namespace lakeflow::host
