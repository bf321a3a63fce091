// host/state/record.h: what the state keeps of a flow, its bytes on disk, and how it is weighed against the destination's own
// record. Pure; any thread. The format is documented in README.md beside this file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "host/state/position.h"

namespace lakeflow::host {

// A micro-batch whose offsets were settled before a byte of it was read. After a crash it is read again, exactly so.
struct planned_batch {
    std::uint32_t epoch = 0;
    std::uint32_t batch = 0;
    std::string start = "{}";
    std::string end = "{}";
    std::string deletes_start = "{}";
    std::int64_t init_time_us = 0;
    std::optional<std::string> bound;

    friend bool operator==(const planned_batch&, const planned_batch&) = default;
};

struct flow_record {
    position committed;              // the commit mark: the newest record of the destination that this state knows
    std::string end = "{}";          // where the flow stands: committed.end, or further on past batches without rows
    std::string deletes_end = "{}";  // the same of its deletes
    std::optional<planned_batch> planned;  // under way
    std::string run_id;                    // who wrote this
    std::int64_t written_us = 0;

    friend bool operator==(const flow_record&, const flow_record&) = default;
};

// What a state file turned out to be.
enum class file_kind {
    good,
    empty,    // no byte: a file system that lost the content in a power failure
    torn,     // cut short or changed: length or checksum do not fit
    future,   // of a later version of the format
    foreign,  // not a state file, or one of another job or flow
};
std::string_view to_string(file_kind kind) noexcept;

struct decoded_record {
    file_kind kind = file_kind::torn;
    std::uint64_t generation = 0;  // with good
    flow_record record;            // with good
    std::string why;               // without good, for a message
};

std::string encode_record(const std::string& job, const std::string& flow, std::uint64_t generation,
                          const flow_record& record);
decoded_record decode_record(const std::string& job, const std::string& flow, std::string_view bytes);

// Where a flow goes on.
struct standing {
    position committed;  // the next commit is batch committed.batch + 1
    std::string end = "{}";
    std::string deletes_end = "{}";
    std::optional<planned_batch> replay;  // to be read again first
    std::string note;                     // for the log; empty: nothing out of the ordinary
};

// The destination's record wins. The state adds what only it knows: a planned batch that follows the destination's record, and
// progress without rows past it. `held`: the destination keeps positions at all; one that does not (stdout) leaves it to the state.
standing weigh(const std::optional<position>& destination, const std::optional<flow_record>& state, bool held);

}  // namespace lakeflow::host
