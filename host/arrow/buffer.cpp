// host/arrow/buffer.cpp: see buffer.h.
#include "host/arrow/buffer.h"

#include <algorithm>
#include <memory>
#include <new>

namespace lakeflow::host {
namespace {

struct array_owner {
    std::vector<buffer> buffers;
    std::vector<const void*> pointers;
    std::vector<arrow_array> children;  // a consumer may have moved one out: its release is null then
    std::vector<ArrowArray*> child_pointers;
};

void release_array(ArrowArray* array) {
    std::unique_ptr<array_owner> owner(static_cast<array_owner*>(array->private_data));
    array->release = nullptr;
    array->private_data = nullptr;
}

}  // namespace

void buffer::grow(std::size_t more) {
    constexpr std::size_t slow_down = std::size_t{64} << 20;  // from here by a half, not by doubling
    if (more > (std::size_t{1} << 62)) throw std::bad_alloc();
    constexpr std::size_t page = 4096;  // up to here fourfold: most columns of a page of rows end there
    const std::size_t wanted = capacity_ < page        ? capacity_ * 4
                               : capacity_ < slow_down ? capacity_ * 2
                                                       : capacity_ + capacity_ / 2;
    const std::size_t begin = capacity_ == 0 ? first_ : 0;
    const std::size_t capacity = std::max({std::size_t{64}, begin, wanted, size_ + more});
    void* data = std::realloc(data_, capacity);
    if (!data) throw std::bad_alloc();
    data_ = static_cast<std::uint8_t*>(data);
    capacity_ = capacity;
}

void buffer::fit() noexcept {
    if (size_ == 0) return;
    const std::size_t capacity = (size_ + 64) / 64 * 64;
    void* data = std::realloc(data_, capacity);
    if (!data) return;  // it stays as large as it was
    data_ = static_cast<std::uint8_t*>(data);
    capacity_ = capacity;
}

std::int64_t count_bits(const void* bits, std::int64_t first, std::int64_t count) noexcept {
    const auto* bytes = static_cast<const std::uint8_t*>(bits);
    std::int64_t result = 0;
    std::int64_t i = first;
    const std::int64_t end = first + count;
    while (i < end && (i & 7)) result += get_bit(bits, i++);
    for (; i + 64 <= end; i += 64) {
        std::uint64_t word;
        std::memcpy(&word, bytes + (i >> 3), sizeof word);
        result += std::popcount(word);
    }
    for (; i + 8 <= end; i += 8) result += std::popcount(bytes[i >> 3]);
    while (i < end) result += get_bit(bits, i++);
    return result;
}

void bitmap::push_many(bool bit, std::int64_t count) {
    while (count > 0 && (size_ & 7)) {
        push(bit);
        --count;
    }
    bytes_.fill(bit ? 0xFF : 0, static_cast<std::size_t>(count >> 3));
    size_ += count & ~std::int64_t{7};
    for (count &= 7; count > 0; --count) push(bit);
}

void bitmap::append(const void* bits, std::int64_t first, std::int64_t count) {
    std::int64_t i = first;
    const std::int64_t end = first + count;
    while (i < end && (size_ & 7)) push(get_bit(bits, i++));
    if ((i & 7) == 0) {
        const std::int64_t whole = (end - i) >> 3;
        bytes_.append(static_cast<const std::uint8_t*>(bits) + (i >> 3), static_cast<std::size_t>(whole));
        size_ += whole * 8;
        i += whole * 8;
    } else {
        const auto* bytes = static_cast<const std::uint8_t*>(bits);
        const int shift = static_cast<int>(i & 7);
        for (; i + 8 <= end; i += 8, size_ += 8) {
            const unsigned low = static_cast<unsigned>(bytes[i >> 3]) >> shift;
            const unsigned high = static_cast<unsigned>(bytes[(i >> 3) + 1]) << (8 - shift);
            bytes_.push(static_cast<std::uint8_t>(low | high));
        }
    }
    while (i < end) push(get_bit(bits, i++));
}

void bitmap::truncate(std::int64_t size) noexcept {
    if (size >= size_) return;
    size_ = size;
    bytes_.truncate(static_cast<std::size_t>((size + 7) >> 3));
    if (size & 7) bytes_.data()[size >> 3] &= static_cast<std::uint8_t>((1u << (size & 7)) - 1);
}

void bitmap::erase_head(std::int64_t count) {
    bitmap rest;
    rest.append(bytes_.data(), count, size_ - count);
    *this = std::move(rest);
}

arrow_array make_array(std::int64_t length, std::int64_t null_count, std::vector<buffer> buffers,
                       std::vector<arrow_array> children, bool has_validity) {
    auto owner = std::make_unique<array_owner>();
    owner->buffers = std::move(buffers);
    owner->children = std::move(children);
    for (std::size_t i = 0; i < owner->buffers.size(); ++i) {
        buffer& b = owner->buffers[i];
        if (!(i == 0 && has_validity) && !b.data()) b.reserve(64);
        owner->pointers.push_back(b.data());
    }
    for (arrow_array& child : owner->children) owner->child_pointers.push_back(child.get());

    ArrowArray raw{};
    raw.length = length;
    raw.null_count = null_count;
    raw.n_buffers = static_cast<std::int64_t>(owner->pointers.size());
    raw.n_children = static_cast<std::int64_t>(owner->child_pointers.size());
    raw.buffers = owner->pointers.empty() ? nullptr : owner->pointers.data();
    raw.children = owner->child_pointers.empty() ? nullptr : owner->child_pointers.data();
    raw.release = release_array;
    raw.private_data = owner.release();
    return arrow_array(raw);
}

}  // namespace lakeflow::host
