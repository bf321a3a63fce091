// tests/support/postgres_server.h: a real PostgreSQL of a test's own: data in a temporary folder, a free port of the loopback, a user with a
// password. The server refuses to run as root: it then runs as postgres, or nobody. It is ended by its id, at the latest with the test.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "tests/support/temporary_folder.h"

namespace lakeflow::host::testing {

class postgres_server {
  public:
    // Starts it and waits until it answers. Throws std::runtime_error with the server's log. `fast`: without fsync; a test that
    // kills the server says false.
    explicit postgres_server(bool fast = true);
    ~postgres_server();
    postgres_server(const postgres_server&) = delete;
    postgres_server& operator=(const postgres_server&) = delete;

    // "host=127.0.0.1 port=.. dbname=postgres user=lakeflow password=.."; the same through another port.
    std::string dsn() const { return dsn_at(port_); }
    std::string dsn_at(std::uint16_t port) const;
    std::string password() const { return password_; }
    std::uint16_t port() const noexcept { return port_; }

    void kill();     // SIGKILL, as a machine that loses its power
    void restart();  // on the same port and data
    // What the server wrote: each statement, too.
    std::string log() const;

    // True if this machine has PostgreSQL's server.
    static bool available();

  private:
    void start();
    void stop() noexcept;

    temporary_folder folder_;
    std::string password_;
    bool fast_;
    std::uint16_t port_ = 0;
    pid_t pid_ = -1;
};

}  // namespace lakeflow::host::testing
