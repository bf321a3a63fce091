// host/http/test_server.h: servers for the tests of this floor, scripted byte by byte over raw loopback sockets, so that answers
// may be wrong in any way; and the context that a plugin instance would have. One thread a connection.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "host/base/context.h"
#include "host/base/error.h"
#include "host/http/http.h"

struct ssl_st;
struct ssl_ctx_st;

namespace lakeflow::host::test {

// A certificate with its key, and the authority that signed it, as PEM files in a folder of their own.
class test_authority {
  public:
    test_authority();
    ~test_authority();
    test_authority(const test_authority&) = delete;
    test_authority& operator=(const test_authority&) = delete;
    const std::string& ca_file() const { return ca_file_; }
    // A server's context with a certificate for that name ("DNS:localhost", "IP:127.0.0.1").
    std::shared_ptr<ssl_ctx_st> server(const std::string& subject_alt_name);

  private:
    struct impl;
    std::unique_ptr<impl> impl_;
    std::string folder_, ca_file_;
};

// The server's end of one connection. All calls block; they throw `gone` when the client or the server's destructor ends it.
struct gone {};
class peer {
  public:
    peer(int socket, ssl_ctx_st* tls);
    ~peer();
    peer(const peer&) = delete;
    peer& operator=(const peer&) = delete;

    std::string request();  // head and, by Content-Length, body
    void send(std::string_view bytes);
    std::string receive(std::size_t most);  // some bytes; throws gone at the end
    void close();                           // in order
    void reset();                           // RST
    void until_closed();                    // by the client
    int socket() const { return socket_; }
    void start_tls(ssl_ctx_st* tls);

  private:
    int socket_;
    std::unique_ptr<ssl_st, void (*)(ssl_st*)> ssl_;
    std::string rest_;
};

class test_server {
  public:
    using script = std::function<void(peer&, int connection)>;  // counted from 1
    explicit test_server(script work, std::shared_ptr<ssl_ctx_st> tls = nullptr);
    ~test_server();
    test_server(const test_server&) = delete;
    test_server& operator=(const test_server&) = delete;

    int port() const { return port_; }
    std::string host() const { return "127.0.0.1:" + std::to_string(port_); }
    std::string url(std::string_view path) const;
    int connections() const { return connections_; }

    std::vector<std::string> requests() const;  // those that were noted, by order of arrival
    void note(const std::string& request);

  private:
    void accept();

    const script work_;
    const std::shared_ptr<ssl_ctx_st> tls_;
    int listener_ = -1;
    int port_ = 0;
    std::atomic<int> connections_{0};
    std::atomic<bool> stopping_{false};
    mutable std::mutex mutex_;
    std::vector<std::string> requests_;
    std::vector<int> open_;
    std::vector<std::thread> threads_;
    std::thread acceptor_;
};

// The usual server: a function from a request and its number to the bytes of the answer.
class simple_server {
  public:
    explicit simple_server(std::function<std::string(const std::string& request, int k)> answer,
                           std::shared_ptr<ssl_ctx_st> tls = nullptr);
    std::string url(std::string_view path) const { return server_->url(path); }
    std::string host() const { return server_->host(); }
    int connections() const { return server_->connections(); }
    std::vector<std::string> requests() const { return server_->requests(); }
    int port() const { return server_->port(); }

  private:
    std::unique_ptr<test_server> server_;
};

// "HTTP/1.1 200 OK" with Content-Length and the given header lines ("A: b\r\n").
std::string answer(int status, std::string_view body, std::string_view headers = {});
// The value of a header in a request or answer, by exact name; "" if there is none.
std::string header_of(const std::string& message, std::string_view name);
std::string gzip(std::string_view text);

// A context with short waits; its log is kept.
struct test_context {
    test_context();
    lf_context context;
    http_options& options() { return context.flow->http; }
    http_counters& counters() { return context.flow->counters; }
    std::string log() const;

    struct lines {
        std::mutex mutex;
        std::string text;
    };
    std::shared_ptr<lines> kept = std::make_shared<lines>();
};

http_settings quick_settings();

struct response {
    int status = 0;
    std::string body;
};
// Runs one request to its end.
response fetch(http_service& service, const lf_context& context, http_request request);
response fetch(http_service& service, const lf_context& context, const std::string& url);
// The error that a call throws; code "none" if it throws none.
error error_of(const std::function<void()>& call);
error fetch_error(http_service& service, const lf_context& context, const std::string& url);

class stopwatch {
  public:
    std::int64_t ms() const {
        return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start_).count();
    }

  private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace lakeflow::host::test
