// host/base/mismatch.h: values that do not fit their columns, on their way around the plugin: a decoder leaves the rows that it could
// not read in the sink of the instance it works for, and the host collects them after each call of that instance's reader. Any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace lakeflow::host {

// What becomes of a row with a value that does not fit (contract 37).
enum class mismatch_policy { fail, null, quarantine };

struct bad_row {
    std::string row;     // its JSON text, compact, numbers as they stood
    std::string reason;  // for people: table, key, column, value, rule
    std::string code;
    std::string column;  // empty: it is about no single one
};

struct mismatches {
    std::vector<bad_row> rows;  // quarantine: they are in no batch
    std::int64_t nulled = 0;    // null: cells that hold null now
    bool empty() const noexcept { return rows.empty() && nulled == 0; }
};

class mismatch_sink {
  public:
    void add(mismatches found) {
        const std::scoped_lock lock(mutex_);
        for (bad_row& row : found.rows) found_.rows.push_back(std::move(row));
        found_.nulled += found.nulled;
    }
    mismatches take() {
        const std::scoped_lock lock(mutex_);
        return std::exchange(found_, {});
    }

  private:
    std::mutex mutex_;
    mismatches found_;
};

}  // namespace lakeflow::host
