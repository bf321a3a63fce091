// host/http/stream.h: a connected, non-blocking socket, plain or under TLS, with one way to read and write. It does not own the
// socket. On the io thread only.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "host/http/tls.h"

namespace lakeflow::host {

class byte_stream {
  public:
    void open(int socket) noexcept { socket_ = socket; }
    void secure(ssl_ctx_st* context, const std::string& host);  // then handshake until done
    bool secured() const noexcept { return tls_ != nullptr; }

    io_result handshake() { return tls_->handshake(); }
    io_result read(char* data, std::size_t size, std::size_t& count);
    io_result write(const char* data, std::size_t size, std::size_t& count);

    // True if it is open and nothing came unasked. Late session tickets of TLS are taken in on the way.
    bool quiet();
    // Ends TLS properly, if that does not block.
    void say_goodbye() noexcept;

    const std::string& error() const noexcept { return tls_ ? tls_->error() : error_; }
    bool untrusted() const noexcept { return tls_ && tls_->untrusted(); }

  private:
    int socket_ = -1;
    std::unique_ptr<tls_session> tls_;
    std::string error_;
};

}  // namespace lakeflow::host
