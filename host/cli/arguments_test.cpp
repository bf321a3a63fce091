// The command line: repeatable options take one value each, a mistyped command is named, every mistake ends with 2.
#include "host/cli/arguments.h"

#include <boost/test/unit_test.hpp>

using namespace lakeflow::host;

namespace {
arguments parse(std::vector<const char*> words) {
    words.insert(words.begin(), "lakeflow-host");
    return parse_arguments(static_cast<int>(words.size()), words.data());
}
}  // namespace

BOOST_AUTO_TEST_CASE(run_is_the_default_command) {
    const arguments a = parse({"--plugin", "github.so", "--config", "job.toml", "--set", "a=b=c", "--set", "d=e"});
    BOOST_TEST((a.what == command::run));
    BOOST_TEST(a.plugins == std::vector<std::string>{"github.so"});
    BOOST_TEST(a.sets.size() == 2u);
    BOOST_TEST(a.sets[0] == "a=b=c");
    BOOST_TEST((parse({"run", "--config", "j", "--take-over", "--only", "x", "--report", "-"}).take_over));
}

BOOST_AUTO_TEST_CASE(options_may_stand_before_and_after_a_command) {
    const arguments a = parse({"--config", "j", "preview", "issues", "--limit", "3", "--plugin", "github"});
    BOOST_TEST((a.what == command::preview));
    BOOST_TEST(a.subject == "issues");
    BOOST_TEST(a.limit == 3);
    BOOST_TEST(a.plugins.size() == 1u);
    BOOST_TEST((parse({"describe", "github", "--json"}).json));
}

BOOST_AUTO_TEST_CASE(a_mistyped_command_does_not_become_a_plugin) {
    for (const std::vector<const char*>& words : {std::vector<const char*>{"--plugin", "github.so", "querry", "x"},
                                                  {"pluggins"},
                                                  {"--config", "j", "rnu"},
                                                  {"--unknown"},
                                                  {"describe"},
                                                  {"--log-level", "loud"},
                                                  {"preview", "t", "--limit", "0"},
                                                  {"run", "extra"}}) {
        const arguments a = parse(words);
        BOOST_TEST((a.what == command::none), words.front());
        BOOST_TEST(a.exit_code == 2);
    }
}

BOOST_AUTO_TEST_CASE(commands_of_later_versions_are_known_by_name) {
    const arguments a = parse({"check", "github", "--json"});
    BOOST_TEST((a.what == command::not_built));
    BOOST_TEST(a.subject == "check");
}

BOOST_AUTO_TEST_CASE(a_query_has_its_sql_and_options) {
    const arguments a = parse({"query", "SELECT 1 FROM t", "--format", "csv", "--option", "a=1", "--option", "b=x=y",
                               "--no-pushdown", "--config", "j"});
    BOOST_TEST((a.what == command::query));
    BOOST_TEST(a.subject == "SELECT 1 FROM t");
    BOOST_TEST(a.rows == "csv");
    BOOST_TEST(a.no_pushdown);
    BOOST_TEST(a.options == (std::vector<std::string>{"a=1", "b=x=y"}), boost::test_tools::per_element());
    BOOST_TEST((parse({"query", "x", "--format", "xml"}).what == command::none));
    BOOST_TEST((parse({"explain", "t", "--json"}).what == command::explain));
}

BOOST_AUTO_TEST_CASE(help_is_no_mistake) {
    BOOST_TEST(parse({"--help"}).exit_code == 0);
    BOOST_TEST(parse({"--version"}).exit_code == 0);
}
