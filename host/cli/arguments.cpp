// host/cli/arguments.cpp: see arguments.h.
#include "host/cli/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>

#include "host/base/text.h"

namespace lakeflow::host {
namespace {

constexpr const char* about =
    "lakeflow-host runs a connector (a shared library) and lands its rows exactly once in Delta Lake, DuckDB or JSON "
    "lines.\n\n"
    "  lakeflow-host --plugin github.so --config job.toml      run the job\n"
    "  lakeflow-host describe github                           what the plugin's options are\n"
    "  lakeflow-host tables --config job.toml                  what can be read\n"
    "  lakeflow-host preview issues --config job.toml          a few rows, nothing is written\n"
    "  lakeflow-host query 'SELECT ...' --config job.toml      rows of one table, what can be is asked of the "
    "source\n\n"
    "A job file:\n\n"
    "  [job]\n  name = \"github-to-lake\"\n"
    "  [connection]\n  token = { env = \"GITHUB_TOKEN\" }\n"
    "  [destination]\n  type = \"delta\"\n  path = \"lake\"\n"
    "  [[tables]]\n  source = \"issues\"\n  options = { owner = \"apache\", repo = \"arrow\" }\n\n"
    "stdout carries data only. Exit codes: 0 every table reached its bound, 3 some did, 1 none did, 2 the command line "
    "or the job is wrong.";

const std::vector<std::string> commands{"run",   "plugins", "describe", "tables", "schema", "preview",
                                        "query", "explain", "status",   "reset",  "check",  "new"};

// What the commands of later versions are called: known, so that they are refused by name.
const std::vector<std::string> later_commands{"check", "new"};

void add_job_options(CLI::App& app, arguments& out) {
    // One value each: a greedy option would take a mistyped command for another plugin.
    app.add_option("--config,-c", out.config, "The job file (TOML)")->type_name("FILE");
    app.add_option("--plugin,-p", out.plugins,
                   "The plugin: a name to look for, or a path with a slash; may be repeated")
        ->type_name("NAME|PATH")
        ->allow_extra_args(false);
    app.add_option("--plugin-dir", out.plugin_dirs, "Where plugins are looked for first; may be repeated")
        ->type_name("DIR")
        ->allow_extra_args(false);
    app.add_option("--set", out.sets, "Overrides one value of the job: --set destination.path=/x; may be repeated")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    const auto set_level = [&out](const std::string& name) {
        static const std::map<std::string, log_level> levels{{"trace", log_level::trace}, {"debug", log_level::debug},
                                                             {"info", log_level::info},   {"warn", log_level::warn},
                                                             {"error", log_level::error}, {"off", log_level::off}};
        const auto found = levels.find(name);
        if (found == levels.end()) throw CLI::ValidationError("--log-level", "\"" + name + "\" is no level");
        out.level = found->second;
    };
    const auto set_format = [&out](const std::string& name) {
        if (name != "text" && name != "json") {
            throw CLI::ValidationError("--log-format", "\"" + name + "\" is no format");
        }
        out.format = name == "json" ? log_format::json : log_format::text;
    };
    app.add_option_function<std::string>("--log-level", set_level, "trace, debug, info, warn (default), error or off")
        ->type_name("LEVEL");
    app.add_option_function<std::string>("--log-format", set_format, "text (default) or json")->type_name("FORMAT");
}

void add_run_options(CLI::App& app, arguments& out) {
    app.add_option("--only", out.only, "Runs only this flow of the job; may be repeated")
        ->type_name("FLOW")
        ->allow_extra_args(false);
    app.add_option("--report", out.report, "Writes the report as JSON, also when the run fails; - is stdout")
        ->type_name("FILE");
    app.add_flag("--no-progress", out.no_progress, "Shows no progress");
    app.add_flag("--take-over", out.take_over, "Takes the job over from another run that holds its lock");
}

// The first word that is no option and no option's value: the command, or what a person took for one.
std::string first_word(int argc, const char* const* argv) {
    static const std::vector<std::string> with_value{
        "--config",     "-c",     "--plugin", "-p",      "--plugin-dir", "--set",    "--log-level",
        "--log-format", "--only", "--report", "--limit", "-n",           "--option", "--format"};
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (word == "--") return {};
        if (word.empty() || word.front() != '-') return word;
        if (std::find(with_value.begin(), with_value.end(), word) != with_value.end()) ++i;
    }
    return {};
}

bool is_one_of(const std::vector<std::string>& words, const std::string& word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

arguments parse_arguments(int argc, const char* const* argv) {
    arguments out;
    CLI::App app{about, "lakeflow-host"};
    app.set_version_flag("--version", std::string("lakeflow-host ") + LAKEFLOW_VERSION);
    app.require_subcommand(0, 1);
    app.fallthrough();
    add_job_options(app, out);
    add_run_options(app, out);

    const auto add = [&](const char* name, const char* help, command what) {
        CLI::App* sub = app.add_subcommand(name, help);
        sub->fallthrough();
        sub->callback([&out, what] { out.what = what; });
        return sub;
    };
    const auto subject = [&](CLI::App* sub, const char* name, const char* help) {
        sub->add_option(name, out.subject, help)->required();
    };
    const auto json = [&](CLI::App* sub) { sub->add_flag("--json", out.json, "Prints JSON"); };

    add("run", "Runs the job (the default)", command::run);
    json(add("plugins", "Lists the plugins that are found, and why others are not taken", command::plugins));
    CLI::App* describe = add("describe", "Describes a plugin and its options", command::describe);
    subject(describe, "PLUGIN", "A name or a path");
    json(describe);
    json(add("tables", "Lists the tables that the job's connection can read", command::tables));
    CLI::App* schema = add("schema", "Prints a table's columns, keys and cursor", command::schema);
    subject(schema, "TABLE", "A source of the plugin, or a flow of the job");
    json(schema);
    CLI::App* preview =
        add("preview", "Prints a few rows as JSON lines; writes nothing and keeps no position", command::preview);
    subject(preview, "TABLE", "A source of the plugin, or a flow of the job");
    const auto scan_options = [&](CLI::App* sub) {
        sub->add_option("--option", out.options, "An option of this read, over those of the table; may be repeated")
            ->type_name("KEY=VALUE")
            ->allow_extra_args(false);
    };
    scan_options(preview);
    CLI::App* query =
        add("query", "Prints the rows of a SELECT over one table; reads nothing into any state", command::query);
    subject(query, "SQL", "A SELECT; its table is a source of the plugin, or a flow of the job");
    scan_options(query);
    query->add_option("--format", out.rows, "jsonl, csv or table (default: a table on a terminal, else jsonl)")
        ->check(CLI::IsMember({"jsonl", "csv", "table"}));
    query->add_flag("--no-pushdown", out.no_pushdown, "Leaves nothing to the source but to give its rows");
    json(query);
    CLI::App* explain =
        add("explain", "Shows what of a read is left to the source, and what is done after it", command::explain);
    subject(explain, "SQL|TABLE", "A SELECT, or a source of the plugin, or a flow of the job");
    scan_options(explain);
    explain->add_flag("--no-pushdown", out.no_pushdown, "Leaves nothing to the source but to give its rows");
    json(explain);
    preview->add_option("--limit,-n", out.limit, "How many rows (default 20)")->check(CLI::Range(1, 1000000));
    json(preview);
    json(add("status", "Shows where each flow stands, by the destination's own record", command::status));
    CLI::App* reset = add("reset", "Forgets a flow's position in the state and in the destination, and keeps its rows",
                          command::reset);
    subject(reset, "FLOW", "The name of a [[tables]] entry");
    const std::string word = first_word(argc, argv);
    if (is_one_of(later_commands, word)) {
        out.what = command::not_built;
        out.subject = word;
        return out;
    }
    try {
        // CLI11 would only say that the word was not expected.
        if (!word.empty() && !is_one_of(commands, word)) {
            const auto near = nearest(word, commands);
            throw CLI::ExtrasError(
                {"\"" + word + "\" is no command" + (near ? "; did you mean \"" + *near + "\"?" : "")});
        }
        app.parse(argc, argv);
        return out;
    } catch (const CLI::Success& e) {
        app.exit(e);  // --help, --version
    } catch (const CLI::ExtrasError& e) {
        std::fprintf(
            stderr, "error: %s [config.command_line]\n  hint: `lakeflow-host --help` lists the commands and options.\n",
            e.what());
        out.exit_code = 2;
    } catch (const CLI::ParseError& e) {
        std::fprintf(
            stderr, "error: %s [config.command_line]\n  hint: `lakeflow-host --help` lists the commands and options.\n",
            e.what());
        out.exit_code = 2;
    }
    out.what = command::none;
    return out;
}

}  // namespace lakeflow::host
