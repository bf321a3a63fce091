// host/land/jsonl/key_index.cpp: see key_index.h.
#include "host/land/jsonl/key_index.h"

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
