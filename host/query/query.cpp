// host/query/query.cpp: see query.h.
#include "host/query/query.h"

#include <algorithm>
#include <filesystem>

#include "host/base/error.h"
#include "host/base/text.h"
#include "host/plugin/connector.h"
#include "host/query/rows.h"
#include "host/query/values.h"
#include "host/stream/resolve.h"

namespace lakeflow::host {
namespace {

namespace fs = std::filesystem;

class no_rows final : public duck::batch_source {
  public:
    bool next(record_batch&) override { return false; }
};

std::shared_ptr<flow_context> context_of(const run_plan& plan, const table_plan& table) {
    auto flow = std::make_shared<flow_context>();
    flow->plugin = plan.plugin->id;
    flow->flow = table.flow;
    flow->table = table.source;
    // Nothing is put aside here, and an answer without some of its rows would not say so.
    flow->on_mismatch = table.on_mismatch == mismatch_policy::null ? mismatch_policy::null : mismatch_policy::fail;
    flow->init_time_us = plan.init_time_us;
    flow->run_id = plan.run_id;
    flow->http = plan.http;
    flow->job_counters = plan.counters;
    flow->redactor = plan.redactor;
    flow->log = plan.log;
    flow->time = plan.time;
    return flow;
}

}  // namespace

std::string select_of(const table_plan& table, std::int64_t limit) {
    std::string columns;
    for (const auto& name : table.columns) columns += (columns.empty() ? "" : ", ") + duck::quote_name(name);
    std::string sql = "SELECT " + (columns.empty() ? "*" : columns) + " FROM " + duck::quote_name(table.source);
    // Lines of their own: a comment at the end of a where ends there.
    if (!table.where.empty()) sql += " WHERE (" + table.where + "\n)";
    if (limit > 0) sql += " LIMIT " + std::to_string(limit);
    return sql;
}

table_query::table_query(const run_plan& plan, query_settings settings, const std::string& sql)
    : plan_(plan),
      settings_(std::move(settings)),
      folder_((fs::temp_directory_path() / ("lakeflow-query-" + random_id())).string()) {
    database_ = settings_.database;
    if (!database_) {
        duck::database_options options;
        options.library = plan.duckdb_library;
        options.memory_bytes = settings_.memory_bytes;
        options.temp_directory = folder_;
        database_ = duck::database::open(options);
    }
    connection_ = std::make_unique<duck::connection>(database_->connect(plan.stop->hard));
    statement_ = std::make_unique<statement>(*connection_, sql);
    table_ = settings_.table(statement_->table());
    flow_ = context_of(plan, table_);
    connector_ = std::make_unique<plugin_connector>(plan.plugin, plan.connection, flow_, plan.stop->hard);
    const auto metadata = connector_->metadata(table_.source, table_.options);
    check_read_schema(table_, metadata);
    if (std::find(metadata.capabilities.begin(), metadata.capabilities.end(), "batch_read") ==
        metadata.capabilities.end()) {
        throw failure(error{"config.query", flow_->plugin + "/" + table_.source + " has no batch read",
                            "`lakeflow-host tables --json` shows what each table can do", retry_class::invalid});
    }
    flow_->key_columns = metadata.primary_keys;
    schema_ = std::make_shared<const arrow_schema>(connector_->table_schema(table_.source, table_.options));
    statement_->bind(schema_);
    dry_run();
    choice_ = plan_scan();
}

table_query::~table_query() {
    connector_.reset();
    statement_.reset();
    connection_.reset();
    database_.reset();
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
}

// DuckDB's binder checks names and types over a table without rows, before a row is asked for.
void table_query::dry_run() {
    scan_choice everything;
    everything.schema = schema_;
    const auto shape = shape_of(everything, statement_->names(everything), table_.source);
    const auto scan = connection_->add_scan(shape.renamed, std::make_shared<no_rows>());
    try {
        auto rows = connection_->query(statement_->dry(scan.sql()));
        for (std::uint64_t i = 0; i < rows.columns(); ++i) {
            names_.push_back(statement_->shown(rows.column_name(i)));
            types_.push_back(rows.type(i));
        }
    } catch (const failure& f) {
        if (f.get().code != "destination.duckdb") throw;
        std::string text = f.get().message;
        if (const auto in = text.find(" (in: "); in != std::string::npos) text.resize(in);
        throw failure(error{"config.query", "table '" + table_.source + "': " + text,
                            "`lakeflow-host schema " + table_.source + "` shows the columns", retry_class::invalid});
    }
    statement_->set_output_names(names_);
}

scan_choice table_query::plan_scan() {
    scan_planner ask;
    if (settings_.pushdown) {
        ask = [this](const std::string& request) {
            plan_.log.write(log_level::debug, flow_->plugin + "/" + table_.source, "scan request " + request);
            auto reply = connector_->plan_scan(table_.source, table_.options, request);
            plan_.log.write(log_level::debug, flow_->plugin + "/" + table_.source,
                            "scan reply " + reply.value_or("declined"));
            return reply;
        };
    }
    return negotiate(statement_->wish(), schema_, ask, flow_->plugin + "/" + table_.source);
}

// False: the simple read serves, of one piece.
bool table_query::plan_partitions(std::vector<std::string>& descriptors) {
    if (!connector_->is_partitioned(table_.source, table_.options)) return false;
    read_request request;
    request.table = table_.source;
    request.options = table_.options;
    request.scan = choice_.scan;
    try {
        descriptors = connector_->get_partitions(request, static_cast<std::uint32_t>(plan_.parallelism));
        return true;
    } catch (const failure& f) {
        // Contract 11: a planner that declines leaves the table to the simple path.
        if (f.get().retry == retry_class::unsupported) return false;
        throw;
    }
}

explanation table_query::explain() {
    explanation out;
    out.plugin = flow_->plugin;
    out.table = table_.source;
    out.wish = statement_->wish();
    out.further_filters = statement_->further_filters();
    out.choice = choice_;
    std::vector<std::string> descriptors;
    if (choice_.empty()) {
        out.partitions = 0;
    } else if (plan_partitions(descriptors)) {
        out.partitions = static_cast<std::int64_t>(descriptors.size());
        out.partition_hint = partition_hint(out.partitions, plan_.parallelism);
    }
    const auto what = flow_->plugin + "/" + table_.source + ", explain of the scan";
    try {
        const auto said = connector_->explain_scan(table_.source, table_.options, choice_.scan);
        if (said) out.said = parse_explanation(*said, what);
    } catch (const failure& f) {
        if (f.get().retry == retry_class::cancelled) throw;
        out.said.lines.push_back(to_line(f.get()));
    }
    return out;
}

void table_query::run(row_printer& out) {
    read_source source;
    source.plugin = plan_.plugin;
    source.connection = plan_.connection;
    source.flow = flow_;
    source.request.table = table_.source;
    source.request.options = table_.options;
    source.request.scan = choice_.scan;
    source.tuning = plan_.tuning;
    if (!choice_.empty() && plan_partitions(source.descriptors)) source.what = read_source::kind::partitions;
    if (choice_.aggregate == answer::no) {
        const auto what = flow_->plugin + "/" + table_.source;
        std::vector<std::int64_t> all;
        for (std::int64_t i = 0; i < choice_.schema->columns(); ++i) all.push_back(i);
        auto passing = std::make_shared<gate>(what, choice_.schema, all, std::vector<std::string>{});
        passing->filter(
            std::make_shared<const row_filter>(*choice_.schema, std::vector<predicate>{}, choice_.exact, what));
        source.passing = std::move(passing);
    }
    const auto arena = std::make_shared<worker_arena>(plan_.parallelism);
    const auto budget = std::make_shared<byte_budget>(plan_.tuning.queue_bytes);
    auto shape = shape_of(choice_, statement_->names(choice_), flow_->plugin + "/" + table_.source);
    const auto schema = shape.renamed;
    const auto rows = std::make_shared<partition_rows>(std::move(source), choice_.empty(), std::move(shape), arena,
                                                       budget, plan_.stop->hard);
    {
        const auto scan = connection_->add_scan(schema, rows);
        auto sql = statement_->over(scan.sql(), choice_);
        plan_.log.write(log_level::debug, flow_->plugin + "/" + table_.source, "applied after the scan: " + sql);
        std::string casts;
        std::string places;
        bool all_printable = true;
        for (std::size_t i = 0; i < types_.size(); ++i) {
            const auto place = "c" + std::to_string(i);
            const bool printable = can_print(types_[i]);
            places += (i ? ", " : "") + place;
            casts += (i ? ", " : "") + (printable ? place : "CAST(" + place + " AS " + printable_as(types_[i]) + ")");
            all_printable = all_printable && printable;
        }
        if (!all_printable) sql = "SELECT " + casts + " FROM (" + sql + ") AS lakeflow_result(" + places + ")";
        auto result = connection_->stream(sql);
        std::vector<duck::value_type> types;
        for (std::uint64_t i = 0; i < result.columns(); ++i) types.push_back(result.type(i));
        out.begin(names_, types);
        while (result.next()) out.row(result);
        out.end();
    }
    if (!rows->stop()) arena->leave();
}

}  // namespace lakeflow::host
