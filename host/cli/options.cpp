// host/cli/options.cpp: --option KEY=VALUE of the commands that read without a run (contract 15): it wins over the options of the table,
// and a key that only the connection has over the connection's.
#include <algorithm>
#include <boost/json.hpp>

#include "host/base/error.h"
#include "host/base/text.h"
#include "host/cli/commands.h"
#include "host/plugin/options.h"

namespace lakeflow::host {
namespace {

namespace json = boost::json;

const option_info* find(const std::vector<option_info>& options, const std::string& folded) {
    const auto at = std::find_if(options.begin(), options.end(),
                                 [&](const option_info& o) { return fold_option(o.name) == folded; });
    return at == options.end() ? nullptr : &*at;
}

json::value value_of(const std::string& text, const option_info* option) {
    if (!option || option->type == "string" || option->type.empty()) return json::string(text);
    boost::system::error_code ec;
    auto value = json::parse(text, ec);
    // What does not parse is refused by the check of the option's type.
    return ec ? json::value(json::string(text)) : value;
}

}  // namespace

void apply_scan_options(run_plan& plan, table_plan& table, const std::vector<std::string>& assignments) {
    if (assignments.empty()) return;
    const auto& schema = plan.plugin->options_schema;
    const auto of_table = list_options(schema, "table");
    const auto of_connection = list_options(schema, "connection");
    json::object options = json::parse(table.options).as_object();
    json::object connection = json::parse(plan.connection).as_object();
    // The user's schema is no option of the plugin's; it joins them again afterwards.
    options.erase("read_schema");
    for (const auto& assignment : assignments) {
        const auto equals = assignment.find('=');
        if (equals == std::string::npos || equals == 0) {
            throw failure("config.command_line", "--option " + assignment + " is not KEY=VALUE",
                          "For example --option num_partitions=8.");
        }
        const auto key = assignment.substr(0, equals);
        const auto text = assignment.substr(equals + 1);
        const auto* own = find(of_table, fold_option(key));
        const auto* shared = own ? nullptr : find(of_connection, fold_option(key));
        auto& target = shared ? connection : options;
        const auto name = own ? own->name : shared ? shared->name : key;
        target[name] = value_of(text, own ? own : shared);
    }
    const auto check = [&](const char* half, const json::object& given) {
        const auto checked = check_options(schema, half, json::serialize(given), "--option");
        for (const auto& secret : checked.secrets) plan.redactor->add(secret);
        return checked.json;
    };
    table.options = check("table", options);
    plan.connection = check("connection", connection);
    if (!table.read_schema.empty()) {
        auto with_schema = json::parse(table.options).as_object();
        with_schema["read_schema"] = table.read_schema;
        table.options = json::serialize(with_schema);
    }
}

}  // namespace lakeflow::host
