// host/land/postgres/postgres.h: the postgres destination: a schema of a PostgreSQL database, a table a flow or several flows. Threads: see
// destination.h.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "host/land/destination.h"

namespace lakeflow::host::postgres {

// Rows go into a temporary table by COPY as they come, and are merged on the server in one transaction with the position (table
// _lakeflow_positions of the same schema). A connection that breaks while COMMIT runs is resolved by reading the position back. `step`
// is called before each effect, for tests; it may throw.
std::unique_ptr<destination> make_postgres_destination(const destination_options& options, logger log,
                                                       std::shared_ptr<cancel_token> stop,
                                                       std::function<void(std::string_view)> step = {});

}  // namespace lakeflow::host::postgres
