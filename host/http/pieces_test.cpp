// The parts of the http floor that need no socket: URLs, limits, credentials, proxies, inflating, messages.
#include <boost/test/unit_test.hpp>

#include "host/base/time.h"
#include "host/http/auth.h"
#include "host/http/inflate.h"
#include "host/http/limits.h"
#include "host/http/message.h"
#include "host/http/proxy.h"
#include "host/http/test_server.h"
#include "host/http/url.h"

using namespace lakeflow::host;
using lakeflow::host::test::error_of;
using lakeflow::host::test::gzip;

namespace {

constexpr std::int64_t second = 1'000'000;

answer_head make_head(int status, std::vector<std::pair<std::string, std::string>> headers) {
    answer_head head;
    head.status = status;
    head.headers = std::move(headers);
    return head;
}

std::string inflate_in_steps(inflater::coding coding, std::string_view packed, std::size_t step) {
    inflater z(coding);
    std::string out;
    while (true) {
        const auto piece = z.next();
        out += piece;
        if (!piece.empty() || !z.needs_input()) continue;
        if (packed.empty()) break;
        z.feed(packed.substr(0, step));
        packed.remove_prefix(std::min(step, packed.size()));
    }
    if (!z.complete()) throw failure("cut", "cut");
    return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(url_resolution)

// RFC 3986 section 5.4, whole.
BOOST_AUTO_TEST_CASE(the_examples_of_rfc_3986) {
    const std::vector<std::pair<std::string, std::string>> examples = {{"g:h", "g:h"},
                                                                       {"g", "http://a/b/c/g"},
                                                                       {"./g", "http://a/b/c/g"},
                                                                       {"g/", "http://a/b/c/g/"},
                                                                       {"/g", "http://a/g"},
                                                                       {"//g", "http://g"},
                                                                       {"?y", "http://a/b/c/d;p?y"},
                                                                       {"g?y", "http://a/b/c/g?y"},
                                                                       {"#s", "http://a/b/c/d;p?q#s"},
                                                                       {"g#s", "http://a/b/c/g#s"},
                                                                       {"g?y#s", "http://a/b/c/g?y#s"},
                                                                       {";x", "http://a/b/c/;x"},
                                                                       {"g;x", "http://a/b/c/g;x"},
                                                                       {"g;x?y#s", "http://a/b/c/g;x?y#s"},
                                                                       {"", "http://a/b/c/d;p?q"},
                                                                       {".", "http://a/b/c/"},
                                                                       {"./", "http://a/b/c/"},
                                                                       {"..", "http://a/b/"},
                                                                       {"../", "http://a/b/"},
                                                                       {"../g", "http://a/b/g"},
                                                                       {"../..", "http://a/"},
                                                                       {"../../", "http://a/"},
                                                                       {"../../g", "http://a/g"},
                                                                       {"../../../g", "http://a/g"},
                                                                       {"../../../../g", "http://a/g"},
                                                                       {"/./g", "http://a/g"},
                                                                       {"/../g", "http://a/g"},
                                                                       {"g.", "http://a/b/c/g."},
                                                                       {".g", "http://a/b/c/.g"},
                                                                       {"g..", "http://a/b/c/g.."},
                                                                       {"..g", "http://a/b/c/..g"},
                                                                       {"./../g", "http://a/b/g"},
                                                                       {"./g/.", "http://a/b/c/g/"},
                                                                       {"g/./h", "http://a/b/c/g/h"},
                                                                       {"g/../h", "http://a/b/c/h"},
                                                                       {"g;x=1/./y", "http://a/b/c/g;x=1/y"},
                                                                       {"g;x=1/../y", "http://a/b/c/y"},
                                                                       {"g?y/./x", "http://a/b/c/g?y/./x"},
                                                                       {"g?y/../x", "http://a/b/c/g?y/../x"},
                                                                       {"g#s/./x", "http://a/b/c/g#s/./x"},
                                                                       {"g#s/../x", "http://a/b/c/g#s/../x"},
                                                                       {"http:g", "http:g"}};
    for (const auto& [reference, expected] : examples) {
        BOOST_TEST_CONTEXT(reference) { BOOST_TEST(resolve_url("http://a/b/c/d;p?q", reference) == expected); }
    }
    BOOST_TEST(resolve_url("http://a", "g") == "http://a/g");
    BOOST_TEST(resolve_url("http://a?x", "?page=2") == "http://a?page=2");
}

BOOST_AUTO_TEST_CASE(urls_are_normalised) {
    const url u = parse_url("HTTPS://API.Example.COM:443/a b/\xc3\xa4?q={1}#frag");
    BOOST_TEST(u.text() == "https://api.example.com/a%20b/%C3%A4?q=%7B1%7D");
    BOOST_TEST(u.authority() == "api.example.com");
    BOOST_TEST(parse_url("http://[::1]:8080").text() == "http://[::1]:8080/");
    BOOST_TEST(parse_url("http://h?x=1").text() == "http://h/?x=1");
    BOOST_TEST(parse_url("http://h:80/").origin() == "http://h");
    BOOST_TEST(parse_url("https://h:80/").origin() == "https://h:80");
    BOOST_TEST(parse_url("http://user:pw@h/").has_userinfo);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_asked_for_is_refused) {
    for (const char* text :
         {"", "/path", "host/path", "ftp://h/", "http://", "http:///x", "http://h:0/", "http://h:99999/", "http://h:x/",
          "http://h/\r\nX: y", "http://h\n/", "http://[::1/", "http://[zz]/", "http://h\xc3\xa4/", "http://a b/"}) {
        BOOST_TEST_CONTEXT(text) {
            const error e = error_of([&] { parse_url(text); });
            BOOST_TEST(e.code == "config.url");
            BOOST_TEST((e.retry == retry_class::invalid));
        }
    }
    const error e = error_of([] { parse_url("ftp://me:hunter2@host/"); });
    BOOST_TEST(e.message.find("hunter2") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(query_parameters_come_and_go) {
    BOOST_TEST(with_query("http://h/a", "key", "s&x=1 2") == "http://h/a?key=s%26x%3D1%202");
    BOOST_TEST(with_query("http://h/a?b=1&key=old", "key", "new") == "http://h/a?b=1&key=new");
    BOOST_TEST(without_query("http://h/a?key=s&b=1&key=t", "key") == "http://h/a?b=1");
    BOOST_TEST(without_query("http://h/a?key=s", "key") == "http://h/a");
    BOOST_TEST(without_query("http://h/a?keys=s", "key") == "http://h/a?keys=s");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(rate_limits)

BOOST_AUTO_TEST_CASE(retry_after_in_every_form) {
    // The client's own clock is an hour off: only the answer's Date may count.
    const std::int64_t date = *parse_rfc3339_us("1994-11-06T08:49:37Z");
    const std::int64_t now = date + 3600 * second;
    const std::string stamp = "Sun, 06 Nov 1994 08:49:37 GMT";
    const auto wait = [&](const std::string& value) {
        return read_limits(make_head(429, {{"date", stamp}, {"Retry-After", value}}), now).retry_after_us.value_or(-1);
    };
    BOOST_TEST(wait("7") == 7 * second);
    BOOST_TEST(wait(" 7 ") == 7 * second);
    BOOST_TEST(wait("1.5") == 2 * second);
    BOOST_TEST(wait("Sun, 06 Nov 1994 08:49:47 GMT") == 10 * second);
    BOOST_TEST(wait("Sunday, 06-Nov-94 08:50:37 GMT") == 60 * second);
    BOOST_TEST(wait("Sun Nov  6 08:49:40 1994") == 3 * second);
    BOOST_TEST(wait("Sun, 06 Nov 1994 08:00:00 GMT") == 0);
    BOOST_TEST(wait("soon") == -1);
    BOOST_TEST(wait("-5") == 0);
    BOOST_TEST(wait("99999999999999999") > 0);
    // Without a Date the client's clock has to do.
    BOOST_TEST(
        read_limits(make_head(503, {{"Retry-After", "Sun, 06 Nov 1994 08:49:47 GMT"}}), date).retry_after_us.value() ==
        10 * second);
}

BOOST_AUTO_TEST_CASE(rate_limit_headers_in_every_form) {
    const std::string stamp = "Tue, 14 Nov 2023 22:13:20 GMT";  // 1700000000
    const auto read = [&](std::vector<std::pair<std::string, std::string>> headers) {
        headers.emplace_back("Date", stamp);
        return read_limits(make_head(200, headers), 0);
    };
    limits l =
        read({{"X-RateLimit-Limit", "5000"}, {"X-RateLimit-Remaining", "0"}, {"X-RateLimit-Reset", "1700000042"}});
    BOOST_TEST(l.remaining.value() == 0);
    BOOST_TEST(l.reset_us.value() == 42 * second);
    BOOST_TEST(l.quota.value() == 5000);
    l = read({{"x-ratelimit-remaining", "0"}, {"x-ratelimit-reset", "1700000042000"}});
    BOOST_TEST(l.reset_us.value() == 42 * second);
    l = read({{"X-RateLimit-Reset", "1699999999"}});
    BOOST_TEST(l.reset_us.value() == 0);
    l = read({{"RateLimit-Limit", "10"}, {"RateLimit-Remaining", "3"}, {"RateLimit-Reset", "30"}});
    BOOST_TEST(l.remaining.value() == 3);
    BOOST_TEST(l.reset_us.value() == 30 * second);
    l = read({{"RateLimit", "limit=100, remaining=0, reset=30"}});
    BOOST_TEST(l.remaining.value() == 0);
    BOOST_TEST(l.reset_us.value() == 30 * second);
    BOOST_TEST(l.quota.value() == 100);
    l = read({{"RateLimit-Policy", "\"burst\";q=100;w=60,\"daily\";q=1000;w=86400"},
              {"RateLimit", "\"burst\";r=0;t=12, \"daily\";r=500;t=9000"}});
    BOOST_TEST(l.remaining.value() == 0);
    BOOST_TEST(l.reset_us.value() == 12 * second);
    BOOST_TEST(l.quota.value() == 100);
    // The end of the window is not told: its whole length it is.
    l = read({{"RateLimit-Policy", "\"burst\";q=100;w=60,\"daily\";q=1000;w=86400"}, {"RateLimit", "\"daily\";r=0"}});
    BOOST_TEST(l.reset_us.value() == 86400 * second);
    l = read({{"RateLimit-Policy", "100;w=60"}, {"RateLimit-Remaining", "0"}});
    BOOST_TEST(l.reset_us.value() == 60 * second);
    l = read({});
    BOOST_TEST(!l.remaining.has_value());
    BOOST_TEST(!l.reset_us.has_value());
}

BOOST_AUTO_TEST_CASE(answers_are_told_apart) {
    const auto what = [](int status, std::vector<std::pair<std::string, std::string>> headers = {},
                         std::string_view body = {}, bool accepted = false) {
        const auto head = make_head(status, std::move(headers));
        return judge(head, read_limits(head, 0), body, accepted);
    };
    BOOST_TEST((what(200) == verdict::answer));
    BOOST_TEST((what(206) == verdict::answer));
    for (const int status : {408, 425, 500, 502, 503, 504}) BOOST_TEST((what(status) == verdict::again));
    for (const int status : {301, 302, 303, 307, 308}) {
        BOOST_TEST((what(status, {{"Location", "/x"}}) == verdict::redirect));
        BOOST_TEST((what(status) == verdict::refused));
    }
    BOOST_TEST((what(429) == verdict::limited));
    for (const int status : {304, 400, 401, 404, 409, 410, 422, 451, 501, 505})
        BOOST_TEST((what(status) == verdict::refused));
    BOOST_TEST((what(304, {}, {}, true) == verdict::answer));
    BOOST_TEST((what(500, {}, {}, true) == verdict::answer));
    // A plain 403 is a permission; one about pace says so.
    BOOST_TEST((what(403) == verdict::refused));
    BOOST_TEST((what(403, {{"X-RateLimit-Remaining", "4999"}}, "Resource not accessible") == verdict::refused));
    BOOST_TEST((what(403, {{"Retry-After", "60"}}) == verdict::limited));
    BOOST_TEST((what(403, {{"X-RateLimit-Remaining", "0"}}) == verdict::limited));
    BOOST_TEST((what(403, {}, "You have exceeded a Secondary Rate Limit.") == verdict::limited));
    BOOST_TEST((what(403, {}, "triggered an abuse detection mechanism") == verdict::limited));
    BOOST_TEST((what(403, {}, "no", true) == verdict::answer));
    BOOST_TEST((what(403, {}, "secondary rate limit", true) == verdict::limited));
}

BOOST_AUTO_TEST_CASE(a_pace_holds_for_everyone) {
    pace p;
    BOOST_TEST(p.ready_at(1000, 100) <= 100);
    p.block(500, "rate limit");
    p.block(300, "something shorter");
    BOOST_TEST(p.ready_at(1000, 100) == 500);
    limits low;
    low.remaining = 1;
    low.reset_us = 60 * second;
    p.answered(low, 600);
    BOOST_TEST(p.ready_at(1000, 600) == 500);  // a low budget slows nobody
    low.remaining = 0;
    p.answered(low, 700);
    BOOST_TEST(p.ready_at(1000, 700) == 700 + 60 * second);
}

BOOST_AUTO_TEST_CASE(a_share_of_the_pace_is_kept) {
    pace p;
    limits l;
    l.quota = 8;
    l.remaining = 8;
    l.reset_us = 60 * second;
    std::int64_t now = second;
    p.answered(l, now);  // the first request opened the window
    BOOST_TEST(p.ready_at(250, now) <= now);
    p.sent(now);
    BOOST_TEST(p.ready_at(250, now) == now + 60 * second);  // 2 of 8 are used
    BOOST_TEST(p.ready_at(500, now) <= now);
    BOOST_TEST(p.ready_at(1000, now) <= now);
    now += 61 * second;
    BOOST_TEST(p.ready_at(250, now) <= now);
}

BOOST_AUTO_TEST_CASE(back_off_doubles_up_to_its_cap) {
    BOOST_TEST(backoff_us(1, second, 60 * second, 0.0) == second / 2);
    BOOST_TEST(backoff_us(1, second, 60 * second, 1.0) == second);
    BOOST_TEST(backoff_us(4, second, 60 * second, 1.0) == 8 * second);
    BOOST_TEST(backoff_us(40, second, 60 * second, 1.0) == 60 * second);
    BOOST_TEST(backoff_us(40, second, 60 * second, 0.0) == 30 * second);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(requests)

BOOST_AUTO_TEST_CASE(credentials_are_read) {
    secrets s;
    BOOST_TEST((parse_auth("", s).where == credential::place::none));
    BOOST_TEST((parse_auth(R"({"type":"none"})", s).where == credential::place::none));
    BOOST_TEST(parse_auth(R"({"type":"bearer","token":"tok-123456"})", s).value == "Bearer tok-123456");
    BOOST_TEST(parse_auth(R"({"type":"basic","user":"u","password":"pass-word"})", s).value ==
               "Basic dTpwYXNzLXdvcmQ=");
    BOOST_TEST(parse_auth(R"({"type":"header","name":"X-API-Key","value":"key-abcdef"})", s).name == "X-API-Key");
    const auto query = parse_auth(R"({"type":"query","name":"api_key","value":"q-abcdef"})", s);
    BOOST_TEST((query.where == credential::place::query));
    BOOST_TEST(s.redact("tok-123456 pass-word key-abcdef q-abcdef dTpwYXNzLXdvcmQ=") == "*** *** *** *** ***");
    BOOST_TEST(error_of([&] { parse_auth(R"({"type":"oauth2","token_url":"x"})", s); }).code == "config.auth");
    for (const char* bad :
         {"{", "[]", "{}", R"({"type":"digest"})", R"({"type":"bearer"})", R"({"type":"bearer","token":""})",
          R"({"type":"bearer","token":1})", R"({"type":"bearer","tokn":"a","token":"b"})",
          "{\"type\":\"bearer\",\"token\":\"a\\r\\nX: y\"}", "{\"type\":\"bearer\",\"token\":\"a\\n\"}",
          R"({"type":"header","name":"X Y","value":"v"})"}) {
        BOOST_TEST_CONTEXT(bad) {
            BOOST_TEST(error_of([&] { parse_auth(bad, s); }).code == "config.auth");
        }
    }
}

BOOST_AUTO_TEST_CASE(headers_cannot_smuggle) {
    const auto headers = parse_headers(R"({"Accept":"application/json","X-A":"b c"})");
    BOOST_REQUIRE_EQUAL(headers.size(), 2);
    check_headers(headers);
    const std::vector<header_list> bad_lists = {{{"A", "b\r\nC: d"}},
                                                {{"A\r\nB", "c"}},
                                                {{"", "x"}},
                                                {{"A B", "x"}},
                                                {{"A", std::string("x\0y", 3)}},
                                                {{"host", "x"}},
                                                {{"Content-Length", "1"}},
                                                {{"Transfer-Encoding", "chunked"}},
                                                {{"Connection", "close"}}};
    for (const auto& bad : bad_lists) BOOST_TEST(error_of([&] { check_headers(bad); }).code == "config.headers");
    BOOST_TEST(error_of([] { parse_headers(R"({"A":1})"); }).code == "config.headers");
    BOOST_TEST(error_of([] { parse_headers("[]"); }).code == "config.headers");
    BOOST_TEST((parse_accept_status("[304,409]") == std::vector<int>{304, 409}));
    for (const char* bad : {"304", "[3]", "[\"a\"]", "[600]", "{"}) {
        BOOST_TEST(error_of([&] { parse_accept_status(bad); }).code == "config.accept_status");
    }
}

BOOST_AUTO_TEST_CASE(proxies_are_chosen_as_curl_chooses) {
    const proxy p = parse_proxy("http://us%40er:p%3Aw@proxy.test:3128/");
    BOOST_TEST(p.shown() == "proxy.test:3128");
    BOOST_TEST(p.authorization == "Basic dXNAZXI6cDp3");  // us@er:p:w
    BOOST_TEST(parse_proxy("proxy:8080").port == 8080);
    for (const char* bad : {"socks5://p:1", "https://p:1", "http://", "http://p:x"}) {
        BOOST_TEST(error_of([&] { parse_proxy(bad); }).code == "config.proxy");
    }
    BOOST_TEST(error_of([] { parse_proxy("socks5://u:hunter2@p:1"); }).message.find("hunter2") == std::string::npos);
    const proxy_environment env{"http://h:1", "http://s:2", "",
                                "internal.test, .corp, 10.0.0.0/8, exact.test:8080, [::1]"};
    BOOST_TEST(choose_proxy(parse_url("http://a.test/"), "", env)->port == 1);
    BOOST_TEST(choose_proxy(parse_url("https://a.test/"), "", env)->port == 2);
    BOOST_TEST(choose_proxy(parse_url("https://a.test/"), "x:3", env)->port == 3);
    BOOST_TEST(!choose_proxy(parse_url("https://a.test/"), "none", env));
    for (const char* direct : {"http://internal.test/", "http://a.internal.test/", "http://a.corp/", "http://10.1.2.3/",
                               "http://exact.test:8080/", "http://[::1]/"}) {
        BOOST_TEST_CONTEXT(direct) { BOOST_TEST(!choose_proxy(parse_url(direct), "", env)); }
    }
    for (const char* proxied : {"http://notinternal.test/", "http://11.1.2.3/", "http://exact.test/"}) {
        BOOST_TEST_CONTEXT(proxied) { BOOST_TEST(choose_proxy(parse_url(proxied), "", env).has_value()); }
    }
    BOOST_TEST(listed_in_no_proxy(parse_url("http://x/"), "*"));
    const proxy_environment all{"", "", "http://all:9", ""};
    BOOST_TEST(choose_proxy(parse_url("https://a.test/"), "", all)->port == 9);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(inflating)

BOOST_AUTO_TEST_CASE(gzip_in_any_steps_and_members) {
    std::string text;
    for (int i = 0; i < 60000; ++i) text += std::to_string(i) + ",";
    const std::string packed = gzip(text) + gzip("") + gzip("tail") + std::string(5, '\0');
    for (const std::size_t step : {std::size_t{1}, std::size_t{7}, std::size_t{4096}, packed.size()}) {
        BOOST_TEST((inflate_in_steps(inflater::coding::gzip, packed, step) == text + "tail"));
    }
    BOOST_TEST(inflate_in_steps(inflater::coding::gzip, gzip(""), 3) == "");
}

BOOST_AUTO_TEST_CASE(deflate_with_and_without_its_wrapper) {
    const std::string packed = gzip("hello hello hello");
    const std::string raw = packed.substr(10, packed.size() - 18);  // gzip without header and trailer
    BOOST_TEST(inflate_in_steps(inflater::coding::deflate, raw, 1) == "hello hello hello");
    // zlib's wrapper around the same: header and Adler-32.
    unsigned a = 1, b = 0;
    for (const char c : std::string("hello hello hello")) {
        a = (a + static_cast<unsigned char>(c)) % 65521;
        b = (b + a) % 65521;
    }
    const std::string wrapped = std::string("\x78\x9c") + raw + static_cast<char>(b >> 8) + static_cast<char>(b & 255) +
                                static_cast<char>(a >> 8) + static_cast<char>(a & 255);
    BOOST_TEST(inflate_in_steps(inflater::coding::deflate, wrapped, 1) == "hello hello hello");
}

BOOST_AUTO_TEST_CASE(what_is_broken_is_not_passed_on) {
    std::string packed = gzip("some text that is checked");
    const auto outcome = [](const std::string& bytes) {
        return error_of([&] { inflate_in_steps(inflater::coding::gzip, bytes, 5); }).code;
    };
    BOOST_TEST(outcome(packed) == "none");
    BOOST_TEST(outcome(packed.substr(0, packed.size() - 1)) == "cut");
    BOOST_TEST(outcome(packed.substr(0, packed.size() - 8)) == "cut");
    BOOST_TEST(outcome(packed.substr(0, 5)) == "cut");
    std::string wrong = packed;
    wrong[packed.size() - 6] = static_cast<char>(wrong[packed.size() - 6] ^ 1);  // the checksum
    BOOST_TEST(outcome(wrong) == "source.protocol");
    wrong = packed;
    wrong[packed.size() - 2] = static_cast<char>(wrong[packed.size() - 2] ^ 1);  // the length
    BOOST_TEST(outcome(wrong) == "source.protocol");
    BOOST_TEST(outcome("not gzip at all") == "source.protocol");
    BOOST_TEST(outcome(packed + "garbage") == "source.protocol");
    BOOST_TEST(error_of([] { inflater_for("br"); }).code == "source.protocol");
    BOOST_TEST(inflater_for(" GZip ") != nullptr);
    BOOST_TEST(inflater_for("identity") == nullptr);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(messages)

BOOST_AUTO_TEST_CASE(bodies_are_shown_on_one_line) {
    BOOST_TEST(printable("a\r\n\tb  c\x01", 100) == "a b c");
    BOOST_TEST(printable("abcdef", 3) == "abc...");
    BOOST_TEST(printable("a\xff\xfe z", 100) == "a?? z");
    BOOST_TEST(printable("ab\xc3\xa4", 3) == "ab...");
    BOOST_TEST(printable("", 3) == "");
}

BOOST_AUTO_TEST_CASE(errors_name_the_remedy) {
    request_facts facts{"GET", "https://h/x", true, true, 1};
    answer_head head = make_head(401, {});
    head.reason = "Unauthorized";
    error e = status_error(facts, head, "{\"message\":\n\"Bad credentials\"}");
    BOOST_TEST(e.code == "source.auth");
    BOOST_TEST((e.retry == retry_class::auth));
    BOOST_TEST(e.vendor_code == 401);
    BOOST_TEST(e.message == "GET https://h/x said 401 Unauthorized: {\"message\": \"Bad credentials\"}");
    BOOST_TEST(e.hint.find("check the token") != std::string::npos);
    head.status = 404;
    e = status_error(facts, head, "");
    BOOST_TEST(e.code == "source.not_found");
    BOOST_TEST(e.hint.find("permission") != std::string::npos);
    head.status = 403;
    BOOST_TEST(status_error(facts, head, "").hint.find("rights") != std::string::npos);
    facts.sent_credential = false;
    BOOST_TEST(status_error(facts, head, "").hint.find("another origin") != std::string::npos);
    facts.had_credential = false;
    BOOST_TEST(status_error(facts, head, "").hint.find("no credential") != std::string::npos);
    head.status = 503;
    facts.tries = 6;
    e = status_error(facts, head, "");
    BOOST_TEST(e.code == "source.transient");
    BOOST_TEST(e.message.find("tried 6 times") != std::string::npos);
    head.status = 422;
    BOOST_TEST(status_error(facts, head, "").code == "source.protocol");
}

BOOST_AUTO_TEST_SUITE_END()
