// host/cli/run.cpp: `lakeflow-host run`: the job from its file to its report.
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "host/base/error.h"
#include "host/cli/commands.h"
#include "host/cli/progress.h"
#include "host/cli/report.h"
#include "host/cli/signals.h"
#include "host/stream/engine.h"

namespace lakeflow::host {
namespace {

void write_report(const std::string& file, const run_result& result, terminal& out) {
    if (file.empty()) return;
    const std::string line = report_json(result) + "\n";
    if (file == "-") {
        std::fwrite(line.data(), 1, line.size(), stdout);
        std::fflush(stdout);
        return;
    }
    std::ofstream stream(file, std::ios::binary | std::ios::trunc);
    stream << line;
    stream.close();
    if (!stream) out.say("error: the report cannot be written to " + file + " [config.report]");
}

run_result run_opened(opened_job& opened, const arguments& args, terminal& out) {
    run_plan& plan = opened.plan;
    const auto stop = plan.stop;
    const signal_watch signals(
        [&out, stop] {
            out.say("stopping after the current commit; once more stops at once, and loses nothing");
            stop->stop();
        },
        [stop] { stop->cancel(); });
    open_destination(opened, args);
    progress_view view(out);
    if (!args.no_progress) plan.on_progress = [&view](const run_progress& now) { view.show(now); };
    return run_job(plan);
}

}  // namespace

int run_command(const arguments& args, terminal& out) {
    std::string name;
    std::shared_ptr<const secrets> redactor;
    run_result result;
    try {
        opened_job opened = open_job(args, out, args.only);
        name = opened.settings.name;
        redactor = opened.settings.redactor;
        result = run_opened(opened, args, out);
    } catch (...) {
        error e = current_error();
        if (redactor) e.message = redactor->redact(e.message);
        result = failed_run(name, e, 2);
    }
    out.clear();
    const std::string text = report_text(result);
    out.say(std::string_view(text).substr(0, text.empty() ? 0 : text.size() - 1));
    write_report(args.report, result, out);
    return result.exit_code;
}

}  // namespace lakeflow::host
