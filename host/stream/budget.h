// host/stream/budget.h: the bytes that may lie between readers and landing, across the whole job. First come, first served, so
// that a large batch is not starved by small ones; a batch larger than all of it passes alone. Any thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <list>
#include <mutex>

#include "host/base/cancel.h"

namespace lakeflow::host {

class byte_budget {
  public:
    explicit byte_budget(std::size_t capacity) : capacity_(capacity) {}

    // Waits until `bytes` fit; false if `stop` was cancelled before.
    bool acquire(std::size_t bytes, cancel_token& stop);
    void release(std::size_t bytes);

    std::size_t used() const;
    std::size_t peak() const;  // the most that was ever in use

  private:
    bool fits(std::size_t bytes) const { return used_ == 0 || (bytes <= capacity_ && used_ <= capacity_ - bytes); }
    void take(std::size_t bytes);

    const std::size_t capacity_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::list<std::size_t> waiting_;  // in the order of arrival
    std::size_t used_ = 0;
    std::size_t peak_ = 0;
};

// Bytes of a budget, given back when they are no longer held.
class budget_share {
  public:
    budget_share() = default;
    budget_share(byte_budget& budget, std::size_t bytes) : budget_(&budget), bytes_(bytes) {}
    ~budget_share() { release(); }
    budget_share(budget_share&& other) noexcept : budget_(other.budget_), bytes_(other.bytes_) {
        other.budget_ = nullptr;
    }
    budget_share& operator=(budget_share&& other) noexcept {
        if (this != &other) {
            release();
            budget_ = other.budget_;
            bytes_ = other.bytes_;
            other.budget_ = nullptr;
        }
        return *this;
    }

  private:
    void release() {
        if (budget_) budget_->release(bytes_);
        budget_ = nullptr;
    }
    byte_budget* budget_ = nullptr;
    std::size_t bytes_ = 0;
};

}  // namespace lakeflow::host
