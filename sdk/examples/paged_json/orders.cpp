// A connector for a paged JSON table, whole. The service answers
//   GET /orders?size=100&updated_since=2026-01-01T00:00:00Z
// with {"data": {"items": [...]}, "meta": {"next": "/orders?page=2..."}}, oldest change first, the bound included. Each change has an
// instant of its own; the guide says what to do where two can share one.
#include "lakeflow/lakeflow.hpp"

namespace {

using namespace lakeflow;

// [columns]
constexpr std::string_view columns =
    "id BIGINT NOT NULL, customer STRUCT<name: STRING, city: STRING>, amount DECIMAL(12,2), tags ARRAY<STRING>, "
    "updated_at TIMESTAMP NOT NULL";
// [columns]

// [options]
constexpr option connection_options[] = {
    option::text("base_url").must().help("the service: https://shop.example.com/api"),
    option::secret("token").help("an access token; none: anonymous"),
};
constexpr option table_options[] = {
    option::integer("page_size").fallback(100).between(1, 500).help("rows a request"),
};
constexpr plugin_info info{.id = "orders",
                           .version = "1.0.0",
                           .summary = "Orders of the example shop",
                           .vendor = "lakeflow examples",
                           .license = "Apache-2.0",
                           .connection = connection_options,
                           .table = table_options};
// [options]

class orders : public connector {
  public:
    using connector::connector;

    // [tables]
    std::vector<std::string> list_tables() override { return {"orders"}; }

    schema table_schema(std::string_view table, const json&) override {
        known(table);
        return schema::ddl(columns);
    }

    lakeflow::table_metadata table_metadata(std::string_view table, const json&) override {
        known(table);
        return {.kind = ingestion::cdc,
                .primary_keys = {"id"},
                .cursor_field = "updated_at",
                .offset_member = "updated_at",
                .offset_form = "rfc3339"};
    }
    // [tables]

    // [read]
    std::unique_ptr<reader> read_table(const read_args& args) override {
        known(args.table);
        page_plan plan;
        plan.columns = schema::ddl(columns);
        plan.rows.records("/data/items").capture("/meta/next").watch("updated_at");

        std::string url = url_path(env().options.text("base_url"), {"orders"});
        url = url_add(url, "size", std::to_string(args.options.integer("page_size", 100)));
        const std::string since = args.start ? args.start->text("updated_at") : "";
        if (!since.empty()) {
            url = url_add(url, "updated_since", since);
            plan.rows.keep("updated_at", ">", since);  // the service includes the bound; the range does not
        }
        if (args.end) plan.rows.keep("updated_at", "<=", args.end->text("updated_at"));

        plan.first = request(url).bearer(env().options.text("token"));
        plan.next_in_body = [](const page& here) { return next_url(here, 0); };
        if (args.start) {
            plan.end = [args](const page_totals& totals) -> std::optional<json> {
                if (args.end) return args.end;
                auto newest = totals.max_text("updated_at");
                return totals.kept == 0 ? *args.start : json::object({{"updated_at", newest.value_or("")}});
            };
        }
        return std::make_unique<page_reader>(env(), std::move(plan));
    }
    // [read]

  private:
    static void known(std::string_view table) {
        if (table != "orders")
            throw not_found("there is no table '" + std::string(table) + "'", "the only table is 'orders'");
    }
};

}  // namespace

LAKEFLOW_PLUGIN(orders, info)
