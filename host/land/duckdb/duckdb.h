// host/land/duckdb/duckdb.h: the duckdb destination: one DuckDB file, a table a flow or several flows. Threads: see destination.h.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "host/land/destination.h"

namespace lakeflow::host::duckdb {

// A batch waits in memory, then in Parquet files below the temporary folder, and is merged in one transaction with its position (table
// _lakeflow_positions of the same schema). The file is open only while it is looked at or a batch is landed, so that a person may look
// in between. It is one process's at a time: destination.locked names the holder after two seconds. `step` is called before each
// effect, for tests; it may throw.
std::unique_ptr<destination> make_duckdb_destination(const destination_options& options, logger log,
                                                     std::shared_ptr<cancel_token> stop,
                                                     std::function<void(std::string_view)> step = {});

}  // namespace lakeflow::host::duckdb
