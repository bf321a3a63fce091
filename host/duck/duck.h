// host/duck/duck.h: DuckDB as the host uses it: a database with our limits, connections, results that are read chunk by chunk, and
// Arrow batches as tables. A database is shared by threads; a connection and its results are used by one thread at a time. Queries
// run on the calling thread: a database is given no other (two gain nothing for Parquet). Errors are failures: destination.duckdb unless said otherwise.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "host/arrow/arrow.h"
#include "host/arrow/builder.h"
#include "host/base/cancel.h"
#include "host/duck/api.h"

namespace lakeflow::host::duck {

struct database_options {
    std::string library;  // as load() takes it
    std::string path;     // a database file; empty: in memory
    std::size_t memory_bytes = 96u << 20;
    std::string temp_directory;  // for what does not fit; empty: no spilling
    bool read_only = false;
};

// Where the rows of a scan come from. `next` gives the next batch, false at the end; it runs on the thread of the query.
class batch_source {
  public:
    virtual ~batch_source() = default;
    virtual bool next(record_batch& out) = 0;
};

class connection;
class scan;

class database : public std::enable_shared_from_this<database> {
  public:
    static std::shared_ptr<database> open(const database_options& options);
    ~database();
    database(const database&) = delete;
    database& operator=(const database&) = delete;

    // `stop` interrupts its queries; may be null.
    connection connect(std::shared_ptr<cancel_token> stop = nullptr);
    const api& functions() const noexcept { return *api_; }

  private:
    friend class connection;
    friend struct scan_callbacks;
    friend class scan;
    struct scan_state;

    database() = default;
    void register_scan();

    std::shared_ptr<const api> api_;
    raw::database handle_ = nullptr;
    std::mutex mutex_;
    std::uint64_t next_scan_ = 1;
    std::map<std::uint64_t, std::shared_ptr<scan_state>> scans_;
};

// One value of a result, nested ones too. Valid until the result moves to its next chunk.
class value {
  public:
    value(const api& functions, raw::vector vector, std::uint64_t row) noexcept
        : api_(&functions), vector_(vector), row_(row) {}

    bool is_null() const noexcept;
    std::int64_t integer() const;   // of any integer type, a boolean, a date (days) or a timestamp (microseconds)
    int128 wide() const;            // HUGEINT, or the unscaled digits of a DECIMAL
    double real() const;            // FLOAT or DOUBLE
    std::string_view text() const;  // VARCHAR or BLOB
    std::uint64_t size() const;     // of a list or map
    value element(std::uint64_t i) const;  // of a list; of a map: a struct of key and value
    value field(std::uint64_t i) const;    // of a struct

  private:
    const api* api_;
    raw::vector vector_;
    std::uint64_t row_;
};

// The type of a result's column, with what it is made of.
struct value_type {
    int id = 0;                        // enum type of api.h
    int scale = 0;                     // of a DECIMAL
    std::vector<value_type> children;  // of a list its element; of a map key and value; of a struct its fields
    std::vector<std::string> names;    // of a struct's fields
};

class result {
  public:
    result(std::shared_ptr<database> owner, raw::result handle) noexcept;
    result(result&& other) noexcept;
    result& operator=(result&&) = delete;
    ~result();

    std::uint64_t columns() const noexcept { return columns_; }
    std::string column_name(std::uint64_t column);
    int column_type(std::uint64_t column);
    value_type type(std::uint64_t column);
    std::int64_t rows_changed();

    // Moves to the next row, false after the last. Throws what DuckDB says if the query fails on the way.
    bool next();
    value operator[](std::uint64_t column) const;

  private:
    friend class connection;
    std::shared_ptr<database> owner_;
    raw::result handle_;
    raw::prepared prepared_ = nullptr;
    raw::data_chunk chunk_ = nullptr;
    std::uint64_t columns_ = 0;
    std::uint64_t rows_ = 0;
    std::uint64_t row_ = 0;
    std::uint64_t before_first_ = 1;
    std::function<void()> check_;  // throws what ended the query, if it was not DuckDB
};

// Makes a batch source readable as the table `sql()` of queries of this connection, once, while it lives.
class scan {
  public:
    scan(scan&& other) noexcept = default;
    scan& operator=(scan&&) = delete;
    ~scan();

    const std::string& sql() const noexcept { return sql_; }

  private:
    friend class connection;
    scan() = default;
    std::shared_ptr<database> owner_;
    std::uint64_t id_ = 0;
    std::string sql_;
};

class connection {
  public:
    connection(connection&& other) noexcept;
    connection& operator=(connection&&) = delete;
    ~connection();

    // Runs one statement, or several without results, to its end and keeps the rows in memory.
    result query(const std::string& sql);
    // The rows come as they are made; nothing else may run on the connection until the result is gone.
    result stream(const std::string& sql);
    void run(const std::string& sql) { query(sql); }
    // The one integer of the one row.
    std::int64_t integer(const std::string& sql);

    // Batches of `schema` as a table. The schema must have columns (a batch without is for the caller to count).
    scan add_scan(std::shared_ptr<const arrow_schema> schema, std::shared_ptr<batch_source> source);

    database& owner() noexcept { return *owner_; }

  private:
    friend class database;
    connection(std::shared_ptr<database> owner, std::shared_ptr<cancel_token> stop);
    [[noreturn]] void fail(const std::string& sql, const char* message);
    void check_scans();

    std::shared_ptr<database> owner_;
    raw::connection handle_ = nullptr;
    std::shared_ptr<cancel_token> stop_;
    std::uint64_t stop_id_ = 0;
};

// SQL text: "na""me", 'it''s'. A literal with a NUL becomes an expression, which SQL text cannot hold otherwise.
std::string quote_name(std::string_view name);
std::string quote_text(std::string_view text);

}  // namespace lakeflow::host::duck
