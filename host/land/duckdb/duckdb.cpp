// host/land/duckdb/duckdb.cpp: see duckdb.h.
#include "host/land/duckdb/duckdb.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <thread>

#include "host/base/error.h"
#include "host/base/text.h"
#include "host/duck/duck.h"
#include "host/land/delta/rows.h"
#include "host/land/delta/schema.h"
#include "host/land/store.h"

namespace lakeflow::host::duckdb {
namespace {

using delta::field;
using delta::row_buffer;

constexpr auto lock_patience = std::chrono::seconds(2);

// What the targets of one destination share. DuckDB's file lock does not keep two instances of one process apart: the mutex does.
struct shared_state {
    destination_options options;
    logger log;
    std::shared_ptr<cancel_token> stop;
    std::function<void(std::string_view)> step;
    std::mutex file;
    std::shared_ptr<delta::memory_budget> budget;
    std::mutex spill_mutex;
    std::shared_ptr<duck::database> spill;  // in memory, for writing Parquet

    void at(std::string_view what) const {
        if (step) step(what);
    }
    std::string temp() const {
        if (!options.temp_directory.empty()) return options.temp_directory;
        return options.path + ".lakeflow-tmp";
    }
    duck::database_options database(const std::string& path) const {
        duck::database_options wanted;
        wanted.library = options.duckdb_library;
        wanted.path = path;
        wanted.memory_bytes = options.memory_bytes / 2;
        wanted.temp_directory = temp();
        return wanted;
    }
    std::shared_ptr<duck::database> spiller() {
        const std::lock_guard lock(spill_mutex);
        if (!spill) spill = duck::database::open(database(""));
        return spill;
    }
    bool exists() const { return std::filesystem::exists(options.path); }

    // A new file gets its name when it is whole: DuckDB could not open one that a kill left half made.
    void create() const {
        const std::string fresh = options.path + "." + random_id() + ".new";
        std::error_code none;
        try {
            duck::database::open(database(fresh));
        } catch (...) {
            std::filesystem::remove(fresh, none);
            throw;
        }
        // Another process may have been quicker; its file stands then. Not every file system has hard links.
        int code = ::link(fresh.c_str(), options.path.c_str()) == 0 ? 0 : errno;
        if (code != 0 && code != EEXIST && !exists())
            code = ::rename(fresh.c_str(), options.path.c_str()) == 0 ? 0 : errno;
        std::filesystem::remove(fresh, none);
        if (code != 0 && code != EEXIST) {
            throw failure("destination.io",
                          "cannot create " + options.path + ": " + std::generic_category().message(code));
        }
        const auto path = std::filesystem::absolute(options.path);
        make_local_store(path.parent_path().string())->sync(path.filename().string());
    }

    std::shared_ptr<duck::database> open(bool read_only) {
        const auto give_up = std::chrono::steady_clock::now() + lock_patience;
        for (;;) {
            if (stop) stop->check();
            try {
                duck::database_options wanted = database(options.path);
                wanted.read_only = read_only;
                return duck::database::open(wanted);
            } catch (const failure& f) {
                const std::string& text = f.get().message;
                if (text.find("Could not set lock") == std::string::npos) {
                    if (text.find("newer") != std::string::npos && text.find("version") != std::string::npos) {
                        throw failure("destination.version", text,
                                      "use the DuckDB library that wrote the file, or a newer one");
                    }
                    throw;
                }
                if (std::chrono::steady_clock::now() >= give_up) {
                    const std::size_t holder = text.find("Conflicting lock");
                    throw failure("destination.locked",
                                  options.path + " is in use by another process" +
                                      (holder == std::string::npos
                                           ? ""
                                           : ": " + text.substr(holder, text.find('.', holder + 40) - holder)),
                                  "close the program that has it open and run again");
                }
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
    }
};

struct stand {
    position at;
    bool reset = false;
};

class duckdb_target final : public target {
  public:
    duckdb_target(std::shared_ptr<shared_state> shared, flow_spec flow)
        : shared_(std::move(shared)), flow_(std::move(flow)), columns_(delta::from_arrow(*flow_.schema->get())) {
        check_flow();
        refresh(true);
    }

    std::optional<position> committed() override {
        refresh(false);
        return known_ && !known_->reset ? std::optional(known_->at) : std::nullopt;
    }
    std::uint32_t take_over() override {
        refresh(false);
        return (known_ ? known_->at.epoch : 0) + 1;
    }
    void fence(std::uint32_t epoch) override {
        if (!known_ || epoch <= known_->at.epoch) return;
        stand next = *known_;
        next.at.epoch = epoch;
        change(next, [](duck::connection&) {});
    }
    void reset() override {
        refresh(false);
        if (!known_ || known_->reset) return;
        stand next;
        next.at.epoch = known_->at.epoch + 1;
        next.reset = true;
        change(next, [](duck::connection&) {});
    }
    std::unique_ptr<landing> begin() override;

  private:
    friend class duckdb_landing;

    std::string schema() const { return shared_->options.schema.empty() ? "main" : shared_->options.schema; }
    std::string qualified(const std::string& table) const {
        return duck::quote_name(schema()) + "." + duck::quote_name(table);
    }
    std::string positions() const { return qualified("_lakeflow_positions"); }

    void check_flow() const {
        if (flow_.mode != land_mode::append) {
            throw failure("config.not_supported",
                          "table " + flow_.table + ": mode " + std::string(to_string(flow_.mode)) +
                              " does not land in duckdb yet",
                          "use mode = \"append\", or a delta destination");
        }
        if (columns_.empty()) {
            throw failure("schema.unsupported", "table " + flow_.table + " has no column that could land",
                          "name columns with `columns`");
        }
        if (flow_.table.empty() || equal_no_case(flow_.table, "_lakeflow_positions")) {
            throw failure("config.destination", "\"" + flow_.table + "\" cannot be a table here",
                          "name it with `destination`");
        }
        delta::check_case(columns_, flow_.table);
        for (const std::string& key : flow_.primary_keys) {
            if (std::none_of(columns_.begin(), columns_.end(), [&](const field& f) { return f.name == key; })) {
                throw failure("config.primary_keys",
                              "table " + flow_.table + " has no column " + key + ", which is to be a key");
            }
        }
    }

    static bool has_table(duck::connection& c, const std::string& schema, const std::string& table) {
        return c.integer(
                   "SELECT count(*) FROM duckdb_tables() WHERE database_name = current_database() AND schema_name = " +
                   duck::quote_text(schema) + " AND lower(table_name) = lower(" + duck::quote_text(table) + ")") > 0;
    }

    std::optional<stand> read(duck::connection& c) const {
        if (!has_table(c, schema(), "_lakeflow_positions")) return std::nullopt;
        auto rows =
            c.query("SELECT epoch, batch, end_offset, deletes_end, is_reset FROM " + positions() +
                    " WHERE job = " + duck::quote_text(flow_.job) + " AND flow = " + duck::quote_text(flow_.flow));
        if (!rows.next()) return std::nullopt;
        stand s;
        s.at.epoch = static_cast<std::uint32_t>(rows[0].integer());
        s.at.batch = static_cast<std::uint32_t>(rows[1].integer());
        s.at.end = std::string(rows[2].text());
        s.at.deletes_end = std::string(rows[3].text());
        s.reset = rows[4].integer() != 0;
        return s;
    }

    void refresh(bool check_table_too) {
        known_.reset();
        if (!shared_->exists()) return;
        const std::lock_guard one(shared_->file);
        auto database = shared_->open(true);
        duck::connection c = database->connect(shared_->stop);
        known_ = read(c);
        if (check_table_too && has_table(c, schema(), flow_.table)) check_existing(c);
    }

    // Each column must be there with the very type; one that the flow lacks must take a null.
    void check_existing(duck::connection& c) const {
        const auto fail = [&](const std::string& why) {
            throw failure("destination.schema", "table " + flow_.table + " in " + shared_->options.path + ": " + why,
                          "land into another table with `destination`, or change this one");
        };
        std::string types;
        for (const field& f : columns_)
            types += (types.empty() ? "" : ", ") + ("typeof(NULL::" + delta::duckdb_type(f.type) + ")");
        auto wanted = c.query("SELECT " + types);
        wanted.next();
        auto rows = c.query(
            "SELECT column_name, data_type, is_nullable OR column_default IS NOT NULL, is_nullable FROM "
            "duckdb_columns() "
            "WHERE database_name = current_database() AND schema_name = " +
            duck::quote_text(schema()) + " AND lower(table_name) = lower(" + duck::quote_text(flow_.table) + ")");
        std::vector<bool> found(columns_.size());
        while (rows.next()) {
            const std::string name(rows[0].text());
            const auto column = std::find_if(columns_.begin(), columns_.end(),
                                             [&](const field& f) { return equal_no_case(f.name, name); });
            if (column == columns_.end()) {
                if (rows[2].integer() == 0)
                    fail("column " + name + " may not be null, and the source does not have it");
                continue;
            }
            const auto i = static_cast<std::size_t>(column - columns_.begin());
            found[i] = true;
            if (rows[1].text() != wanted[i].text()) {
                fail("column " + name + ": " + std::string(wanted[i].text()) + " does not fit " +
                     std::string(rows[1].text()));
            }
            if (column->nullable && rows[3].integer() == 0)
                fail("column " + name + " may be null in the source and not in the table");
        }
        for (std::size_t i = 0; i < found.size(); ++i) {
            if (!found[i])
                fail("column " + columns_[i].name + " (" + std::string(wanted[i].text()) + ") is not in the table");
        }
    }

    void create_tables(duck::connection& c) const {
        c.run("CREATE SCHEMA IF NOT EXISTS " + duck::quote_name(schema()));
        c.run("CREATE TABLE IF NOT EXISTS " + positions() +
              " (job VARCHAR NOT NULL, flow VARCHAR NOT NULL, epoch BIGINT NOT NULL, batch BIGINT NOT NULL, end_offset "
              "VARCHAR NOT NULL, "
              "deletes_end VARCHAR NOT NULL, is_reset BOOLEAN NOT NULL)");
        if (has_table(c, schema(), flow_.table)) {
            check_existing(c);
            return;
        }
        std::string columns;
        for (const field& f : columns_) {
            columns += (columns.empty() ? "" : ", ") + duck::quote_name(f.name) + " " + delta::duckdb_type(f.type) +
                       (f.nullable ? "" : " NOT NULL");
        }
        c.run("CREATE TABLE " + qualified(flow_.table) + " (" + columns + ")");
    }

    // One transaction: nobody has moved the flow; `write` puts the rows in; the position follows.
    template <class Write>
    void change(const stand& next, Write write) {
        const std::lock_guard one(shared_->file);
        shared_->at("open");
        if (!shared_->exists()) shared_->create();
        auto database = shared_->open(false);
        duck::connection c = database->connect(shared_->stop);
        c.run("BEGIN");
        create_tables(c);
        const std::optional<stand> found = read(c);
        const bool same = found.has_value() == known_.has_value() &&
                          (!found || (found->at.epoch == known_->at.epoch && found->at.batch == known_->at.batch));
        if (!same) {
            c.run("ROLLBACK");
            throw failure("state.fenced",
                          "table " + flow_.table + ": another run of job " + flow_.job + " has moved flow " +
                              flow_.flow + "; nothing of this batch was committed",
                          "let one run at a time work on a job; this one can simply be started again");
        }
        shared_->at("write");
        write(c);
        shared_->at("position");
        c.run("DELETE FROM " + positions() + " WHERE job = " + duck::quote_text(flow_.job) +
              " AND flow = " + duck::quote_text(flow_.flow));
        c.run("INSERT INTO " + positions() + " VALUES (" + duck::quote_text(flow_.job) + ", " +
              duck::quote_text(flow_.flow) + ", " + std::to_string(next.at.epoch) + ", " +
              std::to_string(next.at.batch) + ", " + duck::quote_text(next.at.end) + ", " +
              duck::quote_text(next.at.deletes_end) + ", " + (next.reset ? "true" : "false") + ")");
        shared_->at("commit");
        c.run("COMMIT");
        known_ = next;
        shared_->at("close");
    }

    std::shared_ptr<shared_state> shared_;
    flow_spec flow_;
    std::vector<field> columns_;
    std::optional<stand> known_;
};

class buffer_source final : public duck::batch_source {
  public:
    explicit buffer_source(row_buffer rows) : rows_(std::move(rows)) {}
    bool next(record_batch& out) override { return rows_.pop(out); }

  private:
    row_buffer rows_;
};

class duckdb_landing final : public landing {
  public:
    explicit duckdb_landing(duckdb_target& owner)
        : owner_(owner), keys_(*owner.flow_.schema->get(), owner.flow_.primary_keys), rows_(owner.shared_->budget) {}
    ~duckdb_landing() override { remove_files(); }

    void add(std::uint32_t, record_batch rows) override {
        if (rows.rows() == 0) return;
        keys_.observe(rows, owner_.flow_.table);
        count_ += rows.rows();
        const std::size_t bytes = memory_size(*rows.schema->get(), *rows.array.get());
        rows_.push(std::move(rows), bytes);
        if (owner_.shared_->budget->exceeded() && rows_.bytes() > (256u << 10)) spill();
    }
    void add_deletes(record_batch) override {
        throw failure("config.not_supported", "table " + owner_.flow_.table + ": deletes do not land in duckdb yet");
    }
    void partition_done(std::uint32_t) override {}

    land_result commit(const position& next) override {
        land_result result;
        const auto order = [](const position& p) { return std::pair(p.epoch, p.batch); };
        if (owner_.known_ && order(next) <= order(owner_.known_->at)) {
            // The same number for another range of rows is no replay: to take it for one would drop them.
            if (next.epoch < owner_.known_->at.epoch ||
                (order(next) == order(owner_.known_->at) && !(next == owner_.known_->at))) {
                throw failure(
                    "state.fenced",
                    "table " + owner_.flow_.table + ": another run has taken flow " + owner_.flow_.flow + " over",
                    "let one run at a time work on a job");
            }
            result.committed = false;
            return result;
        }
        owner_.change({next, false}, [&](duck::connection& c) { insert(c, result); });
        result.rows_again = count_ - result.rows_landed;
        remove_files();
        return result;
    }

  private:
    std::string column_list() const {
        std::string out;
        for (const field& f : owner_.columns_) out += (out.empty() ? "" : ", ") + duck::quote_name(f.name);
        return out;
    }

    void spill() {
        std::filesystem::create_directories(owner_.shared_->temp());
        const std::string file = owner_.shared_->temp() + "/lakeflow-" + random_id() + ".parquet";
        files_.push_back(file);
        auto database = owner_.shared_->spiller();
        duck::connection c = database->connect(owner_.shared_->stop);
        row_buffer rows(owner_.shared_->budget);
        rows.append(std::move(rows_));
        const duck::scan scan = c.add_scan(owner_.flow_.schema, std::make_shared<buffer_source>(std::move(rows)));
        c.run("COPY (SELECT " + column_list() + " FROM " + scan.sql() + ") TO " + duck::quote_text(file) +
              " (FORMAT parquet, COMPRESSION snappy, ROW_GROUP_SIZE 8192)");
    }

    void insert(duck::connection& c, land_result& result) {
        if (count_ == 0) return;
        const std::string table = owner_.qualified(owner_.flow_.table);
        std::vector<std::string> sources;
        for (const std::string& file : files_) sources.push_back("read_parquet(" + duck::quote_text(file) + ")");
        std::optional<duck::scan> scan;
        if (rows_.rows() > 0) {
            row_buffer rows(owner_.shared_->budget);
            rows.append(std::move(rows_));
            scan.emplace(c.add_scan(owner_.flow_.schema, std::make_shared<buffer_source>(std::move(rows))));
            sources.push_back(scan->sql());
        }
        const std::string columns = column_list();
        const bool keyed = owner_.flow_.rereads && !owner_.flow_.primary_keys.empty();
        if (!keyed) {
            for (const std::string& source : sources) {
                result.rows_landed +=
                    c.query("INSERT INTO " + table + " (" + columns + ") SELECT " + columns + " FROM " + source)
                        .rows_changed();
            }
            return;
        }
        // Rows that the table holds already, or that came before in this batch, are dropped by key.
        std::string keys, equal;
        for (const std::string& key : owner_.flow_.primary_keys) {
            keys += (keys.empty() ? "" : ", ") + duck::quote_name(key);
            equal += (equal.empty() ? "" : " AND ") + ("t." + duck::quote_name(key) + " = s." + duck::quote_name(key));
        }
        bool first = true;
        for (const std::string& source : sources) {
            c.run((std::exchange(first, false) ? "CREATE OR REPLACE TEMP TABLE lf_stage AS SELECT "
                                               : "INSERT INTO lf_stage SELECT ") +
                  columns + " FROM " + source);
        }
        result.rows_landed = c.query("INSERT INTO " + table + " (" + columns + ") SELECT " + columns +
                                     " FROM lf_stage s WHERE NOT EXISTS (SELECT 1 FROM " + table + " t WHERE " + equal +
                                     ") QUALIFY row_number() OVER (PARTITION BY " + keys + " ORDER BY rowid) = 1")
                                 .rows_changed();
        c.run("DROP TABLE lf_stage");
    }

    void remove_files() noexcept {
        std::error_code none;
        for (const std::string& file : files_) std::filesystem::remove(file, none);
        if (!files_.empty() && owner_.shared_->options.temp_directory.empty())
            std::filesystem::remove(owner_.shared_->temp(), none);
        files_.clear();
    }

    duckdb_target& owner_;
    delta::key_watch keys_;
    row_buffer rows_;
    std::vector<std::string> files_;
    std::int64_t count_ = 0;
};

std::unique_ptr<landing> duckdb_target::begin() { return std::make_unique<duckdb_landing>(*this); }

class duckdb_destination final : public destination {
  public:
    explicit duckdb_destination(std::shared_ptr<shared_state> shared) : shared_(std::move(shared)) {}
    std::unique_ptr<target> open(const flow_spec& flow) override {
        return std::make_unique<duckdb_target>(shared_, flow);
    }
    std::string describe(const std::string& table) const override {
        return "duckdb " + shared_->options.path + " " +
               (shared_->options.schema.empty() ? "" : shared_->options.schema + ".") + table;
    }

  private:
    std::shared_ptr<shared_state> shared_;
};

}  // namespace

std::unique_ptr<destination> make_duckdb_destination(const destination_options& options, logger log,
                                                     std::shared_ptr<cancel_token> stop,
                                                     std::function<void(std::string_view)> step) {
    auto shared = std::make_shared<shared_state>();
    shared->options = options;
    shared->log = std::move(log);
    shared->stop = std::move(stop);
    shared->step = std::move(step);
    shared->budget = std::make_shared<delta::memory_budget>(options.memory_bytes / 4);
    return std::make_unique<duckdb_destination>(std::move(shared));
}

}  // namespace lakeflow::host::duckdb
