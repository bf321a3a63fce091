// host/land/delta/stats.h: Delta's statistics of a data file, from those that DuckDB's COPY returns. They never hide a row: what is
// not sure is left out. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/land/delta/schema.h"

namespace lakeflow::host::delta {

// Of one column, as DuckDB says it: "min", "max", "null_count", "has_nan".
using column_stats = std::map<std::string, std::string, std::less<>>;
// By DuckDB's path of the column: "\"user\".\"id\"".
using file_stats = std::map<std::string, column_stats>;

// {"numRecords":..,"minValues":{..},"maxValues":{..},"nullCount":{..}}. Instants are rounded outwards to milliseconds, long texts
// cut (the end of a maximum raised), floating-point numbers without a maximum (DuckDB forgets a NaN in any but the last row group,
// and readers order NaN highest), lists, maps and binaries left out.
std::string to_stats(std::int64_t rows, const std::vector<field>& columns, const file_stats& from);

// At most 32 characters that are at most, or at least, as great as the text in the order of UTF-8 bytes; nothing if there are none.
std::string lower_text(std::string_view text);
std::optional<std::string> upper_text(std::string_view text);

}  // namespace lakeflow::host::delta
