// One request and its answer over real sockets: framing, bodies, keep-alive, redirects, credentials.
#include <boost/test/unit_test.hpp>
#include <sstream>

#include "host/base/text.h"
#include "host/http/test_server.h"

using namespace lakeflow::host;
using namespace lakeflow::host::test;

namespace {

struct fixture {
    test_context ctx;
    http_service service{quick_settings()};

    response get(const std::string& url) { return fetch(service, ctx.context, url); }
    error failing(const std::string& url) { return fetch_error(service, ctx.context, url); }
};

http_request request_for(const std::string& url) {
    http_request r;
    r.url = url;
    return r;
}

std::string chunked(const std::vector<std::string>& parts, std::string_view trailer = "") {
    std::string out = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (const auto& part : parts) {
        std::ostringstream size;
        size << std::hex << part.size();
        out += size.str() + "\r\n" + part + "\r\n";
    }
    return out + "0\r\n" + std::string(trailer) + "\r\n";
}

// A server that plays each connection as it is told: reads one request, sends bytes, closes.
test_server one_shot(std::function<std::string(int connection)> bytes) {
    return test_server([bytes = std::move(bytes)](peer& p, int n) {
        p.request();
        p.send(bytes(n));
    });
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(answers, fixture)

BOOST_AUTO_TEST_CASE(a_request_goes_out_as_it_should) {
    simple_server server([](const std::string&, int) {
        return answer(200, "hello", "Content-Type: text/plain\r\nX-A: 1\r\nx-a: 2\r\nEmpty:\r\n");
    });
    http_request r = request_for(server.url("/path?a=b#fragment"));
    r.headers = {{"X-Mine", "yes"}};
    const auto e = service.start(ctx.context, r);
    BOOST_TEST(e->head() == 200);
    BOOST_TEST(e->head() == 200);
    BOOST_TEST(e->header("content-type") == "text/plain");
    BOOST_TEST(e->header("X-A") == "1, 2");
    BOOST_TEST(e->header("empty").data() != nullptr);
    BOOST_TEST(e->header("empty") == "");
    BOOST_TEST(e->header("X-B").data() == nullptr);
    BOOST_TEST(e->final_url() == server.url("/path?a=b"));
    std::string_view piece;
    BOOST_TEST(e->read(piece));
    BOOST_TEST(piece == "hello");
    BOOST_TEST(!e->read(piece));
    BOOST_TEST(!e->read(piece));
    const std::string sent = server.requests().at(0);
    BOOST_TEST(sent.starts_with("GET /path?a=b HTTP/1.1\r\n"));
    BOOST_TEST(header_of(sent, "Host") == server.host());
    BOOST_TEST(header_of(sent, "User-Agent") == "lakeflow-host");
    BOOST_TEST(header_of(sent, "Accept-Encoding") == "gzip");
    BOOST_TEST(header_of(sent, "X-Mine") == "yes");
    BOOST_TEST(ctx.counters().requests == 1);
    BOOST_TEST(ctx.counters().bytes == 5);
    BOOST_TEST(ctx.counters().in_flight == 0);
    BOOST_TEST(ctx.context.flow->job_counters->requests == 1);
    BOOST_TEST(ctx.log().find("GET " + server.url("/path?a=b") + " 200 ") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_requests_own_headers_win) {
    simple_server server([](const std::string&, int) { return answer(200, ""); });
    http_request r = request_for(server.url("/"));
    r.method = "POST";
    r.headers = {{"user-agent", "mine"}, {"accept-encoding", "identity"}, {"accept", "application/json"}};
    r.body = "{\"a\":1}";
    r.content_type = "application/json";
    BOOST_TEST(fetch(service, ctx.context, r).status == 200);
    const std::string sent = server.requests().at(0);
    BOOST_TEST(sent.find("lakeflow-host") == std::string::npos);
    BOOST_TEST(sent.find("gzip") == std::string::npos);
    BOOST_TEST(sent.find("*/*") == std::string::npos);
    BOOST_TEST(header_of(sent, "Content-Type") == "application/json");
    BOOST_TEST(header_of(sent, "Content-Length") == "7");
    BOOST_TEST(sent.ends_with("\r\n\r\n{\"a\":1}"));
}

BOOST_AUTO_TEST_CASE(every_framing_gives_the_same_body) {
    std::string text;
    for (int i = 0; i < 40000; ++i) text += std::to_string(i) + " ";
    const auto expect = [&](const std::string& bytes, std::string_view name) {
        BOOST_TEST_CONTEXT(name) {
            auto server = one_shot([&](int) { return bytes; });
            const auto got = get(server.url("/"));
            BOOST_TEST((got.body == text));
        }
    };
    expect(answer(200, text), "length");
    expect(chunked({text.substr(0, 1), text.substr(1, 100000), text.substr(100001)}, "X-Trailer: 1\r\n"), "chunked");
    std::vector<std::string> tiny;
    for (std::size_t i = 0; i < text.size(); i += 37) tiny.push_back(text.substr(i, 37));
    expect(chunked(tiny), "tiny chunks");
    expect("HTTP/1.1 200 OK\r\n\r\n" + text, "until the end");
    expect("HTTP/1.0 200 OK\r\n\r\n" + text, "HTTP/1.0");
    expect("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + answer(200, text),
           "interim answers");
    const std::string packed = gzip(text);
    expect(answer(200, packed, "Content-Encoding: gzip\r\n"), "gzip");
    expect("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n" +
               chunked({packed.substr(0, 10), packed.substr(10)}).substr(47),
           "gzip in chunks");
    expect(answer(200, gzip(text.substr(0, 1000)) + gzip(text.substr(1000)), "Content-Encoding: x-gzip\r\n"),
           "members");
}

BOOST_AUTO_TEST_CASE(bytes_may_come_one_by_one) {
    test_server server([](peer& p, int) {
        p.request();
        for (const char c : chunked({"abc", "de"})) {
            p.send(std::string_view(&c, 1));
            std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
    });
    BOOST_TEST(get(server.url("/")).body == "abcde");
}

BOOST_AUTO_TEST_CASE(answers_without_a_body) {
    simple_server server([](const std::string& request, int) -> std::string {
        if (request.starts_with("HEAD")) return "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nX-Total-Count: 7\r\n\r\n";
        if (request.find("/204") != std::string::npos) return "HTTP/1.1 204 No Content\r\n\r\n";
        if (request.find("/304") != std::string::npos)
            return "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\nETag: \"x\"\r\n\r\n";
        return "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Encoding: gzip\r\n\r\n";
    });
    http_request r = request_for(server.url("/"));
    r.method = "HEAD";
    const auto e = service.start(ctx.context, r);
    BOOST_TEST(e->head() == 200);
    BOOST_TEST(e->header("X-Total-Count") == "7");
    std::string_view piece;
    BOOST_TEST(!e->read(piece));
    BOOST_TEST(get(server.url("/204")).status == 204);
    r = request_for(server.url("/304"));
    r.accept_status = {304};
    BOOST_TEST(fetch(service, ctx.context, r).status == 304);
    BOOST_TEST(get(server.url("/empty")).body == "");
    BOOST_TEST(server.connections() == 1);
}

// Case 24: status 200, but the body breaks off.
BOOST_AUTO_TEST_CASE(a_cut_body_is_never_an_end) {
    const std::string packed = gzip("[1,2,3]");
    const std::vector<std::pair<std::string, std::string>> cuts = {
        {"length", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n[1,2,3]"},
        {"chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n40\r\n[1,2,3]"},
        {"last chunk missing", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n[1,2,3]\r\n"},
        {"gzip trailer", answer(200, packed.substr(0, packed.size() - 4), "Content-Encoding: gzip\r\n")},
    };
    for (const auto& [name, bytes] : cuts) {
        BOOST_TEST_CONTEXT(name) {
            auto server = one_shot([bytes = bytes](int) { return bytes; });
            const auto e = service.start(ctx.context, request_for(server.url("/page")));
            BOOST_TEST(e->head() == 200);
            const error got = error_of([&] {
                std::string_view piece;
                while (e->read(piece)) continue;
            });
            BOOST_TEST(got.code == "source.transient");
            BOOST_TEST((got.retry == retry_class::transient));
            BOOST_TEST(got.message.find("/page") != std::string::npos);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_broken_body_is_asked_for_again) {
    auto server = one_shot([](int n) {
        if (n == 1) return std::string("HTTP/1.1 200 OK\r\nContent-Length: 100\r\nX-N: 1\r\n\r\n[1,2");
        if (n == 2) return answer(200, "<html>sorry</html>");
        return answer(200, "[1,2,3]", "X-N: 3\r\n");
    });
    const auto e = service.start(ctx.context, request_for(server.url("/")));
    std::string_view piece;
    BOOST_TEST(e->head() == 200);
    BOOST_TEST(error_of([&] {
                   while (e->read(piece)) continue;
               }).code == "source.transient");
    e->retry("the body broke off");
    BOOST_TEST(error_of([&] { e->header("X-N"); }).code == "plugin.contract");
    BOOST_TEST(e->head() == 200);
    BOOST_TEST(e->read(piece));
    e->retry("it is HTML");
    BOOST_TEST(e->head() == 200);
    BOOST_TEST(e->header("X-N") == "3");
    std::string body;
    while (e->read(piece)) body += piece;
    BOOST_TEST(body == "[1,2,3]");
    BOOST_TEST(ctx.counters().retries == 2);
    BOOST_TEST(ctx.counters().requests == 3);
}

BOOST_AUTO_TEST_CASE(retry_ends_with_the_attempts) {
    ctx.options().attempts = 2;
    simple_server good([](const std::string&, int) { return answer(200, "<html>"); });
    auto e = service.start(ctx.context, request_for(good.url("/x")));
    e->head();
    e->retry("it is HTML");
    e->head();
    error got = error_of([&] { e->retry("it is HTML"); });
    BOOST_TEST(got.code == "source.protocol");
    BOOST_TEST(got.message.find("it is HTML") != std::string::npos);
    BOOST_TEST(got.message.find("/x") != std::string::npos);
    BOOST_TEST(got.message.find("tried 2 times") != std::string::npos);
    auto cut = one_shot([](int) { return std::string("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"); });
    e = service.start(ctx.context, request_for(cut.url("/")));
    const auto broken = [&] {
        std::string_view piece;
        e->head();
        return error_of([&] {
                   while (e->read(piece)) continue;
               })
            .message;
    };
    e->head();
    e->retry(broken());
    BOOST_TEST(error_of([&] { e->retry(broken()); }).code == "source.transient");
}

BOOST_AUTO_TEST_CASE(too_long_a_body_is_refused) {
    const std::string text(100000, 'a');
    simple_server server([&](const std::string& request, int) {
        return request.find("/z") == std::string::npos ? answer(200, text)
                                                       : answer(200, gzip(text), "Content-Encoding: gzip\r\n");
    });
    http_request r = request_for(server.url("/"));
    r.max_body_bytes = 99999;
    BOOST_TEST(error_of([&] { fetch(service, ctx.context, r); }).code == "source.protocol");
    r.url = server.url("/z");
    BOOST_TEST(error_of([&] { fetch(service, ctx.context, r); }).code == "source.protocol");
    r.max_body_bytes = 100000;
    BOOST_TEST(fetch(service, ctx.context, r).body.size() == 100000);
}

BOOST_AUTO_TEST_CASE(what_is_not_http_is_named) {
    ctx.options().attempts = 2;
    for (const char* bytes : {"SSH-2.0-OpenSSH\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
                              "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
                              "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef"}) {
        BOOST_TEST_CONTEXT(bytes) {
            auto server = one_shot([bytes](int) { return std::string(bytes); });
            BOOST_TEST(failing(server.url("/")).code == "source.protocol");
            BOOST_TEST(server.connections() == 2);
        }
    }
    auto server = one_shot([](int) { return "HTTP/1.1 200 OK\r\nX: " + std::string(100000, 'a') + "\r\n\r\n"; });
    BOOST_TEST(failing(server.url("/")).code == "source.protocol");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(keep_alive, fixture)

BOOST_AUTO_TEST_CASE(connections_are_used_again) {
    simple_server server([](const std::string&, int k) { return answer(k % 2 == 0 ? 404 : 200, "body"); });
    for (int i = 0; i < 5; ++i) {
        http_request r = request_for(server.url("/"));
        r.accept_status = {404};
        BOOST_TEST(fetch(service, ctx.context, r).body == "body");
    }
    BOOST_TEST(failing(server.url("/")).code == "source.not_found");
    BOOST_TEST(get(server.url("/")).status == 200);
    BOOST_TEST(server.connections() == 1);
}

BOOST_AUTO_TEST_CASE(closed_ones_are_not) {
    simple_server server([](const std::string&, int) { return answer(200, "x", "Connection: close\r\n"); });
    get(server.url("/"));
    get(server.url("/"));
    BOOST_TEST(server.connections() == 2);
    // Nor one with an unread body, nor one with bytes behind the answer.
    const std::string large(4 << 20, 'x');
    simple_server big([&](const std::string&, int) { return answer(200, large); });
    for (int i = 0; i < 2; ++i) service.start(ctx.context, request_for(big.url("/")))->head();
    BOOST_TEST(big.connections() == 2);
    simple_server chatty([&](const std::string&, int) { return answer(200, "x") + "more"; });
    for (int i = 0; i < 2; ++i) BOOST_TEST(get(chatty.url("/")).body == "x");
    BOOST_TEST(chatty.connections() == 2);
}

// The server closes an idle connection just as it is used again: not a failure, and not a try.
BOOST_AUTO_TEST_CASE(the_idle_race_is_won) {
    ctx.options().attempts = 1;
    for (const bool reset : {false, true}) {
        test_server server([reset](peer& p, int) {
            p.request();
            p.send(answer(200, "one"));
            p.request();  // takes the second request and answers nothing
            if (reset) p.reset();
        });
        BOOST_TEST(get(server.url("/")).body == "one");
        BOOST_TEST(get(server.url("/")).body == "one");
        BOOST_TEST(server.connections() == 2);
    }
    BOOST_TEST(ctx.counters().requests == 4);
    BOOST_TEST(ctx.counters().retries == 0);
}

BOOST_AUTO_TEST_CASE(a_post_that_may_not_be_repeated_gets_a_fresh_connection) {
    simple_server server([](const std::string&, int) { return answer(200, "x"); });
    http_request r = request_for(server.url("/"));
    get(r.url);
    r.method = "POST";
    fetch(service, ctx.context, r);
    BOOST_TEST(server.connections() == 2);
    r.flags = LF_HTTP_IDEMPOTENT;
    fetch(service, ctx.context, r);
    BOOST_TEST(server.connections() == 2);
}

BOOST_AUTO_TEST_CASE(idle_connections_do_not_stay_for_ever) {
    http_settings settings = quick_settings();
    settings.idle_connection_us = 30'000;
    http_service impatient(settings);
    std::atomic<bool> closed = false;
    test_server server([&](peer& p, int) {
        p.request();
        p.send(answer(200, "x"));
        p.until_closed();
        closed = true;
    });
    fetch(impatient, ctx.context, server.url("/"));
    for (int i = 0; i < 100 && !closed; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    BOOST_TEST(closed);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(redirects, fixture)

BOOST_AUTO_TEST_CASE(methods_follow_the_rules) {
    for (const auto& [status, method, expected] :
         std::vector<std::tuple<int, std::string, std::string>>{{301, "GET", "GET"},
                                                                {302, "GET", "GET"},
                                                                {303, "GET", "GET"},
                                                                {307, "GET", "GET"},
                                                                {308, "GET", "GET"},
                                                                {301, "POST", "GET"},
                                                                {302, "POST", "GET"},
                                                                {303, "POST", "GET"},
                                                                {307, "POST", "POST"},
                                                                {308, "POST", "POST"},
                                                                {303, "PUT", "GET"},
                                                                {301, "PUT", "PUT"},
                                                                {303, "HEAD", "HEAD"},
                                                                {302, "DELETE", "DELETE"}}) {
        BOOST_TEST_CONTEXT(status << " " << method) {
            simple_server server([status = status](const std::string& request, int) {
                if (request.find(" /a/b?x=1 ") != std::string::npos) {
                    return "HTTP/1.1 " + std::to_string(status) +
                           " Moved\r\nLocation: ../c?y=2#z\r\nContent-Length: 0\r\n\r\n";
                }
                return request.starts_with("HEAD") ? std::string("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n")
                                                   : answer(200, "here");
            });
            http_request r = request_for(server.url("/a/b?x=1"));
            r.method = method;
            if (method == "POST" || method == "PUT") r.body = "data";
            const auto e = service.start(ctx.context, r);
            BOOST_TEST(e->head() == 200);
            BOOST_TEST(e->final_url() == server.url("/c?y=2"));
            const std::string second = server.requests().at(1);
            BOOST_TEST(second.starts_with(expected + " /c?y=2 "));
            BOOST_TEST((second.find("\r\n\r\ndata") != std::string::npos) == (expected == method && !r.body.empty()));
        }
    }
}

BOOST_AUTO_TEST_CASE(circles_and_endless_chains_end) {
    simple_server circle([](const std::string& request, int) {
        return answer(302, "", request.find(" /a ") != std::string::npos ? "Location: /b\r\n" : "Location: /a\r\n");
    });
    error e = failing(circle.url("/a"));
    BOOST_TEST(e.code == "source.page_cycle");
    BOOST_TEST(circle.requests().size() == 2);
    simple_server chain(
        [](const std::string&, int k) { return answer(302, "", "Location: /" + std::to_string(k) + "\r\n"); });
    e = failing(chain.url("/start"));
    BOOST_TEST(e.code == "source.page_cycle");
    BOOST_TEST(chain.requests().size() == 11);
}

BOOST_AUTO_TEST_CASE(a_redirect_may_be_an_answer) {
    simple_server server([](const std::string&, int) { return answer(302, "", "Location: /b\r\n"); });
    http_request r = request_for(server.url("/a"));
    r.flags = LF_HTTP_NO_REDIRECT;
    const auto e = service.start(ctx.context, r);
    BOOST_TEST(e->head() == 302);
    BOOST_TEST(e->header("Location") == "/b");
    simple_server lost([](const std::string&, int) { return answer(302, ""); });
    BOOST_TEST(failing(lost.url("/")).code == "source.protocol");
    simple_server odd([](const std::string&, int) { return answer(302, "", "Location: ftp://x/\r\n"); });
    BOOST_TEST(failing(odd.url("/")).code == "source.protocol");
}

BOOST_AUTO_TEST_CASE(credentials_stay_with_their_origin) {
    simple_server other([](const std::string& request, int) {
        return request.find("/back") != std::string::npos
                   ? answer(302, "", "Location: " + header_of(request, "X-Home") + "/end\r\n")
                   : answer(200, "other");
    });
    simple_server home([&](const std::string& request, int) {
        if (request.find(" /away") != std::string::npos)
            return answer(302, "", "Location: " + other.url("/x") + "\r\n");
        if (request.find(" /round") != std::string::npos)
            return answer(307, "", "Location: " + other.url("/back") + "\r\n");
        if (request.find(" /near") != std::string::npos) return answer(302, "", "Location: /end\r\n");
        return answer(200, "home");
    });
    const auto ask = [&](const std::string& path, const std::string& auth) {
        http_request r = request_for(home.url(path));
        r.auth = auth;
        r.headers = {{"Cookie", "session=canary-cookie"}, {"X-Home", home.url("")}};
        return fetch(service, ctx.context, r).body;
    };
    const std::string bearer = R"({"type":"bearer","token":"canary-token"})";
    BOOST_TEST(ask("/near", bearer) == "home");
    BOOST_TEST(header_of(home.requests().back(), "Authorization") == "Bearer canary-token");
    BOOST_TEST(header_of(home.requests().back(), "Cookie") == "session=canary-cookie");
    BOOST_TEST(ask("/away", bearer) == "other");
    BOOST_TEST(ask("/away", R"({"type":"header","name":"X-API-Key","value":"canary-header"})") == "other");
    BOOST_TEST(ask("/away", R"({"type":"query","name":"key","value":"canary-query"})") == "other");
    BOOST_TEST(ask("/away", R"({"type":"basic","user":"me","password":"canary-password"})") == "other");
    // Another origin may lead back, but not with the credential.
    BOOST_TEST(ask("/round", bearer) == "home");
    BOOST_TEST(home.requests().back().find("canary") == std::string::npos);
    BOOST_TEST(other.requests().size() == 5);
    for (const auto& request : other.requests()) {
        BOOST_TEST(request.find("canary") == std::string::npos);
        BOOST_TEST(request.find("Authorization") == std::string::npos);
    }
    // Without a redirect, too: a header that carries a credential, for a request whose origin is another.
    ctx.options().origins = {other.url("/")};
    http_request r = request_for(other.url("/y"));
    r.origin = home.url("/api");
    r.auth = bearer;
    r.headers = {{"authorization", "Bearer canary-own"}};
    BOOST_TEST(fetch(service, ctx.context, r).body == "other");
    BOOST_TEST(other.requests().back().find("canary") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(links_to_other_origins_must_be_listed) {
    simple_server other([](const std::string&, int) { return answer(200, "x"); });
    http_request r = request_for(other.url("/"));
    r.origin = "https://api.test";
    const error e = error_of([&] { service.start(ctx.context, r); });
    BOOST_TEST(e.code == "source.off_origin");
    BOOST_TEST(e.hint.find(other.host()) != std::string::npos);
    ctx.options().origins = {other.host()};
    BOOST_TEST(fetch(service, ctx.context, r).body == "x");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(secrets_of_requests, fixture)

// Case 31: a key in the query string appears nowhere.
BOOST_AUTO_TEST_CASE(query_credentials_are_sent_and_never_shown) {
    simple_server server([](const std::string& request, int k) {
        const auto space = request.find(' ', 5);
        const std::string target = request.substr(4, space - 4);
        if (k == 1) return answer(302, "", "Location: " + target + "&again=1\r\n");
        return answer(500, "you asked for " + target);
    });
    ctx.options().attempts = 2;
    http_request r = request_for(server.url("/x?a=1&api_key=canary/secret"));
    r.auth = R"({"type":"query","name":"api_key","value":"canary/secret"})";
    const error e = error_of([&] { fetch(service, ctx.context, r); });
    BOOST_TEST(server.requests().at(0).starts_with("GET /x?a=1&api_key=canary%2Fsecret HTTP/1.1"));
    BOOST_TEST(server.requests().at(1).starts_with("GET /x?a=1&again=1&api_key=canary%2Fsecret HTTP/1.1"));
    BOOST_TEST(e.code == "source.transient");
    for (const std::string& text : {e.message, e.hint, ctx.log()}) BOOST_TEST(text.find("canary") == std::string::npos);
    BOOST_TEST(ctx.log().find("/x?a=1") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(signed_links_are_not_shown) {
    simple_server store([](const std::string&, int) { return answer(404, "gone"); });
    simple_server server([&](const std::string&, int) {
        return answer(302, "", "Location: " + store.url("/file?signature=canary-signature") + "\r\n");
    });
    const error e = fetch_error(service, ctx.context, server.url("/download"));
    BOOST_TEST(store.requests().at(0).starts_with("GET /file?signature=canary-signature HTTP"));
    BOOST_TEST(e.message.find("/file?...") != std::string::npos);
    BOOST_TEST(e.message.find("canary") == std::string::npos);
    BOOST_TEST(ctx.log().find("canary") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(requests_that_cannot_be_sent_are_refused) {
    const auto code = [&](auto&& change) {
        http_request r = request_for("http://127.0.0.1:1/");
        change(r);
        const error e = error_of([&] { service.start(ctx.context, r); });
        BOOST_TEST((e.retry == retry_class::invalid));
        return e.code;
    };
    BOOST_TEST(code([](auto& r) { r.url = "nonsense"; }) == "config.url");
    BOOST_TEST(code([](auto& r) { r.url = "http://me:pw@h/"; }) == "config.url");
    BOOST_TEST(code([](auto& r) { r.url = "http://h/\r\nX: 1"; }) == "config.url");
    BOOST_TEST(code([](auto& r) { r.method = "GET /x"; }) == "config.method");
    BOOST_TEST(code([](auto& r) { r.method = "CONNECT"; }) == "config.method");
    BOOST_TEST(code([](auto& r) { r.headers = {{"A", "b\r\nc: d"}}; }) == "config.headers");
    BOOST_TEST(code([](auto& r) { r.content_type = "a\r\nb"; }) == "config.headers");
    BOOST_TEST(code([](auto& r) { r.auth = "{"; }) == "config.auth");
    BOOST_TEST(code([](auto& r) { r.auth = R"({"type":"oauth2"})"; }) == "config.auth");
    ctx.options().proxy = "socks5://x:1";
    BOOST_TEST(code([](auto&) {}) == "config.proxy");
}

BOOST_AUTO_TEST_SUITE_END()
