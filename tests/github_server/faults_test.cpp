// Scripted faults and triggers, and the bytes that an answer becomes.
#include <zlib.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <stdexcept>
#include <string>

#include "tests/github_server/testing.h"
#include "tests/github_server/text.h"
#include "tests/github_server/wire.h"

using namespace lakeflow::github_server;
using namespace lakeflow::github_server::testing;

namespace {

const std::string issues = "/repos/octo/demo/issues?state=all&per_page=10";

server_config corpus(const std::string& faults) {
    server_config config;
    repository_config repo;
    repo.issues = 95;
    repo.pulls = 10;
    config.repositories = {repo};
    config.faults = faults;
    return config;
}

std::string bytes_of(const answer& given) {
    std::string out;
    for (const auto& batch : make_wire(given, false, true).batches)
        for (const std::string_view piece : batch) out += piece;
    return out;
}

std::string body_of(const std::string& bytes) { return bytes.substr(bytes.find("\r\n\r\n") + 4); }

// Whether zlib sees the end of the stream, and what it unpacked.
bool gunzip(const std::string& packed, std::string& out) {
    z_stream stream{};
    inflateInit2(&stream, 15 + 16);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream.avail_in = static_cast<uInt>(packed.size());
    int result = Z_OK;
    std::array<char, 65536> piece;
    do {
        stream.next_out = reinterpret_cast<Bytef*>(piece.data());
        stream.avail_out = piece.size();
        result = inflate(&stream, Z_NO_FLUSH);
        out.append(piece.data(), piece.size() - stream.avail_out);
    } while (result == Z_OK && (stream.avail_in > 0 || stream.avail_out == 0));
    inflateEnd(&stream);
    return result == Z_STREAM_END;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_rule_fires_from_its_nth_match_as_often_as_it_says) {
    asker ask(corpus(
        R"({"faults":[{"path":"/issues\\?","from":2,"times":2,"status":503,"headers":{"X-Why":"script"},"body":"busy"}]})"));
    BOOST_TEST(ask.get(issues).status == 200);
    BOOST_TEST(ask.get("/repos/octo/demo/assignees").status == 200);
    const auto second = ask.get(issues);
    BOOST_TEST(second.status == 503);
    BOOST_TEST(second.headers.at("x-why") == "script");
    BOOST_TEST(second.body == "busy");
    BOOST_TEST(ask.get(issues).status == 503);
    BOOST_TEST(ask.get(issues).status == 200);
    ask.control("clear_faults");
    ask.control("faults", R"({"faults":[{"path":"issues","times":-1,"kind":"bad_credentials"}]})");
    for (int i = 0; i < 3; ++i) BOOST_TEST(ask.get(issues).status == 401);
}

BOOST_AUTO_TEST_CASE(limits_say_when_to_come_back_in_every_form) {
    for (const std::string form : {"seconds", "imf", "rfc850", "asctime"}) {
        asker ask(
            corpus(R"({"faults":[{"path":"issues","kind":"secondary_limit","retry_after":90,"retry_after_form":")" +
                   form + "\"}]}"));
        const auto limited = ask.get(issues);
        BOOST_TEST(limited.status == 403);
        BOOST_TEST(limited.body.find("secondary rate limit") != std::string::npos);
        BOOST_TEST(!limited.headers.contains("link"));
        const std::string& when = limited.headers.at("retry-after");
        if (form == "seconds")
            BOOST_TEST(when == "90");
        else
            BOOST_TEST(when.find(':') != std::string::npos);
    }
    BOOST_TEST(http_date(784111777) == "Sun, 06 Nov 1994 08:49:37 GMT");
    BOOST_TEST(http_date(784111777, date_form::rfc850) == "Sunday, 06-Nov-94 08:49:37 GMT");
    BOOST_TEST(http_date(784111777, date_form::asctime) == "Sun Nov  6 08:49:37 1994");
    asker ask(corpus(R"({"faults":[{"path":"issues","kind":"primary_limit","status":429,"at":5}]})"));
    const std::int64_t before = ask.routes().state().now();
    const auto limited = ask.get(issues);
    BOOST_TEST(limited.status == 429);
    BOOST_TEST(limited.headers.at("x-ratelimit-remaining") == "0");
    const std::int64_t reset = to_integer(limited.headers.at("x-ratelimit-reset")).value();
    BOOST_TEST(reset >= before + 5);
    BOOST_TEST(reset <= ask.routes().state().now() + 5);
}

BOOST_AUTO_TEST_CASE(links_and_redirects_can_lead_astray) {
    asker ask(
        corpus(R"({"faults":[{"path":"page=2","link":"self"},{"path":"page=3","link":"http://127.0.0.1:9{target}"},
        {"path":"page=4","kind":"empty"},{"path":"page=5","kind":"redirect","status":307,"to":"http://127.0.0.1:9{target}"},
        {"path":"page=6","link":"none"},{"path":"page=7","kind":"null"},{"path":"page=8","kind":"html"}]})"));
    BOOST_TEST(ask.get(issues + "&page=2").links.at("next") == "http://test" + issues + "&page=2");
    BOOST_TEST(ask.get(issues + "&page=3").links.at("next") == "http://127.0.0.1:9" + issues + "&page=3");
    const auto empty = ask.get(issues + "&page=4");
    BOOST_TEST(empty.body == "[]");
    BOOST_TEST(empty.links.contains("next"));
    const auto moved = ask.get(issues + "&page=5");
    BOOST_TEST(moved.status == 307);
    BOOST_TEST(moved.headers.at("location") == "http://127.0.0.1:9" + issues + "&page=5");
    BOOST_TEST(ask.get(issues + "&page=6").links.empty());
    BOOST_TEST(ask.get(issues + "&page=7").body == "null");
    const auto html = ask.get(issues + "&page=8");
    BOOST_TEST(html.status == 200);
    BOOST_TEST(html.headers.at("content-type") == "text/html; charset=utf-8");
}

BOOST_AUTO_TEST_CASE(heavy_pages_fail_and_parameters_can_be_ignored) {
    asker ask(corpus(
        R"({"faults":[{"path":"issues","times":-1,"per_page_over":60,"status":502},{"path":"issues","times":-1,"ignore_query":["since"]}]})"));
    BOOST_TEST(ask.get("/repos/octo/demo/issues?state=all&per_page=61").status == 502);
    BOOST_TEST(ask.get("/repos/octo/demo/issues?state=all&per_page=60").rows.size() == 60U);
    BOOST_TEST(ask.get("/repos/octo/demo/issues?state=all&per_page=60&since=2030-01-01T00:00:00Z").rows.size() == 60U);
}

BOOST_AUTO_TEST_CASE(a_body_can_break_off_in_five_ways) {
    asker ask(corpus(
        R"({"faults":[{"path":"page=1$","kind":"cut","at":100},{"path":"page=2","kind":"cut","mode":"chunked","at":100},
        {"path":"page=3","kind":"cut","mode":"gzip"},{"path":"page=4","kind":"cut","mode":"element","at":3},{"path":"page=5","kind":"cut","mode":"array","at":3}]})"));
    const auto length = ask.get(issues + "&page=1");
    std::string bytes = bytes_of(length.raw);
    BOOST_TEST(bytes.find("Content-Length: " + std::to_string(length.body.size()) + "\r\n") != std::string::npos);
    BOOST_TEST(body_of(bytes) == length.body.substr(0, 100));
    BOOST_TEST(make_wire(length.raw, false, true).close_after);

    const auto chunked = ask.get(issues + "&page=2");
    bytes = bytes_of(chunked.raw);
    BOOST_TEST(bytes.find("Transfer-Encoding: chunked\r\n") != std::string::npos);
    BOOST_TEST(bytes.find("Content-Length") == std::string::npos);
    BOOST_TEST(body_of(bytes).find(chunked.body.substr(0, 100)) != std::string::npos);
    BOOST_TEST(body_of(bytes).find("\r\n0\r\n") == std::string::npos);

    const auto packed = ask.get(issues + "&page=3");
    bytes = bytes_of(packed.raw);
    BOOST_TEST(bytes.find("Content-Encoding: gzip\r\n") != std::string::npos);
    BOOST_TEST(bytes.find("Content-Length: " + std::to_string(body_of(bytes).size()) + "\r\n") != std::string::npos);
    std::string unpacked;
    BOOST_TEST(!gunzip(body_of(bytes), unpacked));
    BOOST_TEST(read_rows(unpacked).size() == 10U);

    const auto element = ask.get(issues + "&page=4");
    BOOST_TEST(element.body.back() == '}');
    BOOST_TEST(read_rows(element.body + "]").size() == 3U);
    BOOST_TEST(ask.get(issues + "&page=5").rows.size() == 3U);
    BOOST_TEST(cut_after_element(R"([{"a":"]},["},[1,[2]],3])", 2, false) == R"([{"a":"]},["},[1,[2]])");
}

BOOST_AUTO_TEST_CASE(a_whole_answer_arrives_whole_in_every_coding) {
    server_config config = corpus("");
    asker plain(config);
    config.chunked = true;
    asker chunked(config);
    const auto whole = plain.get(issues);
    BOOST_TEST(body_of(bytes_of(whole.raw)) == whole.body);
    const auto packed = plain.get(issues, {.accept_encoding = "gzip, deflate"});
    std::string unpacked;
    BOOST_TEST(gunzip(body_of(bytes_of(packed.raw)), unpacked));
    BOOST_TEST(unpacked == whole.body);
    BOOST_TEST(!plain.get(issues, {.accept_encoding = "gzip;q=0"}).raw.packed);
    // Undo the chunks.
    std::string rest = body_of(bytes_of(chunked.get(issues).raw)), body;
    for (;;) {
        const std::size_t size = std::stoul(rest, nullptr, 16);
        const std::size_t start = rest.find("\r\n") + 2;
        body += rest.substr(start, size);
        rest = rest.substr(start + size + 2);
        if (size == 0) break;
    }
    BOOST_TEST(rest.empty());
    BOOST_TEST(body == whole.body);
}

BOOST_AUTO_TEST_CASE(triggers_change_rows_between_two_requests) {
    asker ask(
        corpus(R"({"triggers":[{"path":"issues","from":2,"do":[{"op":"edit","numbers":[7],"set":{"title":"moved"}}]},
        {"path":"issues","times":-1,"do":[{"op":"add","table":"issues","count":5}]}]})"));
    const std::string newest = "/repos/octo/demo/issues?state=all&per_page=100&sort=updated&direction=desc";
    BOOST_TEST(ask.get(newest).rows.size() == 95U);
    BOOST_TEST(ask.get(newest).rows.size() == 100U);
    const auto third = ask.get(newest);
    bool found = false;
    for (const auto& row : third.rows) found = found || (row.integer("number") == 7 && row.text("title") == "moved");
    BOOST_TEST(found);
    ask.control("clear_faults");
    BOOST_TEST(ask.walk("/repos/octo/demo/issues?state=all&per_page=100").size() == 110U);
    ask.control("faults", R"({"triggers":[{"path":"issues","do":[{"op":"no such thing"}]}]})");
    BOOST_TEST(ask.get(newest).status == 500);
}

BOOST_AUTO_TEST_CASE(a_script_with_a_mistake_is_refused) {
    asker ask(corpus(""));
    for (const std::string script :
         {R"({"faults":[{"pth":"x"}]})", R"({"faults":[{"path":"x","kind":"explode"}]})", R"({"faults":{}})",
          R"({"triggers":[{"path":"x"}]})", R"({"fault":[]})", R"({"faults":[{"path":"x","kind":"redirect"}]})"})
        BOOST_CHECK_THROW(ask.control("faults", script), std::invalid_argument);
    BOOST_CHECK_THROW(ask.control("edit", R"({"cuont":3})"), std::invalid_argument);
    BOOST_CHECK_THROW(ask.control("edit", R"({"numbers":[1000]})"), std::invalid_argument);
    BOOST_CHECK_THROW(ask.control("edit", R"({"repo":"octo/none"})"), std::invalid_argument);
    BOOST_CHECK_THROW(config_from_json(R"({"isues":3})"), std::invalid_argument);
    BOOST_CHECK_THROW(parse_arguments({"--isues", "3"}), std::invalid_argument);
    BOOST_TEST(config_from_json(R"({"issue_bytes":1800})").profile == "lean");
    BOOST_TEST(config_from_json(R"({"issue_bytes":1800,"profile":"full"})").profile == "full");
    BOOST_TEST(parse_arguments({"--status", R"({"commits":403})"}).config.repositories[0].status.at("commits") == 403);
    BOOST_TEST(parse_arguments({"--issues", "3", "--repo", "a/b", "--repo", "c/d"}).config.repositories[1].issues ==
               3U);
}
