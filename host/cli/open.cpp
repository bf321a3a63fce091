// host/cli/open.cpp: what every command that works on a job does first.
#include "host/base/error.h"
#include "host/cli/commands.h"
#include "host/http/oauth.h"
#include "host/plugin/loader.h"

namespace lakeflow::host {

logger make_log(const arguments& args, terminal& out, std::shared_ptr<const secrets> redactor) {
    return {
        args.level,
        [&out](log_level level, std::string_view component, std::string_view text) { out.log(level, component, text); },
        std::move(redactor)};
}

opened_job open_job(const arguments& args, terminal& out, const std::vector<std::string>& only) {
    if (args.config.empty())
        throw failure("config.command_line", "no job file is given",
                      "Give it with --config job.toml; `lakeflow-host --help` shows one.");
    job j = load_job(args.config, args.sets);
    set_oauth_folders(j.state + "/oauth", j.directory);
    const std::string name = choose_plugin(j.plugin, args.plugins, j.destination_plugin);
    auto p = load_plugin(name, search_order(args.plugin_dirs));
    run_plan plan = make_plan(j, std::move(p), only);
    plan.log = make_log(args, out, j.redactor);
    plan.take_over = args.take_over;
    return {std::move(j), std::move(plan)};
}

void open_destination(opened_job& opened, const arguments& args) {
    job& j = opened.settings;
    if (!j.destination_plugin.empty()) {
        const auto name = choose_destination_plugin(j.destination_plugin, args.plugins);
        complete_destination(j, opened.plan, load_plugin(name, search_order(args.plugin_dirs)));
    }
    opened.plan.destination = make_destination(j.destination, opened.plan.log, opened.plan.stop->hard);
}

}  // namespace lakeflow::host
