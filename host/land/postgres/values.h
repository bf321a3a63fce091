// host/land/postgres/values.h: Arrow values as PostgreSQL's COPY text, exactly, and the types of new columns. Any thread.
#pragma once

#include <cstdint>
#include <string>

#include "host/arrow/arrow.h"

namespace lakeflow::host::postgres {

// "bigint", "numeric(10,2)", "timestamp with time zone", as format_type spells them. Lists, structs and maps are jsonb: a list of PostgreSQL
// cannot hold a list that is null or rows of unequal length, jsonb holds each value as it came.
std::string type_of_column(const ArrowSchema& column);

// One value, escaped for COPY. INT64_MAX is the instant infinity, INT64_MIN and -INT64_MAX are -infinity. Throws value.mismatch for text
// with a NUL, which PostgreSQL cannot hold.
void append_copy_value(const ArrowSchema& column, const ArrowArray& array, std::int64_t row, std::string& out);

}  // namespace lakeflow::host::postgres
