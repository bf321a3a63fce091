// Sockets, TLS and timers: accepts connections, reads requests, asks the router, sends answers as their delivery says.
// Free of Boost in its header. Constructed and destroyed by one thread; serves on its own.
#pragma once

#include <cstdint>
#include <memory>

#include "tests/github_server/config.h"

namespace lakeflow::github_server {

class router;

class transport {
  public:
    // Binds and starts to serve; throws if a port is taken.
    transport(router& answers, const server_config& config);
    ~transport();  // closes every connection and joins
    transport(const transport&) = delete;
    transport& operator=(const transport&) = delete;
    std::uint16_t port() const;
    std::uint16_t tls_port() const;  // 0 without TLS

  private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

}  // namespace lakeflow::github_server
