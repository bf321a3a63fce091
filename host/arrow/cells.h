// host/arrow/cells.h: one cell of a checked Arrow array, `at` counted with the array's own offset. Any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "host/arrow/arrow.h"

namespace lakeflow::host {

inline bool is_null_at(const ArrowArray& array, std::int64_t at) noexcept {
    if (array.null_count == 0 || array.n_buffers == 0 || !array.buffers[0]) return false;
    return (static_cast<const std::uint8_t*>(array.buffers[0])[at >> 3] >> (at & 7) & 1) == 0;
}

// A value of a fixed width.
template <class T>
T value_at(const ArrowArray& array, std::int64_t at) noexcept {
    return static_cast<const T*>(array.buffers[1])[at];
}

// The bytes of a text or binary value. Offset: int32_t, or int64_t of the large types.
template <class Offset>
std::string_view text_at(const ArrowArray& array, std::int64_t at) noexcept {
    const auto* offsets = static_cast<const Offset*>(array.buffers[1]);
    return {static_cast<const char*>(array.buffers[2]) + offsets[at],
            static_cast<std::size_t>(offsets[at + 1] - offsets[at])};
}

}  // namespace lakeflow::host
