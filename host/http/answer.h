// host/http/answer.h: plain types that pass between the socket side and the policy side of the http floor. A block is filled by
// the io thread only, past what any slice of it shows, so slices may be read on another thread without a lock.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/base/error.h"

namespace lakeflow::host {

struct block {
    static constexpr std::size_t size = 64 * 1024;
    std::array<char, size> data;
};

// A piece of a body as received, and what keeps its bytes alive.
struct slice {
    std::shared_ptr<const block> owner;
    std::string_view bytes;
};

struct answer_head {
    int status = 0;
    std::string reason;
    std::vector<std::pair<std::string, std::string>> headers;

    // The first header of that name, without regard to case; data() is null if there is none.
    std::string_view find(std::string_view name) const noexcept;
    // All of that name, joined by ", ".
    std::string joined(std::string_view name) const;
};

// Why a connection gave no (whole) answer.
struct wire_failure {
    enum class kind {
        resolve,    // the name has no address
        connect,    // refused, unreachable
        proxy,      // the proxy said no
        tls,        // the handshake broke; may pass
        untrusted,  // the certificate is not acceptable, or the configuration of TLS is wrong; will not pass
        timeout,    // text says which
        closed,     // the peer ended the connection early, or it was reset
        garbage,    // what came is not HTTP
    };
    kind what = kind::closed;
    std::string text;           // "connection refused"
    int proxy_status = 0;       // of the proxy's answer to CONNECT
    bool sent_any = false;      // a byte of the request may have left
    bool answered_any = false;  // a byte of the answer has come
    std::optional<error> own;   // a fault of the configuration, found on the way
};

}  // namespace lakeflow::host
