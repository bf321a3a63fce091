// host/land/file_destinations_test.cpp: the duckdb and jsonl destinations, and rows as JSON.
#include <sys/wait.h>
#include <boost/test/unit_test.hpp>
#include <csignal>

#include "host/land/duckdb/duckdb.h"
#include "host/land/json_row.h"
#include "host/land/test_lake.h"

using namespace lakeflow::host;
using namespace lakeflow::host::test;

namespace {

struct place {
    temporary_folder folder;
    destination_options options;

    explicit place(const std::string& type) {
        options.type = type;
        options.path = type == "duckdb" ? folder.path() + "/lake.duckdb" : folder.path();
    }
    std::unique_ptr<target> open(const flow_spec& flow = issue_flow(land_mode::append)) const {
        return make_destination(options, {}, nullptr)->open(flow);
    }
};

std::multimap<std::int64_t, std::string> duckdb_rows(const std::string& file, const std::string& table = "bronze") {
    duck::database_options options;
    options.path = file;
    options.read_only = true;
    auto c = duck::database::open(options)->connect();
    std::multimap<std::int64_t, std::string> found;
    for (auto rows = c.query("SELECT id, title FROM " + table); rows.next();)
        found.emplace(rows[0].integer(), std::string(rows[1].text()));
    return found;
}

std::multimap<std::int64_t, std::string> as_rows(const std::map<std::int64_t, std::string>& rows) {
    return {rows.begin(), rows.end()};
}

std::vector<std::string> lines(const std::string& path) {
    std::ifstream in(path);
    std::vector<std::string> all;
    for (std::string line; std::getline(in, line);) all.push_back(line);
    return all;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(duckdb_destination)

BOOST_AUTO_TEST_CASE(rows_and_position_in_one_file) {
    place p("duckdb");
    auto target = p.open();
    BOOST_TEST(!target->committed().has_value());
    BOOST_TEST(!fs::exists(p.options.path));
    const std::uint32_t epoch = target->take_over();
    BOOST_TEST(land(*target, at_batch(1, epoch), issues(1, 3000)).rows_landed == 3000);
    BOOST_TEST(land(*target, at_batch(2, epoch), issues(3001, 5)).rows_landed == 5);
    BOOST_TEST((duckdb_rows(p.options.path) == as_rows(expected(1, 3005))));
    BOOST_TEST((p.open()->committed() == at_batch(2, epoch)));
    BOOST_TEST(!land(*target, at_batch(2, epoch), issues(3001, 5)).committed);
    BOOST_TEST(p.open()->take_over() == epoch + 1);
    target->reset();
    BOOST_TEST(!p.open()->committed().has_value());
    BOOST_TEST(duckdb_rows(p.options.path).size() == 3005u);
}

BOOST_AUTO_TEST_CASE(a_large_batch_waits_on_disk) {
    place p("duckdb");
    p.options.memory_bytes = 64 << 20;
    auto target = p.open();
    auto landing = target->begin();
    for (std::int64_t page = 0; page < 60; ++page) landing->add(0, issues(page * 5000, 5000, std::string(60, 'x')));
    BOOST_TEST(!fs::is_empty(p.options.path + ".lakeflow-tmp"));
    BOOST_TEST(landing->commit(at_batch(1)).rows_landed == 300000);
    landing.reset();
    BOOST_TEST(!fs::exists(p.options.path + ".lakeflow-tmp"));
    BOOST_TEST(duckdb_rows(p.options.path).size() == 300000u);
}

BOOST_AUTO_TEST_CASE(rows_that_come_again_are_dropped) {
    place p("duckdb");
    flow_spec flow = issue_flow(land_mode::append);
    flow.rereads = true;
    auto target = p.open(flow);
    land(*target, at_batch(1), issues(1, 100), issues(95, 10));
    const land_result second = land(*target, at_batch(2), issues(51, 100, "again"));
    BOOST_TEST(second.rows_landed == 46);
    BOOST_TEST(second.rows_again == 54);
    BOOST_TEST(duckdb_rows(p.options.path).size() == 150u);
}

BOOST_AUTO_TEST_CASE(an_older_run_is_fenced) {
    place p("duckdb");
    auto old = p.open(), newer = p.open();
    const std::uint32_t epoch = old->take_over();
    auto slow = old->begin();
    slow->add(0, issues(1, 10));
    land(*newer, at_batch(1, newer->take_over()), issues(1, 10));
    position other = at_batch(1, epoch);
    BOOST_TEST(code_of([&] { slow->commit(other); }) == "state.fenced");
    BOOST_TEST(duckdb_rows(p.options.path).size() == 10u);
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused) {
    place p("duckdb");
    land(*p.open(), at_batch(1), issues(1, 10));
    flow_spec flow = issue_flow(land_mode::append);
    flow.flow = "other";
    flow.schema = schema_of("id STRING, title STRING");
    BOOST_TEST(code_of([&] { p.open(flow); }) == "destination.schema");
    flow.schema = schema_of("id BIGINT NOT NULL, fresh STRING");
    flow.schema_changes = schema_policy::fixed;
    BOOST_TEST(code_of([&] { p.open(flow); }) == "destination.schema");
    flow.schema_changes = schema_policy::evolve;
    flow.schema = schema_of("id BIGINT, Id BIGINT");
    BOOST_TEST(code_of([&] { p.open(flow); }) == "destination.column_name");
}

BOOST_AUTO_TEST_CASE(a_file_of_another_process_is_locked_and_its_holder_named) {  // contract 39
    place p("duckdb");
    land(*p.open(), at_batch(1), issues(1, 10));
    int ready[2];
    BOOST_REQUIRE(pipe(ready) == 0);
    const pid_t child = fork();
    if (child == 0) {
        setenv("LAKEFLOW_TEST_FILE", p.options.path.c_str(), 1);
        setenv("LAKEFLOW_TEST_READY", std::to_string(ready[1]).c_str(), 1);
        execl("/proc/self/exe", "file_destinations_test", "--run_test=duckdb_destination/holder",
              static_cast<char*>(nullptr));
        _exit(127);
    }
    char byte = 0;
    BOOST_REQUIRE(read(ready[0], &byte, 1) == 1);
    BOOST_CHECK_EXCEPTION(p.open(), failure, [&](const failure& f) {
        return f.get().code == "destination.locked" && f.get().message.find(std::to_string(child)) != std::string::npos;
    });
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    close(ready[0]);
    close(ready[1]);
    // A dead holder's lock is gone with it.
    BOOST_TEST((p.open()->committed() == at_batch(1)));
}

// Run by the case above in a process of its own.
BOOST_AUTO_TEST_CASE(holder) {
    const char* file = std::getenv("LAKEFLOW_TEST_FILE");
    if (!file) return;
    duck::database_options options;
    options.path = file;
    auto database = duck::database::open(options);
    auto c = database->connect();
    c.run("SELECT 1");
    BOOST_REQUIRE(write(static_cast<int>(parse_int(std::getenv("LAKEFLOW_TEST_READY")).value()), "x", 1) == 1);
    pause();
}

BOOST_AUTO_TEST_CASE(a_stop_at_any_step_lands_all_or_nothing) {
    for (const char* stop : {"open", "write", "position", "commit", "close"}) {
        place p("duckdb");
        land(*p.open(), at_batch(1), issues(1, 10));
        auto broken = duckdb::make_duckdb_destination(p.options, {}, nullptr, [&](std::string_view step) {
            if (step == stop) throw std::runtime_error("stopped");
        });
        auto target = broken->open(issue_flow(land_mode::append));
        BOOST_CHECK_THROW(land(*target, at_batch(2), issues(11, 10)), std::runtime_error);
        target.reset();
        broken.reset();
        BOOST_TEST_CONTEXT("stopped before " << stop) {
            auto again = p.open();
            const bool landed = again->committed() == at_batch(2);
            BOOST_TEST(landed == (std::string(stop) == "close"));
            if (!landed) land(*again, at_batch(2), issues(11, 10));
            BOOST_TEST((duckdb_rows(p.options.path) == as_rows(expected(1, 20))));
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(jsonl_destination)

BOOST_AUTO_TEST_CASE(lines_are_exact) {
    const auto schema = schema_of(
        "id BIGINT, dc DECIMAL(38,4), d DOUBLE, f FLOAT, t STRING, x BINARY, b BOOLEAN, day DATE, z TIMESTAMP, l "
        "TIMESTAMP_NTZ, "
        "li ARRAY<INT>, st STRUCT<a: INT, b: STRING>, m MAP<STRING, BIGINT>, mi MAP<INT, STRING>");
    auto batch = make_batch(schema, 2, [](struct_column& t, std::int64_t row) {
        if (row == 1) {
            for (std::size_t i = 0; i < t.size(); ++i) t.child(i).append_null();
            return;
        }
        at<i64>(t, 0).append(9007199254740993);
        at<fixed_column<int128>>(t, 1).append(
            -(static_cast<int128>(1'000'000'000'000'000'000) * 1'000'000'000'000 + 5));
        at<fixed_column<double>>(t, 2).append(0.1);
        at<fixed_column<float>>(t, 3).append(std::numeric_limits<float>::infinity());
        at<text_column>(t, 4).append(std::string("a\"\n\0\xc3\xa9", 6));
        at<text_column>(t, 5).append(std::string("\x01\xff", 2));
        at<bool_column>(t, 6).append(true);
        at<fixed_column<std::int32_t>>(t, 7).append(20513);
        at<i64>(t, 8).append(1772366400123456);
        at<i64>(t, 9).append(1772366400000000);
        auto& li = at<list_column>(t, 10);
        static_cast<fixed_column<std::int32_t>&>(li.child()).append(1);
        li.child().append_null();
        li.end_value();
        auto& st = at<struct_column>(t, 11);
        st.child(0).append_null();
        at<text_column>(st, 1).append("x");
        st.end_value();
        auto& m = at<list_column>(t, 12);
        auto& entry = static_cast<struct_column&>(m.child());
        at<text_column>(entry, 0).append("k");
        at<i64>(entry, 1).append(-1);
        entry.end_value();
        m.end_value();
        auto& mi = at<list_column>(t, 13);
        auto& other = static_cast<struct_column&>(mi.child());
        at<fixed_column<std::int32_t>>(other, 0).append(7);
        at<text_column>(other, 1).append("v");
        other.end_value();
        mi.end_value();
    });
    std::string first, second;
    append_json_row(*schema->get(), *batch.array.get(), 0, first);
    append_json_row(*schema->get(), *batch.array.get(), 1, second);
    BOOST_TEST(
        first ==
        "{\"id\":9007199254740993,\"dc\":-100000000000000000000000000.0005,\"d\":0.1,\"f\":\"Infinity\",\"t\":"
        "\"a\\\"\\n\\u0000\xc3\xa9\","
        "\"x\":\"Af8=\",\"b\":true,\"day\":\"2026-03-01\",\"z\":\"2026-03-01T12:00:00.123456Z\",\"l\":\"2026-03-01T12:"
        "00:00.000000\","
        "\"li\":[1,null],\"st\":{\"a\":null,\"b\":\"x\"},\"m\":{\"k\":-1},\"mi\":[{\"key\":7,\"value\":\"v\"}]}");
    BOOST_TEST(second ==
               "{\"id\":null,\"dc\":null,\"d\":null,\"f\":null,\"t\":null,\"x\":null,\"b\":null,\"day\":null,\"z\":"
               "null,\"l\":null,\"li\":null,"
               "\"st\":null,\"m\":null,\"mi\":null}");
}

BOOST_AUTO_TEST_CASE(appends_exactly_once) {
    place p("jsonl");
    auto target = p.open();
    const std::string file = p.folder.path() + "/bronze.jsonl";
    const std::uint32_t epoch = target->take_over();
    land(*target, at_batch(1, epoch), issues(1, 100));
    BOOST_TEST(lines(file).size() == 100u);
    BOOST_TEST(
        lines(file)[0].starts_with("{\"id\":1,\"updated_at\":\"1970-01-01T00:00:01.000001Z\",\"title\":\"first 1\""));
    // A dead run's tail is cut off before the next commit.
    std::ofstream(file, std::ios::app) << "{\"id\":101,\"torn\":";
    auto again = p.open();
    BOOST_TEST((again->committed() == at_batch(1, epoch)));
    land(*again, at_batch(2, again->take_over()), issues(101, 10));
    BOOST_TEST(lines(file).size() == 110u);
    BOOST_TEST(lines(file)[100].starts_with("{\"id\":101,\"updated_at\""));
    BOOST_TEST(code_of([&] { land(*target, at_batch(2, epoch), issues(101, 10)); }) == "state.fenced");
    BOOST_TEST(lines(file).size() == 110u);
    fs::resize_file(file, 10);
    BOOST_TEST(code_of([&] { land(*again, at_batch(3, 2), issues(1, 1)); }) == "destination.corrupt");
    again->reset();
    BOOST_TEST(!p.open()->committed().has_value());
}

BOOST_AUTO_TEST_CASE(rows_that_come_again_are_dropped_by_key) {
    place p("jsonl");
    flow_spec flow = issue_flow(land_mode::append);
    flow.primary_keys = {"id", "title"};
    flow.rereads = true;
    auto target = p.open(flow);
    land(*target, at_batch(1), issues(1, 100), issues(95, 6));
    auto again = p.open(flow);
    const land_result second = land(*again, at_batch(2), issues(51, 100));
    BOOST_TEST(second.rows_landed == 50);
    BOOST_TEST(second.rows_again == 50);
    BOOST_TEST(lines(p.folder.path() + "/bronze.jsonl").size() == 150u);
}

BOOST_AUTO_TEST_CASE(standard_output_is_the_programs) {
    place p("jsonl");
    std::string out;
    p.options.path = "-";
    p.options.standard_output = [&](std::string_view bytes) { out += bytes; };
    auto target = p.open();
    BOOST_TEST(!target->holds_position());
    auto landing = target->begin();
    landing->add(0, issues(1, 2));
    BOOST_TEST(out == "");
    BOOST_TEST(landing->commit(at_batch(1)).rows_landed == 2);
    BOOST_TEST(std::count(out.begin(), out.end(), '\n') == 2);
    BOOST_TEST(!target->committed().has_value());
}

BOOST_AUTO_TEST_CASE(other_modes_are_refused) {
    place p("jsonl");
    for (const land_mode mode : {land_mode::scd1, land_mode::scd2}) {
        BOOST_TEST(code_of([&] { p.open(issue_flow(mode)); }) == "config.not_supported");
    }
    BOOST_TEST(fs::is_empty(p.folder.path()));
}

BOOST_AUTO_TEST_SUITE_END()
