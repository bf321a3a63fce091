// plugins/postgres/plugin.cpp: the connector itself: tables, metadata, which way each table is read, and the reader of a COPY.
#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "decode.hpp"
#include "lakeflow/lakeflow.hpp"
#include "parts.hpp"
#include "position.hpp"
#include "relation.hpp"
#include "session.hpp"
#include "settings.hpp"
#include "sql.hpp"
#include "statement.hpp"

namespace lakeflow::postgres {
namespace {

constexpr size_t batch_bytes = size_t{4} << 20;
constexpr std::int64_t batch_rows = 65'536;

// What one read is made of, beside the connection.
struct read_plan {
    std::string snapshot;                 // exported by the planner; empty: its own
    std::vector<std::string> conditions;  // of the part and the range
    std::optional<json> end;              // of a stream's simple read ...
    std::optional<json> unmoved;          // ... where it ends instead if no row came; absent: at its end all the same
    bool removed = false;                 // the tombstones, not the rows
};

// One COPY in a transaction of its own.
class copy_reader final : public reader {
  public:
    copy_reader(std::unique_ptr<session> server, std::shared_ptr<stop_flag> stop, const relation& table, statement what,
                std::int64_t fetch_size, const read_plan& plan)
        : server_(std::move(server)),
          stop_(std::move(stop)),
          columns_(what.columns_out()),
          decoder_(table, what.columns),
          copy_(what.copy()),
          most_rows_(fetch_size > 0 ? fetch_size : batch_rows),
          end_(plan.end),
          unmoved_(plan.unmoved) {}

    schema columns() const override { return columns_; }

    bool next(batch& out) override {
        if (done_) return false;
        if (!begun_) {
            server_->begin_copy(copy_);
            begun_ = true;
        }
        batch_builder rows(columns_);
        size_t bytes = 0;
        while (rows.rows() < most_rows_ && bytes < batch_bytes) {
            auto message = server_->next_copied();
            if (!message) {
                done_ = true;
                server_.reset();
                break;
            }
            bytes += message->size();
            decoder_.take(*message, rows);
        }
        if (rows.rows() == 0) return false;
        unmoved_.reset();
        out = rows.finish();
        return true;
    }

    std::optional<json> end_offset() override { return unmoved_ ? unmoved_ : end_; }
    void cancel() override { stop_->raised = true; }

  private:
    std::unique_ptr<session> server_;
    std::shared_ptr<stop_flag> stop_;
    schema columns_;
    copy_decoder decoder_;
    std::string copy_;
    std::int64_t most_rows_;
    std::optional<json> end_, unmoved_;
    bool begun_ = false, done_ = false;
};

// The key of a row, and the cursor, by which a tombstone finds its place among the changes.
std::vector<std::string> tombstone_columns(const relation& table, const table_settings& settings) {
    std::vector<std::string> out = table.keys;
    if (std::find(out.begin(), out.end(), settings.cursor) == out.end()) out.push_back(settings.cursor);
    return out;
}

// No rows: the source stands where it stood.
class empty_reader final : public reader {
  public:
    empty_reader(schema columns, json end) : columns_(std::move(columns)), end_(std::move(end)) {}
    schema columns() const override { return columns_; }
    bool next(batch&) override { return false; }
    std::optional<json> end_offset() override { return end_; }

  private:
    schema columns_;
    json end_;
};

}  // namespace

class plugin final : public connector,
                     public partitioned_stream,
                     public deletes,
                     public namespaces,
                     public explained_scan {
  public:
    explicit plugin(environment env)
        : connector(std::move(env)),
          settings_(connection_settings::from(this->env().options)),
          stop_(std::make_shared<stop_flag>()) {}

    std::vector<std::string> list_tables() override {
        return with_server([](session& server) { return list_default_tables(server); });
    }

    std::vector<name> list_namespaces(const name& prefix) override {
        if (!prefix.empty()) return {};
        std::vector<name> out;
        for (std::string& one : with_server([](session& server) { return list_schemas(server); }))
            out.push_back({std::move(one)});
        return out;
    }

    std::vector<std::string> list_tables_in_namespace(const name& which) override {
        if (which.size() != 1) return {};
        return with_server([&](session& server) { return list_tables_of(server, which[0]); });
    }

    schema table_schema(std::string_view table, const json& options) override {
        return look_up(table, options).all_columns();
    }

    lakeflow::table_metadata table_metadata(std::string_view table, const json& options) override {
        table_settings chosen = table_settings::from(options);
        relation found = look_up(table, options);
        lakeflow::table_metadata out;
        out.primary_keys = found.keys;
        if (chosen.cursor.empty()) {
            out.whole_snapshot = true;
            return out;
        }
        check_cursor(found, chosen);
        out.kind = found.keys.empty() ? ingestion::append : ingestion::cdc;
        if (!chosen.deleted.empty()) {
            found.at(chosen.deleted);
            if (found.keys.empty()) {
                throw invalid(
                    "table " + found.name + " has no key, so that a removed row cannot be told from the others",
                    "name the columns that tell rows apart: primary_keys = [\"id\"]")
                    .with_code("config.missing");
            }
            out.kind = ingestion::cdc_with_deletes;
        }
        out.cursor_field = chosen.cursor;
        std::tie(out.offset_member, out.offset_form) = offset_order(found, chosen);
        out.rereads = chosen.lookback.value_or(0) > 0;
        return out;
    }

    // Of a table without a cursor the offset is a validator, and the source has none: each run reads it once.
    latest latest_offset(const latest_args& args) override {
        table_settings chosen = table_settings::from(args.options);
        if (chosen.cursor.empty()) return {as_of(), {}};
        return with_server([&](session& server) {
            return latest_position(server, find_relation(server, args.table, chosen), chosen, args);
        });
    }

    std::vector<json> get_partitions(const plan_args& args) override {
        table_settings chosen = table_settings::from(args.options);
        exporter_.reset();
        return with_server([&](session& server) {
            relation table = find_relation(server, args.table, chosen);
            std::vector<std::string> parts;
            bool indexed = chosen.lookback && args.start && args.start->contains("cursor");
            if (indexed && chosen.partition_column.empty()) {
                parts.emplace_back();
            } else {
                parts = plan_parts(server, table, chosen, args.scan, args.parallelism);
            }
            std::string snapshot;
            if (parts.size() > 1) {
                // It lives as long as this session's transaction, which ends with the next plan or with this instance.
                exporter_ = open({stop_});
                exporter_->ask("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
                snapshot = exporter_->ask_value("SELECT pg_catalog.pg_export_snapshot()");
            }
            std::vector<json> out;
            for (const std::string& part : parts) {
                json& one = out.emplace_back(json::object());
                if (!part.empty()) one.set("where", part);
                if (!snapshot.empty()) one.set("snapshot", snapshot);
            }
            return out;
        });
    }

    std::unique_ptr<reader> read_partition(const read_args& args) override {
        table_settings chosen = table_settings::from(args.options);
        read_plan plan;
        plan.snapshot = args.descriptor.text("snapshot");
        if (std::string where = args.descriptor.text("where"); !where.empty())
            plan.conditions.push_back(std::move(where));
        return read(args, chosen, std::move(plan), args.end);
    }

    std::unique_ptr<reader> read_table(const read_args& args) override {
        table_settings chosen = table_settings::from(args.options);
        if (args.is_batch()) return read(args, chosen, {}, std::nullopt);
        std::optional<json> end = args.end;
        if (!end && chosen.cursor.empty()) end = as_of();
        if (!end) end = latest_offset({args.table, args.options, *args.start, args.bound, args.limits}).offset;
        if (*end == *args.start)
            return std::make_unique<empty_reader>(look_up(args.table, args.options).all_columns(), *end);
        read_plan plan;
        plan.end = end;
        return read(args, chosen, std::move(plan), end);
    }

    // Keys and cursors of the rows that were marked as removed.
    std::unique_ptr<reader> read_table_deletes(const read_args& args) override {
        table_settings chosen = table_settings::from(args.options);
        const json start = args.start.value_or(json::object());
        json end = args.end ? *args.end : latest_offset({args.table, args.options, start, args.bound, {}}).offset;
        read_args range = args;
        range.start = start;
        range.scan = json::object();
        read_plan plan;
        plan.end = end;
        // The tombstones are read until none comes: a position that moved for other reasons would never let that end.
        plan.unmoved = start;
        plan.removed = true;
        if (end == start) {
            relation table = look_up(args.table, args.options);
            return std::make_unique<empty_reader>(table.all_columns().select(tombstone_columns(table, chosen)), end);
        }
        return read(range, chosen, std::move(plan), end);
    }

    json plan_scan(std::string_view table, const json& options, const json& request) override {
        table_settings chosen = table_settings::from(options);
        return answer_scan(look_up(table, options), chosen, request);
    }

    json explain_scan(std::string_view table, const json& options, const json& accepted) override {
        table_settings chosen = table_settings::from(options);
        return with_server([&](session& server) {
            relation found = find_relation(server, table, chosen);
            statement whole = make_statement(found, accepted);
            json requests = json::array();
            for (const std::string& part : plan_parts(server, found, chosen, accepted, 1)) {
                statement one = whole;
                if (!part.empty()) one.where.push_back(part);
                requests.push(one.select());
            }
            const std::string sql = whole.select();
            return json::object({{"table", server.place() + " " + found.name},
                                 {"description", "postgres." + found.name + ": " + sql},
                                 {"lines", json::array({"SQL: " + sql})},
                                 {"requests", requests}});
        });
    }

    void stop(std::string_view) override { exporter_.reset(); }
    void cancel() override { stop_->raised = true; }

  private:
    std::unique_ptr<session> open(std::vector<std::shared_ptr<stop_flag>> stops) const {
        return std::make_unique<session>(env(), settings_, std::move(stops));
    }

    json as_of() const { return json::object({{"as_of", format_instant(env().init_time_us)}}); }

    // The session of metadata calls; a call that fails closes it, so that the next one starts afresh.
    template <class Call>
    std::invoke_result_t<Call, session&> with_server(Call&& call) {
        if (!server_) server_ = open({stop_});
        try {
            return call(*server_);
        } catch (...) {
            server_.reset();
            throw;
        }
    }

    relation look_up(std::string_view table, const json& options) {
        table_settings chosen = table_settings::from(options);
        return with_server([&](session& server) { return find_relation(server, table, chosen); });
    }

    std::unique_ptr<reader> read(const read_args& args, const table_settings& chosen, read_plan plan,
                                 const std::optional<json>& end) {
        auto stop = std::make_shared<stop_flag>();
        std::unique_ptr<session> server = open({stop_, stop});
        std::string begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
        if (!plan.snapshot.empty()) begin += "; SET TRANSACTION SNAPSHOT " + literal(plan.snapshot);
        server->ask(begin);
        relation table = find_relation(*server, args.table, chosen);
        statement what = make_statement(table, args.scan);
        if (args.start && !chosen.cursor.empty()) {
            for (std::string& one : range_conditions(table, chosen, *args.start, *end))
                what.where.push_back(std::move(one));
        }
        if (!chosen.deleted.empty()) what.where.push_back(deleted_condition(table, chosen, plan.removed));
        if (plan.removed) {
            what.columns.clear();
            for (const std::string& name : tombstone_columns(table, chosen)) what.columns.push_back(table.at(name));
        }
        for (std::string& one : plan.conditions) what.where.push_back(std::move(one));
        return std::make_unique<copy_reader>(std::move(server), std::move(stop), table, std::move(what),
                                             chosen.fetch_size, plan);
    }

    connection_settings settings_;
    std::shared_ptr<stop_flag> stop_;
    std::unique_ptr<session> server_, exporter_;
};

inline constexpr std::string_view needs[] = {LF_LOG_ID, LF_CLOCK_ID, LF_CANCEL_ID};

inline constexpr plugin_info about{.id = "postgres",
                                   .version = "0.1.0",
                                   .summary = "tables, views and queries of a PostgreSQL database",
                                   .vendor = "lakeflow-host",
                                   .license = "Apache-2.0",
                                   .homepage = "https://www.postgresql.org/docs/current/",
                                   .connection = connection_options,
                                   .table = table_options,
                                   .needs = needs};

}  // namespace lakeflow::postgres

LAKEFLOW_PLUGIN(lakeflow::postgres::plugin, lakeflow::postgres::about)
