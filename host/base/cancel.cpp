// host/base/cancel.cpp: see cancel.h.
#include "host/base/cancel.h"

#include <utility>

#include "host/base/error.h"

namespace lakeflow::host {

cancel_token::cancel_token(std::shared_ptr<cancel_token> parent) : parent_(std::move(parent)) {
    if (parent_) parent_id_ = parent_->on_cancel([this] { cancel(); });
}

cancel_token::~cancel_token() {
    if (parent_) parent_->remove(parent_id_);
}

void cancel_token::cancel() noexcept {
    const std::scoped_lock run(running_);
    std::map<std::uint64_t, std::function<void()>> callbacks;
    {
        const std::scoped_lock lock(mutex_);
        if (requested_) return;
        requested_ = true;
        callbacks.swap(callbacks_);
        changed_.notify_all();
    }
    // One at a time and only while it is still registered: a callback may remove another.
    for (auto& [id, callback] : callbacks) {
        {
            const std::scoped_lock lock(mutex_);
            if (removed_while_running_.contains(id)) continue;
        }
        callback();
    }
    const std::scoped_lock lock(mutex_);
    removed_while_running_.clear();
}

bool cancel_token::requested() const noexcept {
    const std::scoped_lock lock(mutex_);
    return requested_;
}

bool cancel_token::wait_for(std::chrono::microseconds time) const {
    std::unique_lock lock(mutex_);
    return !changed_.wait_for(lock, time, [this] { return requested_; });
}

void cancel_token::check() const {
    if (requested()) throw failure("cancelled", "the call was cancelled", {}, retry_class::cancelled);
}

std::uint64_t cancel_token::on_cancel(std::function<void()> callback) {
    {
        const std::scoped_lock lock(mutex_);
        if (!requested_) {
            callbacks_.emplace(next_id_, std::move(callback));
            return next_id_++;
        }
    }
    callback();
    return 0;
}

void cancel_token::remove(std::uint64_t id) noexcept {
    if (id == 0) return;
    {
        const std::scoped_lock lock(mutex_);
        if (callbacks_.erase(id) != 0) return;
        if (requested_) removed_while_running_.insert(id);
    }
    // cancel() may be running this callback: taking its lock waits for it, and passes at once on the same thread.
    const std::scoped_lock wait(running_);
}

}  // namespace lakeflow::host
