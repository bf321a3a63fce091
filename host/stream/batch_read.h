// host/stream/batch_read.h: reads the parts of one micro-batch as tasks of the arena and hands their batches to one thread. Each part
// is read on a fresh connector instance; a transient failure reads it again while none of its batches has been handed on. Made and
// drained by a flow's thread; the tasks run on the arena.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "host/base/cancel.h"
#include "host/base/context.h"
#include "host/base/error.h"
#include "host/plugin/connector.h"
#include "host/stream/arena.h"
#include "host/stream/budget.h"
#include "host/stream/gate.h"
#include "host/stream/plan.h"

namespace lakeflow::host {

// What is to be read, and on whose behalf.
struct read_source {
    enum class kind { table, deletes, partitions };
    kind what = kind::table;
    std::shared_ptr<const lakeflow::host::plugin> plugin;
    std::string connection;
    std::shared_ptr<flow_context> flow;
    read_request request;                  // the descriptor is set for each part
    std::vector<std::string> descriptors;  // of partitions; one part without one otherwise
    std::shared_ptr<const gate> passing;   // null for deletes
    run_tuning tuning;
    std::uint32_t pace_share = 1000;
};

// Seen by the progress line while the batch is read.
struct live_counts {
    std::atomic<std::int64_t> rows{0};
    std::atomic<std::int64_t> partitions{0};
    std::atomic<std::int64_t> partitions_done{0};
};

// Rows of one part, values that did not fit, or word that the part is done.
struct read_item {
    std::uint32_t partition = 0;
    std::optional<record_batch> rows;
    mismatches bad;  // of rows that are in no batch, or hold null for a value
    budget_share held;
};

// What a whole read came to.
struct read_totals {
    std::int64_t rows = 0;  // that came from the plugin
    std::int64_t above = 0;
    std::int64_t again = 0;
    std::optional<cursor_value> highest;
    std::optional<std::string> end;  // of read_table
    std::int64_t retries = 0;
    std::vector<double> seconds;  // of each part
};

// True if the same call may succeed later and nobody has tried yet: a source that has not answered once in this run has been
// tried often enough by the http service.
bool worth_retrying(const error& e, const flow_context& flow);
// How long to wait before attempt `attempt` + 1; nothing if the source asks for a longer wait than a person allows.
std::optional<std::chrono::microseconds> backoff(const error& e, int attempt, const run_tuning& tuning,
                                                 const flow_context& flow);

class batch_read {
  public:
    // Begins. The tasks end when `stop` is cancelled.
    batch_read(read_source source, std::shared_ptr<worker_arena> arena, std::shared_ptr<byte_budget> budget,
               std::shared_ptr<cancel_token> stop, live_counts& live);
    ~batch_read();  // ends what is still going on
    batch_read(const batch_read&) = delete;
    batch_read& operator=(const batch_read&) = delete;

    // The next rows or the end of a part, in the order of arrival; nothing when all parts are read. Throws the first failure after
    // every task has ended.
    std::optional<read_item> next();
    // After next() gave nothing.
    const read_totals& totals() const;
    // Ends what is still going on: nobody wants the rest.
    void stop();

    // After a failure: the part that failed had handed nothing on and was tried as often as allowed, so reading the whole batch
    // again would only try it once more.
    bool exhausted() const;

    // True if a task could not be ended: it sits in the plugin's own code. It still holds what it needs.
    bool abandoned() const noexcept { return abandoned_; }

  private:
    struct shared;
    static void run_part(const std::shared_ptr<shared>& s);
    static void read_part(shared& s, std::uint32_t part);
    static void attempt(shared& s, std::uint32_t part, bool& handed_on);
    static void hand_on(shared& s, read_item item);
    void finish();
    void watch_for_stuck(std::unique_lock<std::mutex>& lock);

    std::shared_ptr<shared> shared_;
    bool abandoned_ = false;
};

}  // namespace lakeflow::host
