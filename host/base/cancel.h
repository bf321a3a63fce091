// host/base/cancel.h: a flag that says stop, and the one way to wait for it. Any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>

namespace lakeflow::host {

// Cancellation of one plugin instance, or of a whole run: a child is cancelled with its parent.
class cancel_token {
  public:
    cancel_token() = default;
    explicit cancel_token(std::shared_ptr<cancel_token> parent);
    ~cancel_token();
    cancel_token(const cancel_token&) = delete;
    cancel_token& operator=(const cancel_token&) = delete;

    void cancel() noexcept;  // idempotent; runs the callbacks on the calling thread
    bool requested() const noexcept;

    // Waits; false if it was cancelled before the time was up.
    bool wait_for(std::chrono::microseconds time) const;

    // Throws failure("cancelled") with retry class cancelled if cancel was called.
    void check() const;

    // Runs `callback` once when cancelled, at once if it already is. Returns an id for remove. After remove has
    // returned, the callback does not run and is not running (unless remove is called from within it).
    std::uint64_t on_cancel(std::function<void()> callback);
    void remove(std::uint64_t id) noexcept;

  private:
    std::shared_ptr<cancel_token> parent_;
    std::uint64_t parent_id_ = 0;
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    std::recursive_mutex running_;  // held while callbacks run, so that remove can wait for them
    bool requested_ = false;
    std::uint64_t next_id_ = 1;
    std::map<std::uint64_t, std::function<void()>> callbacks_;
    std::set<std::uint64_t> removed_while_running_;
};

}  // namespace lakeflow::host
