// host/http/oauth.cpp: see oauth.h.
#include "host/http/oauth.h"

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <optional>
#include <utility>

#include "host/base/error.h"
#include "host/base/text.h"
#include "host/http/http.h"
#include "host/http/message.h"
#include "host/http/oauth_file.h"

namespace lakeflow::host {
namespace {

constexpr std::int64_t second = 1'000'000;
constexpr std::size_t most_answer = 1u << 20;

struct folders {
    std::mutex mutex;
    std::string tokens, job;
};

folders& places() {
    static folders& leaked = *std::make_unique<folders>().release();
    return leaked;
}

std::string file_of(const oauth_grant& grant) {
    namespace fs = std::filesystem;
    auto& where = places();
    const std::scoped_lock lock(where.mutex);
    if (!grant.store.empty()) {
        return fs::path(grant.store).is_absolute() || where.job.empty() ? grant.store
                                                                        : (fs::path(where.job) / grant.store).string();
    }
    return where.tokens.empty()
               ? std::string()
               : (fs::path(where.tokens) / (sha256_hex(grant.identity()).substr(0, 32) + ".json")).string();
}

// An access token is not used in the last tenth of its life.
std::int64_t usable_until(std::int64_t now_us, std::int64_t lives_us) {
    return now_us + lives_us - std::min(lives_us / 10, 60 * second);
}

struct token_answer {
    std::string access_token, refresh_token;
    std::int64_t lives_us = 0;  // 0: not said
};

std::string text_of(const boost::json::object& object, const char* name) {
    const auto* value = object.if_contains(name);
    return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

void add_field(std::string& body, std::string_view name, std::string_view value) {
    if (value.empty()) return;
    body.append(body.empty() ? "" : "&").append(name).append("=").append(percent_encode(value));
}

token_answer ask(http_service& http, const lf_context& context, const oauth_grant& grant,
                 const std::string& refresh_token) {
    http_request request;
    request.method = "POST";
    request.url = grant.token_url;
    request.content_type = "application/x-www-form-urlencoded";
    request.headers = {{"Accept", "application/json"}};
    request.accept_status = {400, 401, 403};
    request.max_body_bytes = most_answer;
    request.has_body = true;
    add_field(request.body, "grant_type", grant.grant);
    add_field(request.body, "refresh_token", refresh_token);
    if (grant.basic) {
        request.auth = R"({"type":"basic","user":")" + percent_encode(grant.client_id) + R"(","password":")" +
                       percent_encode(grant.client_secret) + "\"}";
    } else {
        add_field(request.body, "client_id", grant.client_id);
        add_field(request.body, "client_secret", grant.client_secret);
    }
    add_field(request.body, "scope", grant.scope);
    // A refresh that was received may have spent its token: it is not sent twice.
    if (grant.grant == "client_credentials") request.flags = LF_HTTP_IDEMPOTENT;
    const auto exchange = http.start(context, request);
    const int status = exchange->head();
    std::string body;
    std::string_view piece;
    while (exchange->read(piece)) body += piece;
    boost::system::error_code ec;
    const auto value = boost::json::parse(body, ec);
    const bool object = !ec && value.is_object();
    if (status >= 400) {
        std::string why = object ? text_of(value.get_object(), "error") : std::string();
        const std::string more = object ? text_of(value.get_object(), "error_description") : std::string();
        if (!more.empty()) why += ": " + more;
        error e;
        e.code = "source.auth";
        e.retry = retry_class::auth;
        e.vendor_code = status;
        e.message = exchange->describe() + " refused the grant (" + std::to_string(status) +
                    (why.empty() ? "" : " " + printable(why, 200)) + ")";
        e.hint = grant.grant == "refresh_token" ? "the refresh token is spent, expired or revoked: the grant must be "
                                                  "renewed, and the new token put into the job"
                                                : "check client_id, client_secret and scope";
        throw failure(std::move(e));
    }
    token_answer out;
    if (object) {
        out.access_token = text_of(value.get_object(), "access_token");
        out.refresh_token = text_of(value.get_object(), "refresh_token");
        const auto* lives = value.get_object().if_contains("expires_in");
        if (lives != nullptr && lives->is_int64())
            out.lives_us = std::clamp<std::int64_t>(lives->get_int64(), 0, 1ll << 32) * second;
        if (lives != nullptr && lives->is_string()) {
            const auto seconds = parse_int(std::string_view(lives->get_string()));
            if (seconds) out.lives_us = std::clamp<std::int64_t>(*seconds, 0, 1ll << 32) * second;
        }
    }
    if (out.access_token.empty()) {
        throw failure("source.protocol", exchange->describe() + " gave no access_token", "check token_url");
    }
    return out;
}

}  // namespace

std::string oauth_grant::identity() const {
    return grant + "\n" + token_url + "\n" + client_id + "\n" + scope + "\n" + store;
}

void set_oauth_folders(std::string tokens, std::string job) {
    auto& where = places();
    const std::scoped_lock lock(where.mutex);
    where.tokens = std::move(tokens);
    where.job = std::move(job);
}

struct oauth_tokens::held {
    std::mutex mutex;
    std::condition_variable over;
    bool asking = false;  // one thread asks, the others wait for what it gets
    oauth_state state;
};

oauth_tokens& oauth_tokens::instance() {
    static oauth_tokens& leaked = *std::make_unique<oauth_tokens>().release();
    return leaked;
}

std::shared_ptr<oauth_tokens::held> oauth_tokens::find(const oauth_grant& grant) {
    const std::scoped_lock lock(mutex_);
    auto& out = grants_[grant.identity() + "\n" + sha256_hex(grant.client_secret + "\n" + grant.refresh_token)];
    if (!out) out = std::make_shared<held>();
    return out;
}

// A thread's turn to ask. Not a timed_mutex: ThreadSanitizer does not see it being locked.
class oauth_tokens::turn {
  public:
    turn(held& whose, cancel_token& stop) : held_(whose) {
        std::unique_lock lock(held_.mutex);
        while (!held_.over.wait_for(lock, std::chrono::milliseconds(50), [&] { return !held_.asking; })) {
            lock.unlock();
            stop.check();
            lock.lock();
        }
        held_.asking = true;
    }
    ~turn() {
        {
            const std::scoped_lock lock(held_.mutex);
            held_.asking = false;
        }
        held_.over.notify_one();
    }
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;

  private:
    held& held_;
};

std::string oauth_tokens::access(http_service& http, const lf_context& context, const oauth_grant& grant,
                                 const std::string& refused) {
    const auto h = find(grant);
    const auto& flow = *context.flow;
    const auto holds = [&](const oauth_state& s) {
        return !s.access_token.empty() && s.access_token != refused &&
               (s.expires_us == 0 || flow.time->now_us() < s.expires_us);
    };
    const auto known = [&] {
        const std::scoped_lock lock(h->mutex);
        return holds(h->state) ? h->state.access_token : std::string();
    };
    const auto keep = [&](const oauth_state& s) {
        flow.redactor->add(s.access_token);
        flow.redactor->add(s.refresh_token);
        const std::scoped_lock lock(h->mutex);
        h->state = s;
        return s.access_token;
    };
    if (auto token = known(); !token.empty()) {
        flow.redactor->add(token);
        return token;
    }
    const turn mine(*h, *context.cancelled);
    if (auto token = known(); !token.empty()) {
        flow.redactor->add(token);
        return token;
    }
    if (grant.grant == "client_credentials") {
        const token_answer got = ask(http, context, grant, {});
        const std::int64_t until = got.lives_us > 0 ? usable_until(flow.time->now_us(), got.lives_us) : 0;
        return keep({{}, {}, got.access_token, until});
    }
    const std::string path = file_of(grant);
    const oauth_file file(path);
    const std::string digest = sha256_hex(grant.refresh_token);
    std::optional<oauth_file::lock> guard;
    oauth_state stored;
    if (!path.empty()) {
        guard.emplace(file, *context.cancelled);
        stored = file.read();
        // Another process may have been here.
        if (stored.configured == digest && holds(stored)) return keep(stored);
    } else {
        const std::scoped_lock lock(h->mutex);
        stored = h->state;
    }
    // What the token's server gave last wins over the job's, unless the job has been given another one since.
    const bool rotated = !stored.refresh_token.empty() && stored.configured == digest;
    const std::string current = rotated ? stored.refresh_token : grant.refresh_token;
    flow.redactor->add(current);
    const token_answer got = ask(http, context, grant, current);
    if (at_step) at_step("answered");
    oauth_state next;
    next.refresh_token = got.refresh_token.empty() ? current : got.refresh_token;
    next.configured = digest;
    next.access_token = got.access_token;
    next.expires_us = got.lives_us > 0 ? usable_until(flow.time->now_us(), got.lives_us) : 0;
    flow.redactor->add(next.refresh_token);
    flow.redactor->add(next.access_token);
    // Written before its first use: from here on the old one may be spent.
    if (!path.empty()) {
        file.write(next, at_step);
    } else if (next.refresh_token != current) {
        flow.log.write(log_level::warn, "http",
                       "a refresh token was replaced, and there is no folder to keep the new one in: set auth.store");
    }
    return keep(next);
}

}  // namespace lakeflow::host
