// host/http/limits.h: what an answer says about waiting: Retry-After, GitHub's and the IETF's rate-limit headers, and the pace
// that follows for everyone who asks the same origin with the same credential. No I/O, no clock: times are passed in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "host/http/answer.h"

namespace lakeflow::host {

// All times in microseconds, relative to the moment of the answer.
struct limits {
    std::optional<std::int64_t> retry_after_us;
    std::optional<std::int64_t> remaining;  // requests left in the window
    std::optional<std::int64_t> reset_us;   // until the window ends
    std::optional<std::int64_t> quota;      // requests in a window
};

// Reads Retry-After (seconds, or one of the three date forms by the answer's own Date), X-RateLimit-*, RateLimit-* and the
// structured RateLimit and RateLimit-Policy fields. `now_us` stands in for a missing Date.
limits read_limits(const answer_head& head, std::int64_t now_us);

enum class verdict {
    answer,    // 2xx or accepted
    redirect,  // 301, 302, 303, 307, 308 with a Location
    again,     // a fault that may pass: 408, 425, 500, 502, 503, 504
    limited,   // 429, or a 403 that is about pace
    refused    // everything else
};

// `body` may be empty when it is not known yet; see needs_body.
verdict judge(const answer_head& head, const limits& said, std::string_view body, bool accepted);
// True if only the body tells whether it is a permission or a pace that is missing.
bool needs_body(int status) noexcept;

// How long a limited answer asks to wait; nothing if it does not say.
std::optional<std::int64_t> asked_wait_us(const limits& said);

// One a (origin, credential). Monotonic microseconds.
class pace {
  public:
    // A request was sent, an answer has come.
    void sent(std::int64_t now_us) noexcept;
    void answered(const limits& said, std::int64_t now_us);
    // Nobody asks before `until_us`.
    void block(std::int64_t until_us, std::string why);
    // When the next request of an instance with this share (in 1/1000) may go; not after now if at once.
    std::int64_t ready_at(std::uint32_t share, std::int64_t now_us) const noexcept;
    const std::string& why() const noexcept { return why_; }

  private:
    std::int64_t blocked_until_us_ = 0;
    std::string why_ = "rate limit";
    std::int64_t window_end_us_ = 0;
    std::int64_t quota_ = 0;
    std::int64_t used_ = 0;  // by this process, in the window
};

// Exponential back-off, "full jitter" over its upper half: try 1 waits 50 to 100 % of base, each further one twice as long.
// `random` in [0, 1].
std::int64_t backoff_us(int tries, std::int64_t base_us, std::int64_t cap_us, double random) noexcept;

}  // namespace lakeflow::host
