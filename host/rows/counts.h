// host/rows/counts.h: what a decoder says of a document besides its rows. Values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/rows/cell.h"

namespace lakeflow::host {

struct watch_values {
    cell min;
    cell max;
    cell last;
    std::int64_t nulls = 0;
};

// What a document has given so far, or has given once it is finished.
struct document_counts {
    std::int64_t rows = 0;
    std::int64_t kept = 0;
    std::int64_t bad = 0;  // left out: a value does not fit, and the policy is quarantine
    std::vector<watch_values> watched;
    std::vector<std::string> captures;
    std::vector<bool> captured;
};

}  // namespace lakeflow::host
