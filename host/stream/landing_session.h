// host/stream/landing_session.h: one attempt at landing one batch. The target is asked only once there is something to land, and
// writes only while it holds one of the job's few places for writers. On the flow's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <semaphore>

#include "host/land/destination.h"

namespace lakeflow::host {

class landing_session {
  public:
    // `ready` runs before the target's batch is opened: it makes sure of the epoch.
    landing_session(target& to, std::counting_semaphore<>& writing, std::function<void()> ready)
        : target_(to), writing_(writing), ready_(std::move(ready)) {}

    bool open() const noexcept { return landing_ != nullptr; }
    void ensure_open() {
        if (landing_) return;
        ready_();
        const writer place(writing_);
        landing_ = target_.begin();
    }
    // Forgets what has come so far.
    void start_over() {
        const writer place(writing_);
        landing_.reset();
    }
    void add(std::uint32_t part, record_batch rows) {
        ensure_open();
        const writer place(writing_);
        landing_->add(part, std::move(rows));
    }
    void add_deletes(record_batch rows) {
        ensure_open();
        const writer place(writing_);
        landing_->add_deletes(std::move(rows));
    }
    void part_done(std::uint32_t part) {
        if (!landing_) return;
        const writer place(writing_);
        landing_->partition_done(part);
    }
    land_result commit(const position& next) {
        const writer place(writing_);
        auto out = landing_->commit(next);
        landing_.reset();
        return out;
    }

  private:
    class writer {
      public:
        explicit writer(std::counting_semaphore<>& places) : places_(places) { places_.acquire(); }
        ~writer() { places_.release(); }
        writer(const writer&) = delete;
        writer& operator=(const writer&) = delete;

      private:
        std::counting_semaphore<>& places_;
    };

    target& target_;
    std::counting_semaphore<>& writing_;
    std::function<void()> ready_;
    std::unique_ptr<landing> landing_;
};

}  // namespace lakeflow::host
