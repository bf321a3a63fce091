// host/cli/query.cpp: `lakeflow-host query` and `explain`: one SELECT over one table of the plugin, its rows or its plan on stdout.
#include "host/query/query.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>

#include "host/base/error.h"
#include "host/base/text.h"
#include "host/cli/commands.h"
#include "host/cli/instance.h"
#include "host/cli/signals.h"

namespace lakeflow::host {
namespace {

// Contract 40: the name of a flow, of its destination, or of a table of the plugin; SQL people write names in any case.
table_plan table_named(const run_plan& plan, const std::vector<std::string>& parts) {
    std::string name;
    for (const auto& part : parts) name += (name.empty() ? "" : ".") + part;
    for (const auto member : {&table_plan::flow, &table_plan::destination, &table_plan::source}) {
        for (const bool exact : {true, false}) {
            for (const auto& table : plan.tables) {
                if (exact ? table.*member == name : equal_no_case(table.*member, name)) return table;
            }
        }
    }
    return table_of(plan, name);
}

// "select ..." or "FROM ...", and not the name of a table.
bool is_sql(const std::string& text) {
    const auto trimmed = trim(text);
    const auto end = std::find_if(trimmed.begin(), trimmed.end(),
                                  [](char c) { return std::isalpha(static_cast<unsigned char>(c)) == 0; });
    if (trimmed.starts_with("(") || trimmed.starts_with("--") || trimmed.starts_with("/*")) return true;
    if (end == trimmed.end()) return false;
    const auto word = lower_ascii(std::string(trimmed.begin(), end));
    return word == "select" || word == "from" || word == "with" || word == "values";
}

struct prepared {
    std::unique_ptr<opened_job> opened;     // the query keeps looking at its plan
    std::unique_ptr<signal_watch> signals;  // before the first thread
    std::unique_ptr<table_query> query;
};

prepared prepare(const arguments& args, terminal& out) {
    prepared p{std::make_unique<opened_job>(open_job(args, out, {})), nullptr, nullptr};
    auto& plan = p.opened->plan;
    p.signals = std::make_unique<signal_watch>([stop = plan.stop] { stop->cancel(); }, [] {});
    query_settings settings;
    settings.pushdown = !args.no_pushdown;
    if (p.opened->settings.memory_bytes) settings.memory_bytes = p.opened->settings.memory_bytes;
    std::string sql = args.subject;
    if (args.what != command::preview && is_sql(sql)) {
        settings.table = [&plan, &args](const std::vector<std::string>& parts) {
            table_plan table = table_named(plan, parts);
            apply_scan_options(plan, table, args.options);
            return table;
        };
    } else {
        table_plan table = table_named(plan, {args.subject});
        apply_scan_options(plan, table, args.options);
        sql = select_of(table, args.what == command::preview ? args.limit : 0);
        settings.table = [table](const std::vector<std::string>&) { return table; };
    }
    p.query = std::make_unique<table_query>(plan, std::move(settings), sql);
    return p;
}

row_format format_of(const arguments& args) {
    if (args.json || args.what == command::preview || args.rows == "jsonl") return row_format::jsonl;
    if (args.rows == "csv") return row_format::csv;
    if (args.rows == "table") return row_format::table;
    return isatty(STDOUT_FILENO) == 1 ? row_format::table : row_format::jsonl;
}

}  // namespace

int query_command(const arguments& args, terminal& out) {
    const auto p = prepare(args, out);
    bool closed = false;  // the reader of stdout has gone, as `head` does once it has enough
    const auto printer = make_printer(format_of(args), [&closed](std::string_view text) {
        const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
        closed = closed || (!written && errno == EPIPE);
        return written;
    });
    try {
        p.query->run(*printer);
    } catch (const failure&) {
        if (closed) return 0;
        std::fflush(stdout);
        throw;
    }
    if (std::fflush(stdout) != 0 && errno != EPIPE)
        throw failure("destination.stdout", "the rows could not all be written to stdout");
    return 0;
}

int explain_command(const arguments& args, terminal& out) {
    const auto p = prepare(args, out);
    const auto e = p.query->explain();
    const auto& redactor = *p.opened->settings.redactor;
    const auto text = redactor.redact(args.json ? explain_json(e) + "\n" : explain_text(e));
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
    if (!e.partition_hint.empty() && !args.json) out.say("note: " + e.partition_hint);
    return 0;
}

}  // namespace lakeflow::host
