// host/cli/preview.cpp: `lakeflow-host preview`: a few rows of a table as JSON lines, by the batch path; nothing is written anywhere.
#include <algorithm>
#include <cstdio>

#include "host/base/error.h"
#include "host/base/json.h"
#include "host/cli/commands.h"
#include "host/cli/instance.h"

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

}  // namespace

int preview_command(const arguments& args, terminal& out) {
    opened_job opened = open_job(args, out, {});
    const table_plan table = table_of(opened.plan, args.subject);
    plugin_instance instance(opened.plan, table.source);
    read_request request;
    request.table = table.source;
    request.options = table.options;
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
