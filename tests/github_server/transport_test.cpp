// The server on real sockets: keep-alive, overlap, resets, TLS with the private authority, and what the log may not hold.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/github_server/server.h"

using namespace lakeflow::github_server;

namespace {

server_config corpus() {
    server_config config;
    repository_config repo;
    repo.issues = 300;
    config.repositories = {repo};
    return config;
}

std::string head_of(const std::string& path, const std::string& more = "") {
    return "GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: test\r\n" + more + "\r\n";
}

class connection {
  public:
    explicit connection(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(port);
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        BOOST_REQUIRE(::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
        const timeval patience{20, 0};
        ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    }
    ~connection() { ::close(socket_); }
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
    void send(const std::string& text) const {
        BOOST_REQUIRE(::send(socket_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()));
    }
    // Up to the end of the connection; `error` is errno of the last read, 0 at an orderly end.
    std::string to_the_end(int& error) const {
        std::string out;
        std::array<char, 65536> piece;
        for (;;) {
            const ssize_t got = ::recv(socket_, piece.data(), piece.size(), 0);
            error = got < 0 ? errno : 0;
            if (got <= 0) return out;
            out.append(piece.data(), static_cast<std::size_t>(got));
        }
    }
    // One answer with a Content-Length.
    std::string one() const {
        std::string out;
        char c = 0;
        while (out.find("\r\n\r\n") == std::string::npos && ::recv(socket_, &c, 1, 0) == 1) out.push_back(c);
        const std::size_t mark = out.find("Content-Length: ");
        std::size_t missing = mark == std::string::npos ? 0 : std::stoul(out.substr(mark + 16));
        std::array<char, 65536> piece;
        while (missing > 0) {
            const ssize_t got = ::recv(socket_, piece.data(), std::min(missing, piece.size()), 0);
            if (got <= 0) break;
            out.append(piece.data(), static_cast<std::size_t>(got));
            missing -= static_cast<std::size_t>(got);
        }
        return out;
    }

  private:
    int socket_;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

const std::string issues = "/repos/octo/demo/issues?state=all&per_page=100";

}  // namespace

BOOST_AUTO_TEST_CASE(one_connection_serves_many_requests) {
    const server serving(corpus());
    const connection line(serving.port());
    for (int i = 0; i < 5; ++i) {
        line.send(head_of(issues));
        const std::string given = line.one();
        BOOST_TEST(given.substr(0, 15) == "HTTP/1.1 200 OK");
        BOOST_TEST(given.back() == ']');
    }
    line.send(head_of(issues, "Connection: close\r\n"));
    int error = -1;
    BOOST_TEST(line.to_the_end(error).find("Connection: close") != std::string::npos);
    BOOST_TEST(error == 0);
    BOOST_TEST(serving.stats().requests == 6U);
    BOOST_TEST(serving.stats().connections == 1U);
}

BOOST_AUTO_TEST_CASE(slow_answers_overlap_and_are_counted_in_flight) {
    server_config config = corpus();
    config.latency_ms = 300;
    const server serving(config);
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::unique_ptr<connection>> lines;
    for (int i = 0; i < 8; ++i) {
        lines.push_back(std::make_unique<connection>(serving.port()));
        lines.back()->send(head_of(issues));
    }
    for (const auto& line : lines) BOOST_TEST(line->one().back() == ']');
    BOOST_TEST(seconds_since(start) < 8 * 0.3);
    BOOST_TEST(serving.stats().max_in_flight == 8U);
    BOOST_TEST(serving.stats().in_flight == 0U);
}

BOOST_AUTO_TEST_CASE(cut_reset_close_hang_and_drip_on_the_wire) {
    server_config config = corpus();
    config.faults =
        R"({"faults":[{"path":"page=1$","kind":"cut","at":500},{"path":"page=2","kind":"reset"},{"path":"page=3","kind":"reset","at":500},
        {"path":"page=4","kind":"close"},{"path":"page=5","kind":"hang"},{"path":"page=6","drip":{"bytes":1,"every_ms":60}}]})";
    server serving(config);
    int error = 0;
    {
        const connection line(serving.port());
        line.send(head_of(issues + "&page=1"));
        const std::string given = line.to_the_end(error);
        BOOST_TEST(error == 0);
        BOOST_TEST(given.size() - given.find("\r\n\r\n") - 4 == 500U);
    }
    {
        const connection line(serving.port());
        line.send(head_of(issues + "&page=2"));
        BOOST_TEST(line.to_the_end(error).empty());
        BOOST_TEST(error == ECONNRESET);
    }
    {
        const connection line(serving.port());
        line.send(head_of(issues + "&page=3"));
        line.to_the_end(error);
        BOOST_TEST(error == ECONNRESET);
    }
    {
        const connection line(serving.port());
        line.send(head_of(issues + "&page=4"));
        const std::string given = line.to_the_end(error);
        BOOST_TEST(given.find("Connection: close") == std::string::npos);
        BOOST_TEST(error == 0);
    }
    {
        const connection line(serving.port());
        line.send(head_of(issues + "&page=6"));  // past the end: a body of "[]"
        const auto start = std::chrono::steady_clock::now();
        BOOST_TEST(line.one().back() == ']');
        BOOST_TEST(seconds_since(start) > 0.1);
    }
    auto hanging = std::make_unique<connection>(serving.port());
    hanging->send(head_of(issues + "&page=5"));
    while (serving.stats().in_flight == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    hanging.reset();
    while (serving.stats().in_flight != 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    // Answers that never came are in the log with status 0.
    std::size_t unanswered = 0;
    for (const request_record& record : serving.requests()) unanswered += record.status == 0 ? 1 : 0;
    BOOST_TEST(unanswered >= 2U);
}

BOOST_AUTO_TEST_CASE(the_log_knows_that_a_credential_was_sent_and_not_which) {
    server_config config = corpus();
    config.tokens = {"CANARY-token"};
    const server serving(config);
    const connection line(serving.port());
    line.send(head_of("/user", "Authorization: Bearer CANARY-token\r\n"));
    BOOST_TEST(line.one().substr(9, 3) == "200");
    line.send(head_of("/user"));
    BOOST_TEST(line.one().substr(9, 3) == "401");
    line.send(head_of("/__control/requests"));
    const std::string log = line.one();
    BOOST_TEST(log.find("\"authorization\":true") != std::string::npos);
    BOOST_TEST(log.find("CANARY") == std::string::npos);
    line.send(head_of("/__control/stats"));
    const std::string counts = line.one();
    BOOST_TEST(counts.find("\"requests\":2,") != std::string::npos);
    BOOST_TEST(counts.find("\"with_authorization\":1,") != std::string::npos);
    BOOST_TEST(counts.find("\"/user\":{\"200\":1,\"401\":1}") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(control_calls_arrive_by_post) {
    const server serving(corpus());
    const connection line(serving.port());
    const std::string body = R"({"count":2})";
    line.send("POST /__control/edit HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(body.size()) +
              "\r\n\r\n" + body);
    BOOST_TEST(line.one().find("\"numbers\":[") != std::string::npos);
    line.send("POST /__control/edit HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n{]}");
    BOOST_TEST(line.one().substr(9, 3) == "400");
    BOOST_TEST(serving.stats().requests == 0U);
}

BOOST_AUTO_TEST_CASE(tls_is_trusted_by_the_private_authority_alone) {
    const std::string ca =
        (std::filesystem::temp_directory_path() / ("github-server-ca-" + std::to_string(::getpid()) + ".pem")).string();
    for (const std::string fault : {"", "expired", "self_signed"}) {
        server_config config = corpus();
        config.tls = true;
        config.ca_out = ca;
        config.tls_fault = fault;
        const server serving(config);
        const auto verified = [&](const std::string& host, bool trust) {
            const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()),
                                                                            SSL_CTX_free);
            if (trust) BOOST_REQUIRE(SSL_CTX_load_verify_locations(context.get(), ca.c_str(), nullptr) == 1);
            SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
            BIO* chain = BIO_new_ssl_connect(context.get());
            SSL* ssl = nullptr;
            BIO_get_ssl(chain, &ssl);
            SSL_set1_host(ssl, host.c_str());
            BIO_set_conn_hostname(chain, ("127.0.0.1:" + std::to_string(serving.tls_port())).c_str());
            const bool good = BIO_do_connect(chain) == 1;
            std::string given;
            if (good) {
                BIO_puts(chain, head_of("/repos/octo/demo/issues?per_page=1&page=2", "Connection: close\r\n").c_str());
                std::array<char, 4096> piece;
                for (int got = 0; (got = BIO_read(chain, piece.data(), piece.size())) > 0;)
                    given.append(piece.data(), static_cast<std::size_t>(got));
                BOOST_TEST(given.find("Link: <https://127.0.0.1/repositories/") != std::string::npos);
            }
            BIO_free_all(chain);
            return good;
        };
        BOOST_TEST(verified("localhost", true) == fault.empty());
        BOOST_TEST(!verified("localhost", false));
        BOOST_TEST(!verified("api.github.com", true));
    }
    std::filesystem::remove(ca);
}
