// plugins/http_api/scan.hpp: what of a read the service takes over, as the declaration says (lakeflow/scan.h; contract 22, 23, 25, 35).
// The planner is pure but for the columns of a resource that declares none.
#pragma once

#include "table.hpp"

namespace lakeflow::http_api {

// Answers a request of lakeflow.scan/1.
json plan_scan(const table& of, const json& request);

// What explain shows of an accepted scan.
json explain_scan(const table& of, const json& scan, const declaration& all);

}  // namespace lakeflow::http_api
