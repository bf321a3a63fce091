// lakeflow/cpp/url.hpp: addresses: escaping, query parameters, references (RFC 3986), Link headers (RFC 8288). Any thread.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lakeflow/cpp/error.hpp"

namespace lakeflow {

// One path segment or one query name or value, escaped: all but the unreserved characters (RFC 3986, 2.3) becomes %XX.
inline std::string url_encode(std::string_view text) {
    static constexpr char hex[] = "0123456789ABCDEF";
    std::string out;
    for (char c : text) {
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                     c == '.' || c == '_' || c == '~';
        if (plain) {
            out.push_back(c);
        } else {
            auto byte = static_cast<unsigned char>(c);
            out += {'%', hex[byte >> 4], hex[byte & 15]};
        }
    }
    return out;
}

// The text of an escaped one; in a query, plus is a space. A lone % stands for itself.
inline std::string url_decode(std::string_view text, bool plus_is_space = false) {
    auto digit = [](char c) {
        return c >= '0' && c <= '9'   ? c - '0'
               : c >= 'a' && c <= 'f' ? c - 'a' + 10
               : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                      : -1;
    };
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0) {
            out.push_back(static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2])));
            i += 2;
        } else {
            out.push_back(plus_is_space && text[i] == '+' ? ' ' : text[i]);
        }
    }
    return out;
}

// The five parts of an address (RFC 3986, appendix B), unescaped as they stand.
struct url_parts {
    std::optional<std::string> scheme, authority;
    std::string path;
    std::optional<std::string> query, fragment;

    static url_parts split(std::string_view text) {
        url_parts out;
        auto cut = [&](char mark) -> std::optional<std::string> {
            size_t at = text.find(mark);
            if (at == std::string_view::npos) return std::nullopt;
            std::string tail(text.substr(at + 1));
            text = text.substr(0, at);
            return tail;
        };
        out.fragment = cut('#');
        out.query = cut('?');
        size_t colon = text.find(':');
        auto alpha = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
        bool scheme = colon != std::string_view::npos && colon > 0 && alpha(text[0]);
        for (size_t i = 0; scheme && i < colon; ++i) {
            char c = text[i];
            scheme = alpha(c) || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
        }
        if (scheme) {
            out.scheme = std::string(text.substr(0, colon));
            text.remove_prefix(colon + 1);
        }
        if (text.substr(0, 2) == "//") {
            text.remove_prefix(2);
            size_t end = std::min(text.find('/'), text.size());
            out.authority = std::string(text.substr(0, end));
            text.remove_prefix(end);
        }
        out.path = std::string(text);
        return out;
    }

    std::string join() const {
        std::string out;
        if (scheme) out += *scheme + ":";
        if (authority) out += "//" + *authority;
        out += path;
        if (query) out += "?" + *query;
        if (fragment) out += "#" + *fragment;
        return out;
    }
};

namespace detail {

// RFC 3986, 5.2.4.
inline std::string remove_dot_segments(std::string_view in) {
    std::string out;
    auto up = [&] { out.resize(out.rfind('/') == std::string::npos ? 0 : out.rfind('/')); };
    auto starts = [&](std::string_view what) { return in.substr(0, what.size()) == what; };
    while (!in.empty()) {
        if (starts("../")) {
            in.remove_prefix(3);
        } else if (starts("./") || starts("/./")) {
            in.remove_prefix(2);
        } else if (in == "/.") {
            in = "/";
        } else if (starts("/../")) {
            in.remove_prefix(3);
            up();
        } else if (in == "/..") {
            in = "/";
            up();
        } else if (in == "." || in == "..") {
            in = {};
        } else {
            size_t end = std::min(in.find('/', 1), in.size());
            out.append(in.substr(0, end));
            in.remove_prefix(end);
        }
    }
    return out;
}

}  // namespace detail

// The address that `reference` means in a document that came from `base` (RFC 3986, 5.2.2).
inline std::string url_resolve(std::string_view base, std::string_view reference) {
    url_parts from = url_parts::split(base), to = url_parts::split(reference);
    if (to.scheme) {
        to.path = detail::remove_dot_segments(to.path);
    } else {
        to.scheme = from.scheme;
        if (to.authority) {
            to.path = detail::remove_dot_segments(to.path);
        } else {
            to.authority = from.authority;
            if (to.path.empty()) {
                to.path = from.path;
                if (!to.query) to.query = from.query;
            } else if (to.path.front() == '/') {
                to.path = detail::remove_dot_segments(to.path);
            } else {
                size_t slash = from.path.rfind('/');
                std::string folder = slash == std::string::npos ? "" : from.path.substr(0, slash + 1);
                if (from.authority && from.path.empty()) folder = "/";
                to.path = detail::remove_dot_segments(folder + to.path);
            }
        }
    }
    return to.join();
}

// Adds path segments to a service's address; its own path is kept: url_path("https://api/v3", {"repos", owner, "issues"}).
// Throws invalid() for "", "." and "..", which mean "here" and "up", escaped or not: no service can name a thing so.
inline std::string url_path(std::string_view base, const std::vector<std::string>& segments) {
    url_parts out = url_parts::split(base);
    while (!out.path.empty() && out.path.back() == '/') out.path.pop_back();
    for (const std::string& segment : segments) {
        if (segment.empty() || segment == "." || segment == "..") {
            throw invalid("'" + segment + "' cannot be a part of an address");
        }
        out.path += "/" + url_encode(segment);
    }
    return out.join();
}

// Adds a query parameter behind those that are there.
inline std::string url_add(std::string_view address, std::string_view name, std::string_view value) {
    url_parts out = url_parts::split(address);
    std::string query = out.query.value_or("");
    if (!query.empty()) query += "&";
    out.query = query + url_encode(name) + "=" + url_encode(value);
    return out.join();
}

inline std::string url_add(std::string_view address,
                           const std::vector<std::pair<std::string, std::string>>& parameters) {
    std::string out(address);
    for (const auto& [name, value] : parameters) out = url_add(out, name, value);
    return out;
}

// The first value of a query parameter, decoded: the page number in a "last" link.
inline std::optional<std::string> url_query(std::string_view address, std::string_view name) {
    std::string query = url_parts::split(address).query.value_or("");
    std::string_view rest = query;
    while (!rest.empty()) {
        std::string_view one = rest.substr(0, rest.find('&'));
        rest.remove_prefix(std::min(one.size() + 1, rest.size()));
        size_t equals = std::min(one.find('='), one.size());
        if (url_decode(one.substr(0, equals), true) == name) {
            return url_decode(one.substr(std::min(equals + 1, one.size())), true);
        }
    }
    return std::nullopt;
}

// Replaces all values of a query parameter by one, in the place of the first; adds it where there is none.
inline std::string url_set(std::string_view address, std::string_view name, std::string_view value) {
    url_parts out = url_parts::split(address);
    std::string query;
    std::string_view rest = out.query ? std::string_view(*out.query) : std::string_view();
    bool done = false;
    auto put = [&](std::string_view one) { query += (query.empty() ? "" : "&") + std::string(one); };
    while (!rest.empty()) {
        std::string_view one = rest.substr(0, rest.find('&'));
        rest.remove_prefix(std::min(one.size() + 1, rest.size()));
        if (url_decode(one.substr(0, one.find('=')), true) != name) {
            put(one);
        } else if (!std::exchange(done, true)) {
            put(url_encode(name) + "=" + url_encode(value));
        }
    }
    if (!done) put(url_encode(name) + "=" + url_encode(value));
    out.query = query;
    return out.join();
}

// One link of a Link header: where it leads, resolved, and what it is.
struct web_link {
    std::string target;
    std::vector<std::pair<std::string, std::string>> parameters;  // names in lower case: {"rel", "next"}

    // rel holds a list of words.
    bool has_rel(std::string_view wanted) const;
};

// All links of a Link header; `base` is the address that the answer came from. What is malformed is left out.
std::vector<web_link> parse_links(std::string_view header, std::string_view base);

// Where the link of one relation leads: link_to(header, "next", exchange.final_url()).
std::optional<std::string> link_to(std::string_view header, std::string_view relation, std::string_view base);

}  // namespace lakeflow

#include "lakeflow/cpp/detail/links.hpp"
