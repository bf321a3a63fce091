// plugins/postgres/settings.hpp: what may be configured, checked once. Both structs are values; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lakeflow/lakeflow.hpp"

namespace lakeflow::postgres {

inline constexpr std::string_view ssl_modes[] = {"disable", "allow", "prefer", "require", "verify-ca", "verify-full"};
inline constexpr std::string_view non_finite_words[] = {"fail", "null"};
inline constexpr std::string_view array_words[] = {"list", "json"};

inline constexpr option connection_options[] = {
    option::secret("dsn").help(
        "libpq's connection text: 'host=db dbname=shop user=reader' or postgresql://reader@db/shop"),
    option::secret("url").help("the same as a JDBC address: jdbc:postgresql://db:5432/shop, or as a libpq URI"),
    option::text("host").help("host name, address, or the folder of a socket"),
    option::integer("port").between(1, 65535).help("port of the server"),
    option::text("dbname").help("database"),
    option::text("user").help("role"),
    option::secret("password").help("password of the role; none: what PGPASSFILE or the service says"),
    option::text("service").help("a service of libpq's pg_service.conf"),
    option::text("passfile").help("libpq's file of passwords"),
    option::choice("sslmode", ssl_modes).help("whether and how TLS is used and the server is checked"),
    option::text("sslrootcert").help("the file of the authorities that TLS trusts"),
    option::text("application_name").help("how the server calls the sessions (default lakeflow-host)"),
    option::integer("connect_timeout").fallback(10).between(1, 3600).help("seconds to reach the server"),
    option::text("statement_timeout").help("how long one statement may take: 30s, 5m, 1h; none: as the role has it"),
};

inline constexpr option table_options[] = {
    option::text("query").help("a SELECT that makes the table, in the place of a relation"),
    option::text("dbtable").help(
        "a table or a parenthesised SELECT, as the JDBC source has it; wins over the source's name"),
    option::array("primary_keys").help("the key where the server does not tell: of views and queries"),
    option::text("cursor").help("a column, number or timestamp, that grows with each change: reads become incremental"),
    option::text("lookback")
        .help("reads cursor values again that lie so far below the last end: 5m, or a number; none: xmin decides"),
    option::text("deleted").help(
        "a column that marks a row as removed: a boolean that is true, or any other type that is not null"),
    option::text("partition_column").help("a number, date or timestamp column whose values split a batch read"),
    option::text("lower_bound")
        .schema(R"("type": ["integer", "string"])")
        .help("where the splitting begins; filters nothing"),
    option::text("upper_bound")
        .schema(R"("type": ["integer", "string"])")
        .help("where the splitting ends; filters nothing"),
    option::integer("num_partitions").between(1, 10000).help("into how many parts a batch read is split"),
    option::text("num_partition_column").deprecated().help("a mistake for partition_column"),
    option::integer("fetch_size").fallback(0).between(0, 10000000).help("rows of a batch; 0: as many as fill 4 MiB"),
    option::choice("non_finite", non_finite_words)
        .fallback("fail")
        .help("NaN and infinity of numeric, infinity of dates and timestamps: an error, or null"),
    option::choice("arrays", array_words).fallback("list").help("arrays as lists of one dimension, or as JSON text"),
};

// How to reach the server, as libpq's parameters.
struct connection_settings {
    std::vector<std::pair<std::string, std::string>> parameters;
    std::string statement_timeout;  // in PostgreSQL's units; empty: as the role has it

    static connection_settings from(const json& options);
};

struct table_settings {
    std::string query;  // a SELECT without its semicolon; empty: a relation
    std::string table;  // of dbtable; empty: the source's name
    std::vector<std::string> primary_keys;
    std::string cursor;
    std::string deleted;                   // needs a cursor
    std::optional<std::int64_t> lookback;  // microseconds, or the number itself; absent: xmin decides
    std::string partition_column, lower_bound, upper_bound;
    std::optional<std::int64_t> num_partitions;
    std::int64_t fetch_size = 0;
    bool null_non_finite = false;
    bool arrays_as_json = false;

    static table_settings from(const json& options);
};

// libpq's parameters of jdbc:postgresql://..; a parameter of the driver that has no meaning here is an error.
std::vector<std::pair<std::string, std::string>> parse_jdbc(std::string_view url);

}  // namespace lakeflow::postgres
