// plugins/github/plugin.cpp: the connector itself: tables, metadata, and which way each table is read.
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "feed.hpp"
#include "lakeflow/lakeflow.hpp"
#include "settings.hpp"
#include "snapshots.hpp"
#include "tables.hpp"

namespace lakeflow::github {

class plugin final : public connector, public partitioned_stream {
  public:
    using connector::connector;

    std::vector<std::string> list_tables() override {
        std::vector<std::string> out;
        for (const table& one : all_tables()) out.emplace_back(one.name);
        return out;
    }

    schema table_schema(std::string_view name, const json& options) override {
        settings::from(options);
        return schema::ddl(find_table(name).ddl);
    }

    lakeflow::table_metadata table_metadata(std::string_view name, const json& options) override {
        const table& one = find_table(name);
        settings chosen = settings::from(options);
        lakeflow::table_metadata out;
        out.kind = one.kind;
        for (std::string_view key : one.keys) out.primary_keys.emplace_back(key);
        out.cursor_field = one.cursor;
        if (one.how == family::since || one.how == family::newest || one.how == family::per_pull) {
            out.offset_member = "updated_at";
            out.offset_form = "rfc3339";
        }
        // A touched pull request brings all of its reviews; a forced push may bring commits that have landed.
        out.rereads = one.kind == ingestion::append || (one.kind == ingestion::cdc && chosen.lookback_us > 0);
        out.whole_snapshot = one.how == family::snapshot;
        return out;
    }

    bool is_partitioned(std::string_view name, const json&) override {
        return find_table(name).how != family::snapshot;
    }

    // What max_records_per_batch and window mean to a job without limits of its own. A window alone is a limit of no rows: with
    // none at all the host would ask for everything at once, as it does for the trigger `once`.
    read_limits default_read_limit(std::string_view name, const json& options) override {
        settings chosen = settings::from(options);
        read_limits out;
        if (find_table(name).how != family::since) return out;
        if (chosen.window_us) out.max_rows = std::numeric_limits<std::int32_t>::max();
        if (chosen.max_records_per_batch) out.max_rows = chosen.max_records_per_batch;
        return out;
    }

    latest latest_offset(const latest_args& args) override { return open(args.table, args.options)->latest(args); }

    std::vector<json> get_partitions(const plan_args& args) override {
        return open(args.table, args.options)->plan(args);
    }

    std::unique_ptr<reader> read_partition(const read_args& args) override {
        return open(args.table, args.options)->read(args);
    }

    std::unique_ptr<reader> read_table(const read_args& args) override {
        const table& one = find_table(args.table);
        if (one.how != family::snapshot) return read_serially(open(args.table, args.options), args);
        return read_snapshot(std::make_shared<const client>(env(), one, settings::from(args.options)), args);
    }

  private:
    std::unique_ptr<feed> open(const std::string& name, const json& options) const {
        return open_feed(env(), find_table(name), options);
    }
};

inline constexpr std::string_view needs[] = {LF_HTTP_ID, LF_ROWS_ID, LF_CLOCK_ID, LF_CANCEL_ID};

inline constexpr plugin_info about{
    .id = "github",
    .version = "0.1.0",
    .summary = "issues, pull requests, comments, commits, reviews and seven more tables of GitHub",
    .vendor = "lakeflow-host",
    .license = "Apache-2.0",
    .homepage = "https://docs.github.com/rest",
    .connection = connection_options,
    .table = table_options,
    .needs = needs};

}  // namespace lakeflow::github

LAKEFLOW_PLUGIN(lakeflow::github::plugin, lakeflow::github::about)
