// host/http/loop.h: the io thread, behind a plain interface. post may be called from any thread; timers belong to the io thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace boost::asio {
class io_context;
}

namespace lakeflow::host {

// Monotonic microseconds.
std::int64_t monotonic_us() noexcept;

class io_loop {
  public:
    io_loop();
    ~io_loop();  // stop must have been called, or start never
    io_loop(const io_loop&) = delete;
    io_loop& operator=(const io_loop&) = delete;

    void start();  // the thread; idempotent. All signals are blocked in it: they belong to the process
    void stop();   // lets what was posted run, then joins; what is posted later is dropped

    void post(std::function<void()> work);
    boost::asio::io_context& context() noexcept;

  private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

// One deadline. On the io thread only.
class io_timer {
  public:
    explicit io_timer(io_loop& loop);
    ~io_timer();  // cancels
    io_timer(const io_timer&) = delete;
    io_timer& operator=(const io_timer&) = delete;

    // Replaces an earlier deadline. `work` runs once, on the io thread, never from within this call.
    void arm(std::int64_t at_monotonic_us, std::function<void()> work);
    void cancel() noexcept;

  private:
    struct impl;
    std::shared_ptr<impl> impl_;
};

}  // namespace lakeflow::host
