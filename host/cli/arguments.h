// host/cli/arguments.h: the command line, parsed. The only user of CLI11.
#pragma once

#include <string>
#include <vector>

#include "host/base/log.h"
#include "host/cli/terminal.h"

namespace lakeflow::host {

enum class command { run, plugins, describe, tables, schema, preview, query, explain, status, reset, not_built, none };

struct arguments {
    command what = command::run;
    std::string config;
    std::vector<std::string> plugins;
    std::vector<std::string> plugin_dirs;
    std::vector<std::string> sets;
    std::vector<std::string> only;
    std::string report;
    log_level level = log_level::warn;
    log_format format = log_format::text;
    bool no_progress = false;
    bool take_over = false;
    bool json = false;
    std::string subject;               // the plugin, table, flow or SQL that a command is about
    std::vector<std::string> options;  // of the scan, KEY=VALUE
    std::string rows;                  // how query prints them: "jsonl", "csv", "table"; empty: a table on a terminal
    bool no_pushdown = false;
    int limit = 20;     // preview
    int exit_code = 0;  // with command::none: help, version or a mistake was printed already
};

// Prints help and mistakes itself (help on stdout, mistakes on stderr); never throws.
arguments parse_arguments(int argc, const char* const* argv);

}  // namespace lakeflow::host
