// The report: the members that scripts rely on, and a table that a person can read.
#include "host/cli/report.h"

#include <boost/test/unit_test.hpp>

#include "host/base/json.h"

using namespace lakeflow::host;

namespace {

run_result a_result() {
    run_result r;
    r.job = "j";
    r.run_id = "r";
    r.status = "partial";
    r.exit_code = 3;
    r.init_time_us = 1772323200000000;
    r.seconds = 1.9;
    r.requests = 53;
    table_result good;
    good.name = "issues";
    good.mode = "scd1";
    good.status = table_status::reached_bound;
    good.rows_read = 5000;
    good.end = R"({"updated_at":"x"})";
    table_result bad;
    bad.name = "pulls";
    bad.status = table_status::failed;
    bad.error = error{"source.auth", "GET http://h/x said \"401\"", "check the token", retry_class::auth};
    r.tables = {good, bad};
    return r;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

BOOST_AUTO_TEST_CASE(the_report_is_json_with_the_members_of_the_design) {
    const std::string json = report_json(a_result());
    BOOST_CHECK_NO_THROW(canonical_json(json, "test.json", "the report"));
    for (const char* part :
         {R"("job":"j")", R"("status":"partial")", R"("exit_code":3)", R"("init_time":"2026-03-01T00:00:00Z")",
          R"("seconds":1.9)", R"("http":{"requests":53)", R"("rows_read":5000)", R"("status":"reached_bound")",
          R"("start":{})", R"("end":{"updated_at":"x"})", R"("fell_back":false)", R"("code":"source.auth")",
          R"("retry_class":"auth")", R"(said \"401\")", R"("hint":"check the token")"}) {
        BOOST_TEST(has(json, part), part << " in " << json);
    }
}

BOOST_AUTO_TEST_CASE(a_failure_before_any_table_has_a_top_level_error) {
    const std::string json = report_json(failed_run("j", error{"config.unknown_key", "m", "h"}, 2));
    BOOST_TEST(has(json, R"("tables":[],"error":{"code":"config.unknown_key")"), json);
    BOOST_TEST(has(json, R"("exit_code":2)"));
}

BOOST_AUTO_TEST_CASE(a_hint_on_partitions_is_shown_where_there_was_time_to_win) {
    auto r = a_result();
    r.tables[0].partition_hint = "1 partition for 8 workers";
    BOOST_TEST(has(report_json(r), R"("partition_hint":"1 partition for 8 workers")"));
    BOOST_TEST(!has(report_text(r), "1 partition for 8 workers"));
    r.tables[0].partition_max_seconds = 1.5;
    BOOST_TEST(has(report_text(r), "note: issues: 1 partition for 8 workers"));
}

BOOST_AUTO_TEST_CASE(a_person_sees_each_table_and_the_remedy) {
    const std::string text = report_text(a_result());
    BOOST_TEST(has(text, "5,000"), text);
    BOOST_TEST(has(text, "error: pulls: GET http://h/x said \"401\" [source.auth]"), text);
    BOOST_TEST(has(text, "hint: check the token"), text);
    BOOST_TEST(has(text, "job j partial in 1.9 s, 53 requests"), text);
}
