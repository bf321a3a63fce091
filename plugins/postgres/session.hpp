// plugins/postgres/session.hpp: one connection to a server, as libpq's asynchronous calls make it: every wait ends within 50 ms when the run
// is cancelled, and the running statement is cancelled on the server. One thread at a time; the stop flag may be raised by any.
#pragma once

#include <libpq-fe.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lakeflow/lakeflow.hpp"
#include "settings.hpp"

namespace lakeflow::postgres {

// Raised when an instance or a reader shall stop. Shared by all that has to hear it.
struct stop_flag {
    std::atomic<bool> raised{false};
};

using answer_row = std::vector<std::optional<std::string>>;

// The columns of a statement, as the server describes them.
struct described_column {
    std::string name;
    Oid type = 0;
    int modifier = -1;
};

// What a failure of the server means to the host: by its SQLSTATE, which the message then carries.
failure server_failure(const std::string& state, std::string message);

class session {
  public:
    // Connects. Each flag is looked at while waiting.
    session(const services& host, const connection_settings& settings, std::vector<std::shared_ptr<stop_flag>> stops);

    // Runs statements; the rows of the last one as text.
    std::vector<answer_row> ask(const std::string& sql);
    // The one value of a statement that gives one row of one column.
    std::string ask_value(const std::string& sql);
    // The columns of a SELECT, without running it.
    std::vector<described_column> describe(const std::string& sql);

    // COPY (..) TO STDOUT: begins; then one message after the other, until there is none. A message is valid until the next call.
    void begin_copy(const std::string& sql);
    std::optional<std::string_view> next_copied();

    int version() const { return PQserverVersion(connection_.get()); }
    // "postgresql://host:port/dbname", without role and password.
    std::string place() const;

  private:
    using connection = std::unique_ptr<PGconn, decltype(&PQfinish)>;
    using result = std::unique_ptr<PGresult, decltype(&PQclear)>;

    void connect(const connection_settings& settings);
    bool stopping() const;
    // Waits until the socket can be read (or written to); throws cancelled() if the run ends meanwhile.
    void wait(bool writing = false);
    void send(int accepted);
    result next_result();
    // Gives `take` each result of what was sent; what went wrong first is thrown when there is none left, as the session serves on.
    template <class F>
    void take_results(F take);
    // Throws what the result says went wrong.
    void check(const PGresult* answer);
    failure broken() const;
    std::string without_secrets(std::string text) const;

    services host_;
    std::vector<std::shared_ptr<stop_flag>> stops_;
    connection connection_{nullptr, &PQfinish};
    std::unique_ptr<char, decltype(&PQfreemem)> copied_{nullptr, &PQfreemem};
};

}  // namespace lakeflow::postgres
