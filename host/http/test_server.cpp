// host/http/test_server.cpp: see test_server.h.
#include "host/http/test_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "host/base/text.h"

namespace lakeflow::host::test {
namespace {

void require(bool ok, const char* what) {
    if (!ok) throw std::runtime_error(what);
}

using key_owner = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using certificate_owner = std::unique_ptr<X509, decltype(&X509_free)>;

void extend(X509* certificate, X509* issuer, int nid, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
    require(extension != nullptr, "X509V3_EXT_conf_nid");
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
}

certificate_owner make_certificate(EVP_PKEY* key, const char* name, X509* issuer, EVP_PKEY* issuer_key,
                                   const std::string& alt) {
    static std::atomic<long> serial{1};
    certificate_owner made(X509_new(), X509_free);
    X509* c = made.get();
    X509_set_version(c, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(c), serial++);
    X509_gmtime_adj(X509_getm_notBefore(c), -3600);
    X509_gmtime_adj(X509_getm_notAfter(c), 3600);
    X509_set_pubkey(c, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(c), "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(name), -1, -1, 0);
    X509_set_issuer_name(c, X509_get_subject_name(issuer != nullptr ? issuer : c));
    if (issuer == nullptr) extend(c, c, NID_basic_constraints, "critical,CA:TRUE");
    if (!alt.empty()) extend(c, issuer, NID_subject_alt_name, alt);
    require(X509_sign(c, issuer_key, EVP_sha256()) != 0, "X509_sign");
    return made;
}

}  // namespace

struct test_authority::impl {
    key_owner key{EVP_EC_gen("P-256"), EVP_PKEY_free};
    certificate_owner certificate{nullptr, X509_free};
};

test_authority::test_authority() : impl_(std::make_unique<impl>()) {
    impl_->certificate = make_certificate(impl_->key.get(), "lakeflow test authority", nullptr, impl_->key.get(), {});
    std::string name = (std::filesystem::temp_directory_path() / "lakeflow-http-test-XXXXXX").string();
    require(mkdtemp(name.data()) != nullptr, "mkdtemp");
    folder_ = name;
    ca_file_ = folder_ + "/ca.pem";
    const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(ca_file_.c_str(), "w"), std::fclose);
    require(file != nullptr && PEM_write_X509(file.get(), impl_->certificate.get()) == 1, "PEM_write_X509");
}

test_authority::~test_authority() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

std::shared_ptr<ssl_ctx_st> test_authority::server(const std::string& subject_alt_name) {
    const key_owner key(EVP_EC_gen("P-256"), EVP_PKEY_free);
    const auto certificate =
        make_certificate(key.get(), "server", impl_->certificate.get(), impl_->key.get(), subject_alt_name);
    std::shared_ptr<ssl_ctx_st> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
    require(SSL_CTX_use_certificate(context.get(), certificate.get()) == 1, "SSL_CTX_use_certificate");
    require(SSL_CTX_use_PrivateKey(context.get(), key.get()) == 1, "SSL_CTX_use_PrivateKey");
    return context;
}

peer::peer(int socket, ssl_ctx_st* tls) : socket_(socket), ssl_(nullptr, SSL_free) {
    const int on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (tls != nullptr) start_tls(tls);
}

peer::~peer() = default;

void peer::start_tls(ssl_ctx_st* tls) {
    ssl_.reset(SSL_new(tls));
    SSL_set_fd(ssl_.get(), socket_);
    if (SSL_accept(ssl_.get()) != 1) throw gone();
}

std::string peer::receive(std::size_t most) {
    if (!rest_.empty()) {
        std::string out = rest_.substr(0, most);
        rest_.erase(0, out.size());
        return out;
    }
    std::string out(most, '\0');
    const auto got = ssl_ != nullptr ? SSL_read(ssl_.get(), out.data(), static_cast<int>(most))
                                     : static_cast<int>(::recv(socket_, out.data(), most, 0));
    if (got <= 0) throw gone();
    out.resize(static_cast<std::size_t>(got));
    return out;
}

std::string peer::request() {
    std::string text = std::exchange(rest_, {});
    while (text.find("\r\n\r\n") == std::string::npos) text += receive(16 * 1024);
    std::size_t size = text.find("\r\n\r\n") + 4;
    if (const std::string length = header_of(text, "Content-Length"); !length.empty()) {
        size += static_cast<std::size_t>(parse_int(length).value_or(0));
    }
    while (text.size() < size) text += receive(64 * 1024);
    rest_ = text.substr(size);
    return text.substr(0, size);
}

void peer::send(std::string_view bytes) {
    while (!bytes.empty()) {
        const auto sent = ssl_ != nullptr ? SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()))
                                          : static_cast<int>(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL));
        if (sent <= 0) throw gone();
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
}

void peer::close() {
    if (ssl_ != nullptr) SSL_shutdown(ssl_.get());
    ::shutdown(socket_, SHUT_RDWR);
}

void peer::reset() {
    const linger now{1, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    throw gone();  // the server closes the socket, which now sends RST
}

void peer::until_closed() {
    try {
        while (true) receive(16 * 1024);
    } catch (const gone&) {
        return;
    }
}

test_server::test_server(script work, std::shared_ptr<ssl_ctx_st> tls) : work_(std::move(work)), tls_(std::move(tls)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    require(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, "bind");
    require(::listen(listener_, 128) == 0, "listen");
    socklen_t size = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { accept(); });
}

test_server::~test_server() {
    stopping_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    {
        const std::scoped_lock lock(mutex_);
        for (const int socket : open_) ::shutdown(socket, SHUT_RDWR);
    }
    for (auto& thread : threads_) thread.join();
    ::close(listener_);
}

void test_server::accept() {
    // OpenSSL writes to a socket without MSG_NOSIGNAL. Only for this server's threads, which inherit the mask: SIGPIPE in a thread of
    // the client that is tested still ends the test.
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    require(pthread_sigmask(SIG_BLOCK, &pipe, nullptr) == 0, "pthread_sigmask");
    while (!stopping_) {
        const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (socket < 0) continue;
        const std::scoped_lock lock(mutex_);
        const int number = ++connections_;
        open_.push_back(socket);
        threads_.emplace_back([this, socket, number] {
            try {
                peer p(socket, tls_.get());
                work_(p, number);
                p.close();
            } catch (const gone&) {
                // The client has ended the connection, or this server is going: both are part of the tests.
                static_cast<void>(number);
            }
            const std::scoped_lock closing(mutex_);
            std::erase(open_, socket);
            ::close(socket);
        });
    }
}

std::string test_server::url(std::string_view path) const {
    return (tls_ ? "https://" : "http://") + host() + std::string(path);
}

void test_server::note(const std::string& request) {
    const std::scoped_lock lock(mutex_);
    requests_.push_back(request);
}

std::vector<std::string> test_server::requests() const {
    const std::scoped_lock lock(mutex_);
    return requests_;
}

simple_server::simple_server(std::function<std::string(const std::string&, int)> answer,
                             std::shared_ptr<ssl_ctx_st> tls) {
    struct shared {
        std::mutex mutex;
        std::condition_variable made;
        test_server* server = nullptr;
        int count = 0;
    };
    const auto state = std::make_shared<shared>();
    server_ = std::make_unique<test_server>(
        [state, answer = std::move(answer)](peer& p, int) {
            while (true) {
                const std::string request = p.request();
                int k = 0;
                {
                    std::unique_lock lock(state->mutex);
                    state->made.wait(lock, [&] { return state->server != nullptr; });
                    k = ++state->count;
                    state->server->note(request);
                }
                const std::string bytes = answer(request, k);
                p.send(bytes);
                if (header_of(bytes, "Connection") == "close") return;
            }
        },
        std::move(tls));
    const std::scoped_lock lock(state->mutex);
    state->server = server_.get();
    state->made.notify_all();
}

std::string answer(int status, std::string_view body, std::string_view headers) {
    return "HTTP/1.1 " + std::to_string(status) + " Status\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
           std::string(headers) + "\r\n" + std::string(body);
}

std::string header_of(const std::string& message, std::string_view name) {
    const std::string head = message.substr(0, message.find("\r\n\r\n") + 2);
    const std::string start = "\r\n" + std::string(name) + ": ";
    const auto at = head.find(start);
    if (at == std::string::npos) return {};
    return head.substr(at + start.size(), head.find("\r\n", at + start.size()) - at - start.size());
}

std::string gzip(std::string_view text) {
    z_stream z{};
    deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
    std::string out(deflateBound(&z, text.size()) + 64, '\0');
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    z.avail_in = static_cast<uInt>(text.size());
    z.next_out = reinterpret_cast<Bytef*>(out.data());
    z.avail_out = static_cast<uInt>(out.size());
    deflate(&z, Z_FINISH);
    out.resize(z.total_out);
    deflateEnd(&z);
    return out;
}

test_context::test_context() {
    // The environment of whoever runs the tests must not lead them to a proxy.
    for (const char* name : {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"}) ::unsetenv(name);
    context.flow = std::make_shared<flow_context>();
    context.flow->redactor = std::make_shared<secrets>();
    context.flow->job_counters = std::make_shared<http_counters>();
    context.flow->http.backoff_us = 2'000;
    context.flow->http.limit_wait_us = 40'000;
    context.flow->log = logger(
        log_level::trace,
        [kept = kept](log_level, std::string_view, std::string_view text) {
            const std::scoped_lock lock(kept->mutex);
            kept->text += std::string(text) + "\n";
        },
        context.flow->redactor);
    context.cancelled = std::make_shared<cancel_token>();
}

std::string test_context::log() const {
    const std::scoped_lock lock(kept->mutex);
    return kept->text;
}

http_settings quick_settings() {
    http_settings settings;
    settings.idle_connection_us = 2'000'000;
    return settings;
}

response fetch(http_service& service, const lf_context& context, http_request request) {
    const auto e = service.start(context, request);
    response out;
    out.status = e->head();
    std::string_view piece;
    while (e->read(piece)) out.body += piece;
    return out;
}

response fetch(http_service& service, const lf_context& context, const std::string& url) {
    http_request request;
    request.url = url;
    return fetch(service, context, std::move(request));
}

error error_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const failure& f) {
        return f.get();
    }
    error none;
    none.code = "none";
    return none;
}

error fetch_error(http_service& service, const lf_context& context, const std::string& url) {
    return error_of([&] { fetch(service, context, url); });
}

}  // namespace lakeflow::host::test
