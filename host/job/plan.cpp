// host/job/plan.cpp: a job and its plugin become the engine's plan: options are checked against the plugin's schema.
#include <algorithm>
#include <chrono>

#include "host/base/error.h"
#include "host/base/json.h"
#include "host/base/text.h"
#include "host/job/job.h"
#include "host/plugin/options.h"

namespace lakeflow::host {
namespace {

// An object's JSON with one member more.
std::string with_member(std::string object, const std::string& name, const std::string& value_json) {
    const bool empty = object == "{}";
    object.pop_back();
    return object + (empty ? "" : ",") + quote_json(name) + ":" + value_json + "}";
}

}  // namespace

run_plan make_plan(const job& j, std::shared_ptr<const plugin> p, const std::vector<std::string>& only) {
    std::vector<std::string> names;
    names.reserve(j.tables.size());
    for (const auto& table : j.tables) names.push_back(table.name);
    for (const auto& name : only) {
        if (std::find(names.begin(), names.end(), name) != names.end()) continue;
        const auto near = nearest(name, names);
        std::string all;
        for (const auto& n : names) all += (all.empty() ? "" : ", ") + n;
        throw failure("config.unknown_flow", "the job has no flow \"" + name + "\"",
                      near ? "Did you mean \"" + *near + "\"?" : "Its flows are: " + all + ".");
    }

    const auto checked = [&](std::string_view half, const std::string& given, const std::string& where) {
        const checked_options options = check_options(p->options_schema, half, given, where);
        for (const auto& secret : options.secrets) j.redactor->add(secret);
        return options.json;
    };
    run_plan plan;
    plan.job = j.name;
    plan.run_id = random_id();
    plan.init_time_us = system_clock().now_us();
    plan.trigger = j.trigger;
    plan.interval = std::chrono::milliseconds(j.interval_us / 1000);
    plan.parallelism = j.parallelism;
    plan.tuning.stuck_after = std::chrono::milliseconds((j.plugin_timeout_us + 999) / 1000);
    plan.tuning.spool_bytes = j.spool_bytes;
    plan.connection = checked("connection", j.connection, j.file + ": [connection]");
    plan.http = j.http;
    for (const auto& table : j.tables) {
        if (!only.empty() && std::find(only.begin(), only.end(), table.name) == only.end()) continue;
        table_plan t;
        t.flow = table.name;
        t.source = table.source;
        t.destination = table.destination;
        t.options = checked("table", table.options, table.place + ": [[tables]] " + table.source + " options");
        t.where = table.where;
        t.read_schema = table.read_schema;
        if (!t.read_schema.empty()) t.options = with_member(t.options, "read_schema", quote_json(t.read_schema));
        t.mode = table.mode;
        t.primary_keys = table.primary_keys;
        t.sequence_by = table.sequence_by;
        t.columns = table.columns;
        t.allow_empty = table.allow_empty;
        t.max_delete_ratio = table.max_delete_ratio;
        t.track = table.track;
        t.schema_changes = table.schema_changes;
        t.limits = table.limits;
        t.on_mismatch = table.on_mismatch;
        t.max_mismatches = table.max_mismatches;
        plan.tables.push_back(std::move(t));
    }
    plan.plugin = std::move(p);
    plan.state_directory = j.state;
    plan.duckdb_library = j.destination.duckdb_library;
    plan.redactor = j.redactor;
    return plan;
}

void complete_destination(job& j, const run_plan& plan, std::shared_ptr<const plugin> to) {
    connector_options& c = j.destination.connector;
    const auto checked = [&](std::string_view half, const std::string& given, const std::string& where) {
        const checked_options options = check_options(to->options_schema, half, given, where);
        for (const auto& secret : options.secrets) j.redactor->add(secret);
        return options.json;
    };
    c.connection = checked("connection", c.connection, j.file + ": [destination.connection]");
    c.table_options = checked("table", "{}", j.file + ": [destination]");
    c.run_id = plan.run_id;
    c.init_time_us = plan.init_time_us;
    c.counters = plan.counters;
    c.to = std::move(to);
}

}  // namespace lakeflow::host
