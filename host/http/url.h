// host/http/url.h: absolute http(s) URLs, their origins, and RFC 3986 reference resolution. Plain functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lakeflow::host {

// An absolute http or https URL, ready for the wire: scheme and host in lower case, the fragment gone, characters that may not
// stand in a request line percent-encoded.
struct url {
    std::string scheme;         // "http" or "https"
    std::string host;           // a name or an address, without brackets
    std::uint16_t port = 0;     // never 0 after parse_url
    std::string target;         // path and query: "/", "/a?b=c"
    bool has_userinfo = false;  // it named a user; the text is dropped

    bool tls() const noexcept { return scheme == "https"; }
    std::string authority()
        const;                   // "host", "host:8080", "[::1]:80": the Host header; no port if it is the scheme's own
    std::string origin() const;  // "https://host:8443"
    std::string text() const { return origin() + target; }
};

// Throws config.url (retry class invalid) for anything that cannot be asked for.
url parse_url(std::string_view text);

// RFC 3986 section 5.2, strict. `base` is absolute. The result keeps the reference's fragment.
std::string resolve_url(std::string_view base, std::string_view reference);

// "a=1&key=s" -> the URL with name=value added to its query, both percent-encoded; an existing parameter of that name is
// replaced.
std::string with_query(std::string_view url_text, std::string_view name, std::string_view value);
// The URL without query parameters of that name.
std::string without_query(std::string_view url_text, std::string_view name);

// What may be shown of a text that was meant as a URL: user and password of its authority are taken out.
std::string printable_url(std::string_view text);

}  // namespace lakeflow::host
