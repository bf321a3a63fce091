// host/http/exchange_core.cpp: see exchange_core.h. Tries, waits and pace; answers.cpp has what becomes of an answer.
#include "host/http/exchange_core.h"

#include <algorithm>
#include <utility>

#include "host/base/text.h"

namespace lakeflow::host {
namespace {

constexpr std::int64_t second = 1'000'000;

}  // namespace

bool exchange_plan::repeatable() const noexcept {
    return (method != "POST" && method != "PATCH") || (flags & LF_HTTP_IDEMPOTENT) != 0;
}

void exchange_core::begin() {
    engine_->active.emplace(this, shared_from_this());
    start_attempt();
}

void exchange_core::restart(unsigned round) {
    const auto self = shared_from_this();
    abort();
    engine_->active.emplace(this, self);
    round_ = round;
    count(&http_counters::retries, 1);
    const std::int64_t delay =
        backoff_us(attempt_, plan_.flow->http.backoff_us,
                   std::min(engine_->settings.backoff_cap_us, plan_.flow->http.max_wait_us), engine_->random());
    wait(monotonic_us() + delay, {}, false, [this] { start_attempt(); });
}

void exchange_core::resume(unsigned round) {
    if (round != round_ || state_ != state::streaming || !connection_) return;
    if (std::exchange(stalled_, false)) engine_->pool.stalled(key_, false);
    connection_->resume();
}

void exchange_core::abort() {
    const auto self = shared_from_this();
    timer_.cancel();
    if (state_ == state::waiting && !note_.empty()) plan_.flow->waiting.clear();
    if (state_ == state::queued && !holds_place_) engine_->pool.forget(key_, *this);
    release(false);
    done();
}

void exchange_core::done() {
    state_ = state::off;
    then_ = nullptr;
    held_.clear();
    held_bytes_ = 0;
    engine_->active.erase(this);
}

// ---- tries

void exchange_core::start_attempt() {
    ++attempt_;
    target_ = plan_.target;
    method_ = plan_.method;
    body_ = plan_.body;
    redirects_ = 0;
    left_origin_ = target_.origin() != plan_.origin;
    visited_.clear();
    fresh_ = resent_ = false;
    start_leg();
}

pace& exchange_core::own_pace() {
    return engine_->paces[target_.origin() + " " + (on_origin() ? plan_.pace_identity : std::string())];
}

void exchange_core::start_leg() {
    const std::int64_t now = monotonic_us();
    const pace& p = own_pace();
    const std::int64_t ready = p.ready_at(plan_.pace_share, now);
    if (ready > now) {
        const std::int64_t left = ready - now;
        if (left > plan_.flow->http.max_wait_us) {
            error e{"source.rate_limited",
                    plan_.method + " " + shown_url() + " was not sent: the " + p.why() + " of " + target_.host +
                        " lasts " + human_duration(left) + " more, longer than retry.max_wait allows (" +
                        human_duration(plan_.flow->http.max_wait_us) + ")",
                    "run the job again after that time, or raise retry.max_wait in [connection]",
                    retry_class::rate_limited};
            e.retry_after_ms = (left + 999) / 1000;
            fail(std::move(e));
            return;
        }
        wait(ready, p.why() + " of " + target_.host, true, [this] { start_leg(); });
        return;
    }
    endpoint where{target_.host, target_.port, target_.tls(), plan_.flow->http.ca_file, std::nullopt};
    try {
        where.via = engine_->proxy_for(target_, plan_.flow->http.proxy);
    } catch (const failure& f) {  // of the environment; start has checked the job's own
        fail(f.get());
        return;
    }
    if (where.via && !where.via->password.empty()) plan_.flow->redactor->add(where.via->password);
    key_ = where.key();
    where_ = std::move(where);
    state_ = state::queued;
    engine_->pool.acquire(key_, *this);
}

void exchange_core::on_connection(std::shared_ptr<connection> idle) {
    holds_place_ = true;
    // The pace may have changed while this one waited for its turn.
    if (own_pace().ready_at(plan_.pace_share, monotonic_us()) > monotonic_us()) {
        holds_place_ = false;
        engine_->pool.give_back(key_, std::move(idle));
        start_leg();
        return;
    }
    reused_ = idle != nullptr;
    connection_ = std::move(idle);
    if (connection_) {
        send();
        return;
    }
    state_ = state::connecting;
    connection_ = connection::make(engine_->loop, engine_->names, engine_->contexts, engine_->blocks, where_);
    connection_->connect(*this, timeouts());
}

void exchange_core::on_connected() { send(); }

void exchange_core::send() {
    state_ = state::sent;
    sent_at_us_ = monotonic_us();
    leg_bytes_ = 0;
    if (!std::exchange(resent_, false)) count(&http_counters::requests, 1);
    in_flight_ = true;
    count(&http_counters::in_flight, 1);
    own_pace().sent(sent_at_us_);
    connection_->send(*this, write_request(), timeouts());
}

void exchange_core::again(error why, std::optional<std::int64_t> asked, bool allowed) {
    const http_options& options = plan_.flow->http;
    if (!allowed || (plan_.flags & LF_HTTP_NO_RETRY) != 0 || attempt_ >= options.attempts) {
        fail(std::move(why));
        return;
    }
    std::int64_t delay = backoff_us(attempt_, options.backoff_us,
                                    std::min(engine_->settings.backoff_cap_us, options.max_wait_us), engine_->random());
    if (asked && *asked > 0) delay = *asked;
    count(&http_counters::retries, 1);
    if (plan_.flow->log.enabled(log_level::info)) {
        plan_.flow->log.write(log_level::info, "http",
                              why.message + "; trying again in " + human_duration(delay) + " (try " +
                                  std::to_string(attempt_ + 1) + " of " + std::to_string(options.attempts) + ")");
    }
    wait(monotonic_us() + delay, target_.host + " to recover", asked.has_value(), [this] { start_attempt(); });
}

void exchange_core::fail(error why) {
    const auto self = shared_from_this();
    const secrets& redactor = *plan_.flow->redactor;
    why.message = redactor.redact(why.message);
    why.hint = redactor.redact(why.hint);
    release(false);
    const unsigned round = round_;
    done();
    out.fail(round, std::move(why));
}

// ---- waits

void exchange_core::wait(std::int64_t until_us, std::string note, bool throttled, std::function<void()> then) {
    state_ = state::waiting;
    wait_until_us_ = until_us;
    ticked_at_us_ = monotonic_us();
    throttled_ = throttled;
    then_ = std::move(then);
    // Short waits are not worth a person's attention.
    note_ = until_us - ticked_at_us_ >= second ? std::move(note) : std::string();
    tick();
}

void exchange_core::tick() {
    const std::int64_t now = monotonic_us();
    if (throttled_) count(&http_counters::throttled_us, now - ticked_at_us_);
    ticked_at_us_ = now;
    if (now >= wait_until_us_) {
        if (!note_.empty()) plan_.flow->waiting.clear();
        note_.clear();
        const auto next = std::exchange(then_, nullptr);
        next();
        return;
    }
    if (!note_.empty()) plan_.flow->waiting.set(note_ + ", " + human_duration(wait_until_us_ - now) + " left");
    timer_.arm(std::min(wait_until_us_, now + second), [this] { tick(); });
}

// ---- connections and counters

void exchange_core::release(bool reusable) {
    leave_flight();
    if (std::exchange(stalled_, false)) engine_->pool.stalled(key_, false);
    auto held = std::exchange(connection_, nullptr);
    if (held && !reusable) {
        held->close();
        held.reset();
    }
    if (std::exchange(holds_place_, false)) engine_->pool.give_back(key_, std::move(held));
}

void exchange_core::leave_flight() {
    if (std::exchange(in_flight_, false)) count(&http_counters::in_flight, -1);
}

void exchange_core::count(std::atomic<std::int64_t> http_counters::*what, std::int64_t delta) const {
    (plan_.flow->counters.*what).fetch_add(delta, std::memory_order_relaxed);
    if (plan_.flow->job_counters) (plan_.flow->job_counters.get()->*what).fetch_add(delta, std::memory_order_relaxed);
}

wire_timeouts exchange_core::timeouts() const {
    const http_options& options = plan_.flow->http;
    return {options.connect_timeout_us, options.first_byte_timeout_us, options.idle_timeout_us};
}

std::string exchange_core::shown_url() const {
    std::string text = target_.text();
    // Where another origin was named by a redirect, its query is often a credential of its own: a signed link.
    const auto query = text.find('?');
    if (redirects_ > 0 && !on_origin() && query != std::string::npos) text.replace(query, std::string::npos, "?...");
    return text;
}

request_facts exchange_core::facts() const {
    const bool has = plan_.auth.where != credential::place::none;
    return {method_, shown_url(), has, has && on_origin(), attempt_};
}

void exchange_core::log_leg(const std::string& outcome) const {
    const logger& log = plan_.flow->log;
    if (!log.enabled(log_level::debug)) return;
    log.write(log_level::debug, "http",
              method_ + " " + shown_url() + " " + outcome + " " +
                  std::to_string((monotonic_us() - sent_at_us_) / 1000) + " ms " + std::to_string(leg_bytes_) +
                  " bytes");
}

}  // namespace lakeflow::host
