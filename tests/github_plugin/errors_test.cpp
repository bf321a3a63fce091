// What a person sees when GitHub says no; options; and the plugin as a library. Field cases 28, 31; peer defects G, H, I.
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "host/base/error.h"
#include "tests/github_plugin/harness.h"

using namespace lakeflow::github_test;
namespace host = lakeflow::host;

namespace {

repository_config demo() {
    repository_config out;
    out.issues = 150;
    out.pulls = 20;
    out.comments = 10;
    out.commits = 20;
    return out;
}

// The error of a run, whose message names the repository.
host::error fails(bench& b, const std::string& table) {
    try {
        b.run(table);
    } catch (const host::failure& error) {
        const host::error& what = error.get();
        BOOST_TEST(what.message.find("octo/demo") != std::string::npos, what.message);
        BOOST_TEST(!what.hint.empty(), what.message);
        BOOST_TEST(what.message.find("ghp_") == std::string::npos);
        return what;
    }
    BOOST_FAIL("no error");
    return {};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(errors)

BOOST_AUTO_TEST_CASE(each_refusal_has_its_code_and_its_remedy) {
    bench b(small_server(demo()));
    struct about {
        int status;
        host::retry_class retry;
        const char *code, *word;
    };
    for (const about& one : {about{404, host::retry_class::not_found, "source.not_found", "may not see it"},
                             about{410, host::retry_class::not_found, "source.not_found", "switched off"},
                             about{451, host::retry_class::not_found, "source.not_found", "legal reasons"},
                             about{403, host::retry_class::auth, "source.auth", "read access to issues"},
                             about{401, host::retry_class::auth, "source.auth", "valid token"}}) {
        b.server.control("set", R"({"status":{"issues":)" + std::to_string(one.status) + "}}");
        host::error got = fails(b, "issues");
        BOOST_TEST(got.code == one.code);
        BOOST_TEST((got.retry == one.retry));
        BOOST_TEST((got.message + got.hint).find(one.word) != std::string::npos, got.message << " / " << got.hint);
    }
}

BOOST_AUTO_TEST_CASE(a_refused_token) {
    server_config config = small_server(demo());
    config.tokens = {"another"};
    bench b(config);
    BOOST_TEST(fails(b, "issues").code == "source.auth");
    BOOST_TEST(fails(b, "commits").code == "source.auth");
    BOOST_TEST(fails(b, "branches").code == "source.auth");
}

BOOST_AUTO_TEST_CASE(an_unknown_repository) {
    bench b(small_server(demo()));
    b.options = R"({"owner":"octo","repo":"nope"})";
    BOOST_CHECK_EXCEPTION(b.run("issues"), host::failure, [](const host::failure& error) {
        return error.get().code == "source.not_found" && error.get().message.find("octo/nope") != std::string::npos;
    });
}

BOOST_AUTO_TEST_CASE(owner_and_repository_are_escaped) {
    bench b(small_server(demo()));
    b.options = R"({"owner":"octo/../admin","repo":"a b?x=1#y"})";
    BOOST_CHECK_THROW(b.run("issues"), host::failure);
    BOOST_TEST(b.targets().back().starts_with("/repos/octo%2F..%2Fadmin/a%20b%3Fx%3D1%23y/issues?"));
    b.options = R"({"owner":"..","repo":"demo"})";
    BOOST_CHECK_EXCEPTION(b.run("issues"), host::failure,
                          [](const host::failure& error) { return error.get().retry == host::retry_class::invalid; });
}

BOOST_AUTO_TEST_CASE(what_is_missing_is_named_before_a_request) {
    bench b(small_server(demo()));
    b.options = R"({"owner":"octo"})";
    BOOST_CHECK_EXCEPTION(b.run("issues"), host::failure, [](const host::failure& error) {
        return error.get().retry == host::retry_class::invalid && error.get().message.find("repo") != std::string::npos;
    });
    BOOST_TEST(b.server.stats().requests == 0u);
}

BOOST_AUTO_TEST_CASE(every_request_says_who_asks_and_for_which_version) {
    bench b(small_server(demo()));
    b.connection = R"({"base_url":")" + b.server.url() + R"(","token":"ghp_secretsecret","api_version":"2026-03-10"})";
    b.run("issues");
    b.run("commits");
    for (const auto& one : b.requests_done()) {
        BOOST_TEST(one.api_version == "2026-03-10");
        BOOST_TEST(one.authorization);
        BOOST_TEST(!one.user_agent.empty());
    }
}

BOOST_AUTO_TEST_CASE(descriptors_and_offsets_are_small_and_hold_no_secret) {
    bench b(small_server(demo()));
    outcome first = b.run("issues");
    BOOST_TEST(first.end.find("ghp_") == std::string::npos);
    BOOST_TEST(first.end.size() < 200u);
    host::read_request range;
    range.table = "issues";
    range.options = b.options;
    range.start = "{}";
    range.end = first.end;
    for (const std::string& part : b.instance("issues")->get_partitions(range, 4)) BOOST_TEST(part.size() < 200u);
    range.start = first.end;
    BOOST_TEST(b.instance("issues")->get_partitions(range, 4).empty());
}

BOOST_AUTO_TEST_CASE(a_next_link_to_another_origin_is_not_followed) {
    repository_config repository = demo();
    repository.issues = 3'000;
    repository.deep = "refuse_pages:1";
    bench b(small_server(repository));
    b.server.control(
        "faults", R"({"faults":[{"path":"sort=updated.*per_page=100","times":-1,"link":"http://127.0.0.2:9/steal"}]})");
    BOOST_CHECK_EXCEPTION(b.run("issues"), host::failure,
                          [](const host::failure& error) { return error.get().code == "source.off_origin"; });
}

BOOST_AUTO_TEST_CASE(twelve_tables_in_a_stable_order) {
    bench b(small_server(demo()));
    std::vector<std::string> names = b.instance("issues")->list_tables();
    BOOST_TEST(names.size() == 12u);
    BOOST_TEST(names.front() == "issues");
    BOOST_TEST(b.instance("issues")->list_tables() == names, boost::test_tools::per_element());
    for (const std::string& name : names) {
        host::arrow_schema one = b.schema(name);
        BOOST_TEST(host::same_schema(*one.get(), *b.schema(name).get()));
        host::check_schema(*one.get(), name);
        b.metadata(name);
    }
    BOOST_CHECK_THROW(b.schema("stars"), host::failure);
    BOOST_TEST(b.server.stats().requests == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
