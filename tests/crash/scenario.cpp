// tests/crash/scenario.cpp: see scenario.h.
#include "tests/crash/scenario.h"

#include <postgresql/libpq-fe.h>

#include <algorithm>
#include <boost/json.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

#include "host/base/error.h"
#include "host/base/text.h"
#include "host/duck/duck.h"
#include "tests/support/engine_bench.h"
#include "tests/support/scripted_writer.h"

namespace lakeflow::crash {
namespace {

namespace fs = std::filesystem;
using namespace host;
using namespace host::testing;

constexpr int limit = 5;     // rows of a micro-batch
constexpr int too_many = 3;  // rows that the plugin reads above the end
constexpr int keys = 7;      // of a keyed table: each is written again and again
constexpr auto cursor = R"("cursor_field":"c","offset_cursor":{"member":"c","form":"integer"})";

std::int64_t key_of(std::int64_t c) { return 1 + c * 5 % keys; }
std::string text_of(std::int64_t c) { return "event " + std::to_string(c); }
std::string bad_text(std::int64_t c) { return "{\"c\":" + std::to_string(c) + "}"; }

// Tombstones come in rounds; each removes two keys as they were at an age.
struct tombstone {
    std::int64_t id;
    std::int64_t c;
};
std::vector<tombstone> tombstones(int age) {
    std::vector<tombstone> out;
    for (const int at : {8, 12, 16}) {
        if (at > age) break;
        out.push_back({key_of(at), at});
        out.push_back({key_of(at - 3), at});
    }
    return out;
}

std::vector<cells> version(int age) {
    std::vector<cells> out;
    // Rows go, come and change from one version to the next.
    for (std::int64_t id = age; id < 6 + 2 * age; ++id)
        out.push_back({id, id % 3 == 0 ? age : std::int64_t{1}, "row " + std::to_string(id)});
    return out;
}

rows merged(int events, int rounds_to) {
    std::map<std::int64_t, std::int64_t> newest;
    for (std::int64_t c = 1; c <= events; ++c) newest[key_of(c)] = c;
    for (const auto& gone : tombstones(rounds_to)) {
        const auto at = newest.find(gone.id);
        if (at != newest.end() && at->second <= gone.c) newest.erase(at);
    }
    rows out;
    for (const auto& [id, c] : newest) out.emplace(id, c, text_of(c));
    return out;
}

// Each event opens a version of its key, which holds until the next one.
rows versions(int events) {
    rows out;
    std::map<std::int64_t, std::int64_t> next;
    for (std::int64_t c = events; c > 0; --c) {
        const auto at = next.find(key_of(c));
        out.emplace(key_of(c), c, text_of(c) + (at == next.end() ? "" : " until " + std::to_string(at->second)));
        next[key_of(c)] = c;
    }
    return out;
}

rows state_of(mode m, int events, int rounds_to) {
    rows out;
    switch (m) {
        case mode::quarantine:
            for (std::int64_t c = 1; c <= events; ++c) {
                if (c % 4 != 0) out.emplace(c, c, "n");
            }
            return out;
        case mode::append_simple:
        case mode::append_partitions:
        case mode::append_checkpoint:
            for (std::int64_t c = 1; c <= events; ++c) out.emplace(c, c, "n");
            return out;
        case mode::scd1: return merged(events, 0);
        case mode::scd2: return versions(events);
        case mode::deletes: return merged(events, rounds_to);
        case mode::snapshot:
            if (events == 0) return out;
            for (const auto& r : version(events))
                out.emplace(std::get<std::int64_t>(r[0]), std::get<std::int64_t>(r[1]), std::get<std::string>(r[2]));
            return out;
    }
    return out;
}

// Rows of a keyed table instead of numbers.
script_read keyed(script_read read) {
    for (auto& batch : read.batches) {
        for (auto& r : batch) {
            const auto c = std::get<std::int64_t>(r[1]);
            r = {key_of(c), c, text_of(c)};
        }
    }
    return read;
}

void serve(scripted_plugin& plugin, number_source& source, mode m, int age) {
    const auto metadata = [](const std::string& type) {
        return R"({"ingestion_type":")" + type + "\"," + cursor + "}";
    };
    const std::string with_keys = R"({"primary_keys":["id"],)";
    switch (m) {
        case mode::append_simple:
        case mode::append_checkpoint:
            plugin.metadata = metadata("append");
            plugin.read_table = [&source](const script_call& call) {
                const auto start = number_source::number(call.start);
                auto end = std::min<std::int64_t>(start + limit, source.size());
                if (call.bound) end = std::min(end, std::max(start, number_source::number(call.bound)));
                if (call.end) end = number_source::number(call.end);
                auto read = source.pages(start, std::min<std::int64_t>(end + too_many, source.size()));
                read.end = end == 0 ? "{}" : number_source::offset(end);
                return read;
            };
            return;
        case mode::quarantine:
            plugin.metadata = metadata("append");
            source.serve_partitions(2);
            plugin.read_partition = [inner = plugin.read_partition](const script_call& call) {
                auto read = inner(call);
                mismatches found;
                for (auto& batch : read.batches) {
                    std::erase_if(batch, [&](const cells& r) {
                        const auto c = std::get<std::int64_t>(r[1]);
                        if (c % 4 == 0) found.rows.push_back({bad_text(c), "planted", "value.mismatch", "c"});
                        return c % 4 == 0;
                    });
                }
                call.instance->context->mismatches->add(std::move(found));
                return read;
            };
            return;
        case mode::append_partitions:
        case mode::scd1:
        case mode::scd2:
        case mode::deletes: {
            const bool append = m == mode::append_partitions;
            plugin.metadata = append               ? metadata("append")
                              : m != mode::deletes ? with_keys + metadata("cdc").substr(1)
                                                   : with_keys + metadata("cdc_with_deletes").substr(1);
            source.serve_partitions(2);
            const auto inner = plugin.read_partition;
            plugin.read_partition = [&source, inner, append](const script_call& call) {
                if (!append) return keyed(inner(call));
                const auto from = number_source::number(call.descriptor);
                const auto to = number_source::number(call.descriptor.substr(call.descriptor.find("to")));
                const bool last = to == number_source::number(call.end);
                auto read = source.pages(from, std::min<std::int64_t>(to + (last ? too_many : 0), source.size()));
                read.end.reset();
                return read;
            };
            if (m != mode::deletes) return;
            plugin.read_deletes = [age](const script_call& call) {
                const auto all = tombstones(age);
                script_read out;
                out.ddl = "id BIGINT NOT NULL, c BIGINT";
                std::vector<cells> batch;
                for (auto i = static_cast<std::size_t>(number_source::number(call.start)); i < all.size(); ++i)
                    batch.push_back({all[i].id, all[i].c});
                if (!batch.empty()) out.batches = {batch};
                out.end = all.empty() ? "{}" : "{\"d\":" + std::to_string(all.size()) + "}";
                return out;
            };
            return;
        }
        case mode::snapshot:
            plugin.metadata = R"({"ingestion_type":"snapshot","primary_keys":["id"]})";
            plugin.read_table = [age](const script_call& call) {
                script_read out;
                out.end = "{\"v\":" + std::to_string(age) + "}";
                const auto all = version(age);
                if (call.start != out.end) out.batches = {{all.begin(), all.begin() + 3}, {all.begin() + 3, all.end()}};
                return out;
            };
    }
}

// A destination whose commit is done and not heard of.
class unheard_landing final : public landing {
  public:
    unheard_landing(std::unique_ptr<landing> inner, lost how, int& left)
        : inner_(std::move(inner)), how_(how), left_(left) {}
    void add(std::uint32_t partition, record_batch batch) override { inner_->add(partition, std::move(batch)); }
    void add_deletes(record_batch batch) override { inner_->add_deletes(std::move(batch)); }
    error give_up(error why) override { return inner_->give_up(std::move(why)); }
    void quarantine(record_batch batch) override { inner_->quarantine(std::move(batch)); }
    void partition_done(std::uint32_t partition) override { inner_->partition_done(partition); }
    land_result commit(const position& next) override {
        const auto out = inner_->commit(next);
        if (--left_ == 0) {
            throw failure("destination.io", "planted: the answer of a commit was lost", "run again",
                          how_ == lost::transient ? retry_class::transient : retry_class::permanent);
        }
        return out;
    }

  private:
    std::unique_ptr<landing> inner_;
    lost how_;
    int& left_;
};

class unheard_target final : public target {
  public:
    unheard_target(std::unique_ptr<target> inner, lost how, int& left)
        : inner_(std::move(inner)), how_(how), left_(left) {}
    std::optional<position> committed() override { return inner_->committed(); }
    bool holds_position() const override { return inner_->holds_position(); }
    std::unique_ptr<landing> begin() override {
        return std::make_unique<unheard_landing>(inner_->begin(), how_, left_);
    }
    bool lands_whole_batches() const override { return inner_->lands_whole_batches(); }
    std::unique_ptr<landing> begin_whole(const whole_batch& batch) override {
        return std::make_unique<unheard_landing>(inner_->begin_whole(batch), how_, left_);
    }
    std::uint32_t take_over() override { return inner_->take_over(); }
    void fence(std::uint32_t epoch) override { inner_->fence(epoch); }
    void reset() override { inner_->reset(); }

  private:
    std::unique_ptr<target> inner_;
    lost how_;
    int& left_;
};

class unheard_destination final : public destination {
  public:
    unheard_destination(std::unique_ptr<destination> inner, lost how, int at)
        : inner_(std::move(inner)), how_(how), left_(at) {}
    std::unique_ptr<target> open(const flow_spec& flow) override {
        return std::make_unique<unheard_target>(inner_->open(flow), how_, left_);
    }
    std::string describe(const std::string& table) const override { return inner_->describe(table); }
    void use(worker_pool workers) override { inner_->use(std::move(workers)); }

  private:
    std::unique_ptr<destination> inner_;
    lost how_;
    int left_;
};

std::string file_text(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
}

std::string postgres_dsn;

std::string schema_of(const std::string& root) { return fs::path(root).filename().string(); }

// The text of a row, with the end of its version where the table has one.
std::string text_column(bool versioned) {
    return versioned ? R"(name || coalesce(' until ' || CAST("__END_AT" AS VARCHAR), ''))" : "name";
}

// What of a table is looked at.
struct view {
    std::string table;
    bool aside = false;

    std::string columns(bool versioned) const { return aside ? R"(0, 0, "row")" : "id, c, " + text_column(versioned); }
};
const view main_table{"numbers", false};
const view side_table{"numbers__quarantine", true};

rows query(duck::connection& c, const view& of, const std::string& from) {
    rows out;
    const bool versioned =
        c.integer("SELECT count(*) FROM (DESCRIBE SELECT * FROM " + from + ") WHERE column_name = '__END_AT'") == 1;
    for (auto found = c.query("SELECT " + of.columns(versioned) + " FROM " + from); found.next();)
        out.emplace(found[0].integer(), found[1].integer(), std::string(found[2].text()));
    return out;
}

using answer = std::unique_ptr<PGresult, decltype(&PQclear)>;

answer ask(PGconn* server, const std::string& sql) {
    answer out(PQexec(server, sql.c_str()), &PQclear);
    if (PQresultStatus(out.get()) != PGRES_TUPLES_OK) throw std::runtime_error(sql + ": " + PQerrorMessage(server));
    return out;
}

std::optional<rows> read_postgres(const view& of, const std::string& schema) {
    const std::unique_ptr<PGconn, decltype(&PQfinish)> server(PQconnectdb(postgres_dsn.c_str()), &PQfinish);
    const auto columns = ask(server.get(), "SELECT column_name FROM information_schema.columns WHERE table_schema = '" +
                                               schema + "' AND table_name = '" + of.table + "'");
    if (PQntuples(columns.get()) == 0) return std::nullopt;
    bool versioned = false;
    for (int i = 0; i < PQntuples(columns.get()); ++i)
        versioned = versioned || std::string_view(PQgetvalue(columns.get(), i, 0)) == "__END_AT";
    const auto found = ask(server.get(), "SELECT " + of.columns(versioned) + " FROM \"" + schema + "\"." + of.table);
    rows out;
    for (int i = 0; i < PQntuples(found.get()); ++i) {
        const auto number = [&](int column) { return std::stoll(PQgetvalue(found.get(), i, column)); };
        out.emplace(number(0), number(1), PQgetvalue(found.get(), i, 2));
    }
    return out;
}

// The files that the log names, by plain JSON.
std::optional<rows> read_delta(const view& of, const fs::path& table) {
    std::set<std::string> commits;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(table / "_delta_log", none)) {
        const auto file = entry.path().filename().string();
        if (file.size() == 25 && file.ends_with(".json")) commits.insert(file);
    }
    if (commits.empty()) return std::nullopt;
    std::set<std::string> live;
    for (const auto& commit : commits) {
        std::stringstream lines(file_text(table / "_delta_log" / commit));
        for (std::string line; std::getline(lines, line);) {
            const auto action = boost::json::parse(line).as_object();
            if (const auto* gone = action.if_contains("remove")) live.erase(gone->at("path").as_string().c_str());
            if (const auto* made = action.if_contains("add")) live.insert(made->at("path").as_string().c_str());
        }
    }
    std::string list;
    for (const auto& file : live) list += (list.empty() ? "" : ", ") + duck::quote_text((table / file).string());
    if (list.empty()) return rows{};
    static const auto memory = duck::database::open({});
    auto c = memory->connect();
    return query(c, of, "read_parquet([" + list + "])");
}

std::optional<rows> read_duckdb(const view& of, const fs::path& file) {
    if (!fs::exists(file)) return std::nullopt;
    duck::database_options options;
    options.path = file.string();
    options.read_only = true;
    auto c = duck::database::open(options)->connect();
    if (c.integer("SELECT count(*) FROM duckdb_tables() WHERE table_name = " + duck::quote_text(of.table)) == 0)
        return std::nullopt;
    return query(c, of, of.table);
}

// What lies past the length that was committed is the left-over of a dead run.
std::optional<rows> read_jsonl(const view& of, const fs::path& folder) {
    const auto name = of.table + ".jsonl";
    if (!fs::exists(folder / name)) return std::nullopt;
    const auto side = file_text(folder / ("." + name + ".lakeflow"));
    if (side.empty()) return std::nullopt;
    const auto committed = boost::json::parse(side).as_object().at("length").as_int64();
    auto text = file_text(folder / name);
    if (committed > static_cast<std::int64_t>(text.size()))
        throw std::runtime_error("rows were committed and are gone");
    std::stringstream lines(text.substr(0, static_cast<std::size_t>(committed)));
    rows out;
    for (std::string line; std::getline(lines, line);) {
        const auto r = boost::json::parse(line).as_object();
        if (of.aside) {
            out.emplace(0, 0, r.at("row").as_string().c_str());
        } else {
            out.emplace(r.at("id").as_int64(), r.at("c").as_int64(), r.at("name").as_string().c_str());
        }
    }
    return out;
}

std::optional<rows> read_service(const std::string& folder) {
    if (!fs::exists(folder)) return std::nullopt;
    rows out;
    for (const auto& line : scripted_writer::rows_in(folder)) {
        const auto cells = split(line, '|');
        out.emplace(std::stoll(cells[0]), std::stoll(cells[1]), cells[2]);
    }
    return out;
}

std::optional<rows> read(const view& of, const std::string& root, lake l) {
    switch (l) {
        case lake::delta: return read_delta(of, root + "/lake/" + of.table);
        case lake::duckdb: return read_duckdb(of, root + "/lake.duckdb");
        case lake::jsonl: return read_jsonl(of, root + "/lake");
        case lake::postgres: return read_postgres(of, schema_of(root));
        case lake::connector: return of.aside ? std::nullopt : read_service(root + "/service");
    }
    return std::nullopt;
}

}  // namespace

std::string_view name(mode m) {
    switch (m) {
        case mode::append_simple: return "append, simple";
        case mode::append_partitions: return "append, parts";
        case mode::append_checkpoint: return "  its checkpoint";
        case mode::scd1: return "scd1";
        case mode::scd2: return "scd2";
        case mode::snapshot: return "snapshot";
        case mode::deletes: return "scd1 + deletes";
        case mode::quarantine: return "quarantine";
    }
    return "";
}

std::string_view name(lake l) {
    switch (l) {
        case lake::delta: return "delta";
        case lake::duckdb: return "duckdb";
        case lake::jsonl: return "jsonl";
        case lake::postgres: return "postgres";
        case lake::connector: return "connector";
    }
    return "";
}

void use_postgres(std::string dsn) { postgres_dsn = std::move(dsn); }

ages ages_of(mode m) {
    if (m == mode::snapshot) return {0, 1, 2, 3};
    // Eleven commits: Delta's checkpoint comes with the tenth at the latest.
    if (m == mode::append_checkpoint) return {7 * limit, 9 * limit, 11 * limit, 12 * limit};
    return {0, 8, 12, 16};
}

std::vector<rows> lawful(mode m, int age) {
    std::vector<rows> out{{}};
    std::vector<int> steps{5, 8, 12, 16};
    if (m == mode::snapshot) steps = {1, 2, 3};
    if (m == mode::append_checkpoint) {
        steps.clear();
        for (int at = limit; at <= age; at += limit) steps.push_back(at);
    }
    for (const int at : steps) {
        if (at > age) break;
        out.push_back(state_of(m, at, 0));
        // Tombstones come with the last rows of a run or after them.
        if (m == mode::deletes) out.push_back(state_of(m, at, at));
    }
    return out;
}

rows oracle(mode m, int age) { return state_of(m, age, age); }

host::run_result run(const std::string& root, mode m, lake l, int age, lost how, int at_commit) {
    scripted_plugin plugin;
    number_source source(plugin, m == mode::snapshot ? 0 : age);
    serve(plugin, source, m, age);

    destination_options options;
    options.type = name(l);
    options.path = root + (l == lake::duckdb ? "/lake.duckdb" : "/lake");
    if (l == lake::postgres) {
        options.path = postgres_dsn;
        options.schema = schema_of(root);
    }
    scripted_writer service(root + "/service");
    service.batch_size = 2;
    plugin.metadata_of["sink"] = scripted_writer::metadata;
    run_plan plan;
    plan.job = "job";
    plan.run_id = random_id();
    plan.init_time_us = 1'772'359'200'000'000 + age;
    plan.parallelism = 2;
    plan.plugin = plugin.use();
    table_plan table;
    table.flow = table.source = table.destination = "numbers";
    if (m == mode::scd2) table.mode = land_mode::scd2;
    if (m != mode::snapshot) table.limits = "{\"max_rows\":" + std::to_string(limit) + "}";
    if (m == mode::quarantine) table.on_mismatch = mismatch_policy::quarantine;
    plan.tables = {table};
    plan.state_directory = root + "/state";
    plan.tuning.first_backoff = std::chrono::milliseconds(1);
    plan.tuning.max_backoff = std::chrono::milliseconds(5);
    plan.tuning.stuck_after = std::chrono::milliseconds(0);
    options.connector = {
        service.added_to(plan.plugin), "{}",          "{}",         "sink", {}, plan.run_id, plan.init_time_us,
        plan.state_directory,          plan.redactor, plan.counters};
    std::unique_ptr<destination> to = make_destination(options, {}, plan.stop->hard);
    if (how != lost::nothing) to = std::make_unique<unheard_destination>(std::move(to), how, at_commit);
    plan.destination = std::move(to);
    return run_job(plan);
}

std::optional<rows> read_back(const std::string& root, lake l) { return read(main_table, root, l); }
rows read_aside(const std::string& root, lake l) { return read(side_table, root, l).value_or(rows{}); }

rows aside(mode m, int age) {
    rows out;
    for (std::int64_t c = 4; m == mode::quarantine && c <= age; c += 4) out.emplace(0, 0, bad_text(c));
    return out;
}

}  // namespace lakeflow::crash
