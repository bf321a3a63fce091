// host/land/postgres/connection.h: one connection to a PostgreSQL server through libpq. Used by one thread at a time; its cancellation
// comes from any. Errors are failures whose code says what a person can do: destination.unavailable and destination.conflict (both
// transient), destination.auth, destination.denied, destination.constraint, destination.full, value.mismatch, destination.postgres.
// No text of the dsn appears in one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/cancel.h"

struct pg_conn;
struct pg_cancel;

namespace lakeflow::host::postgres {

// What may be said of a dsn: "host:port/dbname". Throws config.destination, without its text, if it is no connection string.
std::string describe_dsn(const std::string& dsn);
// The values in it that must never be shown.
std::vector<std::string> secrets_of_dsn(const std::string& dsn);

using text_rows = std::vector<std::vector<std::optional<std::string>>>;

class connection {
  public:
    // `stop` cancels what runs; may be null.
    connection(const std::string& dsn, std::shared_ptr<cancel_token> stop);
    ~connection();
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;

    // Runs one statement; the number of rows that it changed.
    std::int64_t run(const std::string& sql, const std::vector<std::string>& parameters = {});
    text_rows rows(const std::string& sql, const std::vector<std::string>& parameters = {});

    // COPY .. FROM STDIN in text format: begin, any number of lines, end.
    void begin_copy(const std::string& sql);
    void put_copy(std::string_view lines);
    void end_copy();
    // Leaves an unfinished COPY; nothing of it lands.
    void abandon_copy() noexcept;

    bool broken() const noexcept;
    bool in_transaction() const noexcept;
    int server_version() const noexcept;  // 150018

  private:
    [[noreturn]] void fail(void* result);

    pg_conn* handle_ = nullptr;
    pg_cancel* cancel_ = nullptr;
    std::shared_ptr<cancel_token> stop_;
    std::uint64_t stop_id_ = 0;
};

std::string quote_name(std::string_view name);
// 'it''s'; a backslash is a character. The text has no NUL.
std::string quote_text(std::string_view text);
// PostgreSQL cuts names at 63 bytes: a longer one keeps its first 54 and gets a hash of the whole.
std::string short_name(const std::string& name);

}  // namespace lakeflow::host::postgres
