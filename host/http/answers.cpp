// host/http/answers.cpp: the part of exchange_core that writes requests and judges answers.
#include <algorithm>
#include <iterator>
#include <utility>

#include "host/base/text.h"
#include "host/http/exchange_core.h"
#include "host/http/inflate.h"

namespace lakeflow::host {
namespace {

constexpr int most_redirects = 10;
constexpr std::size_t most_held = 64 * 1024;  // of a body that is only looked at

bool names(const header_list& headers, std::string_view name) {
    return std::any_of(headers.begin(), headers.end(), [&](const auto& h) { return equal_no_case(h.first, name); });
}

}  // namespace

wire_request exchange_core::write_request() const {
    const bool trusted = on_origin();
    const credential& auth = plan_.auth;
    std::string target = target_.target;
    if (trusted && auth.where == credential::place::query) target = with_query(target, auth.name, auth.value);
    const auto& via = where_.via;
    if (via && !where_.tls) target = target_.origin() + target;
    wire_request out;
    std::string& text = out.head;
    text.reserve(512 + target.size());
    text.append(method_).append(" ").append(target).append(" HTTP/1.1\r\n");
    const auto line = [&text](std::string_view name, std::string_view value) {
        text.append(name).append(": ").append(value).append("\r\n");
    };
    line("Host", target_.authority());
    if (!names(plan_.headers, "User-Agent")) line("User-Agent", plan_.flow->http.user_agent);
    if (!names(plan_.headers, "Accept")) line("Accept", "*/*");
    if (!names(plan_.headers, "Accept-Encoding")) line("Accept-Encoding", "gzip");
    const bool auth_header = auth.where == credential::place::header;
    for (const auto& [name, value] : plan_.headers) {
        if (!trusted && is_credential_header(name)) continue;
        if (auth_header && equal_no_case(name, auth.name)) continue;
        if (equal_no_case(name, "Content-Type") && (!body_ || !plan_.content_type.empty())) continue;
        line(name, value);
    }
    if (trusted && auth_header) line(auth.name, auth.value);
    if (via && !where_.tls && !via->authorization.empty()) line("Proxy-Authorization", via->authorization);
    if (body_) {
        if (!plan_.content_type.empty()) line("Content-Type", plan_.content_type);
        line("Content-Length", std::to_string(body_->size()));
    } else if (method_ == "POST" || method_ == "PUT" || method_ == "PATCH") {
        line("Content-Length", "0");
    }
    text.append("\r\n");
    out.body = body_;
    out.bodyless_answer = method_ == "HEAD";
    return out;
}

bool exchange_core::accepted() const {
    const auto& list = plan_.accept_status;
    if ((plan_.flags & LF_HTTP_NO_REDIRECT) != 0 && head_.status / 100 == 3) return true;
    return std::find(list.begin(), list.end(), head_.status) != list.end();
}

void exchange_core::on_head(answer_head head) {
    head_ = std::move(head);
    said_ = read_limits(head_, plan_.flow->time->now_us());
    own_pace().answered(said_, monotonic_us());
    if (!needs_body(head_.status) && judge(head_, said_, {}, accepted()) == verdict::answer) {
        state_ = state::streaming;
        deliver();
    } else {
        state_ = state::holding;
    }
}

bool exchange_core::on_body(std::vector<slice> pieces, std::size_t bytes) {
    leg_bytes_ += static_cast<std::int64_t>(bytes);
    count(&http_counters::bytes, static_cast<std::int64_t>(bytes));
    if (state_ == state::streaming) {
        if (out.pieces(round_, std::move(pieces))) return true;
        stalled_ = true;
        engine_->pool.stalled(key_, true);
        return false;
    }
    std::move(pieces.begin(), pieces.end(), std::back_inserter(held_));
    held_bytes_ += bytes;
    if (held_bytes_ > most_held) decide(false);
    return true;
}

void exchange_core::on_end(bool reusable) {
    const auto self = shared_from_this();
    log_leg(std::to_string(head_.status));
    if (state_ == state::streaming) {
        release(reusable);
        const unsigned round = round_;
        done();
        out.end(round);
        return;
    }
    release(reusable);
    decide(true);
}

void exchange_core::on_failure(const wire_failure& why) {
    const auto self = shared_from_this();
    const state before = state_;
    if (before == state::sent || before == state::holding || before == state::streaming) log_leg("failed: " + why.text);
    release(false);
    if (before == state::holding) {  // what is known of the answer is enough to judge it
        decide(true, &why);
        return;
    }
    if (before == state::streaming) {
        fail(wire_error(facts(), why));
        return;
    }
    // The server closed an idle connection just as it was used: nothing was answered, and this try does not count.
    if (before == state::sent && reused_ && !why.answered_any && why.what == wire_failure::kind::closed) {
        fresh_ = resent_ = true;
        start_leg();
        return;
    }
    error e = wire_error(facts(), why);
    // What never left may be sent again, whatever the method.
    const bool allowed = e.retry == retry_class::transient && (plan_.repeatable() || !why.sent_any);
    again(std::move(e), std::nullopt, allowed);
}

std::string exchange_core::held_text() const {
    std::string raw;
    for (const auto& piece : held_) raw += piece.bytes;
    try {
        const auto coding = inflater_for(head_.joined("Content-Encoding"));
        if (!coding) return raw;
        std::string text;
        coding->feed(raw);
        while (text.size() < most_held) {
            const auto piece = coding->next();
            if (piece.empty()) break;
            text += piece;
        }
        return text;
    } catch (const failure&) {
        return {};
    }
}

void exchange_core::decide(bool whole, const wire_failure* cut) {
    const auto self = shared_from_this();
    const std::string body = held_text();
    const verdict what = judge(head_, said_, body, accepted());
    if (what == verdict::answer) {
        deliver();
        auto pieces = std::exchange(held_, {});
        held_bytes_ = 0;
        out.pieces(round_, std::move(pieces));
        if (cut != nullptr) {
            fail(wire_error(facts(), *cut));
            return;
        }
        if (!whole) {
            state_ = state::streaming;
            return;
        }
        const unsigned round = round_;
        done();
        out.end(round);
        return;
    }
    held_.clear();
    held_bytes_ = 0;
    if (!whole) {
        log_leg(std::to_string(head_.status) + " (left unread)");
        release(false);
    }
    switch (what) {
        case verdict::redirect: follow(); return;
        case verdict::limited: limited(body); return;
        case verdict::again: {
            const auto asked = said_.retry_after_us;
            if (asked && *asked > plan_.flow->http.max_wait_us) {
                fail(limit_error(facts(), head_, body, *asked, plan_.flow->http.max_wait_us));
                return;
            }
            // A service that says when it will be back says it to everyone.
            if (asked && *asked > 0) own_pace().block(monotonic_us() + *asked, "Retry-After");
            again(status_error(facts(), head_, body), asked, plan_.repeatable());
            return;
        }
        default: fail(status_error(facts(), head_, body)); return;
    }
}

void exchange_core::deliver() {
    auto answer = std::make_shared<final_answer>();
    answer->head = head_;
    answer->url = target_.text();
    answer->attempts = attempt_;
    out.head(round_, std::move(answer));
}

void exchange_core::limited(const std::string& body) {
    const http_options& options = plan_.flow->http;
    ++limits_met_;
    std::int64_t delay = 0;
    const auto asked = asked_wait_us(said_);
    const std::int64_t cap = std::min(engine_->settings.backoff_cap_us, options.max_wait_us);
    if (asked && *asked > 0) {
        delay = *asked;
    } else if (!asked && (head_.status == 403 || lower_ascii(body).find("secondary rate limit") != std::string::npos)) {
        // Nothing is said. GitHub asks for a minute at least after its secondary limit, and more each time.
        delay = options.limit_wait_us;
        for (int i = 1; i < limits_met_ && delay < options.max_wait_us; ++i) delay *= 2;
        delay = std::min(delay, std::max(options.max_wait_us, options.limit_wait_us));
    } else {
        delay = backoff_us(limits_met_, options.backoff_us, cap, engine_->random());
    }
    own_pace().block(monotonic_us() + delay, "rate limit");
    if (delay > options.max_wait_us || attempt_ >= options.attempts || !plan_.may_retry()) {
        fail(limit_error(facts(), head_, body, delay, options.max_wait_us));
        return;
    }
    count(&http_counters::retries, 1);
    if (plan_.flow->log.enabled(log_level::info)) {
        plan_.flow->log.write(log_level::info, "http",
                              limit_error(facts(), head_, body, delay, options.max_wait_us).message + "; waiting " +
                                  human_duration(delay));
    }
    start_attempt();  // which waits for the pace
}

void exchange_core::follow() {
    const auto refuse = [this](std::string why, const char* code) {
        fail({code, method_ + " " + shown_url() + " said " + std::to_string(head_.status) + ": " + std::move(why),
              "check base_url", retry_class::permanent, 0, head_.status});
    };
    const std::string_view location = trim(head_.find("Location"));
    url next;
    try {
        std::string text = resolve_url(target_.text(), location);
        if (plan_.auth.where == credential::place::query) text = without_query(text, plan_.auth.name);
        next = parse_url(text);
    } catch (const failure& f) {
        refuse("it leads to what cannot be asked for: " + f.get().message, "source.protocol");
        return;
    }
    visited_.insert(method_ + " " + target_.text());
    const bool to_get =
        head_.status == 303 ? method_ != "HEAD" : (head_.status == 301 || head_.status == 302) && method_ == "POST";
    const std::string method = to_get ? "GET" : method_;
    if (visited_.contains(method + " " + next.text())) {
        refuse("the redirects lead in a circle, back to " + next.origin(), "source.page_cycle");
        return;
    }
    if (++redirects_ > most_redirects) {
        refuse("more than " + std::to_string(most_redirects) + " redirects", "source.page_cycle");
        return;
    }
    if (to_get) {
        method_ = "GET";
        body_.reset();
    }
    target_ = std::move(next);
    if (target_.origin() != plan_.origin) left_origin_ = true;
    fresh_ = resent_ = false;
    start_leg();
}

}  // namespace lakeflow::host
