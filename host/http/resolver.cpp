// host/http/resolver.cpp: see resolver.h.
#include "host/http/resolver.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>

#include <cstring>
#include <memory>
#include <utility>

namespace lakeflow::host {
namespace {

// More names than this at once wait for each other; a name that hangs blocks only its own thread.
constexpr std::size_t most_threads = 8;

std::vector<socket_address> system_look_up(const std::string& host, std::uint16_t port, std::string& error) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV;
    addrinfo* list = nullptr;
    const int code = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
    if (code != 0) {
        error = gai_strerror(code);
        return {};
    }
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, freeaddrinfo);
    std::vector<socket_address> out;
    for (const addrinfo* item = list; item != nullptr; item = item->ai_next) {
        if (item->ai_family != AF_INET && item->ai_family != AF_INET6) continue;
        socket_address address;
        std::memcpy(&address.bytes, item->ai_addr, item->ai_addrlen);
        address.size = item->ai_addrlen;
        out.push_back(address);
    }
    if (out.empty()) error = "it has no address";
    return out;
}

}  // namespace

resolver::resolver(io_loop& loop, look_up own) : loop_(loop), own_(std::move(own)) {}

bool resolver::numeric(const std::string& host, std::uint16_t port, socket_address& out) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    if (inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) {
        std::memcpy(&out.bytes, &v4, sizeof v4);
        out.size = sizeof v4;
        return true;
    }
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    if (inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) == 1) {
        std::memcpy(&out.bytes, &v6, sizeof v6);
        out.size = sizeof v6;
        return true;
    }
    return false;
}

void resolver::resolve(std::string host, std::uint16_t port, callback done) {
    const std::scoped_lock lock(mutex_);
    if (stopping_) return;
    jobs_.push_back({std::move(host), port, std::move(done)});
    if (free_ < jobs_.size() && threads_.size() < most_threads) {
        sigset_t all;
        sigset_t before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        threads_.emplace_back([this] {
            pthread_setname_np(pthread_self(), "lakeflow-names");
            work();
        });
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }
    changed_.notify_one();
}

void resolver::work() {
    std::unique_lock lock(mutex_);
    while (true) {
        ++free_;
        changed_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
        --free_;
        if (stopping_) return;
        job next = std::move(jobs_.front());
        jobs_.pop_front();
        lock.unlock();
        std::string error;
        std::vector<socket_address> found;
        if (own_) {
            for (const auto& text : own_(next.host)) {
                socket_address address;
                if (numeric(text, next.port, address)) found.push_back(address);
            }
            if (found.empty()) error = "it has no address";
        } else {
            found = system_look_up(next.host, next.port, error);
        }
        loop_.post(
            [done = std::move(next.done), found = std::move(found), error = std::move(error)] { done(found, error); });
        lock.lock();
    }
}

void resolver::stop() {
    std::vector<std::thread> threads;
    {
        const std::scoped_lock lock(mutex_);
        stopping_ = true;
        jobs_.clear();
        threads.swap(threads_);
        changed_.notify_all();
    }
    for (auto& thread : threads) thread.join();
}

}  // namespace lakeflow::host
