// host/land/quarantine.h: rows with a value that does not fit (contract 37): how many a run bears, and the side table that takes them,
// `<destination>__quarantine`. A row is in it once, whatever how often it is read: its id is made of the flow, the row's text and its
// number among equal rows of one batch. So a replay, a re-read at a boundary and a snapshot that comes again add nothing.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/base/mismatch.h"
#include "host/base/secrets.h"
#include "host/land/destination.h"

namespace lakeflow::host {

std::string quarantine_table(const std::string& table);

// What is borne of bad values, and what has been met. One a flow, used by one thread at a time.
class mismatch_log {
  public:
    struct about {
        std::string job;
        std::string flow;
        std::string table;  // the destination's
        std::string run_id;
        std::int64_t time_us = 0;  // of the run
        mismatch_policy policy = mismatch_policy::fail;
        std::optional<std::int64_t> most;   // max_mismatches
        std::shared_ptr<secrets> redactor;  // may be null
    };
    explicit mismatch_log(about what) : about_(std::move(what)) {}

    mismatch_policy policy() const noexcept { return about_.policy; }
    struct counts {
        std::int64_t read = 0;     // rows put aside that came in no batch
        std::int64_t refused = 0;  // rows put aside that the destination could not hold
        std::int64_t nulled = 0;   // cells
        std::int64_t all() const noexcept { return read + refused + nulled; }
    };

    // A batch begins, or begins anew: what was counted of it counts no more.
    void begin_anew();
    // Where the batch is read: behind the offset `start`.
    void at(std::uint32_t epoch, std::uint32_t batch, const std::string& start);
    const counts& batch() const noexcept { return batch_; }
    // The same rows are about to be read a second time, for another purpose.
    void begin_again() { seen_.clear(); }
    // Throws value.mismatch past max_mismatches, saying `reason`.
    void count(const counts& more, const std::string& reason);
    // The batch is committed: gives what it held.
    counts committed();

    // Rows for the side table, with where they come from.
    record_batch rows(const std::vector<bad_row>& bad);

  private:
    about about_;
    counts batch_;
    std::int64_t before_ = 0;  // of committed batches
    std::string position_ = "{}";
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::int64_t> seen_;  // how often a row came in this batch
};

// The columns of the side table.
const std::shared_ptr<const arrow_schema>& quarantine_schema();
// The side table's own flow: an append of what it does not hold yet.
flow_spec quarantine_flow(const flow_spec& flow);

// A destination whose tables cannot be changed in one transaction: the side table is committed first, by a transaction of its own. What a
// kill leaves between the two is met again and known.
std::unique_ptr<destination> with_side_tables(std::unique_ptr<destination> inner);

}  // namespace lakeflow::host
