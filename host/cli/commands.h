// host/cli/commands.h: what each command of lakeflow-host does. Data goes to stdout, everything for a person through the terminal. Called
// once, on the main thread. They throw failure.
#pragma once

#include <memory>

#include "host/cli/arguments.h"
#include "host/cli/terminal.h"
#include "host/job/job.h"
#include "host/stream/plan.h"

namespace lakeflow::host {

// The job of --config and its plugin, ready to run but for destination and stop.
struct opened_job {
    job settings;
    run_plan plan;
};

// A log that goes to the terminal; `redactor` may be the job's.
logger make_log(const arguments& args, terminal& out, std::shared_ptr<const secrets> redactor);

// Loads job and plugin. `only` as in make_plan.
opened_job open_job(const arguments& args, terminal& out, const std::vector<std::string>& only);
// Makes the destination that the job names, its plugin loaded where it is one.
void open_destination(opened_job& opened, const arguments& args);

int run_command(const arguments& args, terminal& out);      // run.cpp
int plugins_command(const arguments& args, terminal& out);  // about.cpp
int describe_command(const arguments& args, terminal& out);
int tables_command(const arguments& args, terminal& out);
int schema_command(const arguments& args, terminal& out);
// --option KEY=VALUE: checks the options and puts them over those of the table, or of the connection. Throws config.*.
void apply_scan_options(run_plan& plan, table_plan& table, const std::vector<std::string>& assignments);

int query_command(const arguments& args, terminal& out);  // query.cpp
int explain_command(const arguments& args, terminal& out);
int preview_command(const arguments& args, terminal& out);  // preview.cpp
int status_command(const arguments& args, terminal& out);   // status.cpp
int reset_command(const arguments& args, terminal& out);

}  // namespace lakeflow::host
