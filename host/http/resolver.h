// host/http/resolver.h: names to addresses on a few threads of its own, because getaddrinfo can hang for minutes and cannot be
// stopped: who waits simply stops waiting. resolve may be called from any thread.
#pragma once

#include <sys/socket.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "host/http/loop.h"

namespace lakeflow::host {

struct socket_address {
    sockaddr_storage bytes{};
    socklen_t size = 0;
    int family() const noexcept { return bytes.ss_family; }
};

class resolver {
  public:
    // Addresses, or an error's text.
    using callback = std::function<void(std::vector<socket_address>, std::string)>;
    using look_up = std::function<std::vector<std::string>(const std::string&)>;

    resolver(io_loop& loop, look_up own);
    ~resolver() = default;  // stop must have been called, or resolve never
    void stop();            // joins; waits for what hangs

    // `done` runs on the io thread, never from within this call.
    void resolve(std::string host, std::uint16_t port, callback done);

    // An IP address as it stands; false for a name.
    static bool numeric(const std::string& host, std::uint16_t port, socket_address& out);

  private:
    struct job {
        std::string host;
        std::uint16_t port;
        callback done;
    };
    void work();

    io_loop& loop_;
    const look_up own_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<job> jobs_;
    std::vector<std::thread> threads_;
    std::size_t free_ = 0;
    bool stopping_ = false;
};

}  // namespace lakeflow::host
