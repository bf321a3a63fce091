// host/land/jsonl/key_index.cpp: see key_index.h.
#include "host/land/jsonl/key_index.h"

#include <bit>
#include <fstream>

#include "host/base/error.h"
#include "host/base/json.h"
#include "host/base/text.h"
#include "host/land/delta/actions.h"
#include "host/land/json_row.h"

namespace lakeflow::host::jsonl {
namespace {

key_hash hash_of(const std::string& text) { return {hash64(text, 1), hash64(text, 2)}; }

// Lengths keep ("a", "bc") and ("ab", "c") apart.
void put(std::string& key, const std::string& value) { key += std::to_string(value.size()) + ":" + value; }

}  // namespace

std::string order_text(const ArrowSchema& type, const ArrowArray& array, std::int64_t row) {
    const std::int64_t at = array.offset + row;
    const bool null = array.null_count != 0 && array.n_buffers > 0 && array.buffers[0] &&
                      (static_cast<const std::uint8_t*>(array.buffers[0])[at >> 3] >> (at & 7) & 1) == 0;
    const column_type t = type_of(type);
    if (null || t.id == type_id::null_) return "";
    const auto fixed = [&]<class T>(T) { return static_cast<const T*>(array.buffers[1])[at]; };
    const auto text = [&]<class Offset>(Offset) {
        const auto* offsets = static_cast<const Offset*>(array.buffers[1]) + at;
        return "1" + std::string(static_cast<const char*>(array.buffers[2]) + offsets[0],
                                 static_cast<std::size_t>(offsets[1] - offsets[0]));
    };
    const auto number = [](std::uint64_t ordered) {
        std::string out = "1";
        for (int shift = 56; shift >= 0; shift -= 8) out += static_cast<char>(ordered >> shift & 0xff);
        return out;
    };
    const auto integer = [&](std::int64_t value) { return number(static_cast<std::uint64_t>(value) ^ (1ull << 63)); };
    const auto real = [&](double value) {
        const auto bits = std::bit_cast<std::uint64_t>(value == 0 ? 0.0 : value);
        return number(bits >> 63 ? ~bits : bits | (1ull << 63));
    };
    switch (t.id) {
        case type_id::int8: return integer(fixed(std::int8_t{}));
        case type_id::int16: return integer(fixed(std::int16_t{}));
        case type_id::int32:
        case type_id::date32: return integer(fixed(std::int32_t{}));
        case type_id::int64:
        case type_id::timestamp_utc:
        case type_id::timestamp_local: return integer(fixed(std::int64_t{}));
        case type_id::float32: return real(static_cast<double>(fixed(float{})));
        case type_id::float64: return real(fixed(double{}));
        case type_id::decimal128: {
            const auto* halves = static_cast<const std::uint64_t*>(array.buffers[1]) + 2 * at;
            return number(halves[1] ^ (1ull << 63)) + number(halves[0]);
        }
        case type_id::utf8:
        case type_id::binary: return text(std::int32_t{});
        case type_id::large_utf8:
        case type_id::large_binary: return text(std::int64_t{});
        default: break;
    }
    throw failure(
        "schema.unsupported",
        "column " + std::string(name_of(type)) + " (" + type_name(type) + ") has no order to be a sequence by",
        "name another column with `sequence_by`");
}

key_hash key_index::key_of(const record_batch& rows, std::int64_t row, const std::string& table) const {
    const ArrowSchema& schema = *rows.schema->get();
    std::string object = "{";
    for (const std::string& name : keys_) {
        const std::int64_t i = find_column(schema, name);
        if (object.size() > 1) object += ',';
        object += quote_json(name) + ":";
        append_json_value(*schema.children[i], *rows.array.get()->children[i], rows.array.get()->offset + row, object);
    }
    const auto members = delta::string_members(object + "}");
    std::string key;
    for (const std::string& name : keys_) {
        const auto found = members.find(name);
        if (found == members.end()) {
            throw failure("key.null", "table " + table + ": a row has no value in its key column " + name,
                          "name other `primary_keys`, or mend the row at its source");
        }
        put(key, found->second);
    }
    return hash_of(key);
}

void key_index::add_line(std::string_view line, const std::string& path) {
    if (line.empty()) return;
    const auto members = delta::string_members(line);
    if (members.empty()) {
        throw failure("destination.corrupt", path + " has a line that is no JSON object",
                      "mend the file, or move it away");
    }
    std::string key;
    for (const std::string& name : keys_) {
        const auto found = members.find(name);
        put(key, found == members.end() ? std::string() : found->second);
    }
    known_.insert(hash_of(key));
    if (known_.size() > most_) {
        throw failure("destination.memory",
                      path + " holds more than " + human_count(most_) + " keys, which do not fit the memory",
                      "raise the destination's memory, or land this table in delta or duckdb");
    }
}

void key_index::catch_up(const std::string& path, std::int64_t length) {
    if (length < read_) {
        known_.clear();
        read_ = 0;
    }
    if (length == read_) return;
    std::ifstream in(path, std::ios::binary);
    in.seekg(read_);
    std::string line;
    while (read_ < length && std::getline(in, line)) {
        add_line(line, path);
        read_ += static_cast<std::int64_t>(line.size()) + 1;
    }
}

}  // namespace lakeflow::host::jsonl
