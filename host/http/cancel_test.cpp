// Waits that must end: cancellation in every stage, time-outs, back-pressure, many exchanges at once; and the ABI.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <future>

#include "host/http/abi.h"
#include "host/http/test_server.h"

using namespace lakeflow::host;
using namespace lakeflow::host::test;

namespace {

struct fixture {
    test_context ctx;
    http_service service{quick_settings()};
};

http_request request_for(const std::string& url) {
    http_request r;
    r.url = url;
    return r;
}

// Cancels 50 ms after the call began, and measures how long the call then takes to end.
std::int64_t cancel_latency_ms(test_context& ctx, const std::function<void()>& call) {
    std::thread canceller([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        ctx.context.cancelled->cancel();
    });
    const stopwatch watch;
    const error e = error_of(call);
    const std::int64_t taken = watch.ms();
    canceller.join();
    BOOST_TEST(e.code == "cancelled");
    BOOST_TEST((e.retry == retry_class::cancelled));
    return taken - 50;
}

// Accepts nothing, and has its backlog filled.
class full_listener {
  public:
    full_listener() {
        listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        ::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address);
        ::listen(listener_, 0);
        socklen_t size = sizeof address;
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
        port_ = ntohs(address.sin_port);
        for (int i = 0; i < 8; ++i) {
            fillers_.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
            ::connect(fillers_.back(), reinterpret_cast<sockaddr*>(&address), sizeof address);
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    ~full_listener() {
        for (const int socket : fillers_) ::close(socket);
        ::close(listener_);
    }
    full_listener(const full_listener&) = delete;
    full_listener& operator=(const full_listener&) = delete;
    int port() const { return port_; }

  private:
    int listener_ = -1;
    int port_ = 0;
    std::vector<int> fillers_;
};

void until(const std::function<bool()>& true_now) {
    for (int i = 0; i < 1000 && !true_now(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    BOOST_TEST(true_now());
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(cancelling, fixture)

BOOST_AUTO_TEST_CASE(while_waiting_for_the_head) {
    test_server server([](peer& p, int) { p.until_closed(); });
    BOOST_TEST(cancel_latency_ms(ctx, [&] { fetch(service, ctx.context, server.url("/")); }) < 100);
    BOOST_TEST(error_of([&] { fetch(service, ctx.context, server.url("/")); }).code == "cancelled");
    until([&] { return ctx.counters().in_flight == 0; });
}

BOOST_AUTO_TEST_CASE(while_waiting_for_the_body) {
    test_server server([](peer& p, int) {
        p.request();
        p.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc");
        p.until_closed();
    });
    BOOST_TEST(cancel_latency_ms(ctx, [&] { fetch(service, ctx.context, server.url("/")); }) < 100);
}

BOOST_AUTO_TEST_CASE(while_backing_off) {
    ctx.options().backoff_us = 30'000'000;
    simple_server server([](const std::string&, int) { return answer(503, ""); });
    BOOST_TEST(cancel_latency_ms(ctx, [&] { fetch(service, ctx.context, server.url("/")); }) < 100);
    BOOST_TEST(server.requests().size() == 1);
}

BOOST_AUTO_TEST_CASE(while_waiting_for_the_pace) {
    simple_server server([](const std::string&, int) { return answer(429, "", "Retry-After: 60\r\n"); });
    BOOST_TEST(cancel_latency_ms(ctx, [&] { fetch(service, ctx.context, server.url("/")); }) < 100);
    test_context second;
    BOOST_TEST(cancel_latency_ms(second, [&] { fetch(service, second.context, server.url("/")); }) < 100);
    BOOST_TEST(server.requests().size() == 1);
    until([&] { return second.context.flow->waiting.get().empty(); });
}

BOOST_AUTO_TEST_CASE(while_a_name_is_looked_up) {
    std::promise<void> release;
    auto released = release.get_future().share();
    http_settings settings = quick_settings();
    settings.resolve = [released](const std::string& name) {
        if (name == "stuck.test") released.wait();
        return std::vector<std::string>{"127.0.0.1"};
    };
    {
        http_service named(settings);
        BOOST_TEST(cancel_latency_ms(ctx, [&] { fetch(named, ctx.context, "http://stuck.test:1/"); }) < 100);
        // Another name does not wait behind it.
        simple_server server([](const std::string&, int) { return answer(200, "x"); });
        test_context second;
        BOOST_TEST(fetch(named, second.context, "http://fine.test:" + std::to_string(server.port()) + "/").body == "x");
        second.options().connect_timeout_us = 50'000;
        second.options().attempts = 1;
        const error e = fetch_error(named, second.context, "http://stuck.test:1/");
        BOOST_TEST(e.code == "source.transient");
        BOOST_TEST(e.message.find("looking up") != std::string::npos);
        release.set_value();
    }
}

BOOST_AUTO_TEST_CASE(while_connecting) {
    // A listener whose queue is full takes no more connections: the next one waits for its SYN to be answered.
    const full_listener listener;
    const std::string url = "http://127.0.0.1:" + std::to_string(listener.port()) + "/";
    BOOST_TEST(cancel_latency_ms(ctx, [&] { fetch(service, ctx.context, url); }) < 100);
    test_context second;
    second.options().connect_timeout_us = 50'000;
    second.options().attempts = 1;
    const error e = fetch_error(service, second.context, url);
    BOOST_TEST(e.message.find("(connecting)") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(in_the_tls_handshake) {
    test_server mute([](peer& p, int) { p.until_closed(); });
    const std::string url = "https://127.0.0.1:" + std::to_string(mute.port()) + "/";
    BOOST_TEST(cancel_latency_ms(ctx, [&] { fetch(service, ctx.context, url); }) < 100);
}

BOOST_AUTO_TEST_CASE(in_the_queue_for_a_connection) {
    http_settings settings = quick_settings();
    settings.max_connections = 1;
    http_service narrow(settings);
    test_server server([](peer& p, int) { p.until_closed(); });
    test_context holder;
    const auto first = narrow.start(holder.context, request_for(server.url("/")));
    until([&] { return server.connections() == 1; });
    BOOST_TEST(cancel_latency_ms(ctx, [&] { fetch(narrow, ctx.context, server.url("/")); }) < 100);
    BOOST_TEST(server.connections() == 1);
}

BOOST_AUTO_TEST_CASE(before_the_start) {
    ctx.context.cancelled->cancel();
    test_server server([](peer& p, int) { p.until_closed(); });
    const auto e = service.start(ctx.context, request_for(server.url("/")));
    BOOST_TEST(error_of([&] { e->head(); }).code == "cancelled");
}

BOOST_AUTO_TEST_CASE(dropping_an_exchange_ends_it_anywhere) {
    std::atomic<int> closed = 0;
    test_server server([&](peer& p, int n) {
        try {
            p.request();
            if (n == 2) p.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc");
            p.until_closed();
        } catch (const gone&) {
            ++closed;  // even before the request came
            throw;
        }
        ++closed;
    });
    {
        const auto e = service.start(ctx.context, request_for(server.url("/")));
        until([&] { return server.connections() == 1; });
    }
    until([&] { return closed == 1; });
    {
        const auto e = service.start(ctx.context, request_for(server.url("/")));
        e->head();
    }
    until([&] { return closed == 2; });
    for (int i = 0; i < 20; ++i) service.start(ctx.context, request_for(server.url("/")));
    until([&] { return ctx.counters().in_flight == 0; });
}

BOOST_AUTO_TEST_CASE(a_service_ends_what_is_left) {
    test_server server([](peer& p, int) { p.until_closed(); });
    auto brief = std::make_unique<http_service>(quick_settings());
    const auto e = brief->start(ctx.context, request_for(server.url("/")));
    until([&] { return server.connections() == 1; });
    brief.reset();
    BOOST_TEST(error_of([&] { e->head(); }).code == "cancelled");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(time_outs, fixture)

BOOST_AUTO_TEST_CASE(each_wait_has_its_own) {
    ctx.options().attempts = 2;
    ctx.options().first_byte_timeout_us = 60'000;
    test_server mute([](peer& p, int) { p.until_closed(); });
    stopwatch watch;
    error e = fetch_error(service, ctx.context, mute.url("/"));
    BOOST_TEST(e.code == "source.transient");
    BOOST_TEST(e.message.find("no answer within 60 ms") != std::string::npos);
    BOOST_TEST(mute.connections() == 2);
    BOOST_TEST(watch.ms() >= 115);
    BOOST_TEST(watch.ms() < 2000);

    ctx.options().first_byte_timeout_us = 5'000'000;
    ctx.options().idle_timeout_us = 80'000;
    test_server stalls([](peer& p, int) {
        p.request();
        p.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc");
        p.until_closed();
    });
    e = fetch_error(service, ctx.context, stalls.url("/"));
    BOOST_TEST(e.code == "source.transient");
    BOOST_TEST(e.message.find("stood still") != std::string::npos);

    // Slow is not still.
    test_server slow([](peer& p, int) {
        p.request();
        p.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n");
        for (int i = 0; i < 10; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            p.send("x");
        }
    });
    BOOST_TEST(fetch(service, ctx.context, slow.url("/")).body.size() == 10);

    ctx.options().connect_timeout_us = 60'000;
    e = fetch_error(service, ctx.context, "https://127.0.0.1:" + std::to_string(mute.port()) + "/");
    BOOST_TEST(e.message.find("TLS handshake") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_reader_that_takes_its_time_is_no_time_out) {
    ctx.options().idle_timeout_us = 50'000;
    const std::string text(8 << 20, 'x');
    simple_server server([&](const std::string&, int) { return answer(200, text); });
    const auto e = service.start(ctx.context, request_for(server.url("/")));
    e->head();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    std::string_view piece;
    std::size_t total = 0;
    while (e->read(piece)) total += piece.size();
    BOOST_TEST(total == text.size());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(streaming, fixture)

BOOST_AUTO_TEST_CASE(the_read_ahead_is_bounded) {
    http_settings settings = quick_settings();
    settings.read_ahead_bytes = 256 * 1024;
    http_service tight(settings);
    const std::string text(64 << 20, 'x');
    simple_server server([&](const std::string&, int) { return answer(200, text); });
    const auto e = tight.start(ctx.context, request_for(server.url("/")));
    e->head();
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    const std::int64_t ahead = ctx.counters().bytes;
    BOOST_TEST(ahead >= 250 * 1024);
    BOOST_TEST(ahead <= 256 * 1024 + 2 * 64 * 1024);
    std::string_view piece;
    std::size_t total = 0;
    while (e->read(piece)) total += piece.size();
    BOOST_TEST(total == text.size());
}

// The download of the next page overlaps the decoding of this one.
BOOST_AUTO_TEST_CASE(the_next_page_comes_while_this_one_is_read) {
    const std::string page(180'000, 'p');
    simple_server server([&](const std::string&, int) { return answer(200, page); });
    const auto first = service.start(ctx.context, request_for(server.url("/1")));
    first->head();
    const auto second = service.start(ctx.context, request_for(server.url("/2")));
    until([&] { return ctx.counters().bytes == 2 * 180'000; });
    BOOST_TEST(second->head() == 200);
    std::string_view piece;
    std::size_t total = 0;
    while (first->read(piece)) total += piece.size();
    while (second->read(piece)) total += piece.size();
    BOOST_TEST(total == 360'000);
}

BOOST_AUTO_TEST_CASE(many_at_once_within_the_cap) {
    http_settings settings = quick_settings();
    settings.max_connections = 4;
    http_service capped(settings);
    std::atomic<int> now = 0, most = 0;
    simple_server server([&](const std::string& request, int) {
        const int here = ++now;
        int seen = most;
        while (seen < here && !most.compare_exchange_weak(seen, here)) continue;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        --now;
        return answer(200, gzip(request.substr(0, request.find(" HTTP"))), "Content-Encoding: gzip\r\n");
    });
    std::vector<std::future<int>> workers;
    for (int w = 0; w < 12; ++w) {
        workers.push_back(std::async(std::launch::async, [&, w] {
            test_context own;
            int right = 0;
            for (int i = 0; i < 25; ++i) {
                const std::string path = "/" + std::to_string(w) + "/" + std::to_string(i);
                if (fetch(capped, own.context, server.url(path)).body == "GET " + path) ++right;
            }
            return right;
        }));
    }
    int right = 0;
    for (auto& w : workers) right += w.get();
    BOOST_TEST(right == 300);
    BOOST_TEST(most == 4);
    BOOST_TEST(server.connections() == 4);
}

// Readers that hold an unread body must not starve those that wait for another answer first.
BOOST_AUTO_TEST_CASE(held_bodies_do_not_block_the_origin) {
    http_settings settings = quick_settings();
    settings.max_connections = 2;
    settings.read_ahead_bytes = 64 * 1024;
    http_service narrow(settings);
    const std::string large(32 << 20, 'x');
    simple_server server([&](const std::string& request, int) {
        return request.find("/large") != std::string::npos ? answer(200, large) : answer(200, "small");
    });
    const auto one = narrow.start(ctx.context, request_for(server.url("/large")));
    const auto two = narrow.start(ctx.context, request_for(server.url("/large")));
    one->head();
    two->head();
    BOOST_TEST(fetch(narrow, ctx.context, server.url("/small")).body == "small");
    std::string_view piece;
    std::size_t total = 0;
    while (one->read(piece)) total += piece.size();
    BOOST_TEST(total == large.size());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(the_abi, fixture)

BOOST_AUTO_TEST_CASE(a_request_through_the_table) {
    simple_server server([](const std::string&, int) { return answer(200, "hello", "X-A: 1\r\n"); });
    const lf_http_v1* http = http_table();
    BOOST_TEST(http->struct_size == sizeof(lf_http_v1));
    const std::string url = server.url("/abi");
    const std::string headers = R"({"X-Mine":"1"})", accept = "[404]",
                      auth = R"({"type":"bearer","token":"abi-token"})";
    lf_http_request request{};
    request.struct_size = sizeof request;
    request.url = {url.data(), url.size()};
    request.headers = {headers.data(), headers.size()};
    request.accept_status = {accept.data(), accept.size()};
    request.auth = {auth.data(), auth.size()};
    lf_exchange* e = nullptr;
    lf_error error{};
    error.struct_size = sizeof error;
    BOOST_REQUIRE_EQUAL(http->start(&ctx.context, &request, &e, &error), LF_OK);
    lf_str out{};
    BOOST_TEST(http->header(e, lf_str{"X-A", 3}, &out, &error) == LF_ERROR);
    BOOST_TEST(std::string(error.code) == "plugin.contract");
    int32_t status = 0;
    BOOST_TEST(http->head(e, &status, &error) == LF_OK);
    BOOST_TEST(status == 200);
    BOOST_TEST(http->header(e, lf_str{"x-a", 3}, &out, &error) == LF_OK);
    BOOST_TEST(std::string(out.data, out.size) == "1");
    BOOST_TEST(http->header(e, lf_str{"x-b", 3}, &out, &error) == LF_OK);
    BOOST_TEST(out.data == nullptr);
    BOOST_TEST(http->final_url(e, &out, &error) == LF_OK);
    BOOST_TEST(std::string(out.data, out.size) == url);
    std::string body;
    lf_status got = LF_OK;
    while ((got = http->read(e, &out, &error)) == LF_OK) body.append(out.data, out.size);
    BOOST_TEST(got == LF_END);
    BOOST_TEST(body == "hello");
    BOOST_TEST(http->retry(e, lf_str{"why", 3}, &error) == LF_OK);
    BOOST_TEST(http->head(e, nullptr, &error) == LF_OK);
    http->close(e);
    http->close(nullptr);
    BOOST_TEST(header_of(server.requests().at(0), "Authorization") == "Bearer abi-token");
    BOOST_TEST(header_of(server.requests().at(0), "X-Mine") == "1");
}

BOOST_AUTO_TEST_CASE(wrong_calls_are_errors_and_not_crashes) {
    const lf_http_v1* http = http_table();
    lf_error error{};
    error.struct_size = sizeof error;
    lf_exchange* e = reinterpret_cast<lf_exchange*>(1);
    BOOST_TEST(http->start(nullptr, nullptr, &e, &error) == LF_ERROR);
    BOOST_TEST(e == nullptr);
    BOOST_TEST(std::string(error.code) == "plugin.contract");
    lf_http_request request{};
    request.struct_size = sizeof request;
    BOOST_TEST(http->start(&ctx.context, &request, nullptr, nullptr) == LF_ERROR);
    BOOST_TEST(http->start(&ctx.context, &request, &e, &error) == LF_ERROR);
    BOOST_TEST(std::string(error.code) == "config.url");
    BOOST_TEST(error.retry == LF_RETRY_INVALID);
    request.struct_size = 8;
    BOOST_TEST(http->start(&ctx.context, &request, &e, &error) == LF_ERROR);
    BOOST_TEST(http->head(nullptr, nullptr, &error) == LF_ERROR);
    BOOST_TEST(http->header(nullptr, {}, nullptr, &error) == LF_ERROR);
    BOOST_TEST(http->final_url(nullptr, nullptr, &error) == LF_ERROR);
    BOOST_TEST(http->read(nullptr, nullptr, &error) == LF_ERROR);
    BOOST_TEST(http->retry(nullptr, {}, &error) == LF_ERROR);
}

// A table of an older plugin ends before the members that came later.
BOOST_AUTO_TEST_CASE(older_requests_are_understood) {
    simple_server server([](const std::string&, int) { return answer(200, "x"); });
    const std::string url = server.url("/old");
    lf_http_request request{};
    request.struct_size = offsetof(lf_http_request, url) + sizeof(lf_str);
    request.url = {url.data(), url.size()};
    request.headers = {"garbage that must not be looked at", 7};
    lf_exchange* e = nullptr;
    BOOST_REQUIRE_EQUAL(http_table()->start(&ctx.context, &request, &e, nullptr), LF_OK);
    BOOST_TEST(http_table()->head(e, nullptr, nullptr) == LF_OK);
    http_table()->close(e);
}

BOOST_AUTO_TEST_SUITE_END()
