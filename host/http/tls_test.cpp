// TLS with a private authority, and proxies: plain and CONNECT.
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <fstream>

#include "host/base/text.h"
#include "host/http/test_server.h"

using namespace lakeflow::host;
using namespace lakeflow::host::test;

namespace {

struct fixture {
    test_context ctx;
    test_authority authority;
    http_service service{[] {
        http_settings settings = quick_settings();
        settings.resolve = [](const std::string&) { return std::vector<std::string>{"127.0.0.1"}; };
        return settings;
    }()};

    simple_server serve(const std::string& name) {
        return simple_server([](const std::string&, int k) { return answer(200, "secret " + std::to_string(k)); },
                             authority.server(name));
    }
};

// A forward proxy: CONNECT by itself, plain requests by a fixed answer.
class test_proxy {
  public:
    explicit test_proxy(int target_port, std::string wanted_credential = {})
        : server_([this, target_port, wanted = std::move(wanted_credential)](peer& p, int) {
              while (true) {
                  const std::string request = p.request();
                  server_.note(request);
                  if (header_of(request, "Proxy-Authorization") != wanted) {
                      p.send(answer(407, "who are you", "Proxy-Authenticate: Basic\r\n"));
                      continue;
                  }
                  if (!request.starts_with("CONNECT ")) {
                      p.send(answer(200, "by proxy"));
                      continue;
                  }
                  if (target_port == 0) {
                      p.send("HTTP/1.1 502 Bad Gateway\r\n\r\n");
                      return;
                  }
                  tunnel(p, target_port);
                  return;
              }
          }) {}
    std::string address() const { return "http://" + server_.host(); }
    std::vector<std::string> requests() const { return server_.requests(); }

  private:
    static void tunnel(peer& client, int port);
    test_server server_;
};

void test_proxy::tunnel(peer& client, int port) {
    const int out = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(out, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return;
    client.send("HTTP/1.1 200 Connection established\r\nX-Proxy: yes\r\n\r\n");
    pollfd both[2] = {{client.socket(), POLLIN, 0}, {out, POLLIN, 0}};
    char buffer[16384];
    while (::poll(both, 2, 5000) > 0) {
        for (int i = 0; i < 2; ++i) {
            if (both[i].revents == 0) continue;
            const ssize_t got = ::recv(both[i].fd, buffer, sizeof buffer, 0);
            if (got <= 0 || ::send(both[1 - i].fd, buffer, static_cast<std::size_t>(got), MSG_NOSIGNAL) != got) {
                ::close(out);
                return;
            }
        }
    }
    ::close(out);
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(tls, fixture)

BOOST_AUTO_TEST_CASE(a_private_authority_is_trusted_by_its_file) {
    auto server = serve("DNS:api.test,IP:127.0.0.1");
    ctx.options().ca_file = authority.ca_file();
    const std::string url = "https://api.test:" + std::to_string(server.port()) + "/";
    BOOST_TEST(fetch(service, ctx.context, url).body == "secret 1");
    BOOST_TEST(fetch(service, ctx.context, url).body == "secret 2");
    BOOST_TEST(server.connections() == 1);  // kept alive, session tickets or not
    BOOST_TEST(fetch(service, ctx.context, server.url("/by-address")).body == "secret 3");
}

BOOST_AUTO_TEST_CASE(large_bodies_arrive_whole) {
    std::string text;
    for (int i = 0; i < 200000; ++i) text += std::to_string(i) + " ";
    simple_server server(
        [&](const std::string& request, int) {
            return request.find("/z") != std::string::npos ? answer(200, gzip(text), "Content-Encoding: gzip\r\n")
                                                           : answer(200, text);
        },
        authority.server("IP:127.0.0.1"));
    ctx.options().ca_file = authority.ca_file();
    BOOST_TEST((fetch(service, ctx.context, server.url("/")).body == text));
    BOOST_TEST((fetch(service, ctx.context, server.url("/z")).body == text));
}

BOOST_AUTO_TEST_CASE(the_wrong_name_is_refused) {
    auto server = serve("DNS:other.test");
    ctx.options().ca_file = authority.ca_file();
    for (const std::string& url : {"https://api.test:" + std::to_string(server.port()) + "/", server.url("/")}) {
        const error e = fetch_error(service, ctx.context, url);
        BOOST_TEST(e.code == "source.tls");
        BOOST_TEST((e.retry == retry_class::permanent));
        BOOST_TEST(e.message.find("mismatch") != std::string::npos);
        BOOST_TEST(e.hint.find("ca_file") != std::string::npos);
    }
    BOOST_TEST(server.requests().empty());
    BOOST_TEST(server.connections() == 2);  // no try after the first
}

BOOST_AUTO_TEST_CASE(an_unknown_authority_is_refused) {
    auto server = serve("DNS:api.test");
    const std::string url = "https://api.test:" + std::to_string(server.port()) + "/";
    BOOST_TEST(fetch_error(service, ctx.context, url).code == "source.tls");  // the system's roots
    const test_authority another;
    ctx.options().ca_file = another.ca_file();
    BOOST_TEST(fetch_error(service, ctx.context, url).code == "source.tls");
    BOOST_TEST(server.requests().empty());
}

BOOST_AUTO_TEST_CASE(a_bad_ca_file_is_named) {
    auto server = serve("IP:127.0.0.1");
    ctx.options().ca_file = "/nowhere/ca.pem";
    error e = fetch_error(service, ctx.context, server.url("/"));
    BOOST_TEST(e.code == "config.ca_file");
    BOOST_TEST(e.message.find("/nowhere/ca.pem") != std::string::npos);
    const std::string empty = authority.ca_file() + ".empty";
    std::ofstream(empty) << "no certificate\n";
    ctx.options().ca_file = empty;
    BOOST_TEST(fetch_error(service, ctx.context, server.url("/")).code == "config.ca_file");
    BOOST_TEST(server.connections() <= 2);
}

BOOST_AUTO_TEST_CASE(old_versions_are_refused) {
    const auto context = authority.server("IP:127.0.0.1");
    SSL_CTX_set_security_level(context.get(), 0);
    SSL_CTX_set_min_proto_version(context.get(), TLS1_VERSION);
    SSL_CTX_set_max_proto_version(context.get(), TLS1_1_VERSION);
    simple_server server([](const std::string&, int) { return answer(200, "x"); }, context);
    ctx.options().ca_file = authority.ca_file();
    ctx.options().attempts = 1;
    const error e = fetch_error(service, ctx.context, server.url("/"));
    BOOST_TEST(e.code == "source.transient");
    BOOST_TEST(e.message.find("TLS") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_plain_server_is_recognised) {
    ctx.options().attempts = 1;
    simple_server plain([](const std::string&, int) { return answer(200, "x"); });
    const error e = fetch_error(service, ctx.context, "https://127.0.0.1:" + std::to_string(plain.port()) + "/");
    BOOST_TEST(e.message.find("TLS") != std::string::npos);
}

// Without a length the end of TLS must be said, or the body may have been cut by anyone.
BOOST_AUTO_TEST_CASE(a_body_cut_below_tls_is_no_end) {
    ctx.options().ca_file = authority.ca_file();
    for (const bool proper : {true, false}) {
        test_server server(
            [proper](peer& p, int) {
                p.request();
                p.send("HTTP/1.1 200 OK\r\n\r\n[1,2,3]");
                if (proper) p.close();
                throw gone();
            },
            authority.server("IP:127.0.0.1"));
        const error e = fetch_error(service, ctx.context, server.url("/"));
        BOOST_TEST(e.code == (proper ? "none" : "source.transient"));
    }
}

BOOST_AUTO_TEST_CASE(an_idle_tls_connection_that_died_is_replaced) {
    ctx.options().ca_file = authority.ca_file();
    ctx.options().attempts = 1;
    test_server server(
        [](peer& p, int) {
            p.request();
            p.send(answer(200, "x"));
            p.request();
            p.reset();
        },
        authority.server("IP:127.0.0.1"));
    BOOST_TEST(fetch(service, ctx.context, server.url("/")).body == "x");
    BOOST_TEST(fetch(service, ctx.context, server.url("/")).body == "x");
    BOOST_TEST(server.connections() == 2);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(by_proxy, fixture)

BOOST_AUTO_TEST_CASE(plain_requests_name_the_whole_url) {
    test_proxy proxy(0, "Basic " + base64("us er:pass:word"));
    ctx.options().proxy = "http://us%20er:pass%3Aword@" + proxy.address().substr(7);
    http_request r;
    r.url = "http://api.test/x?y=1";
    r.auth = R"({"type":"bearer","token":"for-the-server"})";
    BOOST_TEST(fetch(service, ctx.context, r).body == "by proxy");
    const std::string seen = proxy.requests().at(0);
    BOOST_TEST(seen.starts_with("GET http://api.test/x?y=1 HTTP/1.1\r\n"));
    BOOST_TEST(header_of(seen, "Host") == "api.test");
    BOOST_TEST(header_of(seen, "Authorization") == "Bearer for-the-server");
    BOOST_TEST(ctx.context.flow->redactor->redact("pass:word") == "***");
}

BOOST_AUTO_TEST_CASE(tls_goes_through_a_tunnel) {
    auto server = serve("DNS:api.test");
    test_proxy proxy(server.port(), "Basic " + base64("u:pw-of-proxy"));
    ctx.options().ca_file = authority.ca_file();
    ctx.options().proxy = "http://u:pw-of-proxy@" + proxy.address().substr(7);
    http_request r;
    r.url = "https://api.test/secret-path";
    r.auth = R"({"type":"bearer","token":"for-the-server"})";
    BOOST_TEST(fetch(service, ctx.context, r).body == "secret 1");
    BOOST_TEST(fetch(service, ctx.context, r).body == "secret 2");
    BOOST_REQUIRE_EQUAL(proxy.requests().size(), 1);  // one tunnel, kept
    const std::string seen = proxy.requests().at(0);
    BOOST_TEST(seen.starts_with("CONNECT api.test:443 HTTP/1.1\r\n"));
    BOOST_TEST(seen.find("secret-path") == std::string::npos);
    BOOST_TEST(seen.find("for-the-server") == std::string::npos);
    BOOST_TEST(header_of(server.requests().at(0), "Proxy-Authorization") == "");
    BOOST_TEST(header_of(server.requests().at(0), "Authorization") == "Bearer for-the-server");
}

BOOST_AUTO_TEST_CASE(refusals_of_the_proxy_are_told_apart) {
    ctx.options().attempts = 2;
    test_proxy strict(1, "Basic wanted");
    ctx.options().proxy = strict.address();
    error e = fetch_error(service, ctx.context, "https://api.test/");
    BOOST_TEST(e.code == "source.auth");
    BOOST_TEST(e.hint.find("proxy") != std::string::npos);
    BOOST_TEST(strict.requests().size() == 1);
    e = fetch_error(service, ctx.context, "http://api.test/");
    BOOST_TEST(e.code == "source.auth");
    BOOST_TEST(e.vendor_code == 407);
    test_proxy broken(0);
    ctx.options().proxy = broken.address();
    e = fetch_error(service, ctx.context, "https://api.test/");
    BOOST_TEST(e.code == "source.transient");
    BOOST_TEST(e.message.find("502") != std::string::npos);
    BOOST_TEST(broken.requests().size() == 2);
}

BOOST_AUTO_TEST_CASE(the_environment_names_one_too) {
    test_proxy proxy(0);
    simple_server direct([](const std::string&, int) { return answer(200, "direct"); });
    ::setenv("http_proxy", proxy.address().c_str(), 1);
    ::setenv("no_proxy", "inside.test", 1);
    BOOST_TEST(fetch(service, ctx.context, "http://api.test/").body == "by proxy");
    BOOST_TEST(fetch(service, ctx.context, "http://inside.test:" + std::to_string(direct.port()) + "/").body ==
               "direct");
    ctx.options().proxy = "none";
    BOOST_TEST(fetch(service, ctx.context, "http://other.test:" + std::to_string(direct.port()) + "/").body ==
               "direct");
    ::unsetenv("http_proxy");
    ::unsetenv("no_proxy");
}

BOOST_AUTO_TEST_SUITE_END()
