// host/cli/report.h: what a run says at its end: the JSON of design 8 for programs, a table for people. Any thread.
#pragma once

#include <string>

#include "host/stream/engine.h"

namespace lakeflow::host {

// One line of JSON, members in the order of design 8.
std::string report_json(const run_result& result);

// "issues  -> bronze_issues  scd1  5,000 rows  ..." and the errors below it with their hints.
std::string report_text(const run_result& result);

// The result of a run that failed before its tables did.
run_result failed_run(const std::string& job, const error& e, int exit_code);

}  // namespace lakeflow::host
