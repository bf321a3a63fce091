// host/http/limits.cpp: see limits.h.
#include "host/http/limits.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <limits>
#include <utility>
#include <vector>

#include "host/base/text.h"
#include "host/base/time.h"

namespace lakeflow::host {
namespace {

constexpr std::int64_t second = 1'000'000;
// Far enough for any limit, near enough that sums do not overflow.
constexpr std::int64_t longest_us = std::int64_t{10} * 365 * 86400 * second;

std::int64_t seconds_us(std::int64_t seconds) noexcept {
    return std::clamp<std::int64_t>(seconds, 0, longest_us / second) * second;
}

// "12", "12.5" -> 12, 13: whole seconds, rounded up. Nothing for anything else.
std::optional<std::int64_t> parse_seconds(std::string_view text) noexcept {
    text = trim(text);
    const auto dot = text.find('.');
    auto whole = parse_int(text.substr(0, dot));
    if (!whole) return std::nullopt;
    if (dot != text.npos && text.find_first_not_of('0', dot + 1) != text.npos) ++*whole;
    return whole;
}

std::string_view first_of(const answer_head& head, std::initializer_list<std::string_view> names) {
    for (const auto name : names) {
        if (const auto value = trim(head.find(name)); !value.empty()) return value;
    }
    return {};
}

// A reset is an epoch in GitHub's headers, a number of seconds in the IETF's, and some send the one under the other's name; the
// two are far enough apart to be told by size.
std::optional<std::int64_t> parse_reset(std::string_view text, std::int64_t base_us) {
    const auto number = parse_seconds(text);
    if (!number) {
        const auto date = parse_http_date_us(text, base_us);
        if (!date) return std::nullopt;
        return std::clamp<std::int64_t>(*date - base_us, 0, longest_us);
    }
    if (*number < 1'000'000'000) return seconds_us(*number);
    const std::int64_t epoch_s = *number >= 100'000'000'000 ? *number / 1000 : *number;
    return seconds_us(epoch_s - base_us / second);
}

// One member of a structured list: "default";r=50;t=30, or of the older form limit=100, remaining=50, reset=30.
struct policy {
    std::string_view name;
    std::optional<std::int64_t> quota, remaining, reset_s, window_s;
};

std::vector<policy> parse_policies(std::string_view text) {
    std::vector<policy> out;
    bool dictionary = false;
    policy whole;  // of the dictionary form, whose members belong together
    for (const auto& member : split(text, ',')) {
        policy p;
        bool first = true;
        for (const auto& piece : split(member, ';')) {
            const std::string_view item = trim(piece);
            const auto eq = item.find('=');
            const std::string_view key = trim(item.substr(0, eq));
            const auto value = eq == item.npos ? std::nullopt : parse_seconds(item.substr(eq + 1));
            if (key == "q")
                p.quota = value;
            else if (key == "r")
                p.remaining = value;
            else if (key == "t")
                p.reset_s = value;
            else if (key == "w")
                p.window_s = value;
            else if (key == "limit" || key == "remaining" || key == "reset") {
                dictionary = true;
                (key == "limit" ? whole.quota : key == "remaining" ? whole.remaining : whole.reset_s) = value;
            } else if (first && eq == item.npos) {
                if (const auto quota = parse_int(item)) {
                    p.quota = quota;
                } else {
                    // Views of `text`, not of the pieces.
                    const auto at = text.find(item);
                    p.name = text.substr(at, item.size());
                }
            }
            first = false;
        }
        out.push_back(p);
    }
    if (dictionary) return {whole};
    return out;
}

void read_structured(const answer_head& head, limits& out) {
    const std::string said = head.joined("RateLimit");
    const std::string policies_text = head.joined("RateLimit-Policy");
    const auto policies = parse_policies(policies_text);
    const policy* tightest = nullptr;
    const auto states = parse_policies(said);
    for (const auto& p : states) {
        if (!p.remaining) continue;
        if (tightest == nullptr || *p.remaining < *tightest->remaining ||
            (*p.remaining == *tightest->remaining && p.reset_s.value_or(0) > tightest->reset_s.value_or(0))) {
            tightest = &p;
        }
    }
    if (tightest != nullptr) {
        if (!out.remaining) out.remaining = tightest->remaining;
        if (!out.reset_us && tightest->reset_s) out.reset_us = seconds_us(*tightest->reset_s);
        if (!out.quota) out.quota = tightest->quota;
    }
    for (const auto& p : policies) {
        if (tightest != nullptr && !tightest->name.empty() && p.name != tightest->name) continue;
        if (!out.quota) out.quota = p.quota;
        // A window of which nothing is left and whose end is not told: it ends after its whole length at the latest.
        if (!out.reset_us && p.window_s && out.remaining == 0) out.reset_us = seconds_us(*p.window_s);
        break;
    }
}

bool contains_no_case(std::string_view text, std::string_view word) {
    return lower_ascii(text).find(word) != std::string::npos;
}

}  // namespace

limits read_limits(const answer_head& head, std::int64_t now_us) {
    limits out;
    std::int64_t base = now_us;
    if (const auto date = parse_http_date_us(trim(head.find("Date")), now_us)) base = *date;
    if (const auto text = trim(head.find("Retry-After")); !text.empty()) {
        if (const auto seconds = parse_seconds(text)) {
            out.retry_after_us = seconds_us(*seconds);
        } else if (const auto date = parse_http_date_us(text, base)) {
            out.retry_after_us = std::clamp<std::int64_t>(*date - base, 0, longest_us);
        }
    }
    out.remaining =
        parse_seconds(first_of(head, {"X-RateLimit-Remaining", "X-Rate-Limit-Remaining", "RateLimit-Remaining"}));
    out.quota = parse_seconds(first_of(head, {"X-RateLimit-Limit", "X-Rate-Limit-Limit", "RateLimit-Limit"}));
    if (const auto text = first_of(head, {"X-RateLimit-Reset", "X-Rate-Limit-Reset", "RateLimit-Reset"});
        !text.empty()) {
        out.reset_us = parse_reset(text, base);
    }
    read_structured(head, out);
    if (out.remaining && *out.remaining < 0) out.remaining = 0;
    return out;
}

bool needs_body(int status) noexcept { return status == 403; }

verdict judge(const answer_head& head, const limits& said, std::string_view body, bool accepted) {
    const int status = head.status;
    if (status == 403) {
        // A plain 403 is a missing right, never a wait; one about the pace says so in a header or in its text.
        const bool pace = said.retry_after_us || said.remaining == 0 ||
                          contains_no_case(body, "secondary rate limit") || contains_no_case(body, "abuse") ||
                          contains_no_case(body, "rate limit exceeded");
        if (pace) return verdict::limited;
        return accepted ? verdict::answer : verdict::refused;
    }
    if (accepted || (status >= 200 && status < 300)) return verdict::answer;
    switch (status) {
        case 301:
        case 302:
        case 303:
        case 307:
        case 308: return head.find("Location").empty() ? verdict::refused : verdict::redirect;
        case 408:
        case 425:
        case 500:
        case 502:
        case 503:
        case 504: return verdict::again;
        case 429: return verdict::limited;
        default: return verdict::refused;
    }
}

std::optional<std::int64_t> asked_wait_us(const limits& said) {
    if (said.retry_after_us) return said.retry_after_us;
    if (said.remaining == 0 && said.reset_us) return said.reset_us;
    return std::nullopt;
}

void pace::sent(std::int64_t now_us) noexcept {
    if (now_us < window_end_us_) ++used_;
}

void pace::answered(const limits& said, std::int64_t now_us) {
    if (said.reset_us && said.quota && *said.quota > 0) {
        const std::int64_t end = now_us + *said.reset_us;
        // Ends of one window differ by the rounding to seconds and the way of the answer.
        if (end > window_end_us_ + 2 * second) {
            window_end_us_ = end;
            used_ = 1;
        }
        quota_ = *said.quota;
    }
    if (said.remaining == 0 && said.reset_us && *said.reset_us > 0) block(now_us + *said.reset_us, "rate limit");
}

void pace::block(std::int64_t until_us, std::string why) {
    if (until_us <= blocked_until_us_) return;
    blocked_until_us_ = until_us;
    why_ = std::move(why);
}

std::int64_t pace::ready_at(std::uint32_t share, std::int64_t now_us) const noexcept {
    std::int64_t at = blocked_until_us_;
    if (share < 1000 && now_us < window_end_us_) {
        const std::int64_t own = std::max<std::int64_t>(1, quota_ * share / 1000);
        if (used_ >= own) at = std::max(at, window_end_us_);
    }
    return at;
}

std::int64_t backoff_us(int tries, std::int64_t base_us, std::int64_t cap_us, double random) noexcept {
    std::int64_t wait = base_us;
    for (int i = 1; i < tries && wait < cap_us; ++i) wait *= 2;
    wait = std::min(wait, cap_us);
    const std::int64_t half = wait / 2;
    return half + static_cast<std::int64_t>(static_cast<double>(wait - half) * std::clamp(random, 0.0, 1.0));
}

}  // namespace lakeflow::host
