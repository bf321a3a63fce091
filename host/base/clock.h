// host/base/clock.h: the two clocks, behind a seam so that tests can move time. Any thread.
#pragma once

#include <cstdint>

namespace lakeflow::host {

class clock {
  public:
    virtual ~clock() = default;
    virtual std::int64_t now_us() const = 0;        // wall clock, microseconds since 1970 UTC
    virtual std::int64_t monotonic_us() const = 0;  // never goes back
};

// The machine's clocks.
const clock& system_clock() noexcept;

}  // namespace lakeflow::host
