// host/duck/scan_state.h: what one Arrow scan holds between DuckDB's calls; for duck.cpp and scan.cpp only. Made and destroyed by
// the thread that owns the connection; DuckDB's callbacks run on that thread too (max_threads is 1).
#pragma once

#include <exception>
#include <memory>
#include <vector>

#include "host/arrow/arrow.h"
#include "host/duck/duck.h"

namespace lakeflow::host::duck {

// While it lives, this thread is inside a call of DuckDB, which may call back.
class inside_duckdb {
  public:
    explicit inside_duckdb(const api& functions) noexcept;
    ~inside_duckdb();
    inside_duckdb(const inside_duckdb&) = delete;
    inside_duckdb& operator=(const inside_duckdb&) = delete;

  private:
    const api* before_;
};

struct database::scan_state {
    const api* functions = nullptr;
    raw::connection connection = nullptr;
    std::shared_ptr<const arrow_schema> schema;
    raw::arrow_schema converted = nullptr;
    std::vector<raw::logical_type> types;
    std::shared_ptr<batch_source> source;
    std::shared_ptr<const record_batch> current;
    std::shared_ptr<const record_batch> previous;  // DuckDB may still look at its last slice
    std::int64_t at = 0;                           // first row of `current` that was not given out
    bool ended = false;
    std::exception_ptr thrown;

    scan_state() = default;
    scan_state(const scan_state&) = delete;
    scan_state& operator=(const scan_state&) = delete;
    ~scan_state() {
        for (raw::logical_type& type : types) functions->destroy_logical_type(&type);
        if (converted) functions->destroy_arrow_converted_schema(&converted);
    }
};

}  // namespace lakeflow::host::duck
