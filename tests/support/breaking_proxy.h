// tests/support/breaking_proxy.h: a TCP proxy on the loopback that cuts a connection at a word of the client, before or after the server has
// got it. One thread a connection.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace lakeflow::host::testing {

class breaking_proxy {
  public:
    explicit breaking_proxy(std::uint16_t to);
    ~breaking_proxy();
    breaking_proxy(const breaking_proxy&) = delete;
    breaking_proxy& operator=(const breaking_proxy&) = delete;

    std::uint16_t port() const noexcept { return port_; }
    // The next time that a client sends `word`, the connection breaks: after the server has got it and answered if it `arrives`, else
    // before. The answer is lost either way.
    void break_at(const std::string& word, bool arrives);
    bool broke() const noexcept { return broke_; }

  private:
    void serve(int client);

    std::uint16_t to_;
    std::uint16_t port_ = 0;
    int listener_ = -1;
    std::atomic<bool> ends_{false};
    std::atomic<bool> broke_{false};
    std::mutex mutex_;
    std::string word_;
    bool arrives_ = false;
    std::vector<std::thread> threads_;
    std::thread accepting_;
};

}  // namespace lakeflow::host::testing
