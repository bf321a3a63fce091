// host/http/tls.h: TLS of a client over a socket that others wait on: OpenSSL with a BIO of our own, so that sends never raise
// SIGPIPE and nothing of Asio's TLS (which initialises OpenSSL at load) is needed. On the io thread only.
#pragma once

#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

struct ssl_st;
struct ssl_ctx_st;

namespace lakeflow::host {

// What a read, write or handshake on a non-blocking stream came to.
enum class io_result { done, want_read, want_write, end, failed };

// errno in words, whatever the locale.
inline const char* error_text(int code) noexcept {
    const char* text = strerrordesc_np(code);
    return text != nullptr ? text : "unknown error";
}

// Settings, and the roots that are trusted; made once a ca_file and kept, because reading the system's roots takes 20 ms.
class tls_contexts {
  public:
    tls_contexts();
    ~tls_contexts();
    tls_contexts(const tls_contexts&) = delete;
    tls_contexts& operator=(const tls_contexts&) = delete;

    // Throws failure config.ca_file if the file cannot be read or holds no certificate.
    ssl_ctx_st* get(const std::string& ca_file);

  private:
    struct entry;
    // The file's name with its time and size: one that was replaced is read again.
    std::map<std::string, std::unique_ptr<entry>> entries_;
};

class tls_session {
  public:
    // `host` is checked against the certificate, and sent as SNI if it is a name.
    tls_session(ssl_ctx_st* context, int socket, const std::string& host);
    ~tls_session();
    tls_session(const tls_session&) = delete;
    tls_session& operator=(const tls_session&) = delete;

    io_result handshake();
    io_result read(char* data, std::size_t size, std::size_t& count);
    io_result write(const char* data, std::size_t size, std::size_t& count);
    void close() noexcept;  // says good-bye if that does not block

    const std::string& error() const noexcept { return error_; }  // after failed
    bool untrusted() const noexcept { return untrusted_; }        // the certificate was the reason

  private:
    io_result outcome(int code);

    ssl_st* ssl_ = nullptr;
    bool shaken_ = false;
    bool untrusted_ = false;
    std::string error_;
};

}  // namespace lakeflow::host
