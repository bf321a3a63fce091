// plugins/http_api/plugin.cpp: the connector itself: any paged JSON service, as [connection] declares it.
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lakeflow/lakeflow.hpp"
#include "scan.hpp"
#include "service.hpp"
#include "table.hpp"
#include "writing.hpp"

namespace lakeflow::http_api {

class plugin final : public connector,
                     public partitioned_stream,
                     public deletes,
                     public explained_scan,
                     public recoverable_writer {
  public:
    explicit plugin(environment given)
        : connector(std::move(given)), all_(std::make_shared<declaration>(declaration::from(env().options))) {}

    std::vector<std::string> list_tables() override {
        std::vector<std::string> out;
        for (const resource& one : all_->resources) out.push_back(one.name);
        return out;
    }

    schema table_schema(std::string_view name, const json& options) override { return open(name, options).columns(); }

    lakeflow::table_metadata table_metadata(std::string_view name, const json& options) override {
        return open(name, options).metadata();
    }

    // A window is a limit of no rows: with none at all the host would ask for everything at once, as it does for `once`.
    read_limits default_read_limit(std::string_view name, const json&) override {
        read_limits out;
        const resource& of = all_->find(name);
        if (of.cursor && of.cursor->window_us) out.max_rows = std::numeric_limits<std::int32_t>::max();
        return out;
    }

    bool is_partitioned(std::string_view name, const json& options) override {
        return open(name, options).plans_ahead();
    }

    latest latest_offset(const latest_args& args) override { return open(args.table, args.options).newest(args); }

    std::vector<json> get_partitions(const plan_args& args) override {
        return open(args.table, args.options).split(args);
    }

    std::unique_ptr<reader> read_partition(const read_args& args) override { return read_table(args); }

    std::unique_ptr<reader> read_table(const read_args& args) override {
        return open(args.table, args.options).read(args);
    }

    std::unique_ptr<reader> read_table_deletes(const read_args& args) override {
        return open(args.table, args.options).read_deletes(args);
    }

    json plan_scan(std::string_view name, const json& options, const json& request) override {
        return http_api::plan_scan(open(name, options), request);
    }

    json explain_scan(std::string_view name, const json& options, const json& accepted) override {
        return http_api::explain_scan(open(name, options), accepted, *all_);
    }

    json begin_write(const write_args& args) override { return begin(*source(), of(args), args); }

    std::unique_ptr<batch_writer> open_writer(const write_args& args) override {
        return open_batches(source(), of(args), args);
    }

    void commit_write(const write_args& args, const std::vector<json>& messages) override {
        commit_all(*source(), of(args), args, messages);
    }

    std::vector<std::string> abort_write(const write_args& args, const std::vector<json>& messages) override {
        return roll_back(*source(), of(args), args, messages);
    }

    bool was_committed(const write_args& args) override { return knows_commit(*source(), of(args), args); }

  private:
    std::shared_ptr<const service> source() const { return std::make_shared<const service>(env(), all_); }

    resource of(const write_args& args) const {
        json options = json::object();
        for (const json::member& one : args.options.members())
            if (one.name != "begin") options.set(one.name, one.value);
        return with_options(all_->find(args.table), options);
    }

    table open(std::string_view name, const json& options) const {
        return {source(), with_options(all_->find(name), options)};
    }

    std::shared_ptr<const declaration> all_;
};

inline constexpr std::string_view needs[] = {LF_HTTP_ID, LF_ROWS_ID};

inline constexpr option connection_options[] = {
    option::text("base_url").must().help("the service's address; its path is kept: https://shop.example.com/api/v2"),
    option::object("auth")
        .help("{ type = none|bearer|basic|header|query|oauth2, .. }; a secret may be { env = \"..\" }")
        .schema(
            R"("properties": {"token": {"secret": true}, "password": {"secret": true}, "value": {"secret": true},
            "client_secret": {"secret": true}, "refresh_token": {"secret": true}})"),
    option::secret("api_key").help("short for auth = { type = \"header\", name = \"X-API-Key\", value = .. }"),
    option::object("headers").help("headers of every request"),
    option::object("resources").must().help("one block for each table: [connection.resources.orders]"),
    option::integer("num_partitions").between(1, 100'000).help("parts that a read is split into at most; default 4"),
    option::integer("rows_per_partition")
        .between(1, 1'000'000'000)
        .help("rows for which a part is worth planning; default 1000"),
    option::integer("fetch_size").between(1, 1'000'000'000).help("rows a request; default 200"),
    option::integer("batch_size").between(1, 1'000'000'000).help("rows a request that writes; default 100"),
    option::integer("write_batch_size").between(1, 1'000'000'000).help("the same as batch_size"),
};

inline constexpr option table_options[] = {
    option::integer("num_partitions").between(1, 100'000).help("parts that a read is split into at most"),
    option::integer("rows_per_partition").between(1, 1'000'000'000).help("rows for which a part is worth planning"),
    option::integer("fetch_size").between(1, 1'000'000'000).help("rows a request"),
    option::integer("batch_size").between(1, 1'000'000'000).help("rows a request that writes"),
    option::integer("write_batch_size").between(1, 1'000'000'000).help("the same as batch_size"),
    option::boolean("verify").help("read the columns of pushed filters too, and check every row"),
    option::text("read_schema")
        .help("the columns, in the place of the declared or inferred ones: \"id BIGINT, name STRING\""),
    option::object("on_status").help("statuses of a child's listing that mean \"none here\": { \"404\" = \"skip\" }"),
};

inline constexpr plugin_info about{.id = "http-api",
                                   .version = "0.1.0",
                                   .summary = "any paged JSON service over HTTP, declared in the job",
                                   .vendor = "lakeflow-host",
                                   .license = "Apache-2.0",
                                   .connection = connection_options,
                                   .table = table_options,
                                   .needs = needs};

}  // namespace lakeflow::http_api

LAKEFLOW_PLUGIN(lakeflow::http_api::plugin, lakeflow::http_api::about)
