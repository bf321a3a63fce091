// host/land/delta/rows.h: rows that wait for a file, and what is known of their keys: whether they come in order, and their range.
// Used by one thread at a time; the budget by any.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "host/arrow/arrow.h"
#include "host/duck/duck.h"

namespace lakeflow::host::delta {

// Bytes of rows that wait in memory, over all landings of a destination.
class memory_budget {
  public:
    explicit memory_budget(std::size_t limit) : limit_(limit) {}
    void add(std::size_t bytes) noexcept { used_ += bytes; }
    void subtract(std::size_t bytes) noexcept { used_ -= bytes; }
    bool exceeded() const noexcept { return used_.load() > limit_; }
    std::size_t used() const noexcept { return used_.load(); }

  private:
    std::size_t limit_;
    std::atomic<std::size_t> used_{0};
};

// Rows of a batch, sharing its memory.
record_batch slice(const std::shared_ptr<const record_batch>& batch, std::int64_t first, std::int64_t rows);

// A run of rows in order. Gives its bytes back to the budget as they leave.
class row_buffer {
  public:
    explicit row_buffer(std::shared_ptr<memory_budget> budget) : budget_(std::move(budget)) {}
    ~row_buffer() { budget_->subtract(bytes_); }
    row_buffer(row_buffer&& other) noexcept
        : budget_(other.budget_),
          pieces_(std::move(other.pieces_)),
          rows_(std::exchange(other.rows_, 0)),
          bytes_(std::exchange(other.bytes_, 0)) {}
    row_buffer& operator=(row_buffer&&) = delete;

    void push(record_batch batch, std::size_t bytes);
    void append(row_buffer other);
    bool pop(record_batch& out);

    std::int64_t rows() const noexcept { return rows_; }
    std::size_t bytes() const noexcept { return bytes_; }

  private:
    struct piece {
        record_batch batch;
        std::size_t bytes = 0;
    };
    std::shared_ptr<memory_budget> budget_;
    std::deque<piece> pieces_;
    std::int64_t rows_ = 0;
    std::size_t bytes_ = 0;
};

// Looks at the keys of rows as they come. A key is compared by an encoding whose bytes order as the values do.
class key_watch {
  public:
    // Without keys nothing is watched.
    key_watch(const ArrowSchema& schema, const std::vector<std::string>& keys);

    // Throws key.null naming the column if a key is null.
    void observe(const record_batch& batch, const std::string& table);

    // Each key was greater than the one before it, or each was smaller; so none came twice.
    bool ordered() const noexcept { return known_ && (ascending_ || descending_); }
    bool empty() const noexcept { return empty_; }
    const std::string& min() const noexcept { return min_; }
    const std::string& max() const noexcept { return max_; }
    // Forgets the rows so far, for the next run of rows.
    void restart();

  private:
    struct key_column {
        std::int64_t index;
        type_id id;
        std::string name;
    };
    void encode(const ArrowArray& batch, std::int64_t row, std::string& to) const;

    std::vector<key_column> columns_;
    bool watched_ = false;
    bool known_ = false;  // the encoding knows all key types
    bool ascending_ = true;
    bool descending_ = true;
    bool empty_ = true;
    std::string last_, now_, min_, max_;
};

}  // namespace lakeflow::host::delta
