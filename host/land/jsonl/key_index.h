// host/land/jsonl/key_index.h: the keys that a file of JSON lines holds, so that rows which are read again are not written again.
// Keys are kept as 128-bit hashes. Used by one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "host/arrow/arrow.h"

namespace lakeflow::host::jsonl {

struct key_hash {
    std::uint64_t a = 0;
    std::uint64_t b = 0;
    friend bool operator==(const key_hash&, const key_hash&) = default;
};
struct key_hasher {
    std::size_t operator()(const key_hash& h) const noexcept { return static_cast<std::size_t>(h.a); }
};
using key_set = std::unordered_set<key_hash, key_hasher>;

// A value as bytes that order as values of its type do; a null before all. Throws schema.unsupported for a type without an order.
std::string order_text(const ArrowSchema& type, const ArrowArray& array, std::int64_t row);

class key_index {
  public:
    // `most`: keys that may be held in memory.
    key_index(std::vector<std::string> keys, std::size_t most) : keys_(std::move(keys)), most_(most) {}

    // Reads the file from where it was read last up to `length`. Throws destination.corrupt for a line that is no object,
    // destination.memory if there are too many keys.
    void catch_up(const std::string& path, std::int64_t length);
    // The key of a row. Throws key.null naming the column.
    key_hash key_of(const record_batch& rows, std::int64_t row, const std::string& table) const;
    bool holds(const key_hash& key) const { return known_.contains(key); }

  private:
    void add_line(std::string_view line, const std::string& path);

    std::vector<std::string> keys_;
    std::size_t most_;
    std::int64_t read_ = 0;
    key_set known_;
};

}  // namespace lakeflow::host::jsonl
