// host/land/postgres/postgres.cpp: targets and landings. See postgres.h.
#include "host/land/postgres/postgres.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <set>

#include "host/arrow/cells.h"
#include "host/base/error.h"
#include "host/base/text.h"
#include "host/land/postgres/condition.h"
#include "host/land/postgres/connection.h"
#include "host/land/postgres/sender.h"
#include "host/land/postgres/table.h"
#include "host/land/postgres/values.h"
#include "host/land/quarantine.h"
#include "host/land/sql/merge.h"
#include "host/land/stand.h"

namespace lakeflow::host::postgres {
namespace {

const sql::dialect words{"pg_temp", " ON COMMIT DROP", "ctid", "lf_no", true};
constexpr const char* drop_staged = "DROP TABLE IF EXISTS pg_temp.lf_stage, pg_temp.lf_dead, pg_temp.lf_aside";

struct shared_state {
    destination_options options;
    logger log;
    std::shared_ptr<cancel_token> stop;
    std::function<void(std::string_view)> step;
    std::string where;

    void at(std::string_view what) const {
        if (step) step(what);
    }
    std::string schema() const { return options.schema.empty() ? "public" : short_name(options.schema); }
    std::shared_ptr<connection> connect() const { return std::make_shared<connection>(options.path, stop); }
};

// The flow as it can land: columns that have no type yet are left out.
flow_spec landed_flow(flow_spec flow) {
    std::vector<std::string> names;
    std::set<std::string> untyped;
    for (std::int64_t i = 0; i < flow.schema->columns(); ++i) {
        const ArrowSchema& column = flow.schema->column(i);
        if (type_of(column).id == type_id::null_) {
            untyped.emplace(name_of(column));
        } else {
            names.emplace_back(name_of(column));
        }
    }
    if (untyped.empty()) return flow;
    std::erase_if(flow.track, [&](const std::string& name) { return untyped.contains(name); });
    flow.schema = std::make_shared<const arrow_schema>(select_columns(*flow.schema->get(), names));
    return flow;
}

class postgres_target final : public target {
  public:
    postgres_target(std::shared_ptr<shared_state> shared, const flow_spec& flow)
        : shared_(std::move(shared)),
          flow_(landed_flow(flow)),
          place_{shared_->schema(), short_name(flow_.table)},
          side_flow_(quarantine_flow(flow_)),
          side_place_{shared_->schema(), short_name(side_flow_.table)},
          positions_{shared_->schema(), "_lakeflow_positions"} {
        check_flow();
        refresh();
        if (!has_schema()) return;
        look_at_table(*spare(), place_, flow_);
        if (flow_.quarantines()) look_at_table(*spare(), side_place_, side_flow_);
    }

    std::optional<position> committed() override {
        refresh();
        return known_ && !known_->reset ? std::optional(known_->at) : std::nullopt;
    }
    std::uint32_t take_over() override {
        refresh();
        return (known_ ? known_->at.epoch : 0) + 1;
    }
    void fence(std::uint32_t epoch) override {
        if (!known_ || epoch <= known_->at.epoch) return;
        stand next = *known_;
        next.at.epoch = epoch;
        change(spare(), [&](connection&) { return next; });
    }
    void reset() override {
        refresh();
        if (!known_ || known_->reset) return;
        stand next;
        next.at.epoch = known_->at.epoch + 1;
        next.reset = true;
        change(spare(), [&](connection&) { return next; });
    }
    std::unique_ptr<landing> begin() override;

  private:
    friend class postgres_landing;

    void check_flow() const {
        sql::check_flow(flow_);
        if (flow_.filter) to_sql(*flow_.filter);
        if (flow_.table.empty() || place_.table == positions_.table) {
            throw failure("config.destination", "\"" + flow_.table + "\" cannot be a table here",
                          "name it with `destination`");
        }
        std::map<std::string, std::string> taken_names;
        for (std::int64_t i = 0; i < flow_.schema->columns(); ++i) {
            const std::string name(name_of(flow_.schema->column(i)));
            const auto [held, fresh] = taken_names.emplace(short_name(name), name);
            if (fresh) continue;
            throw failure("destination.column_name",
                          "table " + flow_.table + ": columns \"" + held->second + "\" and \"" + name +
                              "\" have one name in PostgreSQL, \"" + held->first + "\"",
                          "leave one of them out with `columns`");
        }
        static const std::array<std::string_view, 6> own{"tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"};
        for (std::int64_t i = 0; i < flow_.schema->columns(); ++i) {
            const std::string_view name = name_of(flow_.schema->column(i));
            const bool taken = std::find(own.begin(), own.end(), name) != own.end();
            if (!name.empty() && !taken && name.find('\0') == std::string_view::npos) continue;
            throw failure(
                "destination.column_name",
                "table " + flow_.table + ": PostgreSQL cannot have a column named \"" + std::string(name) + "\"",
                "leave it out with `columns`");
        }
    }

    // The connection that is kept between batches; a new one where it is gone.
    std::shared_ptr<connection>& spare() {
        if (!spare_ || spare_->broken()) spare_ = shared_->connect();
        return spare_;
    }
    // Once more on a new connection where the kept one turns out to be broken.
    template <class Ask>
    auto asked(Ask ask) {
        const bool fresh = !spare_;
        try {
            return ask(*spare());
        } catch (const failure&) {
            if (fresh || !spare_ || !spare_->broken()) throw;
        }
        return ask(*spare());
    }

    bool has_schema() {
        return asked([&](connection& c) {
            return !c.rows("SELECT 1 FROM pg_namespace WHERE nspname = $1", {place_.schema}).empty();
        });
    }
    std::optional<stand> read(connection& c) const {
        if (!has_table(c, positions_)) return std::nullopt;
        const auto rows = c.rows("SELECT epoch, batch, end_offset, deletes_end, is_reset FROM " +
                                     positions_.qualified() + " WHERE job = $1 AND flow = $2",
                                 {flow_.job, flow_.flow});
        if (rows.empty()) return std::nullopt;
        stand s;
        s.at.epoch = static_cast<std::uint32_t>(parse_int(*rows[0][0]).value_or(0));
        s.at.batch = static_cast<std::uint32_t>(parse_int(*rows[0][1]).value_or(0));
        s.at.end = *rows[0][2];
        s.at.deletes_end = *rows[0][3];
        s.reset = *rows[0][4] == "t";
        return s;
    }
    void refresh() {
        known_ = asked([&](connection& c) { return read(c); });
    }

    // Held until the transaction ends, also one whose client is gone.
    void lock_flow(connection& c) const {
        c.run("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", {"lakeflow/" + flow_.job + "/" + flow_.flow});
    }

    void put_position(connection& c, const stand& next) const {
        c.run("INSERT INTO " + positions_.qualified() +
                  " (job, flow, epoch, batch, end_offset, deletes_end, is_reset) VALUES ($1, $2, $3::bigint, "
                  "$4::bigint, $5, $6, "
                  "$7::boolean) ON CONFLICT (job, flow) DO UPDATE SET epoch = excluded.epoch, batch = excluded.batch, "
                  "end_offset = excluded.end_offset, deletes_end = excluded.deletes_end, is_reset = excluded.is_reset",
              {flow_.job, flow_.flow, std::to_string(next.at.epoch), std::to_string(next.at.batch), next.at.end,
               next.at.deletes_end, next.reset ? "true" : "false"});
    }

    void make_positions(connection& c) const {
        if (has_table(c, positions_)) return;
        // IF NOT EXISTS alone does not keep two creators apart.
        c.run("SELECT pg_advisory_xact_lock(hashtextextended('lakeflow', 0))");
        c.run("CREATE SCHEMA IF NOT EXISTS " + quote_name(place_.schema));
        c.run("CREATE TABLE IF NOT EXISTS " + positions_.qualified() +
              " (job text NOT NULL, flow text NOT NULL, epoch bigint NOT NULL, batch bigint NOT NULL, end_offset text "
              "NOT "
              "NULL, deletes_end text NOT NULL, is_reset boolean NOT NULL, PRIMARY KEY (job, flow))");
    }

    // One transaction: nobody has moved the flow; `write` puts the rows in and says where the flow stands then.
    template <class Write>
    void change(std::shared_ptr<connection> on, Write write) {
        connection& c = *on;
        shared_->at("open");
        c.run("BEGIN");
        try {
            lock_flow(c);
            make_positions(c);
            const std::optional<stand> found = read(c);
            const bool same = found.has_value() == known_.has_value() &&
                              (!found || (found->at.epoch == known_->at.epoch && found->at.batch == known_->at.batch));
            if (!same) {
                throw failure("state.fenced",
                              "table " + flow_.table + ": another run of job " + flow_.job + " has moved flow " +
                                  flow_.flow + "; nothing of this batch was committed",
                              "let one run at a time work on a job; this one can simply be started again");
            }
            shared_->at("write");
            const stand next = write(c);
            shared_->at("position");
            put_position(c, next);
            shared_->at("commit");
            commit(c, next);
            known_ = next;
        } catch (...) {
            if (!c.broken() && c.in_transaction()) {
                try {
                    c.run("ROLLBACK");
                } catch (const failure&) {
                    // What went wrong first is what counts.
                }
            }
            throw;
        }
        shared_->at("close");
    }

    void commit(connection& c, const stand& next) {
        try {
            c.run("COMMIT");
            return;
        } catch (const failure& f) {
            if (!c.broken()) throw;
            shared_->log.write(log_level::warn, "postgres",
                               "table " + flow_.table + ": the connection broke while a batch was committed (" +
                                   f.get().message + "); its position is read back");
            if (was_committed(next)) return;
            throw failure(
                "destination.unavailable",
                "table " + flow_.table + ": the connection broke before the batch was committed: " + f.get().message,
                "run again; nothing of this batch is in the table", retry_class::transient);
        }
    }

    // The lock waits until the server has ended the transaction of the broken connection, either way.
    bool was_committed(const stand& next) {
        using std::chrono::milliseconds;
        const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        for (milliseconds pause(50);; pause = std::min(pause * 2, milliseconds(2000))) {
            try {
                spare_ = shared_->connect();
                spare_->run("BEGIN");
                lock_flow(*spare_);
                const std::optional<stand> found = read(*spare_);
                spare_->run("COMMIT");
                return found == next;
            } catch (const failure& f) {
                if (f.get().retry != retry_class::transient || std::chrono::steady_clock::now() >= give_up) {
                    throw failure("destination.unavailable",
                                  "table " + flow_.table +
                                      ": the connection broke while a batch was committed, and its position cannot be "
                                      "read back: " +
                                      f.get().message,
                                  "run again: the position in the database says whether the batch is in the table",
                                  retry_class::transient);
                }
            }
            if (shared_->stop) {
                shared_->stop->wait_for(pause);
                shared_->stop->check();
            } else {
                cancel_token().wait_for(pause);
            }
        }
    }

    std::shared_ptr<shared_state> shared_;
    flow_spec flow_;
    table_place place_;
    flow_spec side_flow_;
    table_place side_place_;
    table_place positions_;
    std::shared_ptr<connection> spare_;
    std::optional<stand> known_;
};

class postgres_executor final : public sql::executor {
  public:
    explicit postgres_executor(connection& c) : c_(c) {}
    std::int64_t run(const std::string& sql) override { return c_.run(sql); }
    std::int64_t integer(const std::string& sql) override {
        const auto rows = c_.rows(sql);
        return rows.empty() || !rows[0][0] ? 0 : parse_int(*rows[0][0]).value_or(0);
    }

  private:
    connection& c_;
};

class postgres_landing final : public landing {
  public:
    explicit postgres_landing(postgres_target& owner) : owner_(owner), own_(owner.spare()) {
        // While the batch waits, the target asks on another connection.
        owner.spare_.reset();
        shape_ = look_at_table(*own_, owner.place_, owner.flow_);
        executor_ = std::make_unique<postgres_executor>(*own_);
        own_->run(drop_staged);
        own_->run(sql::create_stage(input(), ", lf_no bigint"));
    }
    ~postgres_landing() override {
        if (own_->broken()) return;
        try {
            own_->abandon_copy();
            if (own_->in_transaction()) own_->run("ROLLBACK");
            own_->run(drop_staged);
            owner_.spare_ = own_;
        } catch (const failure&) {
            // The connection goes, and its temporary tables with it.
        }
    }

    void add(std::uint32_t partition, record_batch rows) override {
        if (rows.rows() == 0) return;
        check_keys(rows);
        const bool bears = owner_.flow_.mismatches && owner_.flow_.mismatches->policy() != mismatch_policy::fail;
        misfits misfit;
        sender().copy("pg_temp.lf_stage", rows, columns_of(rows, {}),
                      static_cast<std::int64_t>(partition) << 40 | came_, bears ? &misfit : nullptr);
        came_ += rows.rows();
        count_ += rows.rows() - static_cast<std::int64_t>(misfit.out.size());
        if (!misfit.bad.empty()) quarantine(owner_.flow_.mismatches->rows(misfit.bad));
    }

    void quarantine(record_batch rows) override {
        if (!has_aside_) {
            std::string columns;
            for (std::int64_t i = 0; i < rows.schema->columns(); ++i)
                columns += "c" + std::to_string(i) + " " + type_of_column(rows.schema->column(i)) + ", ";
            own_->run("CREATE TEMP TABLE lf_aside (" + columns + "lf_no bigint)");
        }
        has_aside_ = true;
        std::vector<std::int64_t> places;
        for (std::int64_t i = 0; i < rows.schema->columns(); ++i) places.push_back(i);
        sender().copy("pg_temp.lf_aside", rows, places, asides_, nullptr);
        asides_ += rows.rows();
    }

    void add_deletes(record_batch rows) override {
        const flow_spec& flow = owner_.flow_;
        if (flow.mode != land_mode::scd1 && flow.mode != land_mode::scd2)
            throw failure("config.not_supported", "table " + flow.table + ": deletes land in scd1 and scd2 only");
        if (rows.rows() == 0) return;
        check_keys(rows);
        if (!has_deletes_) own_->run(sql::create_dead(input(), ", lf_no bigint"));
        has_deletes_ = true;
        std::vector<std::string> names = flow.primary_keys;
        names.push_back(flow.sequence_by);
        sender().copy("pg_temp.lf_dead", rows, columns_of(rows, names), deletes_, nullptr);
        deletes_ += rows.rows();
    }
    void partition_done(std::uint32_t) override {}

    land_result commit(const position& next) override {
        if (holds(owner_.known_, next, owner_.flow_)) {
            land_result known;
            known.committed = false;
            return known;
        }
        land_result result;
        owner_.change(own_, [&](connection& c) {
            if (has_aside_) put_aside(c);
            prepare_table(c);
            sql::merge_input in = input();
            in.has_deletes = has_deletes_;
            c.run("ANALYZE pg_temp.lf_stage");
            const sql::merge_outcome out = sql::merge(in);
            result = out.result;
            if (owner_.flow_.mode == land_mode::append) result.rows_again = count_ - result.rows_landed;
            if (!out.unchanged || !owner_.known_ || owner_.known_->reset) return stand{next, false};
            // Nothing to commit but the validator, so that the next run need not read the table again.
            result.committed = false;
            return owner_.known_->with_ends_of(next);
        });
        return result;
    }

  private:
    row_sender sender() const { return {*own_, owner_.flow_, shape_.types}; }
    // A column of the flow in the batch's schema; -1: it is not there, and null.
    std::vector<std::int64_t> columns_of(const record_batch& rows, std::vector<std::string> names) const {
        if (names.empty()) {
            for (std::int64_t i = 0; i < owner_.flow_.schema->columns(); ++i)
                names.emplace_back(name_of(owner_.flow_.schema->column(i)));
        }
        std::vector<std::int64_t> places;
        places.reserve(names.size());
        for (const std::string& name : names)
            places.push_back(name.empty() ? -1 : find_column(*rows.schema->get(), name));
        return places;
    }

    sql::merge_input input() const {
        const flow_spec& flow = owner_.flow_;
        return {*executor_,   words,        flow,         owner_.place_.qualified(),
                shape_.names, shape_.types, has_deletes_, flow.filter ? to_sql(*flow.filter) : std::string()};
    }

    // The table as the staged rows expect it, made or grown, and nobody else's until the commit.
    void prepare_table(connection& c) const {
        const table_shape now = look_at_table(c, owner_.place_, owner_.flow_);
        if (now.types != shape_.types) {
            throw failure("destination.conflict",
                          "table " + owner_.flow_.table + ": its columns were changed while this batch was read",
                          "start the job again", retry_class::transient);
        }
        change_table(c, owner_.place_, now);
        const bool plain = owner_.flow_.mode == land_mode::append && !owner_.flow_.rereads;
        if (!plain) c.run("LOCK TABLE " + owner_.place_.qualified() + " IN SHARE ROW EXCLUSIVE MODE");
    }

    void check_keys(const record_batch& rows) const {
        for (const std::string& key : owner_.flow_.primary_keys) {
            const std::int64_t i = find_column(*rows.schema->get(), key);
            const ArrowArray& values = *rows.array.get()->children[i];
            if (values.null_count == 0) continue;
            for (std::int64_t row = 0; row < rows.rows(); ++row) {
                const std::int64_t at = values.offset + rows.array.get()->offset + row;
                if (!is_null_at(values, at)) continue;
                throw failure("key.null",
                              "table " + owner_.flow_.table + ": a row has no value in its key column " + key,
                              "name other `primary_keys`, or mend the row at its source");
            }
        }
    }

    // Rows for the side table, those that it does not hold.
    void put_aside(connection& c) const {
        const table_shape shape = look_at_table(c, owner_.side_place_, owner_.side_flow_);
        change_table(c, owner_.side_place_, shape);
        const std::string side = owner_.side_place_.qualified();
        c.run("LOCK TABLE " + side + " IN SHARE ROW EXCLUSIVE MODE");
        std::string names, staged;
        for (std::size_t i = 0; i < shape.names.size(); ++i) {
            names += (i ? ", " : "") + shape.names[i];
            staged += (i ? ", a.c" : "a.c") + std::to_string(i);
        }
        c.run("INSERT INTO " + side + " (" + names + ") SELECT DISTINCT ON (a.c0) " + staged +
              " FROM pg_temp.lf_aside a WHERE NOT EXISTS (SELECT 1 FROM " + side + " t WHERE t." + shape.names[0] +
              " = a.c0) ORDER BY a.c0, a.lf_no");
    }

    postgres_target& owner_;
    std::shared_ptr<connection> own_;
    table_shape shape_;
    std::unique_ptr<postgres_executor> executor_;
    bool has_deletes_ = false;
    bool has_aside_ = false;
    std::int64_t came_ = 0;
    std::int64_t count_ = 0;  // of them, those that are staged
    std::int64_t deletes_ = 0;
    std::int64_t asides_ = 0;
};

std::unique_ptr<landing> postgres_target::begin() { return std::make_unique<postgres_landing>(*this); }

class postgres_destination final : public destination {
  public:
    explicit postgres_destination(std::shared_ptr<shared_state> shared) : shared_(std::move(shared)) {}
    std::unique_ptr<target> open(const flow_spec& flow) override {
        return std::make_unique<postgres_target>(shared_, flow);
    }
    std::string describe(const std::string& table) const override {
        return "postgres " + shared_->where + " " + shared_->schema() + "." + short_name(table);
    }

  private:
    std::shared_ptr<shared_state> shared_;
};

}  // namespace

std::unique_ptr<destination> make_postgres_destination(const destination_options& options, logger log,
                                                       std::shared_ptr<cancel_token> stop,
                                                       std::function<void(std::string_view)> step) {
    auto shared = std::make_shared<shared_state>();
    shared->where = describe_dsn(options.path);
    shared->options = options;
    shared->log = std::move(log);
    shared->stop = std::move(stop);
    shared->step = std::move(step);
    return std::make_unique<postgres_destination>(std::move(shared));
}

}  // namespace lakeflow::host::postgres
