// host/laws/laws.h: what a plugin's offsets may do in a run (contract 1 to 5; design section 4), as a state machine without I/O.
// The engine tells it what the plugin said and what came; it answers whether the flow goes on, or throws the law that was broken,
// naming plugin, table and offsets. One object a flow and run, used by one thread at a time. The same laws, with the same words,
// will be fed by Spark's driver.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/base/error.h"
#include "host/laws/offsets.h"

namespace lakeflow::host {

enum class verdict { goes_on, ends };

struct law_config {
    std::string plugin;
    std::string table;
    bool snapshot = false;                // the offset is a validator, not a position
    std::optional<offset_cursor> cursor;  // without it offsets are equal or not, and no more
    std::int64_t no_progress_limit = 1'000;
};

// What a plugin's end offset comes to.
struct law_end {
    verdict next = verdict::goes_on;  // ends: nothing more for now, nothing to land
    std::string end;                  // where the batch ends: the plugin's own text, or the bound's if it was capped
    bool capped = false;
    bool complete = false;  // snapshots: no further piece is to be asked for
};

// A law that was broken further down (records, descriptors, calls) is found where neither the offsets nor what a person can do are
// known. Gives the error with plugin and table, offsets and a hint; any other error as it is. `what`: "github/issues".
error with_place(error e, const std::string& what, const std::string& start, const std::optional<std::string>& end);

class flow_laws {
  public:
    // `start` is the last committed end, canonical; "{}" at the beginning.
    flow_laws(law_config config, std::string start);

    // The run's bound, an offset in canonical form. An end past it is capped if the cursor is its only member, else
    // offset.beyond_bound.
    void set_bound(std::string offset);
    // No bound is known but the moment when the run began. `declared`: the plugin says that it cuts its own batches
    // ("windowed"), so an end past it is its fault, as above. Otherwise it is where the run stops and no more: the source's
    // clock is not ours. Without a cursor of time this sets nothing.
    void set_bound_time(std::int64_t init_time_us, bool declared);
    // As the plugin gets it; nothing if none is known.
    const std::optional<std::string>& bound() const noexcept { return bound_; }
    // False if the bound is only where the run stops, so that an end may lie past it.
    bool bound_is_law() const noexcept { return bound_is_law_; }

    // True if the position is at or past the bound: the flow has reached it and nothing more is to be asked.
    bool reached() const { return reaches(position_); }
    // The same of an offset that a batch would end at.
    bool reaches(const std::string& end) const;

    // latest_offset gave `end` for the next batch. Equal to the position: the flow ends (contract 2).
    law_end planned(const std::string& end) const;
    // read_table, from the position, has ended at `end` (nothing: it said none) after `rows` rows, of which `again` lie at or below
    // the start in a table that reads rows again ("rereads"): those are no progress, and an offset that stands still is then the
    // end of the flow (`complete`), after they have been landed.
    law_end read(const std::optional<std::string>& end, std::int64_t rows, std::int64_t again = 0);
    // A batch that was planned by a dead run is read again: never beyond the bound (contract 5).
    law_end replayed(const std::string& end) const;

    // The batch is done and stands at `end`; `rows` came in it. Moves the position. Throws offset.no_progress_limit if too many
    // batches brought neither rows nor progress.
    void moved(const std::string& end, std::int64_t rows);

    const std::string& position() const noexcept { return position_; }
    const offset_order& order() const noexcept { return order_; }

    // The kinds of limit in `limits` that are not in `honoured`, for a warning.
    static std::vector<std::string> not_honoured(std::string_view limits, const std::vector<std::string>& honoured);

  private:
    [[noreturn]] void broken(std::string_view code, const std::string& what, std::string_view law,
                             std::string_view hint) const;
    void check_moved(std::string_view call, const std::string& end) const;
    law_end bounded(std::string_view call, const std::string& end) const;
    law_end read_snapshot(const std::optional<std::string>& end, std::int64_t rows);
    void remember(const std::string& offset);
    bool remembered(const std::string& offset) const;

    law_config config_;
    offset_order order_;
    std::string position_;
    std::optional<std::string> bound_;
    bool bound_is_law_ = true;
    std::set<std::pair<std::uint64_t, std::uint64_t>> seen_;  // two hashes of each offset of this run
    std::int64_t without_progress_ = 0;
    std::int64_t snapshot_rows_ = 0;
};

}  // namespace lakeflow::host
