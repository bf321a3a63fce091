// host/cli/signals.h: SIGINT and SIGTERM for the program alone; the core installs no handlers. The first stops after the current commit,
// the second at once.
#pragma once

#include <functional>
#include <thread>

namespace lakeflow::host {

// Blocks the signals in this thread and all that it starts, and waits for them on a thread of its own. Make it before any other thread.
class signal_watch {
  public:
    signal_watch(std::function<void()> first, std::function<void()> second);
    ~signal_watch();
    signal_watch(const signal_watch&) = delete;
    signal_watch& operator=(const signal_watch&) = delete;

  private:
    std::jthread waiter_;
};

}  // namespace lakeflow::host
