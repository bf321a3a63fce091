// host/stream/budget.cpp: see budget.h.
#include "host/stream/budget.h"

#include <algorithm>

namespace lakeflow::host {

void byte_budget::take(std::size_t bytes) {
    used_ += bytes;
    peak_ = std::max(peak_, used_);
}

bool byte_budget::acquire(std::size_t bytes, cancel_token& stop) {
    bool cancelled = false;
    std::unique_lock lock(mutex_);
    if (waiting_.empty() && fits(bytes)) {
        take(bytes);
        return true;
    }
    const auto place = waiting_.insert(waiting_.end(), bytes);
    // Registered without the lock: a token that is cancelled already calls back at once.
    lock.unlock();
    const auto id = stop.on_cancel([&] {
        const std::lock_guard guard(mutex_);
        cancelled = true;
        changed_.notify_all();
    });
    lock.lock();
    changed_.wait(lock, [&] { return cancelled || (place == waiting_.begin() && fits(bytes)); });
    waiting_.erase(place);
    const bool taken = !cancelled;
    if (taken) take(bytes);
    changed_.notify_all();  // the next in line may fit too
    lock.unlock();
    stop.remove(id);
    return taken;
}

void byte_budget::release(std::size_t bytes) {
    const std::lock_guard guard(mutex_);
    used_ -= bytes;
    changed_.notify_all();
}

std::size_t byte_budget::used() const {
    const std::lock_guard guard(mutex_);
    return used_;
}

std::size_t byte_budget::peak() const {
    const std::lock_guard guard(mutex_);
    return peak_;
}

}  // namespace lakeflow::host
