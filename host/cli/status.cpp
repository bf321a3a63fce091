// host/cli/status.cpp: `lakeflow-host status` and `reset`: where each flow stands, and how to let one begin again.
#include <algorithm>
#include <cstdio>

#include "host/base/error.h"
#include "host/base/json.h"
#include "host/cli/commands.h"
#include "host/state/job_state.h"
#include "host/stream/engine.h"

namespace lakeflow::host {
namespace {

struct progress_record {
    std::optional<position> committed;
    std::optional<loaded_flow> local;
    std::string mode;
};

progress_record look_up(const run_plan& plan, const table_plan& table) {
    const resolved_flow resolved = resolve_flow(plan, table);
    progress_record s;
    s.mode = std::string(to_string(resolved.spec.mode));
    const auto target = plan.destination->open(resolved.spec);
    s.committed = target->committed();
    s.local = peek_flow(plan.state_directory, plan.job, table.flow, *real_effects());
    // Of a destination that keeps no position the state has the only record.
    if (!target->holds_position() && s.local) s.committed = s.local->record.committed;
    return s;
}

}  // namespace

int status_command(const arguments& args, terminal& out) {
    opened_job opened = open_job(args, out, {});
    open_destination(opened, args);
    int exit_code = 0;
    for (const auto& table : opened.plan.tables) {
        try {
            const progress_record s = look_up(opened.plan, table);
            const std::string end = s.committed ? s.committed->end : "{}";
            const std::string where = opened.plan.destination->describe(table.destination);
            if (args.json) {
                std::string line = "{\"name\":" + quote_json(table.flow) + ",\"source\":" + quote_json(table.source) +
                                   ",\"destination\":" + quote_json(where) + ",\"mode\":" + quote_json(s.mode) +
                                   ",\"end\":" + end;
                if (s.committed)
                    line += ",\"epoch\":" + std::to_string(s.committed->epoch) +
                            ",\"batch\":" + std::to_string(s.committed->batch);
                std::printf("%s}\n", line.c_str());
            } else {
                std::printf("%s: %s, %s, %s\n", table.flow.c_str(), s.mode.c_str(), where.c_str(),
                            s.committed ? ("batch " + std::to_string(s.committed->batch) + ", at " + end).c_str()
                                        : "not begun");
            }
            if (s.local && !s.local->warning.empty()) out.say("warning: " + table.flow + ": " + s.local->warning);
        } catch (const failure& f) {
            exit_code = 1;
            out.say("error: " + table.flow + ": " + opened.settings.redactor->redact(f.get().message) + " [" +
                    f.get().code + "]" + (f.get().hint.empty() ? "" : "\n  hint: " + f.get().hint));
        }
    }
    return exit_code;
}

int reset_command(const arguments& args, terminal& out) {
    opened_job opened = open_job(args, out, {args.subject});
    run_plan& plan = opened.plan;
    open_destination(opened, args);
    const table_plan& table = plan.tables.front();
    // The job's lock is held meanwhile: a run must not commit between the two.
    job_state state(plan.state_directory, plan.job, plan.run_id, plan.take_over, real_effects());
    plan.destination->open(resolve_flow(plan, table).spec)->reset();
    state.forget(table.flow);
    out.say("flow " + table.flow + " begins again with the next run; the rows in " +
            plan.destination->describe(table.destination) + " are kept");
    return 0;
}

}  // namespace lakeflow::host
