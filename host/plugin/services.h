// host/plugin/services.h: the host as a plugin sees it: lf_host and the small service tables. All of it is constant and lives as long
// as the process. Any thread.
#pragma once

#include "lakeflow/lakeflow.h"

namespace lakeflow::host {

// The host's table, with every service that this build has.
const lf_host* host_table() noexcept;

}  // namespace lakeflow::host
