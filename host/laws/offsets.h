// host/laws/offsets.h: offsets compared, as far as a table's metadata lets the host read them (contract 2, 4). Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "host/plugin/connector.h"

namespace lakeflow::host {

// A cursor as it is compared: microseconds since 1970 UTC for the forms of time, a number for integer, bytes for text.
using cursor_value = std::variant<std::int64_t, std::string>;

// True for rfc3339, epoch_s and epoch_ms.
bool is_instant(cursor_form form) noexcept;

// Compares canonical offsets of one table. Without an offset_cursor two offsets are equal or not, and no more.
class offset_order {
  public:
    offset_order() = default;
    explicit offset_order(std::optional<offset_cursor> cursor) : cursor_(std::move(cursor)) {}

    // Equal bytes; or, if both hold nothing but the cursor, equal cursors: "10:00:00Z" and "12:00:00+02:00" are one instant.
    bool same(std::string_view a, std::string_view b) const;
    // Below, at (0) or above by the cursor; `{}` lies below everything. Nothing if one of them has no cursor that can be read.
    std::optional<int> compare(std::string_view a, std::string_view b) const;
    // The cursor's value; nothing if there is none, it is absent or not of its form.
    std::optional<cursor_value> value(std::string_view offset) const;
    // True if the cursor is the offset's only member: only such an offset may be capped by the host.
    bool only_cursor(std::string_view offset) const;
    // The offset of an instant, in the cursor's own form and not later than it; nothing unless the cursor is a time.
    std::optional<std::string> at_instant(std::int64_t us) const;

    const std::optional<offset_cursor>& cursor() const noexcept { return cursor_; }

  private:
    std::optional<offset_cursor> cursor_;
};

}  // namespace lakeflow::host
