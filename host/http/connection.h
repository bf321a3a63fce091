// host/http/connection.h: one connection to one origin: look-up, TCP, the proxy's CONNECT, TLS, then one request after the
// other. It knows nothing of retries or pace. On the io thread only; every call returns at once, and news comes through the
// listener. A failure is never told from within a call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/http/answer.h"
#include "host/http/loop.h"
#include "host/http/proxy.h"
#include "host/http/resolver.h"
#include "host/http/tls.h"

namespace lakeflow::host {

// Where a connection leads.
struct endpoint {
    std::string host;
    std::uint16_t port = 0;
    bool tls = false;
    std::string ca_file;
    std::optional<proxy> via;

    // Connections of equal keys are interchangeable.
    std::string key() const;
};

struct wire_timeouts {
    std::int64_t connect_us = 0;     // look-up, TCP, CONNECT and TLS together
    std::int64_t first_byte_us = 0;  // from the request's last byte to the answer's first
    std::int64_t idle_us = 0;        // between two pieces of either
};

// Blocks that were read come back here from any thread, so that a long download does not go through the allocator.
class block_store : public std::enable_shared_from_this<block_store> {
  public:
    std::shared_ptr<block> get();

  private:
    void put(std::unique_ptr<block> used);
    std::mutex mutex_;
    std::vector<std::unique_ptr<block>> free_;
};

// Keep-Alive: "timeout=5, max=100": how long the server keeps an idle connection, less the time that a request needs to get
// there; an hour if it does not say.
std::int64_t keep_alive_time(std::string_view header);

class connection_listener {
  public:
    virtual void on_connected() = 0;
    virtual void on_head(answer_head head) = 0;
    // False: no more until resume.
    virtual bool on_body(std::vector<slice> pieces, std::size_t bytes) = 0;
    // The answer is whole. After it, or after on_failure, the listener is forgotten.
    virtual void on_end(bool reusable) = 0;
    virtual void on_failure(const wire_failure& why) = 0;

  protected:
    ~connection_listener() = default;
};

// A request in the form in which it goes out.
struct wire_request {
    std::string head;  // request line and headers
    std::shared_ptr<const std::string> body;
    bool bodyless_answer = false;  // HEAD
};

class connection : public std::enable_shared_from_this<connection> {
  public:
    static std::shared_ptr<connection> make(io_loop& loop, resolver& names, tls_contexts& contexts,
                                            std::shared_ptr<block_store> blocks, endpoint where);
    virtual ~connection() = default;

    virtual void connect(connection_listener& listener, const wire_timeouts& timeouts) = 0;
    virtual void send(connection_listener& listener, wire_request request, const wire_timeouts& timeouts) = 0;
    virtual void resume() = 0;  // reading, after on_body said false
    virtual void close() = 0;   // forgets the listener

    // Keeps an unused connection for a time; `gone` runs once if it dies or its time is up before it is used again.
    virtual void rest(std::int64_t time_us, std::function<void()> gone) = 0;
    // Takes it back: false if the peer has closed it or sent something unasked.
    virtual bool wake() = 0;

    const endpoint& where() const noexcept { return where_; }

  protected:
    explicit connection(endpoint where) : where_(std::move(where)) {}
    const endpoint where_;
};

}  // namespace lakeflow::host
