// host/state/position.h: where a flow stands. A plain value, shared by the state, which keeps it on disk, and by the destinations,
// which commit it together with the rows. Any thread.
#pragma once

#include <cstdint>
#include <string>

namespace lakeflow::host {

// `epoch` grows with each run that takes the flow over, `batch` with each commit.
struct position {
    std::uint32_t epoch = 0;
    std::uint32_t batch = 0;
    std::string end = "{}";          // canonical offset; the beginning of the next batch
    std::string deletes_end = "{}";  // of read_table_deletes

    friend bool operator==(const position&, const position&) = default;
};

}  // namespace lakeflow::host
