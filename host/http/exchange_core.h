// host/http/exchange_core.h: the io thread's half of an exchange: tries, redirects, waits, and what becomes of each answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/base/context.h"
#include "host/http/auth.h"
#include "host/http/connection.h"
#include "host/http/engine.h"
#include "host/http/hand_off.h"
#include "host/http/limits.h"
#include "host/http/message.h"
#include "host/http/pool.h"
#include "host/http/url.h"

namespace lakeflow::host {

// A checked request. Set once, then only read, by both threads.
struct exchange_plan {
    std::shared_ptr<flow_context> flow;
    std::shared_ptr<cancel_token> cancelled;
    std::uint32_t pace_share = 1000;
    std::uint32_t flags = 0;
    std::string method;
    url target;
    std::string origin;  // where the credential may go
    header_list headers;
    credential auth;
    std::shared_ptr<const std::string> body;  // null: none
    std::string content_type;
    std::vector<int> accept_status;
    std::int64_t max_body_bytes = 0;
    std::string pace_identity;  // tells credentials apart without holding one
    std::string shown;          // "GET https://host/path"

    bool repeatable() const noexcept;  // may be sent again after it may have been received
    bool may_retry() const noexcept { return (flags & LF_HTTP_NO_RETRY) == 0 && repeatable(); }
};

class exchange_core final : public std::enable_shared_from_this<exchange_core>, connection_listener, connection_waiter {
  public:
    exchange_core(std::shared_ptr<http_engine> engine, exchange_plan plan)
        : out(engine->settings.read_ahead_bytes),
          engine_(std::move(engine)),
          plan_(std::move(plan)),
          timer_(engine_->loop) {}
    virtual ~exchange_core() = default;
    exchange_core(const exchange_core&) = delete;
    exchange_core& operator=(const exchange_core&) = delete;

    const exchange_plan& plan() const noexcept { return plan_; }
    http_engine& engine() noexcept { return *engine_; }
    const std::shared_ptr<http_engine>& shared_engine() const noexcept { return engine_; }

    // ---- on the io thread
    void begin();
    void restart(unsigned round);  // after a back-off; the next try
    void resume(unsigned round);   // the consumer has made room
    void abort();                  // frees all that it holds; nobody is told

    hand_off out;  // shared with the consumer

  private:
    enum class state { off, waiting, queued, connecting, sent, holding, streaming };

    void on_connected() override;
    void on_head(answer_head head) override;
    bool on_body(std::vector<slice> pieces, std::size_t bytes) override;
    void on_end(bool reusable) override;
    void on_failure(const wire_failure& why) override;
    void on_connection(std::shared_ptr<connection> idle) override;
    bool wants_fresh() const override { return fresh_ || !plan_.repeatable(); }

    void start_attempt();
    void start_leg();
    void send();
    wire_request write_request() const;
    void decide(bool whole, const wire_failure* cut = nullptr);
    void deliver();
    void follow();
    void limited(const std::string& body);
    // Another try after `asked`, or after the back-off; `why` if none is left.
    void again(error why, std::optional<std::int64_t> asked, bool allowed);
    void fail(error why);
    void wait(std::int64_t until_us, std::string note, bool throttled, std::function<void()> then);
    void tick();

    void release(bool reusable);
    void leave_flight();
    void done();
    void log_leg(const std::string& outcome) const;
    void count(std::atomic<std::int64_t> http_counters::*what, std::int64_t delta) const;
    bool accepted() const;
    bool on_origin() const { return !left_origin_ && target_.origin() == plan_.origin; }
    std::string shown_url() const;
    request_facts facts() const;
    pace& own_pace();
    wire_timeouts timeouts() const;
    std::string held_text() const;

    const std::shared_ptr<http_engine> engine_;
    const exchange_plan plan_;
    io_timer timer_;
    state state_ = state::off;
    unsigned round_ = 0;
    int attempt_ = 0;
    int limits_met_ = 0;

    // The leg: one request of an attempt; redirects make more.
    url target_;
    std::string method_;
    std::shared_ptr<const std::string> body_;
    int redirects_ = 0;
    bool left_origin_ = false;  // the credential stays away for the rest of the attempt
    std::set<std::string> visited_;
    endpoint where_;
    std::string key_;
    std::shared_ptr<connection> connection_;
    bool holds_place_ = false;  // owes the pool a give_back
    bool reused_ = false;
    bool fresh_ = false;
    bool resent_ = false;  // after an idle connection had died: not counted twice
    bool stalled_ = false;
    bool in_flight_ = false;
    std::int64_t sent_at_us_ = 0;
    std::int64_t leg_bytes_ = 0;
    answer_head head_;
    limits said_;
    std::vector<slice> held_;  // the body of an answer that is not (yet) the consumer's
    std::size_t held_bytes_ = 0;

    std::int64_t wait_until_us_ = 0;
    std::int64_t ticked_at_us_ = 0;
    std::string note_;
    bool throttled_ = false;
    std::function<void()> then_;
};

}  // namespace lakeflow::host
