// host/arrow/buffer.h: growable memory of a column, bitmaps, and an Arrow array that owns such buffers. Used by one thread at
// a time; may move between threads.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "host/arrow/arrow.h"

namespace lakeflow::host {

// Bytes from malloc, so that growing a large buffer moves pages instead of copying them.
class buffer {
  public:
    buffer() = default;
    ~buffer() { std::free(data_); }
    buffer(buffer&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)),
          size_(std::exchange(other.size_, 0)),
          capacity_(std::exchange(other.capacity_, 0)),
          first_(other.first_) {}
    buffer& operator=(buffer&& other) noexcept {
        if (this != &other) {
            std::free(data_);
            data_ = std::exchange(other.data_, nullptr);
            size_ = std::exchange(other.size_, 0);
            capacity_ = std::exchange(other.capacity_, 0);
            first_ = other.first_;
        }
        return *this;
    }

    std::uint8_t* data() noexcept { return data_; }
    const std::uint8_t* data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }

    // The buffer as values of a trivial type.
    template <class T>
    T* as() noexcept {
        return reinterpret_cast<T*>(data_);
    }
    template <class T>
    const T* as() const noexcept {
        return reinterpret_cast<const T*>(data_);
    }

    void append(const void* bytes, std::size_t count) {
        if (count > capacity_ - size_) grow(count);
        if (count) std::memcpy(data_ + size_, bytes, count);
        size_ += count;
    }
    template <class T>
    void push(T value) {
        if (sizeof(T) > capacity_ - size_) grow(sizeof(T));
        std::memcpy(data_ + size_, &value, sizeof(T));
        size_ += sizeof(T);
    }
    // Adds `count` bytes that the caller writes.
    std::uint8_t* extend(std::size_t count) {
        if (count > capacity_ - size_) grow(count);
        size_ += count;
        return data_ + (size_ - count);
    }
    void fill(std::uint8_t byte, std::size_t count) {
        std::uint8_t* at = extend(count);
        if (count) std::memset(at, byte, count);
    }
    void truncate(std::size_t size) noexcept {
        if (size < size_) size_ = size;
    }
    void erase_head(std::size_t count) noexcept {
        if (count == 0) return;
        size_ -= count;
        std::memmove(data_, data_ + count, size_);
    }
    void reserve(std::size_t count) {
        if (count > capacity_ - size_) grow(count);
    }
    // Moves the bytes out. The next ones are expected to be about as many: a column that gives batch after batch grows once a batch.
    // What was taken too much goes back: rows may wait in memory, counted by their size. Some bytes follow the last one, as Arrow
    // recommends: DuckDB 1.5.6 reads a byte past a bitmap that does not begin at a whole byte.
    buffer release() noexcept {
        if (capacity_ == size_ || (capacity_ - size_ > size_ / 4 && capacity_ > 1024)) fit();
        buffer result(std::move(*this));
        constexpr std::size_t most = std::size_t{1} << 20;
        first_ = result.size_ < most ? result.size_ + result.size_ / 8 : most;
        return result;
    }

  private:
    void grow(std::size_t more);
    void fit() noexcept;

    std::uint8_t* data_ = nullptr;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
    std::size_t first_ = 0;  // the capacity to begin with
};

inline bool get_bit(const void* bits, std::int64_t i) noexcept {
    return (static_cast<const std::uint8_t*>(bits)[i >> 3] >> (i & 7)) & 1;
}
// Bits that are set in [first, first + count).
std::int64_t count_bits(const void* bits, std::int64_t first, std::int64_t count) noexcept;

// A growable run of bits. Bits past the size in the last byte are zero.
class bitmap {
  public:
    std::int64_t size() const noexcept { return size_; }
    bool get(std::int64_t i) const noexcept { return get_bit(bytes_.data(), i); }
    const buffer& bytes() const noexcept { return bytes_; }

    void push(bool bit) {
        if ((size_ & 7) == 0)
            bytes_.push(static_cast<std::uint8_t>(bit));
        else
            bytes_.data()[size_ >> 3] |= static_cast<std::uint8_t>(static_cast<unsigned>(bit) << (size_ & 7));
        ++size_;
    }
    void push_many(bool bit, std::int64_t count);
    void append(const void* bits, std::int64_t first, std::int64_t count);
    void truncate(std::int64_t size) noexcept;
    void erase_head(std::int64_t count);
    buffer release() noexcept {
        size_ = 0;
        return bytes_.release();
    }

  private:
    buffer bytes_;
    std::int64_t size_ = 0;
};

// An array that owns these buffers and children. A first buffer without memory stays a null pointer where `has_validity` says that
// it is a validity bitmap; others get memory, so that readers never meet a null pointer.
arrow_array make_array(std::int64_t length, std::int64_t null_count, std::vector<buffer> buffers,
                       std::vector<arrow_array> children, bool has_validity = true);

}  // namespace lakeflow::host
