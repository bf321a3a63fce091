// host/cli/main.cpp: lakeflow-host. Parses the command line and hands over to a command.
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "host/base/error.h"
#include "host/cli/arguments.h"
#include "host/cli/commands.h"
#include "host/cli/terminal.h"

namespace {

using namespace lakeflow::host;

int dispatch(const arguments& args, terminal& out) {
    switch (args.what) {
        case command::run: return run_command(args, out);
        case command::plugins: return plugins_command(args, out);
        case command::describe: return describe_command(args, out);
        case command::tables: return tables_command(args, out);
        case command::schema: return schema_command(args, out);
        case command::query: return query_command(args, out);
        case command::explain: return explain_command(args, out);
        case command::preview: return preview_command(args, out);
        case command::status: return status_command(args, out);
        case command::reset: return reset_command(args, out);
        case command::not_built:
            throw failure("config.not_supported",
                          "the command \"" + args.subject + "\" is not built yet in this version",
                          "`lakeflow-host --help` lists what is.");
        case command::none: return args.exit_code;
    }
    return 2;
}

}  // namespace

int main(int argc, char** argv) {
    std::signal(SIGPIPE,
                SIG_IGN);  // a reader of stdout that goes away is an error of a write, not the end of the process
    const arguments args = parse_arguments(argc, argv);
    terminal out(args.format, isatty(STDERR_FILENO) == 1 && args.format == log_format::text && !args.no_progress);
    try {
        return dispatch(args, out);
    } catch (...) {
        const error e = current_error();
        out.say("error: " + e.message + " [" + e.code + "]" + (e.hint.empty() ? "" : "\n  hint: " + e.hint));
        const bool found_by_request =
            e.code.starts_with("source.") || e.code.starts_with("value.") || e.code.starts_with("destination.");
        return found_by_request ? 1 : 2;
    }
}
