// Text, time, secrets, cancellation and errors: what every floor above relies on.
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <thread>

#include "host/base/cancel.h"
#include "host/base/error.h"
#include "host/base/log.h"
#include "host/base/secrets.h"
#include "host/base/text.h"
#include "host/base/time.h"

using namespace lakeflow::host;

BOOST_AUTO_TEST_CASE(instants_are_read_with_any_offset_and_refused_when_finer_than_a_microsecond) {
    const std::int64_t base = 1772359200000000;  // 2026-03-01T10:00:00Z
    BOOST_TEST(*parse_rfc3339_us("2026-03-01T10:00:00Z") == base);
    BOOST_TEST(*parse_rfc3339_us("2026-03-01t10:00:00z") == base);
    BOOST_TEST(*parse_rfc3339_us("2026-03-01 12:30:00+02:30") == base);
    BOOST_TEST(*parse_rfc3339_us("2026-03-01T00:00:00-1000") == base);
    BOOST_TEST(*parse_rfc3339_us("2026-03-01T10:00:00.5Z") == base + 500000);
    BOOST_TEST(*parse_rfc3339_us("2026-03-01T10:00:00.123456000Z") == base + 123456);
    for (const char* bad : {"2026-03-01T10:00:00.1234567Z", "2026-03-01T10:00:00", "2026-02-29T10:00:00Z",
                            "2026-13-01T10:00:00Z", "2026-03-01T24:00:00Z", "2026-03-01", "", "2026-03-01T10:00:00Zx",
                            "0000-01-01T00:00:00Z", "2026-03-01T10:00:00.Z"}) {
        BOOST_TEST(!parse_rfc3339_us(bad).has_value(), bad);
    }
    BOOST_TEST(*parse_local_us("2026-03-01T10:00:00.25") == base + 250000);
    BOOST_TEST(!parse_local_us("2026-03-01T10:00:00Z").has_value());
    BOOST_TEST(*parse_date("1969-12-31") == -1);
}

BOOST_AUTO_TEST_CASE(instants_print_as_they_were_read) {
    for (const char* text : {"0001-01-01T00:00:00Z", "1969-12-31T23:59:59.999Z", "1970-01-01T00:00:00Z",
                             "2024-02-29T12:00:00Z", "2026-03-01T10:00:00.000001Z", "9999-12-31T23:59:59.999999Z"}) {
        BOOST_TEST(format_rfc3339(*parse_rfc3339_us(text)) == text);
    }
    BOOST_TEST(format_local(-1) == "1969-12-31T23:59:59.999999");
    BOOST_TEST(format_date(-1) == "1969-12-31");
}

BOOST_AUTO_TEST_CASE(all_three_http_dates_are_the_same_instant) {
    const std::int64_t now = *parse_rfc3339_us("2026-11-30T00:00:00Z");
    const std::int64_t then = *parse_rfc3339_us("1994-11-06T08:49:37Z");
    BOOST_TEST(*parse_http_date_us("Sun, 06 Nov 1994 08:49:37 GMT", now) == then);
    BOOST_TEST(*parse_http_date_us("Sunday, 06-Nov-94 08:49:37 GMT", now) == then);
    BOOST_TEST(*parse_http_date_us("Sun Nov  6 08:49:37 1994", now) == then);
    BOOST_TEST(*parse_http_date_us("Monday, 30-Nov-26 00:00:07 GMT", now) == now + 7000000);
    BOOST_TEST(!parse_http_date_us("120", now).has_value());
    BOOST_TEST(!parse_http_date_us("Sun, 31 Feb 1994 08:49:37 GMT", now).has_value());
}

BOOST_AUTO_TEST_CASE(sizes_durations_and_names_are_read) {
    BOOST_TEST(*parse_bytes("256MiB") == 256u << 20);
    BOOST_TEST(*parse_bytes("64 kB") == 64000u);
    BOOST_TEST(*parse_bytes("1000") == 1000u);
    BOOST_TEST(!parse_bytes("12 parsecs").has_value());
    BOOST_TEST(!parse_bytes("99999999999GiB").has_value());
    BOOST_TEST(*parse_duration_us("30s") == 30000000);
    BOOST_TEST(*parse_duration_us("7d") == 7 * 86400000000ll);
    BOOST_TEST(!parse_duration_us("30").has_value());
    BOOST_TEST(fold_option("base-URL") == "baseurl");
    const std::vector<std::string> names{"query", "plugins", "status"};
    BOOST_TEST(*nearest("querry", names) == "query");
    BOOST_TEST(!nearest("xyzzy", names).has_value());
    BOOST_TEST(human_bytes(1234567) == "1.2 MB");
    BOOST_TEST(human_bytes(999) == "999 B");
    BOOST_TEST(human_bytes(256000000) == "256 MB");
    BOOST_TEST(human_count(1234567) == "1,234,567");
    BOOST_TEST(human_count(100) == "100");
}

BOOST_AUTO_TEST_CASE(utf8_is_checked_and_cut_on_a_boundary) {
    BOOST_TEST(is_utf8("plain ascii text, longer than eight bytes"));
    BOOST_TEST(is_utf8("gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80"));
    for (const char* bad : {"\xc0\x80", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\xe2\x82", "\x80", "12345678\xff"})
        BOOST_TEST(!is_utf8(bad));
    BOOST_TEST(cut_utf8("a\xe2\x82\xac", 3) == "a");
    BOOST_TEST(cut_utf8("a\xe2\x82\xac", 4) == "a\xe2\x82\xac");
}

BOOST_AUTO_TEST_CASE(a_secret_is_taken_out_in_every_form) {
    secrets s;
    s.add("canary/+\"42");
    s.add("abc");  // too short to take out
    BOOST_TEST(s.redact("token canary/+\"42 abc") == "token *** abc");
    BOOST_TEST(s.redact("?t=canary%2F%2B%2242&x") == "?t=***&x");
    BOOST_TEST(s.redact(R"({"t":"canary/+\"42"})") == R"({"t":"***"})");
    for (const std::string prefix : {"", "u", "us", "use"}) {
        const std::string header = base64(prefix + "canary/+\"42" + ":pw");
        BOOST_TEST(s.found_in(header));
        BOOST_TEST(!s.found_in(s.redact(header)));
    }
    BOOST_TEST(!s.found_in("canary"));
}

BOOST_AUTO_TEST_CASE(a_log_line_passes_the_redactor) {
    auto s = std::make_shared<secrets>();
    s->add("hunter22");
    std::string seen;
    const logger log(
        log_level::info,
        [&](log_level, std::string_view component, std::string_view text) {
            seen += std::string(component) + "|" + std::string(text) + "\n";
        },
        s);
    log.write(log_level::debug, "x", "not shown");
    log.write(log_level::warn, "http", "password hunter22 refused");
    BOOST_TEST(seen == "http|password *** refused\n");
}

BOOST_AUTO_TEST_CASE(cancelling_a_parent_wakes_a_child_at_once) {
    auto parent = std::make_shared<cancel_token>();
    cancel_token child(parent);
    std::atomic<int> called{0};
    const auto id = child.on_cancel([&] { ++called; });
    const auto removed = child.on_cancel([&] { called += 100; });
    child.remove(removed);
    const auto begin = std::chrono::steady_clock::now();
    std::thread other([&] { parent->cancel(); });
    BOOST_TEST(!child.wait_for(std::chrono::seconds(10)));
    other.join();
    BOOST_TEST((std::chrono::steady_clock::now() - begin < std::chrono::seconds(2)));
    BOOST_TEST(called == 1);
    child.remove(id);
    BOOST_CHECK_THROW(child.check(), failure);
    child.on_cancel([&] { ++called; });  // already cancelled: runs at once
    BOOST_TEST(called == 2);
}

BOOST_AUTO_TEST_CASE(a_callback_never_runs_after_remove_has_returned) {
    for (int round = 0; round < 200; ++round) {
        auto token = std::make_shared<cancel_token>();
        auto alive = std::make_unique<std::atomic<bool>>(true);
        std::atomic<bool> bad{false};
        const auto id = token->on_cancel([&bad, flag = alive.get()] {
            if (!*flag) bad = true;
        });
        std::thread canceller([&] { token->cancel(); });
        token->remove(id);
        *alive = false;
        canceller.join();
        BOOST_TEST(!bad);
    }
}

BOOST_AUTO_TEST_CASE(an_error_is_cut_to_the_size_that_the_caller_states) {
    lf_error out{};
    out.struct_size = sizeof out;
    to_abi(error{"source.auth", std::string(5000, 'm'), "hint", retry_class::auth, 0, 401}, &out);
    BOOST_TEST(out.retry == LF_RETRY_AUTH);
    BOOST_TEST(out.vendor_code == 401);
    BOOST_TEST(std::string(out.message).size() == sizeof out.message - 1);
    lf_error old{};
    old.struct_size = offsetof(lf_error, hint);
    to_abi(error{"source.auth", "m", "hint"}, &old);
    BOOST_TEST(std::string(old.code) == "source.auth");
    BOOST_TEST(old.hint[0] == '\0');
    to_abi(error{}, nullptr);
}
