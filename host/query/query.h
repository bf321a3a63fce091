// host/query/query.h: one SELECT over one table of a plugin: planned, explained, read by the batch path on the arena, the rest done by
// DuckDB over the Arrow stream in bounded memory. Nothing is read into any state. Used by one thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/duck/duck.h"
#include "host/plugin/connector.h"
#include "host/query/print.h"
#include "host/query/statement.h"
#include "host/scan/explain.h"
#include "host/stream/plan.h"

namespace lakeflow::host {

struct query_settings {
    bool pushdown = true;
    std::size_t memory_bytes = 192u << 20;     // of DuckDB; more spills to a folder of its own
    std::shared_ptr<duck::database> database;  // null: one of its own
    // The table that a statement means: its names, {"orders"} or {"public", "orders"}.
    std::function<table_plan(const std::vector<std::string>&)> table;
};

// SELECT <columns> FROM <source> WHERE <where> LIMIT <n>: what a [[tables]] entry reads. limit 0: all.
std::string select_of(const table_plan& table, std::int64_t limit = 0);

class table_query {
  public:
    // Parses, asks the plugin for schema and plan, and has DuckDB check the statement. `plan` outlives the query. Throws config.query,
    // config.read_schema, and what the plugin says.
    table_query(const run_plan& plan, query_settings settings, const std::string& sql);
    ~table_query();
    table_query(const table_query&) = delete;
    table_query& operator=(const table_query&) = delete;

    // Plans the partitions and asks the plugin for its words; reads nothing.
    explanation explain();
    void run(row_printer& out);

  private:
    void dry_run();
    scan_choice plan_scan();
    bool plan_partitions(std::vector<std::string>& descriptors);

    const run_plan& plan_;
    query_settings settings_;
    std::string folder_;  // for what does not fit into DuckDB's memory
    std::shared_ptr<duck::database> database_;
    std::unique_ptr<duck::connection> connection_;
    std::unique_ptr<statement> statement_;
    table_plan table_;
    std::shared_ptr<flow_context> flow_;
    std::unique_ptr<plugin_connector> connector_;
    std::shared_ptr<const arrow_schema> schema_;
    scan_choice choice_;
    std::vector<std::string> names_;  // of the result
    std::vector<duck::value_type> types_;
};

}  // namespace lakeflow::host
