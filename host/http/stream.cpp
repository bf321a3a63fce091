// host/http/stream.cpp: see stream.h.
#include "host/http/stream.h"

#include <sys/socket.h>
#include <sys/types.h>

#include <cerrno>
#include <cstring>

namespace lakeflow::host {
namespace {

bool may_pass(int code) noexcept { return code == EAGAIN || code == EWOULDBLOCK || code == EINTR; }

}  // namespace

void byte_stream::secure(ssl_ctx_st* context, const std::string& host) {
    tls_ = std::make_unique<tls_session>(context, socket_, host);
}

io_result byte_stream::read(char* data, std::size_t size, std::size_t& count) {
    if (tls_) return tls_->read(data, size, count);
    const ssize_t got = ::recv(socket_, data, size, 0);
    if (got > 0) {
        count = static_cast<std::size_t>(got);
        return io_result::done;
    }
    if (got == 0) return io_result::end;
    if (may_pass(errno)) return io_result::want_read;
    error_ = error_text(errno);
    return io_result::failed;
}

io_result byte_stream::write(const char* data, std::size_t size, std::size_t& count) {
    if (tls_) return tls_->write(data, size, count);
    const ssize_t sent = ::send(socket_, data, size, MSG_NOSIGNAL);
    if (sent >= 0) {
        count = static_cast<std::size_t>(sent);
        return io_result::done;
    }
    if (may_pass(errno)) return io_result::want_write;
    error_ = error_text(errno);
    return io_result::failed;
}

bool byte_stream::quiet() {
    char byte = 0;
    if (tls_) {
        std::size_t count = 0;
        return tls_->read(&byte, 1, count) == io_result::want_read;
    }
    const ssize_t got = ::recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got < 0 && may_pass(errno);
}

void byte_stream::say_goodbye() noexcept {
    if (tls_) tls_->close();
}

}  // namespace lakeflow::host
