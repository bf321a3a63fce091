// The whole server in one object, for a test that runs it in its own process. Constructed and destroyed by one thread; the rest from any.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tests/github_server/config.h"
#include "tests/github_server/stats.h"

namespace lakeflow::github_server {

class server {
  public:
    explicit server(const server_config& config);  // listens when it returns
    ~server();
    server(const server&) = delete;
    server& operator=(const server&) = delete;

    std::uint16_t port() const;
    std::uint16_t tls_port() const;
    std::string url() const;      // http://127.0.0.1:PORT
    std::string tls_url() const;  // https://localhost:PORT

    // The control API without HTTP. Throws std::invalid_argument.
    std::string control(std::string_view op, std::string_view arguments = "{}");
    std::string truth(std::string_view table, std::string_view query = "");  // JSON lines
    stats_snapshot stats() const;
    std::deque<request_record> requests() const;

  private:
    struct parts;
    std::unique_ptr<parts> parts_;
};

}  // namespace lakeflow::github_server
