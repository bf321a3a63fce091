// host/stream/landing_session.h: one attempt at landing one batch. The target is asked only once there is something to land, and
// writes only while it holds one of the job's few places for writers. On the flow's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <semaphore>
#include <utility>
#include <vector>

#include "host/land/destination.h"
#include "host/land/quarantine.h"

namespace lakeflow::host {

// Where the rows of a batch go while it is read: the landing, or the spool of a table that cannot be read again.
class batch_sink {
  public:
    virtual ~batch_sink() = default;
    // The batch counts even if nothing comes: a snapshot of a table without rows.
    virtual void ensure_open() {}
    virtual void add(std::uint32_t part, record_batch rows) = 0;
    virtual void add_deletes(record_batch rows) = 0;
    // Rows that are put aside: a value of theirs does not fit.
    virtual void add_bad(std::vector<bad_row> rows) = 0;
    virtual void part_done(std::uint32_t part) = 0;
    // Forgets what has come so far.
    virtual void start_over() = 0;
};

class landing_session final : public batch_sink {
  public:
    // `ready` runs before the target's batch is opened: it makes sure of the epoch. `whole` is of a batch that was read to its end.
    landing_session(target& to, std::counting_semaphore<>& writing, mismatch_log& mismatches,
                    std::function<void()> ready, std::optional<whole_batch> whole = {})
        : target_(to), writing_(writing), mismatches_(mismatches), ready_(std::move(ready)), whole_(std::move(whole)) {}

    bool open() const noexcept { return landing_ != nullptr; }
    void ensure_open() override {
        if (landing_) return;
        ready_();
        const writer place(writing_);
        landing_ = whole_ ? target_.begin_whole(*whole_) : target_.begin();
    }
    void start_over() override {
        const writer place(writing_);
        landing_.reset();
        mismatches_.begin_anew();
    }
    void add(std::uint32_t part, record_batch rows) override {
        ensure_open();
        const writer place(writing_);
        landing_->add(part, std::move(rows));
    }
    void add_deletes(record_batch rows) override {
        ensure_open();
        const writer place(writing_);
        landing_->add_deletes(std::move(rows));
    }
    void add_bad(std::vector<bad_row> rows) override {
        ensure_open();
        const writer place(writing_);
        landing_->quarantine(mismatches_.rows(rows));
    }
    void part_done(std::uint32_t part) override {
        if (!landing_) return;
        const writer place(writing_);
        landing_->partition_done(part);
    }
    // No further attempt is made. Gives the error to fail with.
    error give_up(const error& why) {
        if (!landing_) return why;
        const writer place(writing_);
        return landing_->give_up(why);
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
    mismatch_log& mismatches_;
    std::function<void()> ready_;
    std::optional<whole_batch> whole_;
    std::unique_ptr<landing> landing_;
};

}  // namespace lakeflow::host
