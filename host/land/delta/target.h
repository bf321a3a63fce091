// host/land/delta/target.h: one flow's target in a Delta table, and the landing of a batch. Threads: see destination.h.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/land/delta/delta.h"
#include "host/land/delta/evolution.h"
#include "host/land/delta/log.h"
#include "host/land/delta/merge.h"
#include "host/land/delta/position_file.h"
#include "host/land/delta/rows.h"
#include "host/land/delta/schema.h"
#include "host/land/delta/writer.h"

namespace lakeflow::host::delta {

class delta_target final : public target {
  public:
    // Checks names, types, mode and an existing table; writes nothing. Throws as destination::open.
    delta_target(std::shared_ptr<environment> shared, flow_spec flow);

    std::optional<position> committed() override;
    std::unique_ptr<landing> begin() override;
    std::uint32_t take_over() override;
    void fence(std::uint32_t epoch) override;
    void reset() override;

  private:
    friend class delta_landing;

    // Reads the flow's newest txn; what it says is what the next commit must still find.
    void refresh();
    // Commits a txn alone: for reset, and to fence off older runs at once.
    void commit_position(const stored_position& p, std::string_view operation);
    void check_flow();
    void add_bounds();
    // Checks that `table` (as it is now) can take the flow's rows.
    void check(const snapshot& table) const;
    // protocol and metaData, where the table is not there yet or its columns change.
    std::string schema_actions(std::int64_t now_ms);
    // What the table's columns become with the next commit of rows.
    const evolution& next_columns();
    // The name that files use for a column of the flow.
    std::string stored_name(const std::string& column);
    [[noreturn]] void fail_fenced(std::int64_t found) const;
    // optimize.cpp
    void after_batch(const position& at, land_result& result);
    void compact(land_result& result);

    std::shared_ptr<environment> shared_;
    flow_spec flow_;
    std::vector<field> columns_;  // the flow's, without those of type null
    std::optional<evolution> evolution_;
    std::string evolved_from_;  // the schema that it began with
    std::shared_ptr<store> files_;
    delta_log log_;
    position_files positions_;
    std::string app_id_;
    snapshot table_;
    header header_;
    std::int64_t base_ = -1;  // the flow's txn version that we build on, -1: none
    std::optional<stored_position> position_;
    std::int64_t vacuumed_ms_ = 0;
};

class delta_landing final : public landing {
  public:
    explicit delta_landing(delta_target& owner);
    ~delta_landing() override;

    void add(std::uint32_t partition, record_batch rows) override;
    void add_deletes(record_batch rows) override;
    void partition_done(std::uint32_t partition) override;
    land_result commit(const position& next) override;

  private:
    struct partition_rows {
        row_buffer rows;
        key_watch keys;  // of the rows that wait
        std::uint32_t files = 0;
    };

    void open_duckdb();
    void push(std::uint32_t partition, partition_rows& to, record_batch rows, std::size_t bytes);
    void write_file(std::uint32_t partition, partition_rows& from);
    void write_rest();
    void give_back(std::size_t bytes);
    bool all_apart() const;
    bool lies_between(const std::string& low, const std::string& high) const;
    plan make_plan();
    static plan plan_mode(const merge_input& in);
    void drop_plan();
    void drop_plan_files();
    void check_others(const std::vector<actions>& others);
    land_result unchanged(const position& next);
    bool still_valid(const std::vector<actions>& others) const;
    bool was_mine(const std::vector<actions>& others) const;
    std::string commit_text(std::int64_t version, const plan& what);
    void clean_up(const plan* taken, std::int64_t version);
    land_result replayed(const position& next) const;

    delta_target& owner_;
    std::optional<duck::connection> connection_;
    std::optional<file_writer> writer_;
    std::map<std::uint32_t, partition_rows> partitions_;
    std::vector<data_file> staged_;
    std::int64_t rows_ = 0;
    std::size_t bytes_ = 0;
    std::size_t freed_ = 0;  // of rows that were written, since memory was last given back
    bool rest_written_ = false;
    bool unique_ = false;
    bool disjoint_ = false;
    bool has_deletes_ = false;
    std::optional<plan> plan_;
    std::string commit_id_;
    bool attempted_ = false;  // a commit was tried, and whether it is in the log is not known yet
    bool finished_ = false;
};

}  // namespace lakeflow::host::delta
