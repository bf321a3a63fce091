// host/rows/abi.h: the service "lakeflow.rows/1" as plugins get it. Any thread; one thread at a time on one decoder.
#pragma once

#include "lakeflow/rows.h"

namespace lakeflow::host {

// A table of constants that lives as long as the process.
const lf_rows_v1* rows_table() noexcept;

}  // namespace lakeflow::host
