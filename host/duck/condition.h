// host/duck/condition.h: predicates as DuckDB's SQL. Any thread.
#pragma once

#include <functional>
#include <string>

#include "host/scan/predicate.h"

namespace lakeflow::host::duck {

// A predicate as DuckDB's SQL, its literals typed. `name_of` gives a column's name for DuckDB.
std::string to_sql(const predicate& p, const std::function<std::string(const std::string&)>& name_of);

}  // namespace lakeflow::host::duck
