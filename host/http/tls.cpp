// host/http/tls.cpp: see tls.h.
#include "host/http/tls.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>

#include "host/base/error.h"

namespace lakeflow::host {
namespace {

int socket_of(BIO* bio) noexcept { return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio))); }

bool may_pass(int code) noexcept { return code == EAGAIN || code == EWOULDBLOCK || code == EINTR; }

int bio_write(BIO* bio, const char* data, std::size_t size, std::size_t* count) {
    BIO_clear_retry_flags(bio);
    const ssize_t sent = ::send(socket_of(bio), data, size, MSG_NOSIGNAL);
    if (sent < 0) {
        if (may_pass(errno)) BIO_set_retry_write(bio);
        return 0;
    }
    *count = static_cast<std::size_t>(sent);
    return 1;
}

int bio_read(BIO* bio, char* data, std::size_t size, std::size_t* count) {
    BIO_clear_retry_flags(bio);
    const ssize_t received = ::recv(socket_of(bio), data, size, 0);
    if (received < 0) {
        if (may_pass(errno)) BIO_set_retry_read(bio);
        return 0;
    }
    if (received == 0) {
        BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
        return 0;
    }
    *count = static_cast<std::size_t>(received);
    return 1;
}

long bio_control(BIO* bio, int command, long, void*) {
    if (command == BIO_CTRL_FLUSH) return 1;
    if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
    return 0;
}

// Leaked with the service: a BIO may still name it when the process ends.
BIO_METHOD* bio_method() {
    static BIO_METHOD* const method = [] {
        BIO_METHOD* m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "lakeflow socket");
        if (m == nullptr) throw std::bad_alloc();
        BIO_meth_set_write_ex(m, bio_write);
        BIO_meth_set_read_ex(m, bio_read);
        BIO_meth_set_ctrl(m, bio_control);
        return m;
    }();
    return method;
}

bool is_address(const std::string& host) noexcept {
    std::array<unsigned char, 16> bytes{};
    return inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 || inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

std::string openssl_error() {
    const unsigned long code = ERR_peek_last_error();
    ERR_clear_error();
    if (code == 0) return "unknown error";
    const char* reason = ERR_reason_error_string(code);
    return reason != nullptr ? reason : "error " + std::to_string(code);
}

}  // namespace

struct tls_contexts::entry {
    ssl_ctx_st* context = nullptr;
    ~entry() { SSL_CTX_free(context); }
};

tls_contexts::tls_contexts() = default;
tls_contexts::~tls_contexts() = default;

ssl_ctx_st* tls_contexts::get(const std::string& ca_file) {
    std::string key;
    if (!ca_file.empty()) {
        struct stat info {};
        if (::stat(ca_file.c_str(), &info) != 0) {
            throw failure("config.ca_file", "the ca_file \"" + ca_file + "\" cannot be read: " + error_text(errno),
                          "name a PEM file with the certificates of the authorities to trust", retry_class::invalid);
        }
        key = ca_file + '\0' + std::to_string(info.st_mtim.tv_sec) + '.' + std::to_string(info.st_mtim.tv_nsec) + '.' +
              std::to_string(info.st_size);
    }
    auto& slot = entries_[key];
    if (slot != nullptr) return slot->context;
    // Works only if OpenSSL is not in use yet: its own clean-up at exit must not run under our thread.
    OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);
    auto made = std::make_unique<entry>();
    made->context = SSL_CTX_new(TLS_client_method());
    if (made->context == nullptr) throw std::bad_alloc();
    SSL_CTX_set_min_proto_version(made->context, TLS1_2_VERSION);
    SSL_CTX_set_verify(made->context, SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_options(made->context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_mode(made->context,
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    // A record costs one call of recv instead of two, and several small ones together one.
    SSL_CTX_set_read_ahead(made->context, 1);
    SSL_CTX_set_default_read_buffer_len(made->context, 64 * 1024);
    SSL_CTX_set_session_cache_mode(made->context, SSL_SESS_CACHE_OFF);
    const std::array<unsigned char, 9> alpn = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
    SSL_CTX_set_alpn_protos(made->context, alpn.data(), static_cast<unsigned>(alpn.size()));
    ERR_clear_error();
    if (ca_file.empty()) {
        SSL_CTX_set_default_verify_paths(made->context);
    } else if (SSL_CTX_load_verify_locations(made->context, ca_file.c_str(), nullptr) != 1) {
        throw failure("config.ca_file", "the ca_file \"" + ca_file + "\" holds no certificate: " + openssl_error(),
                      "name a PEM file with the certificates of the authorities to trust", retry_class::invalid);
    }
    ERR_clear_error();
    slot = std::move(made);
    return slot->context;
}

tls_session::tls_session(ssl_ctx_st* context, int socket, const std::string& host) {
    ssl_ = SSL_new(context);
    if (ssl_ == nullptr) throw std::bad_alloc();
    BIO* bio = BIO_new(bio_method());
    if (bio == nullptr) {
        SSL_free(ssl_);
        throw std::bad_alloc();
    }
    BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(socket)));
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl_, bio, bio);
    X509_VERIFY_PARAM* check = SSL_get0_param(ssl_);
    X509_VERIFY_PARAM_set_hostflags(check, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    bool named = false;
    if (is_address(host)) {
        named = X509_VERIFY_PARAM_set1_ip_asc(check, host.c_str()) == 1;
    } else {
        // A trailing dot is DNS's; certificates are written without.
        const std::string name = host.ends_with('.') ? host.substr(0, host.size() - 1) : host;
        named = SSL_set1_host(ssl_, name.c_str()) == 1 && SSL_set_tlsext_host_name(ssl_, name.c_str()) == 1;
    }
    if (!named) {  // never go on without the check
        SSL_free(ssl_);
        throw std::bad_alloc();
    }
    SSL_set_connect_state(ssl_);
}

tls_session::~tls_session() { SSL_free(ssl_); }

io_result tls_session::outcome(int code) {
    const int saved = errno;
    switch (SSL_get_error(ssl_, code)) {
        case SSL_ERROR_WANT_READ: return io_result::want_read;
        case SSL_ERROR_WANT_WRITE: return io_result::want_write;
        case SSL_ERROR_ZERO_RETURN: return io_result::end;
        case SSL_ERROR_SYSCALL:
            error_ = saved != 0 ? error_text(saved) : "the connection was closed";
            ERR_clear_error();
            return io_result::failed;
        default: break;
    }
    const long verified = SSL_get_verify_result(ssl_);
    if (!shaken_ && verified != X509_V_OK) {
        untrusted_ = true;
        error_ = std::string("the server's certificate is not accepted: ") + X509_verify_cert_error_string(verified);
        ERR_clear_error();
    } else {
        error_ = openssl_error();
    }
    return io_result::failed;
}

io_result tls_session::handshake() {
    ERR_clear_error();
    errno = 0;
    const int code = SSL_do_handshake(ssl_);
    if (code != 1) return outcome(code);
    shaken_ = true;
    return io_result::done;
}

io_result tls_session::read(char* data, std::size_t size, std::size_t& count) {
    ERR_clear_error();
    errno = 0;
    count = 0;
    // One call gives one record of at most 16 KiB: fill the buffer while there is something.
    io_result result = io_result::done;
    while (count < size) {
        std::size_t got = 0;
        const int code = SSL_read_ex(ssl_, data + count, size - count, &got);
        if (code != 1) {
            result = outcome(code);
            break;
        }
        count += got;
    }
    return count > 0 ? io_result::done : result;
}

io_result tls_session::write(const char* data, std::size_t size, std::size_t& count) {
    ERR_clear_error();
    errno = 0;
    count = 0;
    const int code = SSL_write_ex(ssl_, data, size, &count);
    return code == 1 ? io_result::done : outcome(code);
}

void tls_session::close() noexcept {
    if (!shaken_) return;
    ERR_clear_error();
    SSL_shutdown(ssl_);
    ERR_clear_error();
}

}  // namespace lakeflow::host
