// host/http/message.cpp: see message.h.
#include "host/http/message.h"

#include <algorithm>

#include "host/base/text.h"

namespace lakeflow::host {
namespace {

constexpr std::size_t shown_body = 200;
constexpr const char* proxy_hint = "the proxy wants credentials: proxy = \"http://user:password@host:port\"";

std::string what_was_said(const request_facts& facts, const answer_head& head, std::string_view body) {
    std::string text = facts.method + " " + facts.shown_url + " said " + std::to_string(head.status);
    if (!head.reason.empty()) text += " " + printable(head.reason, 60);
    if (const std::string shown = printable(body, shown_body); !shown.empty()) text += ": " + shown;
    if (facts.tries > 1) text += " (tried " + std::to_string(facts.tries) + " times)";
    return text;
}

std::string auth_hint(const request_facts& facts, int status) {
    if (facts.had_credential && !facts.sent_credential) {
        return "the request was led to another origin, where the credential is not sent; give the service's own "
               "address as base_url";
    }
    if (status == 407) return proxy_hint;
    if (!facts.had_credential) {
        return "no credential was sent: set the token (or auth) in [connection]";
    }
    if (status == 401) return "check the token: it may be mistyped, expired or revoked";
    return "check the token's rights: it is known, but may not do this (a missing scope or permission, or single "
           "sign-on that "
           "it has not passed)";
}

}  // namespace

std::string_view answer_head::find(std::string_view name) const noexcept {
    for (const auto& [key, value] : headers) {
        if (equal_no_case(key, name)) return value.empty() ? std::string_view("") : std::string_view(value);
    }
    return {};
}

std::string answer_head::joined(std::string_view name) const {
    std::string out;
    bool first = true;
    for (const auto& [key, value] : headers) {
        if (!equal_no_case(key, name)) continue;
        if (!first) out += ", ";
        out += value;
        first = false;
    }
    return out;
}

std::string printable(std::string_view bytes, std::size_t size) {
    // A little more than is shown is looked at, so that a cut character at the end is seen as such.
    const bool cut = bytes.size() > size;
    std::string_view text = bytes.substr(0, size);
    if (cut) {
        while (!text.empty() && !is_utf8(text) && bytes.size() - text.size() < bytes.size() - size + 4)
            text.remove_suffix(1);
        if (!is_utf8(text)) text = bytes.substr(0, size);
    }
    const bool valid = is_utf8(text);
    std::string out;
    bool space = false;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte <= 0x20 || byte == 0x7f) {
            space = !out.empty();
            continue;
        }
        if (space) out += ' ';
        space = false;
        out += byte >= 0x80 && !valid ? '?' : c;
    }
    if (cut) out += "...";
    return out;
}

std::string human_duration(std::int64_t us) {
    us = std::max<std::int64_t>(us, 0);
    if (us < 1'000'000) return std::to_string(us / 1000) + " ms";
    const std::int64_t seconds = (us + 999'999) / 1'000'000;
    if (seconds < 120) return std::to_string(seconds) + " s";
    if (seconds < 7200) return std::to_string(seconds / 60) + " min";
    return std::to_string(seconds / 3600) + " h";
}

error status_error(const request_facts& facts, const answer_head& head, std::string_view body) {
    error e;
    e.vendor_code = head.status;
    e.message = what_was_said(facts, head, body);
    switch (head.status) {
        case 401:
        case 403:
        case 407:
            e.code = "source.auth";
            e.retry = retry_class::auth;
            e.hint = auth_hint(facts, head.status);
            return e;
        case 404:
        case 410:
        case 451:
            e.code = "source.not_found";
            e.retry = retry_class::not_found;
            e.hint = head.status == 404 ? "check the name and base_url; a service may also say 404 where the token "
                                          "lacks the permission to see it"
                                        : "the service no longer offers this";
            return e;
        case 408:
        case 425:
        case 500:
        case 502:
        case 503:
        case 504:
            e.code = "source.transient";
            e.retry = retry_class::transient;
            e.hint = "the service has trouble of its own; run the job again later";
            return e;
        default: break;
    }
    e.code = "source.protocol";
    e.retry = retry_class::permanent;
    if (head.status >= 300 && head.status < 400) e.hint = "the redirect leads nowhere; check base_url";
    if (head.status == 400 || head.status == 422)
        e.hint = "the service does not accept this request; check the table's options";
    return e;
}

error limit_error(const request_facts& facts, const answer_head& head, std::string_view body, std::int64_t wait_us,
                  std::int64_t max_wait_us) {
    error e;
    e.code = "source.rate_limited";
    e.retry = retry_class::rate_limited;
    e.vendor_code = head.status;
    e.retry_after_ms = (wait_us + 999) / 1000;
    e.message = what_was_said(facts, head, body);
    if (wait_us > max_wait_us) {
        e.message += "; it asks to wait " + human_duration(wait_us) + ", longer than retry.max_wait allows (" +
                     human_duration(max_wait_us) + ")";
        e.hint = "run the job again after that time, or raise retry.max_wait in [connection]";
    } else {
        e.hint =
            "the limit was still there after every wait; lower parallelism, or raise retry.attempts in [connection]";
    }
    if (!facts.had_credential) e.hint += "; a token usually raises the limit";
    return e;
}

error wire_error(const request_facts& facts, const wire_failure& why) {
    if (why.own) return *why.own;
    error e;
    e.message = facts.method + " " + facts.shown_url + " failed: " + why.text;
    if (facts.tries > 1) e.message += " (tried " + std::to_string(facts.tries) + " times)";
    e.code = "source.transient";
    e.retry = retry_class::transient;
    using kind = wire_failure::kind;
    switch (why.what) {
        case kind::resolve: e.hint = "check the host name in base_url, and that this machine can look up names"; break;
        case kind::connect: e.hint = "check base_url, and that the server is up and can be reached from here"; break;
        case kind::proxy:
            e.vendor_code = why.proxy_status;
            e.hint = "check the proxy of [connection] or of the environment (http_proxy, https_proxy, no_proxy)";
            if (why.proxy_status == 407 || why.proxy_status == 401 || why.proxy_status == 403) {
                e.code = "source.auth";
                e.retry = retry_class::auth;
                e.hint = proxy_hint;
            }
            break;
        case kind::tls:
            e.hint = "check that base_url names a TLS port and that the server speaks TLS 1.2 or newer";
            break;
        case kind::untrusted:
            e.code = "source.tls";
            e.retry = retry_class::permanent;
            e.hint =
                "if the server has a certificate of a private authority, name that in ca_file; else check the host "
                "name in "
                "base_url and that ca-certificates is installed";
            break;
        case kind::timeout:
            e.hint = "the server or the way to it is slow; raise timeout in [connection] or ask for smaller pages";
            break;
        case kind::closed:
            e.hint = "the server or a proxy on the way ended the connection; run the job again later";
            break;
        case kind::garbage:
            e.code = "source.protocol";
            e.hint = "check that base_url names an HTTP service";
            break;
    }
    return e;
}

}  // namespace lakeflow::host
