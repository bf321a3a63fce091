// host/cli/preview.cpp: `lakeflow-host preview`: a few rows of a table as JSON lines, by the batch path; nothing is written anywhere.
#include <algorithm>
#include <cstdio>

#include "host/base/error.h"
#include "host/base/json.h"
#include "host/cli/commands.h"
#include "host/cli/instance.h"
#include "host/scan/negotiate.h"
#include "host/stream/resolve.h"

namespace lakeflow::host {
namespace {

// Prints up to `left` rows and says how many are still wanted.
std::int64_t print_rows(plugin_reader& reader, std::int64_t left, const std::vector<std::string>& columns) {
    while (left > 0) {
        const auto batch = reader.next();
        if (!batch) break;
        const ArrowSchema& schema = *batch->schema->get();
        for (std::int64_t row = 0; row < batch->rows() && left > 0; ++row, --left) {
            std::string line;
            for (std::int64_t i = 0; i < schema.n_children; ++i) {
                const ArrowSchema& column = *schema.children[i];
                const std::string name(name_of(column));
                if (!columns.empty() && std::find(columns.begin(), columns.end(), name) == columns.end()) continue;
                const std::int64_t at = row + batch->array.get()->offset;
                line += (line.empty() ? "{" : ",") + quote_json(name) + ":" +
                        value_json(column, *batch->array.get()->children[i], at);
            }
            std::printf("%s\n", line.empty() ? "{}" : (line + "}").c_str());
        }
    }
    return left;
}

std::vector<std::string> plan_partitions(plugin_instance& instance, const read_request& request) {
    if (!instance.connector().is_partitioned(request.table, request.options)) return {};
    try {
        return instance.connector().get_partitions(request, 1);
    } catch (const failure& f) {
        // Contract 11: a planner that declines leaves the table to the simple path.
        if (f.get().retry == retry_class::unsupported) return {};
        throw;
    }
}

// Columns and limit are left to the source where it takes them.
std::string plan_scan(plugin_instance& instance, const run_plan& plan, const table_plan& table, std::int64_t limit) {
    const auto schema =
        std::make_shared<const arrow_schema>(instance.connector().table_schema(table.source, table.options));
    scan_wish wish;
    wish.limit = limit;
    for (std::int64_t i = 0; i < schema->columns(); ++i) {
        const auto name = name_of(schema->column(i));
        const bool wanted =
            table.columns.empty() || std::find(table.columns.begin(), table.columns.end(), name) != table.columns.end();
        if (wanted) wish.columns.push_back(i);
    }
    const auto ask = [&](const std::string& wanted) {
        return instance.connector().plan_scan(table.source, table.options, wanted);
    };
    return negotiate(wish, schema, ask, plan.plugin->id + "/" + table.source).scan;
}

}  // namespace

int preview_command(const arguments& args, terminal& out) {
    opened_job opened = open_job(args, out, {});
    table_plan table = table_of(opened.plan, args.subject);
    // A condition is DuckDB's to parse; a preview of a whole table needs no DuckDB.
    if (!table.where.empty()) return query_command(args, out);
    apply_scan_options(opened.plan, table, args.options);
    plugin_instance instance(opened.plan, table.source);
    check_read_schema(table, instance.connector().metadata(table.source, table.options));
    read_request request;
    request.table = table.source;
    request.options = table.options;
    request.scan = plan_scan(instance, opened.plan, table, args.limit);
    std::int64_t left = args.limit;
    const auto descriptors = plan_partitions(instance, request);
    if (descriptors.empty()) {
        left = print_rows(*instance.connector().read_table(request), left, table.columns);
    }
    for (const auto& descriptor : descriptors) {
        if (left <= 0) break;
        request.descriptor = descriptor;
        const auto worker = instance.another();
        left = print_rows(*worker->read_partition(request), left, table.columns);
    }
    if (left == args.limit) out.say("no rows");
    return 0;
}

}  // namespace lakeflow::host
