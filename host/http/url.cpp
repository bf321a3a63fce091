// host/http/url.cpp: see url.h.
#include "host/http/url.h"

#include <algorithm>

#include "host/base/error.h"
#include "host/base/text.h"

namespace lakeflow::host {
namespace {

// The five parts of RFC 3986 appendix B; what is absent differs from what is empty.
struct parts {
    std::string_view scheme, authority, path, query, fragment;
    bool has_scheme = false, has_authority = false, has_query = false, has_fragment = false;
};

bool is_alpha(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

parts split_url(std::string_view text) {
    parts p;
    if (const auto at = text.find('#'); at != text.npos) {
        p.fragment = text.substr(at + 1);
        p.has_fragment = true;
        text = text.substr(0, at);
    }
    if (const auto at = text.find('?'); at != text.npos) {
        p.query = text.substr(at + 1);
        p.has_query = true;
        text = text.substr(0, at);
    }
    const auto colon = text.find(':');
    if (colon != text.npos && colon > 0 && colon < text.find('/') && is_alpha(text[0]) &&
        std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(colon),
                    [](char c) { return is_alpha(c) || is_digit(c) || c == '+' || c == '-' || c == '.'; })) {
        p.scheme = text.substr(0, colon);
        p.has_scheme = true;
        text = text.substr(colon + 1);
    }
    if (text.substr(0, 2) == "//") {
        const auto end = std::min(text.find('/', 2), text.size());
        p.authority = text.substr(2, end - 2);
        p.has_authority = true;
        text = text.substr(end);
    }
    p.path = text;
    return p;
}

// RFC 3986 section 5.2.4.
std::string remove_dot_segments(std::string_view in) {
    std::string out;
    const auto drop_last = [&out] { out.erase(out.find_last_of('/') == out.npos ? 0 : out.find_last_of('/')); };
    while (!in.empty()) {
        if (in.starts_with("../")) {
            in.remove_prefix(3);
        } else if (in.starts_with("./")) {
            in.remove_prefix(2);
        } else if (in.starts_with("/./")) {
            in.remove_prefix(2);
        } else if (in == "/.") {
            in = "/";
        } else if (in.starts_with("/../")) {
            in.remove_prefix(3);
            drop_last();
        } else if (in == "/..") {
            in = "/";
            drop_last();
        } else if (in == "." || in == "..") {
            in = {};
        } else {
            const auto end = std::min(in.find('/', 1), in.size());
            out += in.substr(0, end);
            in.remove_prefix(end);
        }
    }
    return out;
}

std::string join(const parts& p, std::string_view path) {
    std::string out;
    if (p.has_scheme) out.append(p.scheme).append(":");
    if (p.has_authority) out.append("//").append(p.authority);
    out.append(path);
    if (p.has_query) out.append("?").append(p.query);
    if (p.has_fragment) out.append("#").append(p.fragment);
    return out;
}

[[noreturn]] void refuse(std::string_view text, std::string_view why, std::string hint = {}) {
    throw failure("config.url", "\"" + printable_url(text) + "\" cannot be asked for: " + std::string(why),
                  std::move(hint), retry_class::invalid);
}

// Encodes what may not stand in a request line; control characters are refused, so that nothing can be smuggled in.
std::string encode_target(std::string_view whole, std::string_view target) {
    constexpr std::string_view encoded = " \"<>\\^`{|}";
    std::string out;
    out.reserve(target.size());
    for (const char c : target) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7f) refuse(whole, "it holds a control character");
        if (byte >= 0x80 || encoded.find(c) != encoded.npos) {
            out += percent_encode(std::string_view(&c, 1));
        } else {
            out += c;
        }
    }
    return out;
}

bool same_parameter(std::string_view parameter, std::string_view name) {
    const auto key = parameter.substr(0, parameter.find('='));
    return key == name || key == percent_encode(name);
}

}  // namespace

std::string url::authority() const {
    std::string out = host.find(':') == host.npos ? host : "[" + host + "]";
    if (port != (tls() ? 443 : 80)) out += ":" + std::to_string(port);
    return out;
}

std::string url::origin() const { return scheme + "://" + authority(); }

url parse_url(std::string_view text) {
    const parts p = split_url(text);
    url out;
    out.scheme = lower_ascii(p.scheme);
    if (!p.has_scheme || !p.has_authority) {
        refuse(text, "it is not absolute", "write it as https://host/path");
    }
    if (out.scheme != "http" && out.scheme != "https") refuse(text, "only http and https are served");
    std::string_view authority = p.authority;
    if (const auto at = authority.rfind('@'); at != authority.npos) {
        out.has_userinfo = true;
        authority.remove_prefix(at + 1);
    }
    std::string_view port;
    if (authority.starts_with('[')) {
        const auto end = authority.find(']');
        if (end == authority.npos) refuse(text, "its address has no closing bracket");
        out.host = lower_ascii(authority.substr(1, end - 1));
        port = authority.substr(end + 1);
        const auto valid = [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || c == ':' || c == '.'; };
        if (out.host.find(':') == out.host.npos || !std::all_of(out.host.begin(), out.host.end(), valid)) {
            refuse(text, "its address is no IPv6 address");
        }
        if (!port.empty() && port[0] != ':') refuse(text, "its port cannot be read");
    } else {
        const auto colon = std::min(authority.find(':'), authority.size());
        out.host = lower_ascii(authority.substr(0, colon));
        port = authority.substr(colon);
        const auto valid = [](char c) { return is_digit(c) || is_alpha(c) || c == '-' || c == '.' || c == '_'; };
        if (out.host.empty()) refuse(text, "it has no host");
        if (!std::all_of(out.host.begin(), out.host.end(), valid)) {
            refuse(text, "its host has characters that no host name has",
                   "write an international name in its xn-- form");
        }
    }
    if (!port.empty()) port.remove_prefix(1);
    if (port.empty()) {
        out.port = out.tls() ? 443 : 80;
    } else {
        const auto number = std::all_of(port.begin(), port.end(), is_digit) ? parse_int(port) : std::nullopt;
        if (!number || *number < 1 || *number > 65535) refuse(text, "its port cannot be read");
        out.port = static_cast<std::uint16_t>(*number);
    }
    out.target = encode_target(text, p.path.empty() ? "/" : p.path);
    if (p.has_query) out.target += "?" + encode_target(text, p.query);
    return out;
}

std::string resolve_url(std::string_view base_text, std::string_view reference_text) {
    const parts base = split_url(base_text);
    parts target = split_url(reference_text);
    if (target.has_scheme) return join(target, remove_dot_segments(target.path));
    target.scheme = base.scheme;
    target.has_scheme = base.has_scheme;
    if (target.has_authority) return join(target, remove_dot_segments(target.path));
    target.authority = base.authority;
    target.has_authority = base.has_authority;
    if (target.path.empty()) {
        if (!target.has_query) {
            target.query = base.query;
            target.has_query = base.has_query;
        }
        return join(target, base.path);
    }
    if (target.path[0] == '/') return join(target, remove_dot_segments(target.path));
    std::string merged;
    if (base.has_authority && base.path.empty()) {
        merged = "/" + std::string(target.path);
    } else {
        const auto slash = base.path.rfind('/');
        merged = std::string(base.path.substr(0, slash == base.path.npos ? 0 : slash + 1)) + std::string(target.path);
    }
    return join(target, remove_dot_segments(merged));
}

std::string without_query(std::string_view url_text, std::string_view name) {
    parts p = split_url(url_text);
    if (!p.has_query) return std::string(url_text);
    std::string query;
    for (const auto& parameter : split(p.query, '&')) {
        if (same_parameter(parameter, name)) continue;
        if (!query.empty()) query += '&';
        query += parameter;
    }
    p.query = query;
    p.has_query = !query.empty();
    return join(p, p.path);
}

std::string with_query(std::string_view url_text, std::string_view name, std::string_view value) {
    const std::string rest = without_query(url_text, name);
    parts p = split_url(rest);
    const std::string query = (p.query.empty() ? std::string() : std::string(p.query) + "&") + percent_encode(name) +
                              "=" + percent_encode(value);
    p.query = query;
    p.has_query = true;
    return join(p, p.path);
}

std::string printable_url(std::string_view text) {
    parts p = split_url(text);
    if (const auto at = p.authority.rfind('@'); at != p.authority.npos) p.authority.remove_prefix(at + 1);
    std::string out = join(p, p.path);
    for (char& c : out) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
    }
    if (!is_utf8(out)) {
        for (char& c : out) {
            if (static_cast<unsigned char>(c) >= 0x80) c = '?';
        }
    }
    return out;
}

}  // namespace lakeflow::host
