// Tries, waits and the pace of an origin.
#include <boost/test/unit_test.hpp>
#include <future>

#include "host/base/time.h"
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

http_request request_for(const std::string& url, const std::string& method = "GET", std::uint32_t flags = 0) {
    http_request r;
    r.url = url;
    r.method = method;
    r.flags = flags;
    return r;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(tries, fixture)

BOOST_AUTO_TEST_CASE(passing_faults_are_tried_again) {
    for (const int status : {408, 425, 429, 500, 502, 503, 504}) {
        BOOST_TEST_CONTEXT(status) {
            simple_server server(
                [status](const std::string&, int k) { return k < 3 ? answer(status, "sorry") : answer(200, "done"); });
            BOOST_TEST(get(server.url("/")).body == "done");
            BOOST_TEST(server.requests().size() == 3);
        }
    }
    BOOST_TEST(ctx.counters().retries == 14);
    BOOST_TEST(ctx.counters().requests == 21);
}

BOOST_AUTO_TEST_CASE(the_last_try_is_the_answer) {
    ctx.options().attempts = 3;
    simple_server server([](const std::string&, int) { return answer(503, "down for\nmaintenance"); });
    const error e = failing(server.url("/x"));
    BOOST_TEST(e.code == "source.transient");
    BOOST_TEST((e.retry == retry_class::transient));
    BOOST_TEST(e.vendor_code == 503);
    BOOST_TEST(e.message == "GET " + server.url("/x") + " said 503 Status: down for maintenance (tried 3 times)");
    BOOST_TEST(server.requests().size() == 3);
    BOOST_TEST(ctx.log().find("trying again") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(permanent_answers_are_not_tried_again) {
    for (const auto& [status, code] : std::vector<std::pair<int, std::string>>{{400, "source.protocol"},
                                                                               {401, "source.auth"},
                                                                               {403, "source.auth"},
                                                                               {404, "source.not_found"},
                                                                               {409, "source.protocol"},
                                                                               {410, "source.not_found"},
                                                                               {422, "source.protocol"},
                                                                               {501, "source.protocol"}}) {
        BOOST_TEST_CONTEXT(status) {
            simple_server server([status = status](const std::string&, int) { return answer(status, "no"); });
            const error e = failing(server.url("/"));
            BOOST_TEST(e.code == code);
            BOOST_TEST(e.vendor_code == status);
            BOOST_TEST(server.requests().size() == 1);
        }
    }
}

BOOST_AUTO_TEST_CASE(compressed_errors_can_be_read) {
    simple_server server([](const std::string&, int) {
        return answer(404, gzip("{\"message\":\"Not Found\"}"), "Content-Encoding: gzip\r\n");
    });
    BOOST_TEST(failing(server.url("/")).message.find("{\"message\":\"Not Found\"}") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(broken_connections_are_tried_again) {
    test_server server([](peer& p, int n) {
        p.request();
        if (n == 1) return;  // closed without an answer
        if (n == 2) p.reset();
        if (n == 3) {
            p.send("HTTP/1.1 200 OK\r\nConte");
            return;
        }
        p.send(answer(200, "done"));
    });
    BOOST_TEST(get(server.url("/")).body == "done");
    BOOST_TEST(server.connections() == 4);
}

BOOST_AUTO_TEST_CASE(a_server_that_is_down_is_named) {
    ctx.options().attempts = 3;
    int port = 0;
    {
        simple_server gone_server([](const std::string&, int) { return answer(200, ""); });
        port = gone_server.port();
    }
    const error e = failing("http://127.0.0.1:" + std::to_string(port) + "/x");
    BOOST_TEST(e.code == "source.transient");
    BOOST_TEST(e.message.find("refused") != std::string::npos);
    BOOST_TEST(e.message.find("tried 3 times") != std::string::npos);
    BOOST_TEST(e.hint.find("base_url") != std::string::npos);
    BOOST_TEST(ctx.counters().in_flight == 0);
}

BOOST_AUTO_TEST_CASE(posts_are_repeated_only_if_that_is_harmless) {
    simple_server server([](const std::string&, int k) { return k % 2 == 1 ? answer(503, "") : answer(200, ""); });
    const auto code = [&](const std::string& method, std::uint32_t flags) {
        return error_of([&] { fetch(service, ctx.context, request_for(server.url("/"), method, flags)); }).code;
    };
    BOOST_TEST(code("POST", 0) == "source.transient");
    BOOST_TEST(code("GET", 0) == "none");  // gets the second
    BOOST_TEST(code("POST", LF_HTTP_IDEMPOTENT) == "none");
    BOOST_TEST(code("PUT", 0) == "none");
    BOOST_TEST(code("GET", LF_HTTP_NO_RETRY) == "source.transient");
    // A connection that never came to be carried nothing: even a POST may try again.
    http_settings settings = quick_settings();
    int look_ups = 0;
    settings.resolve = [&](const std::string&) {
        return ++look_ups < 3 ? std::vector<std::string>{} : std::vector<std::string>{"127.0.0.1"};
    };
    http_service named(settings);
    BOOST_TEST(fetch(named, ctx.context,
                     request_for("http://some.test:" + std::to_string(server.port()) + "/", "POST", LF_HTTP_IDEMPOTENT))
                   .status == 200);
    BOOST_TEST(look_ups >= 3);
}

BOOST_AUTO_TEST_CASE(accepted_statuses_are_answers) {
    simple_server server([](const std::string& request, int) {
        if (request.find("/limit") != std::string::npos)
            return answer(403, "secondary rate limit", "Retry-After: 100000\r\n");
        return answer(request.find("/403") != std::string::npos ? 403 : 409, "body of it");
    });
    http_request r = request_for(server.url("/409"));
    r.accept_status = {409, 403};
    BOOST_TEST(fetch(service, ctx.context, r).body == "body of it");
    r.url = server.url("/403");
    BOOST_TEST(fetch(service, ctx.context, r).status == 403);
    BOOST_TEST(fetch(service, ctx.context, r).body == "body of it");
    // A limit is not a permission, even where 403 is an answer.
    r.url = server.url("/limit");
    BOOST_TEST(error_of([&] { fetch(service, ctx.context, r); }).code == "source.rate_limited");
}

BOOST_AUTO_TEST_CASE(a_large_accepted_403_streams) {
    const std::string text(300'000, 'x');
    simple_server server([&](const std::string&, int) { return answer(403, text); });
    http_request r = request_for(server.url("/"));
    r.accept_status = {403};
    BOOST_TEST(fetch(service, ctx.context, r).body.size() == text.size());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(waits, fixture)

BOOST_AUTO_TEST_CASE(retry_after_is_obeyed_by_the_servers_clock) {
    // By its own Date the server asks for one second, whatever our clock says.
    for (const char* headers :
         {"Retry-After: 1\r\n",
          "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nRetry-After: Sun, 06 Nov 1994 08:49:38 GMT\r\n"}) {
        simple_server server(
            [headers](const std::string&, int k) { return k == 1 ? answer(503, "", headers) : answer(200, "done"); });
        const stopwatch watch;
        BOOST_TEST(get(server.url("/")).body == "done");
        BOOST_TEST(watch.ms() >= 950);
        BOOST_TEST(watch.ms() < 3000);
    }
    BOOST_TEST(ctx.counters().throttled_us >= 1'900'000);
}

BOOST_AUTO_TEST_CASE(a_person_sees_what_is_waited_for) {
    simple_server server(
        [](const std::string&, int k) { return k == 1 ? answer(429, "", "Retry-After: 2\r\n") : answer(200, "done"); });
    const auto e = service.start(ctx.context, request_for(server.url("/")));
    std::string note;
    for (int i = 0; i < 300 && note.empty(); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        note = ctx.context.flow->waiting.get();
    }
    BOOST_TEST(note.starts_with("rate limit of 127.0.0.1, "));
    BOOST_TEST(note.ends_with(" s left"));
    BOOST_TEST(e->head() == 200);
    BOOST_TEST(ctx.context.flow->waiting.get() == "");
}

BOOST_AUTO_TEST_CASE(githubs_limit_is_waited_for) {
    const std::int64_t now = 1'700'000'000;  // Tue, 14 Nov 2023 22:13:20 GMT
    simple_server server([&](const std::string&, int k) {
        return k == 1
                   ? answer(403, "{\"message\":\"API rate limit exceeded\"}",
                            "Date: Tue, 14 Nov 2023 22:13:20 GMT\r\nX-RateLimit-Remaining: 0\r\nX-RateLimit-Reset: " +
                                std::to_string(now + 1) + "\r\n")
                   : answer(200, "done");
    });
    const stopwatch watch;
    BOOST_TEST(get(server.url("/")).body == "done");
    BOOST_TEST(watch.ms() >= 950);
}

BOOST_AUTO_TEST_CASE(longer_than_allowed_is_an_error_at_once) {
    ctx.options().max_wait_us = 5'000'000;
    simple_server server([](const std::string& request, int) {
        if (request.find("/503") != std::string::npos) return answer(503, "", "Retry-After: 600\r\n");
        return answer(429, "slow down", "Retry-After: 3600\r\n");
    });
    const stopwatch watch;
    error e = failing(server.url("/503"));
    BOOST_TEST(e.code == "source.rate_limited");
    BOOST_TEST(e.retry_after_ms == 600'000);
    e = fetch_error(service, ctx.context, "http://localhost:" + std::to_string(server.port()) + "/429");
    BOOST_TEST(e.code == "source.rate_limited");
    BOOST_TEST((e.retry == retry_class::rate_limited));
    BOOST_TEST(e.retry_after_ms == 3'600'000);
    BOOST_TEST(e.vendor_code == 429);
    BOOST_TEST(e.message.find("60 min") != std::string::npos);
    BOOST_TEST(e.hint.find("max_wait") != std::string::npos);
    // Who comes later is not even sent: the pace is known.
    const std::size_t sent = server.requests().size();
    e = fetch_error(service, ctx.context, "http://localhost:" + std::to_string(server.port()) + "/later");
    BOOST_TEST(e.code == "source.rate_limited");
    BOOST_TEST(e.retry_after_ms > 3'500'000);
    BOOST_TEST(server.requests().size() == sent);
    BOOST_TEST(watch.ms() < 2000);
}

// Case 19: a secondary limit without a word about time.
BOOST_AUTO_TEST_CASE(secondary_limits_wait_longer_each_time) {
    simple_server server([](const std::string&, int k) {
        return k < 3 ? answer(403, "{\"message\":\"You have exceeded a secondary rate limit\"}") : answer(200, "done");
    });
    stopwatch watch;
    BOOST_TEST(get(server.url("/")).body == "done");
    BOOST_TEST(watch.ms() >= 120);  // 40 + 80
    ctx.options().attempts = 3;
    simple_server stubborn([](const std::string&, int) { return answer(403, "abuse detection"); });
    const error e = failing(stubborn.url("/"));
    BOOST_TEST(e.code == "source.rate_limited");
    BOOST_TEST(e.retry_after_ms == 160);
    BOOST_TEST(stubborn.requests().size() == 3);
}

BOOST_AUTO_TEST_CASE(a_plain_403_is_no_wait) {
    simple_server server(
        [](const std::string&, int) { return answer(403, "Resource not accessible by personal access token"); });
    const stopwatch watch;
    const error e = failing(server.url("/"));
    BOOST_TEST(e.code == "source.auth");
    BOOST_TEST(watch.ms() < 1000);
    BOOST_TEST(server.requests().size() == 1);
}

// One 429 delays every later request to that origin, from any thread, and to that origin only.
BOOST_AUTO_TEST_CASE(one_pace_for_all) {
    simple_server server([&](const std::string&, int k) {
        if (k == 1) return answer(429, "", "Retry-After: 1\r\n");
        return answer(200, "x");
    });
    simple_server other([](const std::string&, int) { return answer(200, "x"); });
    const auto first = service.start(ctx.context, request_for(server.url("/first")));
    while (server.requests().empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const stopwatch watch;
    test_context second;  // another partition, another table
    std::vector<std::future<std::int64_t>> waits;
    for (int i = 0; i < 4; ++i) {
        waits.push_back(std::async(std::launch::async, [&] {
            fetch(service, second.context, server.url("/later"));
            return watch.ms();
        }));
    }
    fetch(service, second.context, other.url("/"));
    BOOST_TEST(watch.ms() < 500);
    for (auto& w : waits) BOOST_TEST(w.get() >= 850);
    BOOST_TEST(first->head() == 200);
    BOOST_TEST(second.counters().throttled_us >= 4 * 850'000);
}

BOOST_AUTO_TEST_CASE(a_used_up_budget_is_respected_before_the_refusal) {
    simple_server server([](const std::string&, int k) {
        return answer(200, "x",
                      k == 1   ? "RateLimit-Remaining: 1\r\nRateLimit-Reset: 60\r\n"
                      : k == 2 ? "RateLimit: \"a\";r=0;t=1\r\n"
                               : "");
    });
    stopwatch watch;
    get(server.url("/1"));
    get(server.url("/2"));
    BOOST_TEST(watch.ms() < 700);
    get(server.url("/3"));
    BOOST_TEST(watch.ms() >= 950);
}

BOOST_AUTO_TEST_CASE(credentials_have_budgets_of_their_own) {
    ctx.options().max_wait_us = 100'000;
    simple_server server([](const std::string& request, int) {
        if (header_of(request, "Authorization") == "Bearer token-one") return answer(429, "", "Retry-After: 60\r\n");
        return answer(200, "x");
    });
    http_request r = request_for(server.url("/"));
    r.auth = R"({"type":"bearer","token":"token-one"})";
    BOOST_TEST(error_of([&] { fetch(service, ctx.context, r); }).code == "source.rate_limited");
    r.auth = R"({"type":"bearer","token":"token-two"})";
    BOOST_TEST(fetch(service, ctx.context, r).status == 200);
}

BOOST_AUTO_TEST_CASE(a_share_of_the_pace_is_all_that_is_used) {
    simple_server server([](const std::string&, int) {
        return answer(200, "x", "RateLimit-Limit: 8\r\nRateLimit-Remaining: 5\r\nRateLimit-Reset: 60\r\n");
    });
    ctx.options().max_wait_us = 1'000'000;
    ctx.context.pace_share = 250;
    get(server.url("/1"));
    get(server.url("/2"));
    const error e = failing(server.url("/3"));
    BOOST_TEST(e.code == "source.rate_limited");
    BOOST_TEST(server.requests().size() == 2);
}

BOOST_AUTO_TEST_SUITE_END()
