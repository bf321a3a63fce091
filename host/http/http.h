// host/http/http.h: the HTTP client of the host, behind plain types: one request and its answer, all retries, redirects and
// waits included, is an `exchange`. http/1 (abi.h) is a thin cover over it, rows/1 reads bodies through it.
//
// Threads: start may be called from any thread; one exchange belongs to one thread at a time. All socket work runs on one io
// thread of the service, which is started with the first request and never at load. Bodies are inflated in read, on the
// caller's thread. Cancelling context->cancelled ends every wait within 100 ms, on any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/base/context.h"
#include "lakeflow/http.h"

namespace lakeflow::host {

// What to ask for. Texts are copied by start.
struct http_request {
    std::uint32_t flags = 0;  // LF_HTTP_IDEMPOTENT, LF_HTTP_NO_RETRY, LF_HTTP_NO_REDIRECT
    std::string method = "GET";
    std::string url;     // absolute, http or https
    std::string origin;  // the service's own address; empty: url's own
    std::vector<std::pair<std::string, std::string>> headers;
    std::string auth;  // JSON of contract 30; empty: none
    std::string body;
    bool has_body = false;  // tells an empty body from none
    std::string content_type;
    std::vector<int> accept_status;   // answers, not errors, beside 2xx
    std::int64_t max_body_bytes = 0;  // decoded; 0: the host's limit
};

// One request and its final answer. Abstract so that a test of a consumer needs no network. All errors are thrown as
// `failure`, with the codes of lakeflow/http.h. Destroying it in any state ends it.
class exchange {
  public:
    virtual ~exchange() = default;

    // Waits for the head of the final answer; its status. Calling it again gives the same.
    virtual int head() = 0;

    // A header of the final answer by name, without regard to case; several of one name are joined by ", ". Absent: data()
    // is null. Valid until retry or the end. After head.
    virtual std::string_view header(std::string_view name) = 0;

    // Where the final answer came from, after redirects; without a query credential. Valid until retry or the end. After head.
    virtual std::string_view final_url() = 0;

    // The next piece of the decoded body, never empty; false at the end of a body that is complete. `piece` is valid until the
    // next call. After head.
    virtual bool read(std::string_view& piece) = 0;

    // Asks for the same again, after a body that broke or made no sense; head follows. Throws, with `reason` in the message,
    // if no attempt is left: source.transient if the body had broken off, else source.protocol.
    virtual void retry(std::string_view reason) = 0;

    // "GET https://host/path": for messages; secrets are out.
    virtual std::string describe() const = 0;

  protected:
    exchange() = default;
    exchange(const exchange&) = delete;
    exchange& operator=(const exchange&) = delete;
};

// What is the same for all requests of a process. Tests make services of their own with other values.
struct http_settings {
    int max_connections = 32;                      // per origin
    std::int64_t idle_connection_us = 30'000'000;  // an unused connection is kept this long
    std::size_t read_ahead_bytes = 1u << 20;       // of one exchange's body, before its consumer asks
    std::int64_t backoff_cap_us = 60'000'000;
    // Name -> numeric addresses ("127.0.0.1", "::1"); empty: getaddrinfo. May block: it runs on a thread of its own.
    std::function<std::vector<std::string>(const std::string&)> resolve;
};

class http_service {
  public:
    // The process's own: made at the first call, leaked on purpose, so nothing runs at static destruction.
    static http_service& instance();

    // Ends all exchanges and joins the threads; for tests.
    explicit http_service(http_settings settings);
    ~http_service();
    http_service(const http_service&) = delete;
    http_service& operator=(const http_service&) = delete;

    // Queues a request and returns at once. Throws config.url and its like (retry class invalid), source.off_origin,
    // config.not_supported. The context must outlive this call only.
    std::unique_ptr<exchange> start(const lf_context& context, const http_request& request);

  private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

}  // namespace lakeflow::host

// What an lf_exchange* points at: rows/1 reads `impl` directly.
struct lf_exchange {
    std::unique_ptr<lakeflow::host::exchange> impl;
};
