// host/plugin/connector_test.cpp: the host's own side of the contract: what it never asks of a plugin, and what it gives back to it.
#include "host/plugin/connector.h"

#include <boost/test/unit_test.hpp>

#include "host/base/error.h"
#include "tests/support/scripted_plugin.h"

using namespace lakeflow::host;
using namespace lakeflow::host::testing;

namespace {

struct bench {
    scripted_plugin script;
    std::shared_ptr<flow_context> flow = std::make_shared<flow_context>();
    std::shared_ptr<cancel_token> stop = std::make_shared<cancel_token>();
    std::shared_ptr<const plugin> loaded;

    bench() {
        flow->plugin = "scripted";
        flow->table = "issues";
        flow->redactor = std::make_shared<secrets>();
        script.read_table = [](const script_call&) { return script_read{}; };
    }
    std::unique_ptr<plugin_connector> connector() {
        loaded = script.use();
        return std::make_unique<plugin_connector>(loaded, "{}", flow, stop);
    }
    static read_request request() {
        read_request out;
        out.table = "issues";
        out.start = "{}";
        return out;
    }
};

template <class Call>
error thrown_by(Call call) {
    try {
        call();
    } catch (const failure& f) {
        return f.get();
    }
    BOOST_FAIL("nothing was thrown");
    return {};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(connector)

// The reader is not even asked: what it would say counts for nothing.
BOOST_AUTO_TEST_CASE(an_end_offset_before_the_end_or_after_a_failure_is_a_breach) {
    bench b;
    b.script.read_table = [](const script_call&) {
        script_read out;
        out.batches = {{row(1, 1)}, {row(2, 2)}};
        out.end = R"({"c":2})";
        out.before = [](std::size_t batch, script_instance&) {
            if (batch == 1) throw script_error{LF_RETRY_TRANSIENT, "", "the line broke", 0};
        };
        return out;
    };
    const auto c = b.connector();
    const auto reader = c->read_table(bench::request());
    const auto early = thrown_by([&] { reader->end_offset(); });
    BOOST_TEST(early.code == "plugin.contract");
    BOOST_TEST((early.message.find("scripted/issues") != std::string::npos));
    BOOST_TEST(reader->next()->rows() == 1);
    BOOST_TEST(thrown_by([&] { reader->next(); }).code == "source.transient");
    BOOST_TEST(thrown_by([&] { reader->end_offset(); }).code == "plugin.contract");
    BOOST_TEST(thrown_by([&] { reader->next(); }).code == "plugin.contract");  // failed for good
}

BOOST_AUTO_TEST_CASE(a_reader_that_has_ended_is_not_asked_again) {
    bench b;
    int asked = 0;
    b.script.read_table = [&](const script_call&) {
        script_read out;
        out.end = "{ \"b\": 1e0,  \"a\":\"x\" }";
        out.before = [&](std::size_t, script_instance&) { ++asked; };
        return out;
    };
    const auto c = b.connector();
    const auto reader = c->read_table(bench::request());
    BOOST_TEST(!reader->next().has_value());
    BOOST_TEST(!reader->next().has_value());
    BOOST_TEST(asked == 1);
    BOOST_TEST(reader->end_offset().value() == R"({"a":"x","b":1})");  // canonical
}

// Contract 1: a batch has neither offset, a stream has both; one of the two alone is refused before the plugin sees it.
BOOST_AUTO_TEST_CASE(partitions_take_both_offsets_or_neither) {
    bench b;
    b.script.get_partitions = [](const script_call&) { return "[]"; };
    const auto c = b.connector();
    auto request = bench::request();
    BOOST_TEST(thrown_by([&] { c->get_partitions(request, 1); }).code == "plugin.contract");
    request.end = request.start;
    request.start.reset();
    BOOST_TEST(thrown_by([&] { c->get_partitions(request, 1); }).code == "plugin.contract");
    BOOST_TEST(b.script.count("get_partitions") == 0);
    request.end.reset();
    BOOST_TEST(c->get_partitions(request, 1).empty());
    request.start = request.end = "{}";
    BOOST_TEST(c->get_partitions(request, 1).empty());
    const auto calls = b.script.calls();
    BOOST_REQUIRE(calls.size() == 2u);
    BOOST_TEST(calls[0] == "get_partitions issues - -");  // absent, which is not the same as
    BOOST_TEST(calls[1] == "get_partitions issues {} {}");
}

// Contract 14, wherever a plugin may hide it.
BOOST_AUTO_TEST_CASE(a_secret_in_what_is_kept_is_refused_and_not_shown) {
    bench b;
    b.flow->redactor->add("token-value-1");
    b.script.get_partitions = [](const script_call&) { return R"([{"from":1,"auth":"Bearer token-value-1"}])"; };
    b.script.latest_offset = [](const script_call&) { return R"({"offset":{"k":"token-value-1"},"honoured":[]})"; };
    b.script.prepare = [](const script_call&) { return R"({"k":"token-value-1"})"; };
    b.script.report_latest = [](const script_call&) { return R"({"k":"token-value-1"})"; };
    b.script.read_table = [](const script_call&) {
        script_read out;
        out.end = R"({"k":"token-value-1"})";
        return out;
    };
    const auto c = b.connector();
    auto request = bench::request();
    const auto refused = [](const error& e) {
        BOOST_TEST(e.code == "secret.in_descriptor", to_line(e));
        BOOST_TEST((e.message.find("token-value-1") == std::string::npos), e.message);
        BOOST_TEST((e.message.find("scripted/issues") != std::string::npos), e.message);
        BOOST_TEST(!e.hint.empty());
    };
    refused(thrown_by([&] { c->latest_offset(request); }));
    refused(thrown_by([&] { c->prepare_for_trigger_available_now("issues", "{}"); }));
    refused(thrown_by([&] { c->report_latest_offset("issues", "{}"); }));
    const auto reader = c->read_table(request);
    reader->next();
    refused(thrown_by([&] { reader->end_offset(); }));
    request.end = R"({"c":1})";
    refused(thrown_by([&] { c->get_partitions(request, 1); }));
}

BOOST_AUTO_TEST_SUITE_END()
