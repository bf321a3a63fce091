// host/http/connection.cpp: see connection.h. Sockets are non-blocking and waited on by Asio; plain and TLS streams share the
// same loops, because both only say "done", "wait to read", "wait to write", "end" or "failed".
#include "host/http/connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <cerrno>
#include <cstring>
#include <utility>

#include "host/base/error.h"
#include "host/http/message.h"
#include "host/http/parser.h"
#include "host/http/stream.h"

namespace lakeflow::host {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

using kind = wire_failure::kind;

class socket_connection final : public connection {
  public:
    socket_connection(io_loop& loop, resolver& names, tls_contexts& contexts, std::shared_ptr<block_store> blocks,
                      endpoint where)
        : connection(std::move(where)),
          loop_(loop),
          names_(names),
          contexts_(contexts),
          blocks_(std::move(blocks)),
          socket_(loop.context()),
          timer_(loop) {}

    void connect(connection_listener& listener, const wire_timeouts& timeouts) override {
        listener_ = &listener;
        timeouts_ = timeouts;
        phase_ = phase::resolving;
        connect_until_us_ = monotonic_us() + timeouts.connect_us;
        arm(timeouts.connect_us);
        const std::string& host = where_.via ? where_.via->host : where_.host;
        const std::uint16_t port = where_.via ? where_.via->port : where_.port;
        socket_address address;
        if (resolver::numeric(host, port, address)) {
            addresses_.push_back(address);
            next_address();
            return;
        }
        names_.resolve(host, port, [self = shared(), host](std::vector<socket_address> found, std::string error) {
            if (self->phase_ != phase::resolving) return;
            if (found.empty()) {
                self->fail(kind::resolve, "the name " + host + " cannot be looked up: " + error);
                return;
            }
            self->addresses_ = std::move(found);
            self->next_address();
        });
    }

    void send(connection_listener& listener, wire_request request, const wire_timeouts& timeouts) override {
        listener_ = &listener;
        timeouts_ = timeouts;
        request_ = std::move(request);
        written_ = 0;
        phase_ = phase::sending;
        sent_any_ = answered_any_ = paused_ = head_told_ = write_failed_ = false;
        parser_ = std::make_unique<answer_parser>(request_.bodyless_answer);
        // Small bodies go with the head in one piece.
        if (request_.body && request_.body->size() <= 64 * 1024) {
            request_.head += *request_.body;
            request_.body.reset();
        }
        arm(timeouts.idle_us);
        write_some();
    }

    void resume() override {
        if (!paused_ || phase_ != phase::reading) return;
        paused_ = false;
        arm(timeouts_.idle_us);
        // Not from within the caller: what is read may end the exchange that asks.
        loop_.post([self = shared()] {
            if (self->phase_ == phase::reading && !self->paused_) self->read_some();
        });
    }

    void close() override {
        listener_ = nullptr;
        gone_ = nullptr;
        shut();
    }

    void rest(std::int64_t time_us, std::function<void()> gone) override {
        phase_ = phase::resting;
        gone_ = std::move(gone);
        parser_.reset();
        block_.reset();
        begin_ = end_ = 0;
        arm(std::min(time_us, keep_alive_us_));
        wait_readable();
    }

    bool wake() override {
        gone_ = nullptr;
        disarm();
        if (phase_ != phase::resting || !stream_.quiet()) {
            shut();
            return false;
        }
        phase_ = phase::ready;
        return true;
    }

  private:
    enum class phase { fresh, resolving, connecting, greeting, shaking, ready, sending, reading, resting, dead };

    std::shared_ptr<socket_connection> shared() {
        return std::static_pointer_cast<socket_connection>(shared_from_this());
    }

    // ---- ends

    void shut() {
        if (phase_ == phase::dead) return;
        if (phase_ == phase::resting || phase_ == phase::ready) stream_.say_goodbye();
        phase_ = phase::dead;
        timer_.cancel();
        drop_socket();
    }

    // Waits of the old socket are void from now on.
    void drop_socket() {
        boost::system::error_code ignored;
        socket_.close(ignored);
        ++wait_round_;
        wait_read_ = wait_write_ = false;
    }

    // Never tells the listener from within its own call.
    void fail(kind what, std::string text, int proxy_status = 0) {
        if (phase_ == phase::dead) return;
        shut();
        wire_failure why{what, std::move(text), proxy_status, sent_any_, answered_any_, own_fault_};
        loop_.post([self = shared(), why = std::move(why)] {
            if (auto* listener = std::exchange(self->listener_, nullptr)) listener->on_failure(why);
        });
    }

    // ---- time

    // The timer is moved only when it would fire too late: a busy connection pushes its deadline without touching it.
    void arm(std::int64_t time_us) {
        deadline_us_ = monotonic_us() + time_us;
        if (timer_at_us_ != 0 && timer_at_us_ <= deadline_us_) return;
        timer_at_us_ = deadline_us_;
        timer_.arm(deadline_us_, [weak = weak_from_this()] {
            if (const auto alive = weak.lock()) static_cast<socket_connection&>(*alive).on_timer();
        });
    }
    void disarm() { deadline_us_ = 0; }

    void on_timer() {
        timer_at_us_ = 0;
        if (deadline_us_ == 0 || phase_ == phase::dead) return;
        const std::int64_t left = deadline_us_ - monotonic_us();
        if (left > 0) {
            arm(left);
            return;
        }
        switch (phase_) {
            case phase::resting: {
                const auto gone = std::exchange(gone_, nullptr);
                shut();
                if (gone) gone();
                return;
            }
            case phase::connecting:
                // The next address may answer.
                if (monotonic_us() < connect_until_us_ && address_at_ < addresses_.size()) {
                    drop_socket();
                    last_error_ = "no answer";
                    next_address();
                    return;
                }
                [[fallthrough]];
            case phase::resolving:
            case phase::greeting:
            case phase::shaking:
                fail(kind::timeout, std::string("no connection within ") + human_duration(timeouts_.connect_us) + " (" +
                                        (phase_ == phase::resolving    ? "looking up the name"
                                         : phase_ == phase::connecting ? "connecting"
                                         : phase_ == phase::greeting   ? "waiting for the proxy"
                                                                       : "TLS handshake") +
                                        ")");
                return;
            case phase::sending:
                fail(kind::timeout, "the server took nothing of the request for " + human_duration(timeouts_.idle_us));
                return;
            case phase::reading:
                if (!answered_any_)
                    fail(kind::timeout, "no answer within " + human_duration(timeouts_.first_byte_us));
                else
                    fail(kind::timeout, "the answer stood still for " + human_duration(timeouts_.idle_us));
                return;
            default: return;
        }
    }

    // ---- waiting for the socket

    void wait_readable() {
        if (std::exchange(wait_read_, true)) return;
        socket_.async_wait(tcp::socket::wait_read,
                           [self = shared(), round = wait_round_](const boost::system::error_code& ec) {
                               if (round != self->wait_round_) return;
                               self->wait_read_ = false;
                               if (!ec) self->on_ready();
                           });
    }
    void wait_writable() {
        if (std::exchange(wait_write_, true)) return;
        socket_.async_wait(tcp::socket::wait_write,
                           [self = shared(), round = wait_round_](const boost::system::error_code& ec) {
                               if (round != self->wait_round_) return;
                               self->wait_write_ = false;
                               if (!ec) self->on_ready();
                           });
    }
    // After anything but done, end and failed.
    void wait_for(io_result what) {
        if (what == io_result::want_write)
            wait_writable();
        else
            wait_readable();
    }

    void on_ready() {
        switch (phase_) {
            case phase::connecting: on_tcp(); return;
            case phase::greeting: greet(); return;
            case phase::shaking: shake(); return;
            case phase::sending: write_some(); return;
            case phase::reading:
                if (!paused_) read_some();
                return;
            case phase::resting:
                if (stream_.quiet()) {
                    wait_readable();
                } else {
                    const auto gone = std::exchange(gone_, nullptr);
                    shut();
                    if (gone) gone();
                }
                return;
            default: return;
        }
    }

    // ---- connecting

    void next_address() {
        phase_ = phase::connecting;
        while (address_at_ < addresses_.size()) {
            const socket_address address = addresses_[address_at_++];
            const int fd = ::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
            if (fd < 0) {
                last_error_ = error_text(errno);
                continue;
            }
            const int on = 1;
            ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
            const int code = ::connect(fd, reinterpret_cast<const sockaddr*>(&address.bytes), address.size);
            const int why = errno;
            if (code != 0 && why != EINPROGRESS) {
                ::close(fd);
                last_error_ = error_text(why);
                continue;
            }
            boost::system::error_code ec;
            socket_.assign(address.family() == AF_INET6 ? tcp::v6() : tcp::v4(), fd, ec);
            if (ec) {
                ::close(fd);
                last_error_ = ec.message();
                continue;
            }
            stream_.open(fd);
            // Each address gets its part of the time that is left.
            const std::int64_t left = std::max<std::int64_t>(connect_until_us_ - monotonic_us(), 1);
            arm(left / static_cast<std::int64_t>(addresses_.size() - address_at_ + 1));
            wait_writable();
            return;
        }
        const std::string to =
            where_.via ? "the proxy " + where_.via->shown() : where_.host + ":" + std::to_string(where_.port);
        fail(where_.via ? kind::proxy : kind::connect, "no connection to " + to + ": " + last_error_);
    }

    void on_tcp() {
        int code = 0;
        socklen_t size = sizeof code;
        if (::getsockopt(socket_.native_handle(), SOL_SOCKET, SO_ERROR, &code, &size) != 0) code = errno;
        if (code != 0) {
            last_error_ = error_text(code);
            drop_socket();
            next_address();
            return;
        }
        arm(std::max<std::int64_t>(connect_until_us_ - monotonic_us(), 1));
        if (where_.via && where_.tls) {
            phase_ = phase::greeting;
            greeting_ = connect_request(*where_.via, where_.host, where_.port);
            written_ = 0;
            greet();
            return;
        }
        start_tls();
    }

    // The proxy's answer is read byte by byte, so that nothing of the TLS stream behind it is taken.
    void greet() {
        while (written_ < greeting_.size()) {
            std::size_t count = 0;
            const io_result result = stream_.write(greeting_.data() + written_, greeting_.size() - written_, count);
            if (result == io_result::failed) {
                fail(kind::proxy, "the proxy " + where_.via->shown() + " ended the connection: " + stream_.error());
                return;
            }
            if (result != io_result::done) {
                wait_for(result);
                return;
            }
            written_ += count;
        }
        while (!proxy_answer_.ends_with("\r\n\r\n")) {
            char byte = 0;
            std::size_t count = 0;
            const io_result result = stream_.read(&byte, 1, count);
            if (result == io_result::want_read) {
                wait_readable();
                return;
            }
            if (result != io_result::done || proxy_answer_.size() > 16 * 1024) {
                fail(kind::proxy, "the proxy " + where_.via->shown() + " ended the connection");
                return;
            }
            proxy_answer_ += byte;
        }
        const std::string line = proxy_answer_.substr(0, proxy_answer_.find("\r\n"));
        const int status = connect_status(line);
        if (status < 200 || status > 299) {
            fail(kind::proxy, "the proxy " + where_.via->shown() + " said \"" + printable(line, 100) + "\" to CONNECT",
                 status);
            return;
        }
        start_tls();
    }

    void start_tls() {
        if (!where_.tls) {
            connected();
            return;
        }
        try {
            stream_.secure(contexts_.get(where_.ca_file), where_.host);
        } catch (const std::exception&) {
            own_fault_ = current_error();
            fail(kind::untrusted, own_fault_->message);
            return;
        }
        phase_ = phase::shaking;
        shake();
    }

    void shake() {
        const io_result result = stream_.handshake();
        if (result == io_result::done)
            connected();
        else if (result == io_result::failed || result == io_result::end) {
            fail(stream_.untrusted() ? kind::untrusted : kind::tls, "TLS with " + where_.host + ": " + stream_.error());
        } else {
            wait_for(result);
        }
    }

    void connected() {
        phase_ = phase::ready;
        disarm();
        if (auto* listener = std::exchange(listener_, nullptr)) listener->on_connected();
    }

    // ---- bytes

    void write_some() {
        while (true) {
            const std::size_t head_size = request_.head.size();
            const std::size_t total = head_size + (request_.body ? request_.body->size() : 0);
            if (written_ == total) break;
            const char* data =
                written_ < head_size ? request_.head.data() + written_ : request_.body->data() + (written_ - head_size);
            const std::size_t size = written_ < head_size ? head_size - written_ : total - written_;
            std::size_t count = 0;
            const io_result result = stream_.write(data, size, count);
            if (result == io_result::done) {
                sent_any_ = true;
                written_ += count;
                arm(timeouts_.idle_us);
                continue;
            }
            if (result == io_result::failed || result == io_result::end) {
                // The server may have answered and closed before it took everything: its answer counts.
                write_failed_ = true;
                break;
            }
            wait_for(result);
            return;
        }
        phase_ = phase::reading;
        arm(timeouts_.first_byte_us);
        // There can hardly be an answer yet: wait first.
        if (write_failed_)
            read_some();
        else
            wait_readable();
    }

    void read_some() {
        const auto self = shared();  // a listener may drop the last other reference
        constexpr int fair_share = 16;
        for (int turn = 0; turn < fair_share; ++turn) {
            make_room();
            const std::size_t room = block::size - end_;
            std::size_t count = 0;
            const io_result result = stream_.read(block_->data.data() + end_, room, count);
            if (result == io_result::want_read || result == io_result::want_write) {
                wait_for(result);
                return;
            }
            if (result == io_result::end) {
                on_eof();
                return;
            }
            if (result == io_result::failed) {
                fail(kind::closed, std::string("the connection broke ") +
                                       (answered_any_ ? "in the middle of the answer: " : "before an answer came: ") +
                                       stream_.error());
                return;
            }
            answered_any_ = true;
            end_ += count;
            if (!digest()) return;
            arm(timeouts_.idle_us);
            // A short read has most likely emptied the socket.
            if (!stream_.secured() && count < room) {
                wait_readable();
                return;
            }
        }
        loop_.post([self] {
            if (self->phase_ == phase::reading && !self->paused_) self->read_some();
        });
    }

    void make_room() {
        constexpr std::size_t least_room = 8 * 1024;
        if (block_ && block::size - end_ >= least_room) return;
        auto next = blocks_->get();
        const std::size_t left = end_ - begin_;
        if (left > 0) std::memcpy(next->data.data(), block_->data.data() + begin_, left);
        block_ = std::move(next);
        begin_ = 0;
        end_ = left;
    }

    // Parses what was received. False: stop reading.
    bool digest() {
        const std::shared_ptr<const block> owner = block_;
        while (true) {
            boost::system::error_code ec;
            if (begin_ < end_) begin_ += parser_->consume(owner, block_->data.data() + begin_, end_ - begin_, ec);
            if (!tell_pieces()) {
                if (phase_ != phase::reading) return false;
                paused_ = true;
                disarm();
            }
            if (phase_ != phase::reading) return false;
            if (ec) {
                fail(kind::garbage, answered_any_ && head_told_ ? "the answer's body is malformed: " + ec.message()
                                                                : "the answer is not HTTP: " + ec.message());
                return false;
            }
            if (!parser_->is_done()) break;
            if (parser_->head.status >= 100 && parser_->head.status < 200 && parser_->head.status != 101) {
                parser_ = std::make_unique<answer_parser>(request_.bodyless_answer);
                if (begin_ < end_) continue;
                return true;
            }
            finish(parser_->keep_alive() && begin_ == end_ && !write_failed_);
            return false;
        }
        if (end_ - begin_ > answer_parser::largest_head + 4096) {
            fail(kind::garbage, "the answer has a line without end");
            return false;
        }
        return !paused_;
    }

    // Hands on the head, once, and what came of the body. False: pause, or the listener has closed this connection.
    bool tell_pieces() {
        if (!parser_->is_header_done() || (parser_->head.status >= 100 && parser_->head.status < 200)) return true;
        if (!head_told_) {
            head_told_ = true;
            keep_alive_us_ = keep_alive_time(parser_->head.find("Keep-Alive"));
            answer_head head = std::move(parser_->head);
            parser_->head.status = head.status;
            if (listener_ != nullptr) listener_->on_head(std::move(head));
            if (phase_ != phase::reading) return false;
        }
        if (parser_->pieces.empty()) return true;
        const std::size_t bytes = std::exchange(parser_->piece_bytes, 0);
        auto pieces = std::exchange(parser_->pieces, {});
        return listener_ == nullptr || listener_->on_body(std::move(pieces), bytes);
    }

    void on_eof() {
        boost::system::error_code ec;
        if (!answered_any_) {
            fail(kind::closed, "the server closed the connection without an answer");
            return;
        }
        if (parser_->got_some()) parser_->put_eof(ec);
        if (ec || !head_told_) {
            fail(kind::closed, head_told_ ? "the body was cut off" : "the answer was cut off");
            return;
        }
        finish(false);
    }

    void finish(bool reusable) {
        phase_ = phase::ready;
        disarm();
        paused_ = false;
        request_ = {};
        if (auto* listener = std::exchange(listener_, nullptr)) listener->on_end(reusable);
    }

    io_loop& loop_;
    resolver& names_;
    tls_contexts& contexts_;
    const std::shared_ptr<block_store> blocks_;
    tcp::socket socket_;
    byte_stream stream_;
    io_timer timer_;
    std::int64_t deadline_us_ = 0;  // 0: none
    std::int64_t timer_at_us_ = 0;  // 0: not armed
    std::int64_t connect_until_us_ = 0;
    wire_timeouts timeouts_;
    connection_listener* listener_ = nullptr;
    std::function<void()> gone_;
    phase phase_ = phase::fresh;

    std::vector<socket_address> addresses_;
    std::size_t address_at_ = 0;
    std::string last_error_;
    std::optional<error> own_fault_;
    std::string greeting_, proxy_answer_;

    wire_request request_;
    std::size_t written_ = 0;
    std::unique_ptr<answer_parser> parser_;
    std::shared_ptr<block> block_;  // [begin_, end_) is received and not parsed yet
    std::size_t begin_ = 0, end_ = 0;
    std::int64_t keep_alive_us_ = keep_alive_time({});
    bool sent_any_ = false, answered_any_ = false, paused_ = false, head_told_ = false, write_failed_ = false;
    bool wait_read_ = false, wait_write_ = false;
    std::uint64_t wait_round_ = 0;
};

}  // namespace

std::shared_ptr<connection> connection::make(io_loop& loop, resolver& names, tls_contexts& contexts,
                                             std::shared_ptr<block_store> blocks, endpoint where) {
    return std::make_shared<socket_connection>(loop, names, contexts, std::move(blocks), std::move(where));
}

}  // namespace lakeflow::host
