// host/land/postgres/condition.h: predicates as PostgreSQL's SQL. Any thread.
#pragma once

#include <string>

#include "host/scan/predicate.h"

namespace lakeflow::host::postgres {

// True, false or null as the host means it: text compares by its bytes, nothing escapes a pattern. Throws config.not_supported for a
// member of a struct, which is jsonb here.
std::string to_sql(const predicate& p);

}  // namespace lakeflow::host::postgres
