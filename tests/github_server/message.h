// A request and its answer as plain values: the edge between the transport (bytes, timers, faults of the wire) and the router (GitHub's rules).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lakeflow::github_server {

struct request {
    std::string method = "GET";
    std::string target;  // path and query as sent
    std::string host;
    bool tls = false;
    std::optional<std::string> authorization;
    std::string user_agent;
    std::string accept_encoding;
    std::string if_none_match;
    std::string api_version;
    std::string body;
};

// How the bytes of an answer travel. All defaults: at once and whole.
struct delivery {
    std::uint32_t delay_ms = 0;  // before the first byte
    std::size_t drip_bytes = 0;  // body in pieces of this size...
    std::uint32_t drip_ms = 0;   // ...with this pause between
    bool chunked = false;        // else Content-Length
    std::optional<std::size_t>
        cut_at;                   // stop in the body here and close; the length that was announced is the whole body's
    bool reset = false;           // at the cut, or instead of any answer: TCP reset
    bool hang = false;            // never answer; ends when the client closes
    bool close = false;           // Connection: close
    bool close_silently = false;  // close after the answer without having said so
};

struct answer {
    int status = 200;
    std::vector<std::pair<std::string, std::string>>
        headers;  // without Content-Length, Transfer-Encoding and Connection
    std::shared_ptr<const std::string> body = std::make_shared<const std::string>();
    std::shared_ptr<const std::string> packed;  // the gzip form of body, sent instead of it when set
    delivery how;
    bool counted = false;      // a request of a client, not of the control API
    std::uint64_t ticket = 0;  // of stats, when counted

    const std::shared_ptr<const std::string>& sent() const { return packed ? packed : body; }
    void set(std::string_view name, std::string value);  // replaces, without regard to case
    void remove(std::string_view name);
    const std::string* header(std::string_view name) const;
};

}  // namespace lakeflow::github_server
