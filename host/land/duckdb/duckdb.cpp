// host/land/duckdb/duckdb.cpp: see duckdb.h.
#include "host/land/duckdb/duckdb.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>

#include "host/base/error.h"
#include "host/base/text.h"
#include "host/duck/condition.h"
#include "host/duck/duck.h"
#include "host/land/delta/rows.h"
#include "host/land/delta/schema.h"
#include "host/land/duckdb/table.h"
#include "host/land/quarantine.h"
#include "host/land/sql/merge.h"
#include "host/land/stand.h"
#include "host/land/store.h"

namespace lakeflow::host::duckdb {
namespace {

using delta::field;
using delta::row_buffer;

constexpr auto lock_patience = std::chrono::seconds(2);
constexpr std::size_t smallest_spill = 256u << 10;

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

const sql::dialect words{"temp", "", "rowid", "rowid", false};

// The flow as it can land: columns that have no type yet are left out.
flow_spec landed_flow(flow_spec flow, const std::vector<field>& columns) {
    std::vector<std::string> names;
    names.reserve(columns.size());
    for (const field& f : columns) names.push_back(f.name);
    std::erase_if(flow.track, [&](const std::string& name) {
        return std::find(names.begin(), names.end(), name) == names.end() &&
               find_column(*flow.schema->get(), name) >= 0;
    });
    if (names.size() != static_cast<std::size_t>(flow.schema->columns()))
        flow.schema = std::make_shared<const arrow_schema>(select_columns(*flow.schema->get(), names));
    return flow;
}

class duckdb_target final : public target {
  public:
    duckdb_target(std::shared_ptr<shared_state> shared, const flow_spec& flow)
        : shared_(std::move(shared)),
          incoming_(flow.schema),
          columns_(delta::from_arrow(*flow.schema->get())),
          flow_(landed_flow(flow, columns_)),
          place_{schema(), flow_.table, shared_->options.path},
          side_flow_(quarantine_flow(flow_)),
          side_columns_(delta::from_arrow(*side_flow_.schema->get())),
          side_place_{schema(), side_flow_.table, shared_->options.path} {
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
        change([&](duck::connection&, const table_shape&) { return next; });
    }
    void reset() override {
        refresh(false);
        if (!known_ || known_->reset) return;
        stand next;
        next.at.epoch = known_->at.epoch + 1;
        next.reset = true;
        change([&](duck::connection&, const table_shape&) { return next; });
    }
    std::unique_ptr<landing> begin() override;

  private:
    friend class duckdb_landing;

    std::string schema() const { return shared_->options.schema.empty() ? "main" : shared_->options.schema; }
    table_place positions() const { return {schema(), "_lakeflow_positions", shared_->options.path}; }

    void check_flow() const {
        sql::check_flow(flow_);
        if (flow_.table.empty() || equal_no_case(flow_.table, "_lakeflow_positions")) {
            throw failure("config.destination", "\"" + flow_.table + "\" cannot be a table here",
                          "name it with `destination`");
        }
        delta::check_case(columns_, flow_.table);
        if (std::any_of(columns_.begin(), columns_.end(), [](const field& f) { return f.name.empty(); })) {
            throw failure("destination.column_name",
                          "table " + flow_.table + ": DuckDB has no column without a name, and the source has one",
                          "leave it out with `columns`");
        }
    }

    std::optional<stand> read(duck::connection& c) const {
        if (!has_table(c, positions())) return std::nullopt;
        auto rows =
            c.query("SELECT epoch, batch, end_offset, deletes_end, is_reset FROM " + positions().qualified() +
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
        if (!check_table_too) return;
        look_at_table(c, place_, flow_, columns_);
        if (flow_.quarantines()) look_at_table(c, side_place_, side_flow_, side_columns_);
    }

    void put_position(duck::connection& c, const stand& next) const {
        const std::string to = positions().qualified();
        c.run("CREATE TABLE IF NOT EXISTS " + to +
              " (job VARCHAR NOT NULL, flow VARCHAR NOT NULL, epoch BIGINT NOT NULL, batch BIGINT NOT NULL, end_offset "
              "VARCHAR NOT NULL, deletes_end VARCHAR NOT NULL, is_reset BOOLEAN NOT NULL)");
        c.run("DELETE FROM " + to + " WHERE job = " + duck::quote_text(flow_.job) +
              " AND flow = " + duck::quote_text(flow_.flow));
        c.run("INSERT INTO " + to + " VALUES (" + duck::quote_text(flow_.job) + ", " + duck::quote_text(flow_.flow) +
              ", " + std::to_string(next.at.epoch) + ", " + std::to_string(next.at.batch) + ", " +
              duck::quote_text(next.at.end) + ", " + duck::quote_text(next.at.deletes_end) + ", " +
              (next.reset ? "true" : "false") + ")");
    }

    // One transaction: nobody has moved the flow; the table grows as it must; `write` puts the rows in and says where the flow
    // stands then.
    template <class Write>
    void change(Write write) {
        const std::lock_guard one(shared_->file);
        shared_->at("open");
        if (!shared_->exists()) shared_->create();
        auto database = shared_->open(false);
        duck::connection c = database->connect(shared_->stop);
        c.run("BEGIN");
        c.run("CREATE SCHEMA IF NOT EXISTS " + duck::quote_name(schema()));
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
        const table_shape shape = look_at_table(c, place_, flow_, columns_);
        change_table(c, place_, shape);
        shared_->at("write");
        const stand next = write(c, shape);
        shared_->at("position");
        put_position(c, next);
        shared_->at("commit");
        c.run("COMMIT");
        known_ = next;
        shared_->at("close");
    }

    std::shared_ptr<shared_state> shared_;
    std::shared_ptr<const arrow_schema> incoming_;  // of the batches, with columns that have no type yet
    std::vector<field> columns_;
    flow_spec flow_;
    table_place place_;
    flow_spec side_flow_;
    std::vector<field> side_columns_;
    table_place side_place_;
    std::optional<stand> known_;
};

// Rows that wait, in order: in files, then in memory.
class waiting_rows {
  public:
    waiting_rows(std::shared_ptr<const arrow_schema> schema, std::shared_ptr<delta::memory_budget> budget)
        : schema_(std::move(schema)), budget_(std::move(budget)), memory_(budget_) {}

    void push(record_batch rows) {
        const std::size_t bytes = memory_size(*rows.schema->get(), *rows.array.get());
        memory_.push(std::move(rows), bytes);
    }
    std::size_t bytes() const noexcept { return memory_.bytes(); }
    std::vector<std::string>& files() noexcept { return files_; }

    void spill(duck::connection& c, const std::string& file, const std::string& columns) {
        files_.push_back(file);
        const duck::scan scan = take(c);
        c.run("COPY (SELECT " + columns + " FROM " + scan.sql() + ") TO " + duck::quote_text(file) +
              " (FORMAT parquet, COMPRESSION snappy, ROW_GROUP_SIZE 8192)");
    }
    void insert(duck::connection& c, const std::string& into, const std::string& columns) {
        const std::string sql = "INSERT INTO " + into + " SELECT " + columns + " FROM ";
        for (const std::string& file : files_) c.run(sql + "read_parquet(" + duck::quote_text(file) + ")");
        if (memory_.rows() == 0) return;
        const duck::scan scan = take(c);
        c.run(sql + scan.sql());
    }
    // The rows in memory go to the end of another's, which is in memory too.
    row_buffer& memory() noexcept { return memory_; }

  private:
    class source final : public duck::batch_source {
      public:
        explicit source(row_buffer rows) : rows_(std::move(rows)) {}
        bool next(record_batch& out) override { return rows_.pop(out); }

      private:
        row_buffer rows_;
    };
    duck::scan take(duck::connection& c) {
        row_buffer rows(budget_);
        rows.append(std::move(memory_));
        return c.add_scan(schema_, std::make_shared<source>(std::move(rows)));
    }

    std::shared_ptr<const arrow_schema> schema_;
    std::shared_ptr<delta::memory_budget> budget_;
    row_buffer memory_;
    std::vector<std::string> files_;
};

class duckdb_executor final : public sql::executor {
  public:
    explicit duckdb_executor(duck::connection& c) : c_(c) {}
    std::int64_t run(const std::string& sql) override { return c_.query(sql).rows_changed(); }
    std::int64_t integer(const std::string& sql) override { return c_.integer(sql); }

  private:
    duck::connection& c_;
};

class duckdb_landing final : public landing {
  public:
    explicit duckdb_landing(duckdb_target& owner)
        : owner_(owner), keys_(*owner.incoming_->get(), owner.flow_.primary_keys) {}
    ~duckdb_landing() override { remove_files(); }

    void add(std::uint32_t partition, record_batch rows) override {
        if (rows.rows() == 0) return;
        keys_.observe(rows, owner_.flow_.table);
        count_ += rows.rows();
        partitions_.try_emplace(partition, owner_.incoming_, owner_.shared_->budget)
            .first->second.push(std::move(rows));
        spill_if_large(column_list());
    }

    void add_deletes(record_batch rows) override {
        const land_mode mode = owner_.flow_.mode;
        if (mode != land_mode::scd1 && mode != land_mode::scd2) {
            throw failure("config.not_supported",
                          "table " + owner_.flow_.table + ": deletes land in scd1 and scd2 only");
        }
        if (rows.rows() == 0) return;
        delta::key_watch(*rows.schema->get(), owner_.flow_.primary_keys).observe(rows, owner_.flow_.table);
        if (!tombstones_) tombstones_.emplace(rows.schema, owner_.shared_->budget);
        const std::string& sequence = owner_.flow_.sequence_by;
        sequenced_ = !sequence.empty() && find_column(*rows.schema->get(), sequence) >= 0;
        tombstones_->push(std::move(rows));
    }
    void partition_done(std::uint32_t) override {}
    void quarantine(record_batch rows) override {
        if (!aside_) aside_.emplace(rows.schema, owner_.shared_->budget);
        aside_->push(std::move(rows));
        spill_if_large(column_list());
    }

    land_result commit(const position& next) override {
        if (holds(owner_.known_, next, owner_.flow_)) {
            land_result known;
            known.committed = false;
            return known;
        }
        land_result result;
        owner_.change([&](duck::connection& c, const table_shape& shape) {
            if (aside_) put_aside(c);
            const sql::merge_outcome out = write(c, shape);
            result = out.result;
            if (!out.unchanged || !owner_.known_ || owner_.known_->reset) return stand{next, false};
            // Nothing to commit but the validator, so that the next run need not read the table again.
            result.committed = false;
            return owner_.known_->with_ends_of(next);
        });
        remove_files();
        return result;
    }

  private:
    static std::string names_of(const std::vector<field>& columns) {
        std::string out;
        for (const field& f : columns) out += (out.empty() ? "" : ", ") + duck::quote_name(f.name);
        return out;
    }
    std::string column_list() const { return names_of(owner_.columns_); }

    void spill_if_large(const std::string& columns) {
        while (owner_.shared_->budget->exceeded()) {
            waiting_rows* largest = aside_ ? &*aside_ : nullptr;
            for (auto& [number, rows] : partitions_) {
                if (!largest || largest->bytes() < rows.bytes()) largest = &rows;
            }
            if (!largest || largest->bytes() <= smallest_spill) return;
            std::filesystem::create_directories(owner_.shared_->temp());
            auto database = owner_.shared_->spiller();
            duck::connection c = database->connect(owner_.shared_->stop);
            const bool aside = aside_ && largest == &*aside_;
            largest->spill(c, owner_.shared_->temp() + "/lakeflow-" + random_id() + ".parquet",
                           aside ? names_of(owner_.side_columns_) : columns);
        }
    }

    // Rows for the side table, those that it does not hold.
    void put_aside(duck::connection& c) {
        const table_shape shape = look_at_table(c, owner_.side_place_, owner_.side_flow_, owner_.side_columns_);
        change_table(c, owner_.side_place_, shape);
        const std::string names = names_of(owner_.side_columns_);
        const std::string id = duck::quote_name(owner_.side_flow_.primary_keys.front());
        c.run("CREATE TEMP TABLE lf_aside AS SELECT " + names + " FROM " + owner_.side_place_.qualified() + " LIMIT 0");
        aside_->insert(c, "temp.lf_aside", names);
        c.run("INSERT INTO " + owner_.side_place_.qualified() + " (" + names + ") SELECT DISTINCT ON (" + id + ") " +
              names + " FROM temp.lf_aside a WHERE NOT EXISTS (SELECT 1 FROM " + owner_.side_place_.qualified() +
              " t WHERE t." + id + " = a." + id + ")");
    }

    sql::merge_outcome write(duck::connection& c, const table_shape& shape) {
        duckdb_executor to(c);
        sql::merge_input in{to,          words,       owner_.flow_,           owner_.place_.qualified(),
                            shape.names, shape.types, tombstones_.has_value()};
        if (owner_.flow_.filter)
            in.within = duck::to_sql(*owner_.flow_.filter, [](const std::string& name) { return name; });
        const bool plain =
            owner_.flow_.mode == land_mode::append && (!owner_.flow_.rereads || owner_.flow_.primary_keys.empty());
        std::string into = sql::staged(in);
        if (plain) {
            std::string names;
            for (const std::string& name : shape.names) names += (names.empty() ? "" : ", ") + name;
            into = in.target + " (" + names + ")";
        } else {
            c.run(sql::create_stage(in, ""));
        }
        try {
            // In order of partition and arrival; partitions that are in memory alone go in together.
            waiting_rows together(owner_.incoming_, owner_.shared_->budget);
            for (auto& [number, rows] : partitions_) {
                if (!rows.files().empty()) {
                    together.insert(c, into, column_list());
                    rows.insert(c, into, column_list());
                } else {
                    together.memory().append(std::move(rows.memory()));
                }
            }
            together.insert(c, into, column_list());
            if (plain) {
                sql::merge_outcome out;
                out.result.rows_landed = count_;
                return out;
            }
            if (tombstones_) {
                c.run(sql::create_dead(in, ""));
                std::string columns;
                for (const std::string& key : owner_.flow_.primary_keys) columns += duck::quote_name(key) + ", ";
                tombstones_->insert(c, sql::dead(in),
                                    columns + (sequenced_ ? duck::quote_name(owner_.flow_.sequence_by) : "NULL"));
            }
            sql::merge_outcome out = sql::merge(in);
            if (owner_.flow_.mode == land_mode::append) out.result.rows_again = count_ - out.result.rows_landed;
            return out;
        } catch (const failure& f) {
            if (f.get().message.find("Constraint Error") == std::string::npos) throw;
            throw failure("destination.constraint",
                          "table " + owner_.flow_.table + " in " + owner_.shared_->options.path +
                              " refuses the batch: " + f.get().message,
                          "drop the constraint, or land by its columns as `primary_keys` in mode scd1");
        }
    }

    void remove_files() noexcept {
        std::error_code none;
        bool any = false;
        const auto drop = [&](waiting_rows& rows) {
            for (const std::string& file : rows.files()) any = std::filesystem::remove(file, none) || any;
            rows.files().clear();
        };
        for (auto& [number, rows] : partitions_) drop(rows);
        if (aside_) drop(*aside_);
        if (any && owner_.shared_->options.temp_directory.empty())
            std::filesystem::remove(owner_.shared_->temp(), none);
    }

    duckdb_target& owner_;
    delta::key_watch keys_;
    std::map<std::uint32_t, waiting_rows> partitions_;
    std::optional<waiting_rows> tombstones_;
    std::optional<waiting_rows> aside_;
    bool sequenced_ = false;
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
