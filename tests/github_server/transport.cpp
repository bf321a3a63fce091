// See transport.h.
#include "tests/github_server/transport.h"

#include <array>
#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <chrono>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/github_server/router.h"
#include "tests/github_server/tls.h"
#include "tests/github_server/wire.h"

namespace lakeflow::github_server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::uint64_t body_limit = std::uint64_t{64} << 20;  // a control call may name many rows

// One connection. All its handlers run on the strand that its socket belongs to.
template <class Stream>
class session : public std::enable_shared_from_this<session<Stream>> {
  public:
    static constexpr bool secure = !std::is_same_v<Stream, beast::tcp_stream>;

    session(Stream stream, router& answers)
        : stream_(std::move(stream)), answers_(answers), timer_(stream_.get_executor()) {}
    session(const session&) = delete;
    session& operator=(const session&) = delete;
    ~session() { finish(0, 0); }

    void start() {
        asio::dispatch(stream_.get_executor(), [self = this->shared_from_this()] {
            error_code ignored;
            self->socket().set_option(tcp::no_delay(true), ignored);
            self->handshake();
        });
    }

  private:
    tcp::socket& socket() { return beast::get_lowest_layer(stream_).socket(); }

    void handshake() {
        if constexpr (secure) {
            stream_.async_handshake(asio::ssl::stream_base::server,
                                    [self = this->shared_from_this()](error_code error) {
                                        if (!error) self->read();
                                    });
        } else {
            read();
        }
    }

    void read() {
        parser_.emplace();
        parser_->body_limit(body_limit);
        http::async_read(stream_, buffer_, *parser_, [self = this->shared_from_this()](error_code error, std::size_t) {
            if (error)
                self->close();
            else
                self->respond();
        });
    }

    void respond() {
        const auto& message = parser_->get();
        const auto text = [&](http::field name) { return std::string(std::string_view(message[name])); };
        request asked;
        asked.method = std::string(std::string_view(message.method_string()));
        asked.target = std::string(std::string_view(message.target()));
        asked.host = text(http::field::host);
        asked.tls = secure;
        if (message.find(http::field::authorization) != message.end())
            asked.authorization = text(http::field::authorization);
        asked.user_agent = text(http::field::user_agent);
        asked.accept_encoding = text(http::field::accept_encoding);
        asked.if_none_match = text(http::field::if_none_match);
        asked.api_version = std::string(std::string_view(message["X-GitHub-Api-Version"]));
        asked.body = message.body();
        given_ = answers_.handle(asked);
        open_ = true;
        wire_ = make_wire(given_, asked.method == "HEAD", message.keep_alive());
        batch_ = 0;
        if (given_.how.delay_ms == 0) {
            send();
            return;
        }
        pause(given_.how.delay_ms, [self = this->shared_from_this()] { self->send(); });
    }

    template <class Then>
    void pause(std::uint32_t milliseconds, Then then) {
        timer_.expires_after(std::chrono::milliseconds(milliseconds));
        timer_.async_wait([then = std::move(then)](error_code error) {
            if (!error) then();
        });
    }

    void send() {
        if (given_.how.hang) {
            wait_for_the_end();
            return;
        }
        if (wire_.reset_after && !given_.how.cut_at) {
            reset();
            return;
        }
        write_batch();
    }

    void write_batch() {
        std::vector<asio::const_buffer> buffers;
        for (const std::string_view piece : wire_.batches[batch_]) buffers.emplace_back(piece.data(), piece.size());
        asio::async_write(stream_, buffers, [self = this->shared_from_this()](error_code error, std::size_t) {
            if (error) {
                self->finish(0, 0);
                self->close();
            } else if (++self->batch_ < self->wire_.batches.size()) {
                self->pause(self->wire_.pause_ms, [self] { self->write_batch(); });
            } else {
                self->written();
            }
        });
    }

    void written() {
        finish(given_.status, wire_.body_bytes);
        if (wire_.reset_after) {
            reset();
        } else if (wire_.close_after) {
            end_politely();
        } else {
            read();
        }
    }

    // Shuts the sending side and lets the client read what is on the way before the socket goes.
    void end_politely() {
        if constexpr (secure) {
            if (!given_.how.cut_at) {
                stream_.async_shutdown([self = this->shared_from_this()](error_code) { self->close(); });
                return;
            }
        }
        error_code ignored;
        socket().shutdown(tcp::socket::shutdown_send, ignored);
        wait_for_the_end();
    }

    void wait_for_the_end() {
        socket().async_read_some(asio::buffer(rest_), [self = this->shared_from_this()](error_code error, std::size_t) {
            if (!error) {
                self->wait_for_the_end();
                return;
            }
            self->finish(0, 0);
            self->close();
        });
    }

    void reset() {
        finish(0, 0);
        error_code ignored;
        socket().set_option(asio::socket_base::linger(true, 0), ignored);
        close();
    }

    void close() {
        error_code ignored;
        socket().close(ignored);
    }

    void finish(int status, std::uint64_t bytes) {
        if (std::exchange(open_, false)) answers_.finish(given_, status, bytes);
    }

    Stream stream_;
    router& answers_;
    asio::steady_timer timer_;
    beast::flat_buffer buffer_;
    std::optional<http::request_parser<http::string_body>> parser_;
    answer given_;
    wire wire_;
    std::size_t batch_ = 0;
    bool open_ = false;  // the router waits to hear what became of given_
    std::array<char, 1024> rest_{};
};

}  // namespace

struct transport::impl {
    impl(router& to, const server_config& config)
        : answers(to), context(static_cast<int>(std::max(config.threads, 1U))) {
        open(plain, config.address, config.port);
        if (config.tls) {
            const tls_identity identity = make_tls_identity(config);
            if (!config.ca_out.empty()) {
                std::ofstream file(config.ca_out, std::ios::binary | std::ios::trunc);
                file << identity.authority_pem;
                if (!file.flush()) throw std::runtime_error("github-server: cannot write " + config.ca_out);
            }
            tls.use_certificate_chain(asio::buffer(identity.certificate_pem));
            tls.use_private_key(asio::buffer(identity.key_pem), asio::ssl::context::pem);
            open(encrypted, config.address, config.tls_port);
        }
        accept<beast::tcp_stream>(plain);
        if (encrypted.is_open()) accept<beast::ssl_stream<beast::tcp_stream>>(encrypted);
        for (unsigned i = 0; i < std::max(config.threads, 1U); ++i) threads.emplace_back([this] { context.run(); });
    }
    ~impl() {
        context.stop();
        for (std::thread& thread : threads) thread.join();
    }
    impl(const impl&) = delete;
    impl& operator=(const impl&) = delete;

    static void open(tcp::acceptor& acceptor, const std::string& address, std::uint16_t port) {
        const tcp::endpoint endpoint(asio::ip::make_address(address), port);
        acceptor.open(endpoint.protocol());
        acceptor.set_option(asio::socket_base::reuse_address(true));
        acceptor.bind(endpoint);
        acceptor.listen(asio::socket_base::max_listen_connections);
    }

    template <class Stream>
    void accept(tcp::acceptor& acceptor) {
        acceptor.async_accept(asio::make_strand(context), [this, &acceptor](error_code error, tcp::socket socket) {
            if (error == asio::error::operation_aborted) return;
            if (!error) {
                answers.seen().connected();
                if constexpr (std::is_same_v<Stream, beast::tcp_stream>) {
                    std::make_shared<session<Stream>>(Stream(std::move(socket)), answers)->start();
                } else {
                    std::make_shared<session<Stream>>(Stream(std::move(socket), tls), answers)->start();
                }
            }
            accept<Stream>(acceptor);
        });
    }

    router& answers;
    asio::ssl::context tls{asio::ssl::context::tls_server};
    asio::io_context context;
    tcp::acceptor plain{context};
    tcp::acceptor encrypted{context};
    std::vector<std::thread> threads;
};

transport::transport(router& answers, const server_config& config) : impl_(std::make_unique<impl>(answers, config)) {}
transport::~transport() = default;
std::uint16_t transport::port() const { return impl_->plain.local_endpoint().port(); }
std::uint16_t transport::tls_port() const {
    return impl_->encrypted.is_open() ? impl_->encrypted.local_endpoint().port() : std::uint16_t{0};
}

}  // namespace lakeflow::github_server
