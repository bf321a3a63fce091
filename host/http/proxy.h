// host/http/proxy.h: which proxy a request goes through: the job's own, else the environment's (http_proxy, https_proxy,
// all_proxy, no_proxy), read as curl reads them. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "host/http/url.h"

namespace lakeflow::host {

struct proxy {
    std::string host;
    std::uint16_t port = 0;
    std::string authorization;  // value of Proxy-Authorization; empty: none
    std::string password;       // for the redactor
    std::string shown() const { return host + ":" + std::to_string(port); }
};

struct proxy_environment {
    std::string http, https, all, no;
};

// http_proxy is taken in lower case only: HTTP_PROXY can be set by a client of a CGI program.
proxy_environment read_proxy_environment();

// "http://user:password@host:port" or "host:port". Throws config.proxy.
proxy parse_proxy(std::string_view text);

// `option` is the job's: empty: the environment decides; "none": no proxy at all.
std::optional<proxy> choose_proxy(const url& target, std::string_view option, const proxy_environment& environment);

// True if a no_proxy list ("a.example, .b.example:8080, 10.0.0.0/8, *") names the target.
bool listed_in_no_proxy(const url& target, std::string_view list);

// The request that opens a tunnel, and the status in the first line of its answer (0: not HTTP).
std::string connect_request(const proxy& via, const std::string& host, std::uint16_t port);
int connect_status(std::string_view line) noexcept;

}  // namespace lakeflow::host
