// plugins/postgres/parts.hpp: how a read is split: by the values of a column, as the JDBC source does it, or by the pages of the table. The
// parts do not overlap, and every row is in one of them. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "relation.hpp"

namespace lakeflow::postgres {

// Where the parts of a column's range meet: (lower, upper) in `count` steps. Fewer than count - 1 where the range is that short. Numbers as
// they are; days or microseconds for dates and timestamps.
std::vector<std::int64_t> stride_points(std::int64_t lower, std::int64_t upper, std::int64_t count);

// A condition for each part, by partition_column. Bounds split and never filter: the first part takes all below its end and the nulls,
// the last all from its beginning. Throws invalid() for bounds that the column's type does not have.
std::vector<std::string> stride_parts(const relation& table, const table_settings& settings, std::int64_t count);

// A condition for each part, by ctid. `pages`: of the relation now; the last part takes those that are added meanwhile.
std::vector<std::string> page_parts(std::int64_t pages, std::int64_t count);

// The parts of a read; one, without a condition, where it is not worth splitting or cannot be split.
std::vector<std::string> plan_parts(session& server, const relation& table, const table_settings& settings,
                                    const json& scan, std::int64_t parallelism);

}  // namespace lakeflow::postgres
