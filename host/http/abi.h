// host/http/abi.h: "lakeflow.http/1" as plugins see it: a table of trampolines over host/http/http.h. Any thread.
#pragma once

#include "lakeflow/http.h"

namespace lakeflow::host {

// Never null, never changes. Every slot checks its pointers and turns exceptions into lf_error.
const lf_http_v1* http_table() noexcept;

}  // namespace lakeflow::host
