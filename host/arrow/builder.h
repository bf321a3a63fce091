// host/arrow/builder.h: columns that grow row by row and become Arrow arrays without a copy. The decoder drives them directly, so
// the calls of one value are inline. A column can be cut back to an earlier length, which is how a row or a page is taken back.
// Used by one thread at a time.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

#include "host/arrow/buffer.h"

namespace lakeflow::host {

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;

class column {
  public:
    column(type_id id, bool nullable) : id_(id), nullable_(nullable) {}
    virtual ~column() = default;
    column(const column&) = delete;
    column& operator=(const column&) = delete;

    type_id id() const noexcept { return id_; }
    bool nullable() const noexcept { return nullable_; }
    std::int64_t length() const noexcept { return length_; }
    std::int64_t nulls() const noexcept { return nulls_; }
    bool is_null(std::int64_t row) const noexcept { return nulls_ != 0 && !valid_.get(row); }

    // A null; whether the schema allows it is the caller's question.
    virtual void append_null() = 0;
    // A value that means nothing (0, "", {}): what a column that allows no null holds below a struct that is null.
    virtual void append_empty() = 0;
    void append_nothing() { nullable_ ? append_null() : append_empty(); }

    // Cuts back to `length` values and drops what an unfinished value has added.
    virtual void truncate(std::int64_t length) = 0;
    // Drops the first `count` values and keeps what an unfinished value has added.
    virtual void erase_head(std::int64_t count) = 0;
    // Moves all values out; the column is empty then, ready for the next batch.
    virtual arrow_array finish() = 0;
    // A copy of [first, first + count).
    virtual arrow_array copy(std::int64_t first, std::int64_t count) const = 0;
    // Bytes that the values take.
    virtual std::size_t bytes() const noexcept = 0;
    // Bytes behind the int32 offsets that are fullest: a batch is cut long before 2 GB.
    virtual std::size_t widest() const noexcept { return 0; }

  protected:
    void mark_valid() {
        if (nulls_ != 0 || valid_.size() != 0) valid_.push(true);
        ++length_;
    }
    void mark_null() {
        if (valid_.size() != length_) valid_.push_many(true, length_ - valid_.size());
        valid_.push(false);
        ++length_;
        ++nulls_;
    }
    void truncate_marks(std::int64_t length) noexcept;
    void erase_marks(std::int64_t count);
    buffer take_marks() noexcept;  // and resets the counts
    buffer copy_marks(std::int64_t first, std::int64_t count, std::int64_t& nulls) const;
    std::size_t mark_bytes() const noexcept { return valid_.bytes().size(); }

  private:
    type_id id_;
    bool nullable_;
    std::int64_t length_ = 0;
    std::int64_t nulls_ = 0;
    bitmap valid_;  // empty until the first null
};

// int8..int64, float32, float64, date32 (int32), timestamps (int64 microseconds), decimal128 (int128).
template <class T>
class fixed_column final : public column {
  public:
    using column::column;
    void append(T value) {
        values_.push(value);
        mark_valid();
    }
    T value(std::int64_t row) const noexcept { return values_.template as<T>()[row]; }

    void append_null() override {
        values_.push(T{});
        mark_null();
    }
    void append_empty() override { append(T{}); }
    void truncate(std::int64_t length) override;
    void erase_head(std::int64_t count) override;
    arrow_array finish() override;
    arrow_array copy(std::int64_t first, std::int64_t count) const override;
    std::size_t bytes() const noexcept override { return values_.size() + mark_bytes(); }

  private:
    buffer values_;
};

class bool_column final : public column {
  public:
    using column::column;
    void append(bool value) {
        values_.push(value);
        mark_valid();
    }
    bool value(std::int64_t row) const noexcept { return values_.get(row); }

    void append_null() override {
        values_.push(false);
        mark_null();
    }
    void append_empty() override { append(false); }
    void truncate(std::int64_t length) override;
    void erase_head(std::int64_t count) override;
    arrow_array finish() override;
    arrow_array copy(std::int64_t first, std::int64_t count) const override;
    std::size_t bytes() const noexcept override { return values_.bytes().size() + mark_bytes(); }

  private:
    bitmap values_;
};

class null_column final : public column {
  public:
    explicit null_column(bool nullable) : column(type_id::null_, nullable) {}
    void append_null() override { mark_null(); }
    void append_empty() override { mark_null(); }
    void truncate(std::int64_t length) override { truncate_marks(length); }
    void erase_head(std::int64_t count) override { erase_marks(count); }
    arrow_array finish() override;
    arrow_array copy(std::int64_t first, std::int64_t count) const override;
    std::size_t bytes() const noexcept override { return mark_bytes(); }
};

// utf8, binary (int32 offsets) and their large forms (int64).
class text_column final : public column {
  public:
    text_column(type_id id, bool nullable);
    bool large() const noexcept { return large_; }

    // A value in parts: any number of append_part, then end_value.
    void append_part(std::string_view part) { data_.append(part.data(), part.size()); }
    void append_part(char c) { data_.push(c); }
    void end_value() {
        push_offset();
        mark_valid();
    }
    void append(std::string_view value) {
        append_part(value);
        end_value();
    }
    std::string_view value(std::int64_t row) const noexcept {
        const std::size_t begin = offset(row);
        return {data_.as<char>() + begin, offset(row + 1) - begin};
    }
    // What the unfinished value holds so far.
    std::string_view open_value() const noexcept {
        const std::size_t begin = offset(length());
        return {data_.as<char>() + begin, data_.size() - begin};
    }
    void drop_open_value() noexcept { data_.truncate(offset(length())); }

    void append_null() override {
        push_offset();
        mark_null();
    }
    void append_empty() override { end_value(); }
    void truncate(std::int64_t length) override;
    void erase_head(std::int64_t count) override;
    arrow_array finish() override;
    arrow_array copy(std::int64_t first, std::int64_t count) const override;
    std::size_t bytes() const noexcept override { return offsets_.size() + data_.size() + mark_bytes(); }
    std::size_t widest() const noexcept override { return large_ ? 0 : data_.size(); }

  private:
    std::size_t offset(std::int64_t row) const noexcept {
        return large_ ? static_cast<std::size_t>(offsets_.as<std::int64_t>()[row])
                      : static_cast<std::size_t>(offsets_.as<std::int32_t>()[row]);
    }
    void push_offset() {
        if (large_)
            offsets_.push(static_cast<std::int64_t>(data_.size()));
        else if (data_.size() <= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
            offsets_.push(static_cast<std::int32_t>(data_.size()));
        else
            too_large();
    }
    [[noreturn]] static void too_large();

    bool large_;
    buffer offsets_;  // one more than there are values
    buffer data_;
};

class struct_column final : public column {
  public:
    struct_column(bool nullable, std::vector<std::unique_ptr<column>> children)
        : column(type_id::struct_, nullable), children_(std::move(children)) {}
    std::size_t size() const noexcept { return children_.size(); }
    column& child(std::size_t i) noexcept { return *children_[i]; }
    const column& child(std::size_t i) const noexcept { return *children_[i]; }

    // Each child has got its value.
    void end_value() { mark_valid(); }

    void append_null() override;
    void append_empty() override;
    void truncate(std::int64_t length) override;
    void erase_head(std::int64_t count) override;
    arrow_array finish() override;
    arrow_array copy(std::int64_t first, std::int64_t count) const override;
    std::size_t bytes() const noexcept override;
    std::size_t widest() const noexcept override;

  private:
    std::vector<std::unique_ptr<column>> children_;
};

// Lists, and maps: a map's child is the struct of its entries.
class list_column final : public column {
  public:
    list_column(type_id id, bool nullable, std::unique_ptr<column> child);
    column& child() noexcept { return *child_; }
    const column& child() const noexcept { return *child_; }
    // Where the elements of the value that is being written begin.
    std::int64_t open_begin() const noexcept { return offset(length()); }

    // The elements of the value are in the child.
    void end_value() {
        push_offset();
        mark_valid();
    }

    void append_null() override {
        push_offset();
        mark_null();
    }
    void append_empty() override { end_value(); }
    void truncate(std::int64_t length) override;
    void erase_head(std::int64_t count) override;
    arrow_array finish() override;
    arrow_array copy(std::int64_t first, std::int64_t count) const override;
    std::size_t bytes() const noexcept override { return offsets_.size() + mark_bytes() + child_->bytes(); }
    std::size_t widest() const noexcept override;

  private:
    std::int64_t offset(std::int64_t row) const noexcept { return offsets_.as<std::int32_t>()[row]; }
    void push_offset();

    std::unique_ptr<column> child_;
    buffer offsets_;  // one more than there are values
};

// An empty column for a node of a checked schema.
std::unique_ptr<column> make_column(const ArrowSchema& node);
// The top: a struct column without nulls, one child a column.
std::unique_ptr<struct_column> make_table(const ArrowSchema& schema);

}  // namespace lakeflow::host
