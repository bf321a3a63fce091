// lakeflow/cpp/reader.hpp: a stream of record batches, and what a read is asked for.
// Calls on one reader never overlap (but cancel), on whatever thread; all it needs from its connector it copies or shares.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "lakeflow/cpp/batch.hpp"
#include "lakeflow/cpp/json.hpp"
#include "lakeflow/cpp/schema.hpp"
#include "lakeflow/reader.h"

namespace lakeflow {

// How much a micro-batch may hold; nothing set: all available.
struct read_limits {
    std::optional<int64_t> max_rows = {}, max_bytes = {}, min_rows = {}, max_delay_ms = {};

    static read_limits from(const json& text) {
        auto member = [&](std::string_view name) -> std::optional<int64_t> {
            const json* value = text.find(name);
            if (value == nullptr || value->is_null()) return std::nullopt;
            return value->as_int();
        };
        return {member("max_rows"), member("max_bytes"), member("min_rows"), member("max_delay_ms")};
    }
    json to_json() const {
        json out = json::object();
        if (max_rows) out.set("max_rows", *max_rows);
        if (max_bytes) out.set("max_bytes", *max_bytes);
        if (min_rows) out.set("min_rows", *min_rows);
        if (max_delay_ms) out.set("max_delay_ms", *max_delay_ms);
        return out;
    }
};

// What to read (reader.h, lf_read_args), owned: a reader may keep it.
struct read_args {
    std::string table;
    json options;  // the table's options, validated, with defaults
    std::optional<json>
        start;                // what lies after it; absent: a batch read, of the whole table; {}: a stream's beginning
    std::optional<json> end;  // read (start, end] again, exactly; absent: as far as the source and `bound` go
    std::optional<json> bound;  // an end offset must not pass it
    read_limits limits;
    json scan = json::object();  // the accepted scan document; {}: everything
    json descriptor;             // read_partition: one element of get_partitions' array

    // A batch read: no offsets, the whole table.
    bool is_batch() const { return !start.has_value(); }
};

// Derive, and override next (and end_offset where the read is a stream's).
class reader {
  public:
    virtual ~reader() = default;

    // The columns of the batches: the table's, or those that the scan's reply promised.
    virtual schema columns() const = 0;
    // The next batch; false: there is no more. May block on the host's services, which end the wait when cancelled.
    virtual bool next(batch& out) = 0;
    // Where this read ended; asked for once next has said false. Nothing for a batch or a partition.
    virtual std::optional<json> end_offset() { return std::nullopt; }
    // Called from any thread while next runs: must not block. The layer itself keeps later calls of next from running.
    virtual void cancel() {}
    // The read is over, in whatever state; the destructor follows. What it throws is swallowed.
    virtual void close() {}
};

}  // namespace lakeflow
