// host/stream/flow.h: one flow: a table of the plan from its position to its bound, in micro-batches (design section 4). Prepared on
// the engine's thread, run on a thread of its own; progress() may be asked from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "host/laws/laws.h"
#include "host/plugin/connector.h"
#include "host/state/record.h"
#include "host/stream/batch_read.h"
#include "host/stream/engine.h"
#include "host/stream/resolve.h"
#include "host/stream/shared.h"

namespace lakeflow::host {

class batch_sink;
class landing_session;
struct spooled_batch;
struct spool_place;

class flow {
  public:
    flow(job_shared& job, const table_plan& table, std::size_t order);
    ~flow();
    flow(const flow&) = delete;
    flow& operator=(const flow&) = delete;

    // Settles the flow and opens its target. Throws.
    void prepare();
    // True if nothing was asked of the source so far.
    bool asked_nothing() const { return requests_made() == 0; }
    // The flow does not run: preparing it failed.
    void fail(const error& e);
    // Runs to the bound, or until it fails or is stopped. Does not throw.
    void run() noexcept;

    bool failed() const noexcept { return result_.error.has_value(); }
    table_progress progress() const;  // any thread
    table_result take_result();       // after run

  private:
    // What one landing holds: a read of rows, deletes, or both.
    struct batch_plan {
        std::string start;
        std::optional<std::string> end;  // planned; absent: read_table tells
        std::optional<std::string> bound;
        std::string limits = "{}";
        std::shared_ptr<flow_context> context;
        plugin_connector* planner = nullptr;
        bool to_spool = false;  // rows pass as they came: what is left out is left out when they leave the spool
    };
    struct batch_outcome {
        verdict next = verdict::goes_on;
        bool last = false;  // nothing is to be asked after it
        std::string end;
        std::string deletes_end;
        std::int64_t came = 0;   // rows that the plugin gave
        std::int64_t rows = 0;   // of them, those that are progress
        std::int64_t again = 0;  // the others
        std::int64_t tombstones = 0;
        std::int64_t above = 0;  // left out: they lie above the end
        std::size_t parts = 0;
        bool deletes_read = false;
    };

    // flow.cpp: the life of a flow
    void run_once_through();
    void run_continuously();
    bool run_trigger(std::int64_t init_time_us);  // true: the bound was reached
    void recover();
    void replay(const planned_batch& planned);
    void fail_current();
    std::int64_t requests_made() const;
    std::shared_ptr<flow_context> make_context(std::int64_t init_time_us);
    void stop_planner() noexcept;
    void report_lag();
    void finish_result();
    void note(log_level level, const std::string& text) const;
    std::string what() const { return plan_.plugin->id + "/" + table_.source; }

    // flow_trigger.cpp: what a trigger does; true: the bound was reached
    bool incremental();
    bool snapshot();
    bool next_batch(bool& last);
    void deletes_batch();
    void take_bound();
    latest ask_latest(const read_request& request);
    void choose_limits();
    batch_outcome snapshot_parts(const batch_plan& batch, batch_sink& to, const std::vector<std::string>& descriptors);
    batch_outcome snapshot_pieces(batch_plan batch, batch_sink& to, std::string start);
    law_config laws_of(bool deletes) const;

    // flow_batch.cpp: one micro-batch
    batch_outcome with_attempts(const std::function<batch_outcome(landing_session&)>& attempt,
                                std::optional<whole_batch> whole = {});
    batch_outcome read_rows(const batch_plan& batch, batch_sink& to);
    void read_deletes(const batch_plan& batch, batch_sink& to, batch_outcome& out);
    using watcher = std::function<void(const record_batch&)>;
    read_totals drain(read_source source, batch_sink& to, std::uint32_t first_part, const watcher& seen = {});
    read_source source_of(read_source::kind kind, const batch_plan& batch, std::shared_ptr<const gate> passing) const;
    std::shared_ptr<const gate> make_gate(const batch_plan& batch, const std::optional<std::string>& limit) const;
    std::optional<cursor_column> cursor_of_rows() const;
    void plan_batch(const batch_plan& batch);
    void commit_batch(landing_session& landing, const batch_outcome& out);
    void count_mismatches();
    void move_on(const batch_outcome& out, plugin_connector& planner);
    void save();
    std::uint32_t epoch();

    // flow_spool.cpp: a batch of a table that cannot be read again, or of a destination that cannot drop half a batch
    bool spools() const {
        return target_->lands_whole_batches() || (!settings_.metadata.replayable && !settings_.snapshot);
    }
    spool_place place() const;
    batch_outcome read_and_land(batch_plan batch,
                                const std::function<batch_outcome(const batch_plan&, batch_sink&)>& read);
    batch_outcome land_spooled(const spooled_batch& spooled, const std::shared_ptr<flow_context>& context, bool again,
                               std::int64_t nulled = 0);
    void recover_spooled();

    job_shared& job_;
    const run_plan& plan_;
    const table_plan& table_;
    const std::size_t order_;

    flow_settings settings_;
    std::unique_ptr<target> target_;
    std::unique_ptr<plugin_connector> planner_;
    std::shared_ptr<flow_context> context_;  // of the planner and its readers
    std::optional<flow_laws> laws_;
    std::string limits_ = "{}";
    bool limits_noted_ = false;
    bool cost_noted_ = false;
    bool deletes_done_ = false;
    bool exhausted_ = false;  // the last read failed on a part that was tried as often as allowed

    standing stand_;
    std::optional<planned_batch> planned_;  // under way, as the state has it
    bool landed_ = false;                   // the batch under way reached the destination
    bool dirty_ = false;                    // the state on disk does not say what stand_ says
    std::uint32_t epoch_ = 0;               // 0: not taken over yet
    std::int64_t init_time_us_ = 0;
    std::chrono::steady_clock::time_point begun_{};
    std::chrono::steady_clock::time_point lag_asked_{};
    bool lag_due_ = false;  // a batch was committed since
    std::vector<double> part_seconds_;
    std::size_t widest_ = 0;  // parts of the largest batch
    table_result result_;

    mutable std::mutex mutex_;  // of what follows
    std::vector<std::shared_ptr<flow_context>> contexts_;
    std::optional<double> shown_lag_;
    live_counts live_;
    std::atomic<bool> active_{false};
    std::atomic<bool> done_{false};
    std::atomic<std::int64_t> shown_batches_{0};
    std::atomic<std::int64_t> shown_landed_{0};
};

}  // namespace lakeflow::host
