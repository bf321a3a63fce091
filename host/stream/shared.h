// host/stream/shared.h: what the flows of one run have in common. Made by the engine before the first flow and kept until after the
// last. Any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <semaphore>
#include <set>

#include "host/base/cancel.h"
#include "host/state/job_state.h"
#include "host/stream/arena.h"
#include "host/stream/budget.h"
#include "host/stream/plan.h"

namespace lakeflow::host {

// Turns for flows: so many at once, those earlier in the job first.
class flow_slots {
  public:
    explicit flow_slots(int free) : free_(free) {}

    // This flow will ask for a turn: none behind it is served before it has come, however late its thread is.
    void expect(std::size_t order);
    // False if `stop` was cancelled first.
    bool acquire(std::size_t order, cancel_token& stop);
    void release();

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::set<std::size_t> waiting_;
    int free_;
};

struct job_shared {
    explicit job_shared(const run_plan& p)
        : plan(p),
          arena(std::make_shared<worker_arena>(p.parallelism)),
          budget(std::make_shared<byte_budget>(p.tuning.queue_bytes)),
          reading(std::make_shared<cancel_token>(p.stop->hard)),
          slots(p.tuning.flows_at_once > 0 ? p.tuning.flows_at_once : p.parallelism),
          writing(p.tuning.landings_at_once > 0 ? p.tuning.landings_at_once : 1) {}

    bool stopping() const noexcept { return plan.stop->soft->requested(); }

    const run_plan& plan;
    std::shared_ptr<worker_arena> arena;
    std::shared_ptr<byte_budget> budget;
    std::shared_ptr<cancel_token>
        reading;  // of every call into a plugin: a child of the hard stop, cancelled after the grace too
    std::shared_ptr<effects> io;
    std::unique_ptr<job_state> state;
    flow_slots slots;
    std::counting_semaphore<> writing;   // landings that write; never held while waiting for rows
    std::atomic<bool> abandoned{false};  // a task sits in a plugin's code for good
};

}  // namespace lakeflow::host
