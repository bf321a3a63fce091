// See router.h.
#include "tests/github_server/router.h"

#include <algorithm>
#include <exception>
#include <shared_mutex>
#include <vector>

#include "tests/github_server/text.h"

namespace lakeflow::github_server {
namespace {

constexpr std::string_view control_prefix = "/__control";

std::vector<std::string> split_path(std::string_view path) {
    std::vector<std::string> out;
    while (!path.empty()) {
        const std::size_t end = path.find('/');
        if (end != 0) out.push_back(percent_decode(path.substr(0, end), false));
        path = end == std::string_view::npos ? std::string_view{} : path.substr(end + 1);
    }
    return out;
}

bool accepts_gzip(std::string_view accept) {
    const std::string text = lower(accept);
    const std::size_t at = text.find("gzip");
    if (at == std::string::npos) return false;
    const std::string_view rest = std::string_view(text).substr(at + 4, text.find(',', at) - at - 4);
    return rest.find("q=0") == std::string_view::npos || rest.find("q=0.") != std::string_view::npos;
}

// If-None-Match compares weakly.
bool matches(std::string_view condition, std::string_view etag) {
    if (condition == "*") return true;
    const std::string_view opaque = etag.substr(2);  // without W/
    return !opaque.empty() && condition.find(opaque) != std::string_view::npos;
}

enum class credential { none, good, bad };

credential check(const std::optional<std::string>& header, const std::vector<std::string>& tokens) {
    if (!header) return tokens.empty() ? credential::good : credential::none;
    if (tokens.empty()) return credential::good;
    const std::size_t space = header->find(' ');
    if (space == std::string::npos) return credential::bad;
    const std::string scheme = lower(std::string_view(*header).substr(0, space));
    std::string given = header->substr(space + 1);
    if (scheme == "basic") {
        given = from_base64(given).value_or("");
        given = given.substr(given.find(':') + 1);
    } else if (scheme != "bearer" && scheme != "token") {
        return credential::bad;
    }
    return std::find(tokens.begin(), tokens.end(), given) == tokens.end() ? credential::bad : credential::good;
}

}  // namespace

router::router(const server_config& config)
    : world_(config), stats_(config.log_entries), control_(world_, stats_, faults_), endpoints_(world_) {
    if (!config.faults.empty()) faults_.add(config.faults);
}

std::string router::origin(const request& asked) const {
    if (!world_.config.public_url.empty()) return world_.config.public_url;
    return (asked.tls ? "https://" : "http://") + asked.host;
}

answer router::handle(const request& asked) {
    if (asked.target.rfind(control_prefix, 0) == 0) {
        const control_reply done = control_.call(asked.method, asked.target.substr(control_prefix.size()), asked.body);
        answer out;
        out.status = done.status;
        out.headers.emplace_back("Content-Type", done.content_type);
        out.body = std::make_shared<const std::string>(done.body);
        return out;
    }
    request_record record;
    record.method = asked.method;
    record.target = asked.target;
    record.authorization = asked.authorization.has_value();
    record.conditional = !asked.if_none_match.empty();
    record.user_agent = asked.user_agent;
    record.api_version = asked.api_version;
    const std::uint64_t ticket = stats_.begin(std::move(record));

    answer out;
    try {
        for (const std::string& actions : faults_.match_triggers(asked, true)) control_.run(actions);
        const std::vector<fault> rules = faults_.match(asked);
        request seen = asked;
        for (const fault& rule : rules) {
            if (rule.ignore_query.empty()) continue;
            const std::size_t mark = seen.target.find('?');
            if (mark == std::string::npos) continue;
            parameters query = parse_query(std::string_view(seen.target).substr(mark + 1));
            std::erase_if(query, [&](const auto& parameter) {
                return std::find(rule.ignore_query.begin(), rule.ignore_query.end(), parameter.first) !=
                       rule.ignore_query.end();
            });
            seen.target = seen.target.substr(0, mark + 1) + render_query(query);
        }
        out = respond(seen);
        for (const fault& rule : rules) apply(rule, asked, origin(asked), world_.now(), out);
        for (const std::string& actions : faults_.match_triggers(asked, false)) control_.run(actions);
    } catch (const std::exception& error) {
        // A trigger that cannot run is a mistake in the test: it must be seen.
        out = answer{};
        out.status = 500;
        out.body = std::make_shared<const std::string>(std::string("github-server: ") + error.what());
    }
    out.counted = true;
    out.ticket = ticket;
    return out;
}

void router::finish(const answer& given, int status, std::uint64_t body_bytes) {
    if (given.counted) stats_.finish(given.ticket, status, body_bytes);
}

answer router::respond(const request& asked) {
    answer out;
    call c;
    const std::size_t mark = asked.target.find('?');
    c.raw_path = asked.target.substr(0, mark);
    if (mark != std::string::npos) c.raw_query = asked.target.substr(mark + 1);
    c.path = split_path(c.raw_path);
    c.query = parse_query(c.raw_query);
    c.origin = origin(asked);

    const std::shared_lock lock(world_.mutex);
    const std::int64_t now = world_.now();
    out.how.delay_ms = world_.latency_ms;
    out.how.chunked = world_.chunked;

    const credential who = check(asked.authorization, world_.tokens);
    c.authenticated = who == credential::good;
    reply given;
    bool routed = false;
    if (asked.user_agent.empty()) {
        given = failure(
            403, "Request forbidden by administrative rules. Please make sure your request has a User-Agent header.",
            "rest");
    } else if (!asked.api_version.empty() && asked.api_version != "2022-11-28" && asked.api_version != "2026-03-10") {
        given = failure(400,
                        "The version you specified in the \"X-GitHub-API-Version\" request header, \"" +
                            asked.api_version + "\", is not a supported version.",
                        "rest/about-the-rest-api/api-versions");
    } else if (who == credential::bad) {
        given = failure(401, "Bad credentials", "rest");
    } else if (asked.method != "GET" && asked.method != "HEAD") {
        given = failure(404, "Not Found", "rest");
    } else {
        if (asked.api_version == "2026-03-10") c.version = api_version::v2026_03_10;
        given = endpoints_.answer(c);
        routed = true;
    }

    const bool unchanged = routed && given.status == 200 && !asked.if_none_match.empty() &&
                           matches(asked.if_none_match, given.content->etag());
    const rate_limiter::state rate = world_.rate.take(now, !unchanged);
    if (rate.exceeded && who != credential::bad) {
        given = failure(403, "API rate limit exceeded for user ID 1.",
                        "rest/using-the-rest-api/rate-limits-for-the-rest-api");
    }
    out.status = unchanged && !rate.exceeded ? 304 : given.status;
    out.headers = {
        {"Date", http_date(now)},
        {"Server", "github.com"},
        {"Cache-Control", "private, max-age=60, s-maxage=60"},
        {"Vary", "Accept, Authorization, Cookie, X-GitHub-OTP,Accept-Encoding, Accept, X-Requested-With"},
        {"X-GitHub-Media-Type", "github.v3; format=json"},
        {"X-GitHub-Api-Version-Selected", c.version == api_version::v2026_03_10 ? "2026-03-10" : "2022-11-28"},
        {"X-RateLimit-Limit", std::to_string(rate.limit)},
        {"X-RateLimit-Remaining", std::to_string(rate.remaining)},
        {"X-RateLimit-Used", std::to_string(rate.used)},
        {"X-RateLimit-Reset", std::to_string(rate.reset)},
        {"X-RateLimit-Resource", "core"}};
    if (given.status == 200) out.headers.emplace_back("ETag", given.content->etag());
    if (!given.links.empty() && out.status == 200) out.headers.emplace_back("Link", given.links);
    if (!given.location.empty()) out.headers.emplace_back("Location", given.location);
    if (out.status == 304) return out;
    out.headers.emplace_back("Content-Type", "application/json; charset=utf-8");
    out.body = given.content->body();
    if (world_.gzip && accepts_gzip(asked.accept_encoding) && out.body->size() >= 256) {
        out.packed = given.content->packed();
    }
    return out;
}

}  // namespace lakeflow::github_server
