// host/cli/signals.cpp: see signals.h.
#include "host/cli/signals.h"

#include <csignal>
#include <ctime>

namespace lakeflow::host {
namespace {

sigset_t stop_signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    return set;
}

}  // namespace

signal_watch::signal_watch(std::function<void()> first, std::function<void()> second) {
    const sigset_t set = stop_signals();
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    waiter_ = std::jthread([first = std::move(first), second = std::move(second)](const std::stop_token& done) {
        const sigset_t wanted = stop_signals();
        int seen = 0;
        while (!done.stop_requested()) {
            const timespec tick{0, 50'000'000};
            if (sigtimedwait(&wanted, nullptr, &tick) < 0) continue;
            ++seen;
            if (seen == 1) first();
            if (seen == 2) second();
        }
    });
}

signal_watch::~signal_watch() = default;

}  // namespace lakeflow::host
