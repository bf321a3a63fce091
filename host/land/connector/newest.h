// host/land/connector/newest.h: of a batch that is written by key, the newest row of each key: the requests of several writers reach a
// service in any order, so only one of them may hold a key. Kept in memory, bounded. On the flow's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host/arrow/arrow.h"
#include "host/land/destination.h"
#include "host/land/jsonl/key_index.h"

namespace lakeflow::host::connector {

class newest_rows {
  public:
    newest_rows(const flow_spec& flow, std::size_t most_bytes);

    // Throws key.null, schema.unsupported, destination.memory.
    void add(std::uint32_t part, record_batch rows);
    // The rows that count, in the order in which they came, with their parts; afterwards there are none.
    std::vector<std::pair<std::uint32_t, record_batch>> take();

  private:
    struct place {
        std::string sequence;
        std::uint32_t part = 0;
        std::size_t batch = 0;
        std::int64_t row = 0;
    };

    const flow_spec& flow_;
    jsonl::key_index keys_;
    std::size_t most_bytes_;
    std::size_t bytes_ = 0;
    std::vector<std::pair<std::uint32_t, record_batch>> all_;
    std::unordered_map<jsonl::key_hash, place, jsonl::key_hasher> newest_;
};

}  // namespace lakeflow::host::connector
