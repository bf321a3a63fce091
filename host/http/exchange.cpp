// host/http/exchange.cpp: the consumer's half of an exchange, and the service. Bodies are inflated here, on the caller's thread.
#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "host/base/text.h"
#include "host/http/exchange_core.h"
#include "host/http/http.h"
#include "host/http/inflate.h"

namespace lakeflow::host {
namespace {

constexpr std::string_view bearer = "Bearer ";

// The value of Authorization for a grant: asks its server for a token where none holds.
std::string bearer_token(http_service& service, const exchange_plan& plan, const std::string& refused) {
    const lf_context context{plan.flow, plan.cancelled, plan.pace_share, nullptr};
    return std::string(bearer) + oauth_tokens::instance().access(service, context, *plan.auth.grant, refused);
}

class live_exchange final : public exchange {
  public:
    explicit live_exchange(http_service& service, std::shared_ptr<exchange_core> core)
        : service_(service), core_(std::move(core)) {
        attach();
    }

    ~live_exchange() override { detach(); }

    int head() override {
        while (!answer_) {
            try {
                answer_ = core_->out.wait_head();
            } catch (const failure& f) {
                if (!renew(f.get())) throw;
            }
        }
        core_->plan().cancelled->check();
        return answer_->head.status;
    }

    std::string_view header(std::string_view name) override {
        const final_answer& answer = known();
        const auto count = std::count_if(answer.head.headers.begin(), answer.head.headers.end(),
                                         [&](const auto& h) { return equal_no_case(h.first, name); });
        if (count <= 1) return answer.head.find(name);
        return joined_.try_emplace(lower_ascii(name), answer.head.joined(name)).first->second;
    }

    std::string_view final_url() override { return known().url; }

    bool read(std::string_view& piece) override {
        const final_answer& answer = known();
        try {
            if (reading_) return coding_ ? read_inflated(piece) : read_plain(piece);
            // The coding matters only if there is a body: an answer to HEAD may name one, too.
            if (!next_slice()) return false;
            reading_ = true;
            coding_ = inflater_for(answer.head.joined("Content-Encoding"));
            if (!coding_) {
                piece = current_.bytes;
                count(piece.size());
                return true;
            }
            coding_->feed(current_.bytes);
            return read_inflated(piece);
        } catch (const failure& f) {
            piece = {};
            if (f.get().retry == retry_class::cancelled) throw;
            error e = f.get();
            if (e.message.find(core_->plan().shown) == std::string::npos) e.message = describe() + ": " + e.message;
            broke_off_ = e.code == "source.transient";
            throw failure(std::move(e));
        }
    }

    void retry(std::string_view reason) override {
        const exchange_plan& plan = core_->plan();
        const final_answer& answer = known();
        plan.cancelled->check();
        const int most = plan.flow->http.attempts;
        if (!plan.may_retry() || answer.attempts >= most) {
            error e;
            e.code = broke_off_ ? "source.transient" : "source.protocol";
            e.retry = broke_off_ ? retry_class::transient : retry_class::permanent;
            e.vendor_code = answer.head.status;
            e.message = plan.flow->redactor->redact(std::string(reason));
            if (e.message.find(plan.shown) == std::string::npos) e.message = describe() + ": " + e.message;
            if (answer.attempts > 1) e.message += " (tried " + std::to_string(answer.attempts) + " times)";
            e.hint = broke_off_
                         ? "the server or a proxy on the way keeps breaking the connection; run the job again later"
                         : "the service sends what it should not; look at its answer, or check base_url";
            throw failure(std::move(e));
        }
        if (plan.flow->log.enabled(log_level::info)) {
            plan.flow->log.write(log_level::info, "http",
                                 describe() + ": " + std::string(reason) + "; asking again (try " +
                                     std::to_string(answer.attempts + 1) + " of " + std::to_string(most) + ")");
        }
        answer_.reset();
        joined_.clear();
        coding_.reset();
        current_ = {};
        reading_ = ended_ = finished_ = broke_off_ = false;
        total_ = 0;
        round_ = core_->out.next_round();
        core_->engine().loop.post([core = core_, round = round_] { core->restart(round); });
    }

    std::string describe() const override { return core_->plan().flow->redactor->redact(core_->plan().shown); }

  private:
    void attach() {
        cancel_id_ = core_->plan().cancelled->on_cancel([weak = std::weak_ptr(core_)] {
            const auto core = weak.lock();
            if (!core) return;
            core->out.cancel();
            core->engine().loop.post([core] { core->abort(); });
        });
    }

    void detach() {
        core_->plan().cancelled->remove(cancel_id_);
        if (!finished_) core_->engine().loop.post([core = core_] { core->abort(); });
    }

    // An access token that its service refuses is replaced once, and the request sent again: it was not served.
    bool renew(const error& why) {
        const exchange_plan& plan = core_->plan();
        if (!plan.auth.grant || why.vendor_code != 401 || why.code != "source.auth" || std::exchange(renewed_, true))
            return false;
        exchange_plan next = plan;
        const std::string refused =
            plan.auth.value.substr(std::min<std::size_t>(plan.auth.value.size(), bearer.size()));
        next.auth.value = bearer_token(service_, next, refused);
        detach();
        core_ = std::make_shared<exchange_core>(core_->shared_engine(), std::move(next));
        round_ = 0;
        attach();
        core_->engine().loop.post([core = core_] { core->begin(); });
        return true;
    }

    const final_answer& known() const {
        if (!answer_) {
            throw failure("plugin.contract", "the answer of " + describe() + " was used before head had succeeded",
                          "call head first", retry_class::invalid);
        }
        return *answer_;
    }

    bool next_slice() {
        if (ended_) return false;
        bool resume = false;
        // What was shown is given back first: its block may be wanted.
        current_ = {};
        if (!core_->out.wait_piece(current_, resume)) {
            ended_ = finished_ = true;
            return false;
        }
        if (resume) core_->engine().loop.post([core = core_, round = round_] { core->resume(round); });
        return true;
    }

    bool read_plain(std::string_view& piece) {
        if (!next_slice()) return false;
        piece = current_.bytes;
        count(piece.size());
        return true;
    }

    bool read_inflated(std::string_view& piece) {
        while (true) {
            if (!coding_->needs_input()) {
                piece = coding_->next();
                if (!piece.empty()) {
                    count(piece.size());
                    return true;
                }
                if (!coding_->needs_input()) continue;
            }
            if (next_slice()) {
                coding_->feed(current_.bytes);
                continue;
            }
            if (coding_->complete()) return false;
            throw failure("source.transient", "the compressed body was cut off", {}, retry_class::transient);
        }
    }

    void count(std::size_t bytes) {
        total_ += static_cast<std::int64_t>(bytes);
        const std::int64_t most = core_->plan().max_body_bytes;
        if (total_ <= most) return;
        throw failure("source.protocol", "the body is longer than " + human_bytes(static_cast<std::uint64_t>(most)),
                      "ask for smaller pages", retry_class::permanent);
    }

    http_service& service_;
    std::shared_ptr<exchange_core> core_;
    std::uint64_t cancel_id_ = 0;
    std::shared_ptr<const final_answer> answer_;
    std::map<std::string, std::string> joined_;
    std::unique_ptr<inflater> coding_;
    slice current_;
    std::int64_t total_ = 0;
    unsigned round_ = 0;
    bool reading_ = false;
    bool ended_ = false;
    bool finished_ = false;  // the io thread has nothing left to free
    bool broke_off_ = false;
    bool renewed_ = false;
};

bool listed(const url& target, const std::vector<std::string>& origins) {
    return std::any_of(origins.begin(), origins.end(), [&](const std::string& entry) {
        if (entry.find("://") == std::string::npos)
            return equal_no_case(entry, target.host) || equal_no_case(entry, target.authority());
        return parse_url(entry).origin() == target.origin();
    });
}

exchange_plan make_plan(const lf_context& context, const http_request& request) {
    exchange_plan plan;
    plan.flow = context.flow;
    plan.cancelled = context.cancelled;
    plan.pace_share = context.pace_share;
    plan.flags = request.flags;
    plan.method = request.method.empty() ? "GET" : request.method;
    const auto refuse = [](const char* code, std::string message, std::string hint = {}) {
        throw failure(code, std::move(message), std::move(hint), retry_class::invalid);
    };
    if (!is_token(plan.method) || plan.method == "CONNECT" || plan.method == "TRACE") {
        refuse("config.method", "\"" + printable(plan.method, 40) + "\" is no method that can be sent");
    }
    plan.target = parse_url(request.url);
    if (plan.target.has_userinfo) {
        refuse("config.url", "the URL \"" + printable_url(request.url) + "\" holds a user name or password",
               "give credentials as auth = { type = \"basic\", user = .., password = .. }");
    }
    plan.auth = parse_auth(request.auth, *plan.flow->redactor);
    if (plan.auth.where == credential::place::query) {
        // A link of the service may repeat the credential; it is added where it belongs, and shown nowhere.
        plan.target = parse_url(without_query(plan.target.text(), plan.auth.name));
    }
    plan.origin = request.origin.empty() ? plan.target.origin() : parse_url(request.origin).origin();
    if (plan.target.origin() != plan.origin && !listed(plan.target, plan.flow->http.origins)) {
        refuse("source.off_origin",
               "a link leads away from " + plan.origin + ", to " + plan.flow->redactor->redact(plan.target.text()),
               "if that is right, add \"" + plan.target.origin() + "\" to origins in [connection]");
    }
    check_headers(request.headers);
    plan.headers = request.headers;
    for (const auto& [name, value] : plan.headers) {
        if (is_credential_header(name)) {
            const auto space = value.find(' ');
            plan.flow->redactor->add(space == std::string::npos ? value : value.substr(space + 1));
            plan.pace_identity += value;
        }
    }
    plan.pace_identity += plan.auth.grant ? plan.auth.grant->identity() : plan.auth.value;
    plan.pace_identity = std::to_string(hash64(plan.pace_identity));
    if (!request.content_type.empty()) check_headers({{"Content-Type", request.content_type}});
    plan.content_type = request.content_type;
    if (request.has_body || !request.body.empty()) plan.body = std::make_shared<const std::string>(request.body);
    plan.accept_status = request.accept_status;
    const std::int64_t host_limit = plan.flow->http.max_body_bytes;
    plan.max_body_bytes = request.max_body_bytes > 0 ? std::min(request.max_body_bytes, host_limit) : host_limit;
    if (!plan.flow->http.proxy.empty() && plan.flow->http.proxy != "none") {
        const proxy via = parse_proxy(plan.flow->http.proxy);
        if (!via.password.empty()) plan.flow->redactor->add(via.password);
    }
    plan.shown = plan.method + " " + plan.target.text();
    return plan;
}

}  // namespace

struct http_service::impl {
    std::shared_ptr<http_engine> engine;
};

http_service& http_service::instance() {
    static http_service& leaked = *std::make_unique<http_service>(http_settings{}).release();
    return leaked;
}

http_service::http_service(http_settings settings) : impl_(std::make_unique<impl>()) {
    impl_->engine = std::make_shared<http_engine>(std::move(settings));
}

http_service::~http_service() {
    http_engine& engine = *impl_->engine;
    engine.names.stop();
    engine.loop.post([&engine] {
        while (!engine.active.empty()) {
            const auto core = engine.active.begin()->second;
            core->out.cancel();
            core->abort();
        }
        engine.pool.close_all();
    });
    engine.loop.start();
    engine.loop.stop();
}

std::unique_ptr<exchange> http_service::start(const lf_context& context, const http_request& request) {
    exchange_plan plan = make_plan(context, request);
    if (plan.auth.grant) plan.auth.value = bearer_token(*this, plan, {});
    // The environment is read here, on the caller's thread, not beside a setenv of the program.
    impl_->engine->proxy_for(plan.target, plan.flow->http.proxy);
    auto core = std::make_shared<exchange_core>(impl_->engine, std::move(plan));
    impl_->engine->loop.start();
    impl_->engine->loop.post([core] { core->begin(); });
    return std::make_unique<live_exchange>(*this, std::move(core));
}

}  // namespace lakeflow::host
