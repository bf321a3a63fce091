// host/http/loop.cpp: see loop.h.
#include "host/http/loop.h"

#include <pthread.h>
#include <signal.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace lakeflow::host {

namespace asio = boost::asio;

std::int64_t monotonic_us() noexcept {
    return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

struct io_loop::impl {
    asio::io_context context{1};
    std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work{context.get_executor()};
    std::once_flag started;
    std::thread thread;
    std::mutex closing;
    bool closed = false;  // after the end: what is posted is dropped, as it would hold what owns this loop
};

io_loop::io_loop() : impl_(std::make_unique<impl>()) {}
io_loop::~io_loop() = default;

void io_loop::start() {
    std::call_once(impl_->started, [this] {
        sigset_t all;
        sigset_t before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        impl_->thread = std::thread([this] {
            pthread_setname_np(pthread_self(), "lakeflow-http");
            // What runs here throws only when memory is out: one exchange is lost then, not the process.
            while (true) {
                try {
                    impl_->context.run();
                    return;
                } catch (const std::exception&) {
                    continue;
                }
            }
        });
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
    });
}

void io_loop::stop() {
    impl_->work.reset();
    if (impl_->thread.joinable()) impl_->thread.join();
    {
        const std::scoped_lock lock(impl_->closing);
        impl_->closed = true;
    }
    impl_->context.restart();
    impl_->context.poll();  // what came between the thread's end and the flag
}

void io_loop::post(std::function<void()> work) {
    const std::scoped_lock lock(impl_->closing);
    if (!impl_->closed) asio::post(impl_->context, std::move(work));
}

asio::io_context& io_loop::context() noexcept { return impl_->context; }

struct io_timer::impl {
    explicit impl(asio::io_context& context) : timer(context) {}
    asio::steady_timer timer;
    std::uint64_t round = 0;  // a handler of an earlier round does nothing
    std::function<void()> work;
};

io_timer::io_timer(io_loop& loop) : impl_(std::make_shared<impl>(loop.context())) {}
io_timer::~io_timer() { cancel(); }

void io_timer::arm(std::int64_t at_monotonic_us, std::function<void()> work) {
    const std::uint64_t round = ++impl_->round;
    impl_->work = std::move(work);
    impl_->timer.expires_at(asio::steady_timer::time_point(std::chrono::microseconds(at_monotonic_us)));
    impl_->timer.async_wait([state = impl_, round](const boost::system::error_code& ec) {
        if (ec || state->round != round) return;
        // Moved out first: the work may arm this timer again, or destroy it.
        const auto todo = std::move(state->work);
        state->work = nullptr;
        todo();
    });
}

void io_timer::cancel() noexcept {
    ++impl_->round;
    impl_->work = nullptr;
    try {
        impl_->timer.cancel();
    } catch (const std::exception&) {
        // The handler that could not be cancelled sees another round and does nothing.
        return;
    }
}

}  // namespace lakeflow::host
