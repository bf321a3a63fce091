// host/land/destination.cpp: the words of the modes, and the destination that a job names. Any thread.
#include "host/land/destination.h"

#include "host/base/error.h"
#include "host/land/connector/connector.h"
#include "host/land/delta/delta.h"
#include "host/land/duckdb/duckdb.h"
#include "host/land/jsonl/jsonl.h"
#include "host/land/postgres/postgres.h"
#include "host/land/quarantine.h"

namespace lakeflow::host {

std::string_view to_string(land_mode mode) noexcept {
    switch (mode) {
        case land_mode::append: return "append";
        case land_mode::scd1: return "scd1";
        case land_mode::scd2: return "scd2";
        case land_mode::snapshot: return "snapshot";
    }
    return "append";
}

void landing::quarantine(record_batch) {
    throw failure("config.not_supported",
                  "this destination puts no rows aside: on_mismatch = \"quarantine\" does not work here");
}

std::unique_ptr<destination> make_destination(const destination_options& options, logger log,
                                              std::shared_ptr<cancel_token> stop) {
    if (options.type == "delta")
        return with_side_tables(delta::make_delta_destination(options, std::move(log), std::move(stop)));
    if (options.type == "duckdb") return duckdb::make_duckdb_destination(options, std::move(log), std::move(stop));
    if (options.type == "jsonl")
        return with_side_tables(jsonl::make_jsonl_destination(options, std::move(log), std::move(stop)));
    if (options.type == "postgres")
        return postgres::make_postgres_destination(options, std::move(log), std::move(stop));
    if (options.type == "connector")
        return connector::make_connector_destination(options, std::move(log), std::move(stop));
    throw failure("config.destination", "there is no destination of type \"" + options.type + "\"",
                  "use type = \"delta\", \"duckdb\", \"postgres\", \"jsonl\" or \"connector\"");
}

}  // namespace lakeflow::host
