// host/http/proxy.cpp: see proxy.h.
#include "host/http/proxy.h"

#include <arpa/inet.h>

#include <array>
#include <cstdlib>

#include "host/base/error.h"
#include "host/base/text.h"

namespace lakeflow::host {
namespace {

std::string from_environment(std::initializer_list<const char*> names) {
    for (const char* name : names) {
        if (const char* value = std::getenv(name); value != nullptr && *value != 0) return value;
    }
    return {};
}

[[noreturn]] void refuse(std::string message) {
    throw failure("config.proxy", std::move(message), "write the proxy as http://user:password@host:port",
                  retry_class::invalid);
}

std::string percent_decode(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto digit = [](char c) {
            if (c >= '0' && c <= '9') return c - '0';
            if (c >= 'a' && c <= 'f') return c - 'a' + 10;
            if (c >= 'A' && c <= 'F') return c - 'A' + 10;
            return -1;
        };
        if (text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0) {
            out += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
            i += 2;
        } else {
            out += text[i];
        }
    }
    return out;
}

// Address bytes of an IPv4 or IPv6 text; empty if it is none.
std::string address_bytes(const std::string& text) {
    std::array<unsigned char, 16> bytes{};
    if (inet_pton(AF_INET, text.c_str(), bytes.data()) == 1) return {reinterpret_cast<const char*>(bytes.data()), 4};
    if (inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1) return {reinterpret_cast<const char*>(bytes.data()), 16};
    return {};
}

bool in_network(const std::string& host, std::string_view network, std::string_view bits_text) {
    const std::string address = address_bytes(host);
    const std::string base = address_bytes(std::string(network));
    const auto bits = parse_int(bits_text);
    if (address.empty() || address.size() != base.size() || !bits || *bits < 0 ||
        *bits > static_cast<std::int64_t>(address.size() * 8)) {
        return false;
    }
    for (std::int64_t i = 0; i < *bits; ++i) {
        const auto at = static_cast<std::size_t>(i / 8);
        const int mask = 0x80 >> (i % 8);
        if ((address[at] & mask) != (base[at] & mask)) return false;
    }
    return true;
}

}  // namespace

proxy_environment read_proxy_environment() {
    return {from_environment({"http_proxy"}), from_environment({"https_proxy", "HTTPS_PROXY"}),
            from_environment({"all_proxy", "ALL_PROXY"}), from_environment({"no_proxy", "NO_PROXY"})};
}

proxy parse_proxy(std::string_view text) {
    const std::string_view whole = trim(text);
    std::string_view rest = whole;
    if (const auto at = rest.find("://"); at != rest.npos) {
        if (!equal_no_case(rest.substr(0, at), "http")) {
            refuse("the proxy \"" + printable_url(whole) + "\" is not of the kind http, the only one that is served");
        }
        rest.remove_prefix(at + 3);
    }
    rest = rest.substr(0, rest.find('/'));
    proxy out;
    if (const auto at = rest.rfind('@'); at != rest.npos) {
        const std::string_view user = rest.substr(0, at);
        const auto colon = user.find(':');
        out.password = colon == user.npos ? std::string() : percent_decode(user.substr(colon + 1));
        out.authorization = "Basic " + base64(percent_decode(user.substr(0, colon)) + ":" + out.password);
        rest.remove_prefix(at + 1);
    }
    try {
        const url address = parse_url("http://" + std::string(rest) + "/");
        out.host = address.host;
        out.port = address.port;  // 80 if none is given
    } catch (const failure&) {
        refuse("the proxy \"" + printable_url("http://" + std::string(rest)) + "\" cannot be read");
    }
    return out;
}

bool listed_in_no_proxy(const url& target, std::string_view list) {
    for (const auto& raw : split(list, ',')) {
        std::string entry = lower_ascii(trim(raw));
        if (entry.empty()) continue;
        if (entry == "*") return true;
        if (const auto slash = entry.find('/'); slash != entry.npos) {
            if (in_network(target.host, std::string_view(entry).substr(0, slash),
                           std::string_view(entry).substr(slash + 1)))
                return true;
            continue;
        }
        if (entry.starts_with('[')) {
            const auto end = entry.find(']');
            if (end == entry.npos) continue;
            const std::string port = entry.substr(end + 1);
            if (entry.substr(1, end - 1) == target.host && (port.empty() || port == ":" + std::to_string(target.port)))
                return true;
            continue;
        }
        if (const auto colon = entry.find(':'); colon != entry.npos && entry.find(':', colon + 1) == entry.npos) {
            if (entry.substr(colon + 1) != std::to_string(target.port)) continue;
            entry.erase(colon);
        }
        if (entry.starts_with("*.")) entry.erase(0, 1);
        const std::string suffix = entry.starts_with('.') ? entry : "." + entry;
        if (target.host == suffix.substr(1) || target.host.ends_with(suffix)) return true;
    }
    return false;
}

std::optional<proxy> choose_proxy(const url& target, std::string_view option, const proxy_environment& environment) {
    if (option == "none") return std::nullopt;
    if (!option.empty()) return parse_proxy(option);
    const std::string& own = target.tls() ? environment.https : environment.http;
    const std::string& chosen = own.empty() ? environment.all : own;
    if (chosen.empty() || listed_in_no_proxy(target, environment.no)) return std::nullopt;
    return parse_proxy(chosen);
}

std::string connect_request(const proxy& via, const std::string& host, std::uint16_t port) {
    const std::string target =
        (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + std::to_string(port);
    std::string out = "CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n";
    if (!via.authorization.empty()) out += "Proxy-Authorization: " + via.authorization + "\r\n";
    return out + "\r\n";
}

int connect_status(std::string_view line) noexcept {
    if (!line.starts_with("HTTP/1.") || line.size() < 12) return 0;
    return static_cast<int>(parse_int(line.substr(9, 3)).value_or(0));
}

}  // namespace lakeflow::host
