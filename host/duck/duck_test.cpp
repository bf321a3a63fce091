// host/duck/duck_test.cpp: the loader, queries, and the Arrow adapter against DuckDB itself: filters, pruned columns, struct fields,
// joins, nested values, offsets and batches longer than a chunk.
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "host/base/error.h"
#include "host/duck/duck.h"
#include "host/duck/test_batches.h"

using namespace lakeflow::host;
using namespace lakeflow::host::test;

namespace {

std::shared_ptr<duck::database> memory_database() { return duck::database::open({}); }

std::string code_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const failure& f) {
        return f.get().code;
    }
    return "";
}

struct with_environment {
    with_environment(const char* name, const char* value) : name_(name) {
        if (const char* old = std::getenv(name)) old_ = old, had_ = true;
        setenv(name, value, 1);
    }
    ~with_environment() { had_ ? setenv(name_, old_.c_str(), 1) : unsetenv(name_); }
    const char* name_;
    std::string old_;
    bool had_ = false;
};

record_batch numbers(std::int64_t from, std::int64_t rows) {
    static const auto schema =
        schema_of("id BIGINT NOT NULL, name STRING, user STRUCT<login: STRING, age: INT>, n INT");
    return make_batch(schema, rows, [&](struct_column& t, std::int64_t row) {
        const std::int64_t id = from + row;
        at<i64>(t, 0).append(id);
        if (id % 10 == 0)
            t.child(1).append_null();
        else
            at<text_column>(t, 1).append("name " + std::to_string(id) +
                                         (id % 3 ? "" : " that is longer than twelve bytes"));
        auto& user = at<struct_column>(t, 2);
        if (id % 7 == 0) {
            user.append_null();
        } else {
            at<text_column>(user, 0).append("user-" + std::to_string(id % 100));
            at<fixed_column<std::int32_t>>(user, 1).append(static_cast<std::int32_t>(id % 90));
            user.end_value();
        }
        at<fixed_column<std::int32_t>>(t, 3).append(static_cast<std::int32_t>(id * 2));
    });
}

duck::scan scan_of(duck::connection& c, std::vector<record_batch> batches) {
    auto schema = batches.front().schema;
    return c.add_scan(schema, std::make_shared<batch_list>(std::move(batches)));
}

std::vector<record_batch> three_batches() {
    std::vector<record_batch> batches;
    batches.push_back(numbers(0, 5000));
    batches.push_back(numbers(5000, 1));
    batches.push_back(numbers(5001, 4999));
    return batches;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(library)

BOOST_AUTO_TEST_CASE(a_missing_library_names_each_place_and_the_remedy) {
    const auto empty = std::filesystem::temp_directory_path();
    const with_environment cache("LAKEFLOW_CACHE", (empty / "no-such-cache").c_str());
    const with_environment named("LAKEFLOW_DUCKDB", "/nonexistent/libduckdb.so");
    try {
        duck::load("");
        BOOST_FAIL("loaded");
    } catch (const failure& f) {
        BOOST_TEST(f.get().code == "destination.duckdb");
        BOOST_TEST(f.get().message.find("/nonexistent/libduckdb.so (LAKEFLOW_DUCKDB): is not there") !=
                   std::string::npos);
        BOOST_TEST(f.get().hint.find("conan/setup.sh") != std::string::npos);
    }
    BOOST_CHECK_EXCEPTION(duck::load("/nonexistent/x.so"), failure, [](const failure& f) {
        return f.get().message.find("destination.duckdb_library") != std::string::npos;
    });
}

BOOST_AUTO_TEST_CASE(a_library_that_is_no_duckdb_is_named) {
    // Boost.Test itself is a shared library that is surely there.
    std::ifstream maps("/proc/self/maps");
    std::string line, library;
    while (std::getline(maps, line)) {
        if (line.find("libboost_unit_test_framework") != std::string::npos) library = line.substr(line.find('/'));
    }
    BOOST_REQUIRE(!library.empty());
    BOOST_CHECK_EXCEPTION(duck::load(library), failure, [](const failure& f) {
        return f.get().message.find("duckdb_library_version") != std::string::npos;
    });
}

BOOST_AUTO_TEST_CASE(settings_are_ours) {
    duck::database_options options;
    options.memory_bytes = 64u << 20;
    options.temp_directory = "/nonexistent/spill";
    auto database = duck::database::open(options);
    auto c = database->connect();
    const auto text = [&](const std::string& name) {
        auto rows = c.query("SELECT current_setting('" + name + "')::VARCHAR");
        BOOST_REQUIRE(rows.next());
        return std::string(rows[0].text());
    };
    BOOST_TEST(text("threads") == "1");
    BOOST_TEST(text("memory_limit") == "64.0 MiB");
    BOOST_TEST(text("temp_directory") == "/nonexistent/spill");
    BOOST_TEST(text("autoinstall_known_extensions") == "false");
    BOOST_TEST(text("autoload_known_extensions") == "false");
    BOOST_TEST(text("TimeZone") == "UTC");
}

BOOST_AUTO_TEST_CASE(values_of_every_kind) {
    auto c = memory_database()->connect();
    auto rows = c.query(
        "SELECT true, 12::TINYINT, -3::SMALLINT, 7, 9007199254740993, 170::HUGEINT, 1.5::DOUBLE, 'short', "
        "repeat('long', 9), "
        "[1, NULL, 3], {'a': 1, 'b': 'x'}, MAP {'k': 5}, DATE '1970-01-03', TIMESTAMPTZ '1970-01-01 "
        "00:00:00.000007+00', NULL");
    BOOST_REQUIRE(rows.next());
    BOOST_TEST(rows[0].integer() == 1);
    BOOST_TEST(rows[1].integer() == 12);
    BOOST_TEST(rows[2].integer() == -3);
    BOOST_TEST(rows[4].integer() == 9007199254740993);
    BOOST_TEST(rows[5].integer() == 170);
    BOOST_TEST(rows[6].real() == 1.5);
    BOOST_TEST(rows[7].text() == "short");
    BOOST_TEST(rows[8].text() == "longlonglonglonglonglonglonglonglong");
    BOOST_TEST(rows[9].size() == 3u);
    BOOST_TEST(rows[9].element(1).is_null());
    BOOST_TEST(rows[9].element(2).integer() == 3);
    BOOST_TEST(rows[10].field(1).text() == "x");
    BOOST_TEST(rows[11].element(0).field(0).text() == "k");
    BOOST_TEST(rows[11].element(0).field(1).integer() == 5);
    BOOST_TEST(rows[12].integer() == 2);
    BOOST_TEST(rows[13].integer() == 7);
    BOOST_TEST(rows[14].is_null());
    BOOST_TEST(!rows.next());
}

BOOST_AUTO_TEST_CASE(quoting) {
    auto c = memory_database()->connect();
    const std::string odd("it's \"a\"\0b", 10);
    auto rows = c.query("SELECT " + duck::quote_text(odd) + " AS " + duck::quote_name("we\"ird"));
    BOOST_TEST(rows.column_name(0) == "we\"ird");
    BOOST_REQUIRE(rows.next());
    BOOST_TEST(rows[0].text() == odd);
}

BOOST_AUTO_TEST_CASE(errors_carry_the_text_and_the_statement) {
    auto c = memory_database()->connect();
    BOOST_CHECK_EXCEPTION(c.run("SELECT * FROM nowhere"), failure, [](const failure& f) {
        return f.get().code == "destination.duckdb" && f.get().message.find("nowhere") != std::string::npos;
    });
    BOOST_TEST(c.integer("SELECT 42") == 42);
}

BOOST_AUTO_TEST_CASE(a_stream_is_read_as_it_is_made_and_fails_on_the_way) {
    auto c = memory_database()->connect();
    {
        auto rows = c.stream("SELECT range FROM range(1000000)");
        std::int64_t sum = 0;
        for (int i = 0; i < 5000 && rows.next(); ++i) sum += rows[0].integer();
        BOOST_TEST(sum == 4999 * 5000 / 2);
    }
    auto rows =
        c.stream("SELECT CASE WHEN range = 3000000 THEN error('late') ELSE range::VARCHAR END FROM range(4000000)");
    BOOST_CHECK_EXCEPTION(while (rows.next()){}, failure,
                          [](const failure& f) { return f.get().message.find("late") != std::string::npos; });
}

BOOST_AUTO_TEST_CASE(cancelling_ends_a_query) {
    auto stop = std::make_shared<cancel_token>();
    auto c = memory_database()->connect(stop);
    std::thread later([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        stop->cancel();
    });
    BOOST_TEST(code_of([&] { c.run("SELECT sum(a.range * b.range) FROM range(10000000) a, range(1000000) b"); }) ==
               "cancelled");
    later.join();
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(arrow_scan)

BOOST_AUTO_TEST_CASE(all_rows_in_order) {
    auto c = memory_database()->connect();
    auto scan = scan_of(c, three_batches());
    auto rows = c.query("SELECT id, name, n FROM " + scan.sql());
    std::int64_t expected = 0;
    while (rows.next()) {
        BOOST_REQUIRE(rows[0].integer() == expected);
        BOOST_REQUIRE(rows[1].is_null() == (expected % 10 == 0));
        BOOST_REQUIRE(rows[2].integer() == expected * 2);
        ++expected;
    }
    BOOST_TEST(expected == 10000);
}

BOOST_AUTO_TEST_CASE(a_filter_is_applied) {
    auto c = memory_database()->connect();
    auto scan = scan_of(c, three_batches());
    BOOST_TEST(
        c.integer("SELECT count(*) FROM " + scan.sql() + " WHERE id >= 4990 AND id < 5010 AND name IS NOT NULL") == 18);
}

BOOST_AUTO_TEST_CASE(a_pruned_column_does_not_shift_the_others) {
    auto c = memory_database()->connect();
    auto scan = scan_of(c, three_batches());
    auto rows = c.query("SELECT n, id FROM " + scan.sql() + " WHERE name = 'name 4321'");
    BOOST_REQUIRE(rows.next());
    BOOST_TEST(rows[0].integer() == 8642);
    BOOST_TEST(rows[1].integer() == 4321);
    BOOST_TEST(!rows.next());
}

BOOST_AUTO_TEST_CASE(a_struct_field_and_its_nulls) {
    auto c = memory_database()->connect();
    auto scan = scan_of(c, three_batches());
    auto rows = c.query(
        "SELECT count(*), count(\"user\"), sum((\"user\").age) FILTER (\"user\".login = 'user-8') FROM " + scan.sql());
    BOOST_REQUIRE(rows.next());
    std::int64_t present = 0, ages = 0;
    for (std::int64_t id = 0; id < 10000; ++id) {
        if (id % 7 == 0) continue;
        ++present;
        if (id % 100 == 8) ages += id % 90;
    }
    BOOST_TEST(rows[0].integer() == 10000);
    BOOST_TEST(rows[1].integer() == present);
    BOOST_TEST(rows[2].integer() == ages);
}

BOOST_AUTO_TEST_CASE(a_join_of_two_scans) {
    auto c = memory_database()->connect();
    auto left = scan_of(c, three_batches());
    std::vector<record_batch> some;
    some.push_back(numbers(4000, 2500));
    auto right = scan_of(c, std::move(some));
    BOOST_TEST(c.integer("SELECT count(*) FROM " + left.sql() + " l JOIN " + right.sql() +
                         " r USING (id) WHERE l.n = r.n") == 2500);
}

BOOST_AUTO_TEST_CASE(nested_values_with_offsets_equal_the_same_values_in_one_batch) {
    const auto schema = schema_of(
        "b BOOLEAN, i TINYINT, s SMALLINT, n INT, id BIGINT, f FLOAT, d DOUBLE, dc DECIMAL(12,2), big DECIMAL(38,4), t "
        "STRING, "
        "x BINARY, day DATE, z TIMESTAMP, l TIMESTAMP_NTZ, li ARRAY<BIGINT>, ls ARRAY<STRUCT<a: STRING, b: "
        "ARRAY<INT>>>, "
        "st STRUCT<a: INT, deep: STRUCT<b: STRING, c: ARRAY<BOOLEAN>>>, m MAP<STRING, STRUCT<v: DOUBLE, w: STRING>>, "
        "lst ARRAY<STRUCT<a: STRUCT<b: ARRAY<BOOLEAN>, c: STRING, d: STRUCT<e: INT>>>>, ml MAP<STRING, ARRAY<STRUCT<a: "
        "STRUCT<b: BOOLEAN>>>>, "
        "ll ARRAY<ARRAY<STRING>>");
    for (const std::int64_t rows : {std::int64_t{1}, std::int64_t{100}, std::int64_t{2048}, std::int64_t{7001}}) {
        auto c = memory_database()->connect();
        // The same rows: once through slices of 2,048, once row by row (each a batch without any offset).
        std::vector<record_batch> whole, single;
        whole.push_back(random_batch(schema, rows, 7));
        std::mt19937_64 random(7);
        for (std::int64_t row = 0; row < rows; ++row) {
            single.push_back(make_batch(schema, 1, [&](struct_column& t, std::int64_t) {
                for (std::size_t i = 0; i < t.size(); ++i) random_value(t.child(i), random);
            }));
        }
        auto a = scan_of(c, std::move(whole));
        auto b = scan_of(c, std::move(single));
        c.run("CREATE TABLE a AS SELECT * FROM " + a.sql());
        c.run("CREATE TABLE b AS SELECT * FROM " + b.sql());
        BOOST_TEST(c.integer("SELECT count(*) FROM a") == rows);
        for (std::int64_t i = 0; i < schema->columns(); ++i) {
            const std::string column = duck::quote_name(name_of(schema->column(i)));
            BOOST_TEST_CONTEXT(column << " of " << rows << " rows")
            BOOST_TEST(c.integer("SELECT count(*) FROM (SELECT rowid, " + column + " FROM a EXCEPT SELECT rowid, " +
                                 column + " FROM b)") == 0);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_batch_with_an_offset_of_its_own) {
    auto c = memory_database()->connect();
    std::vector<record_batch> batches;
    batches.push_back(numbers(0, 6000));
    batches.back().array.get()->offset = 1000;
    batches.back().array.get()->length = 4500;
    auto scan = scan_of(c, std::move(batches));
    auto rows = c.query("SELECT count(*), min(id), max(id), sum(n), count(\"user\".login) FROM " + scan.sql());
    BOOST_REQUIRE(rows.next());
    BOOST_TEST(rows[0].integer() == 4500);
    BOOST_TEST(rows[1].integer() == 1000);
    BOOST_TEST(rows[2].integer() == 5499);
    BOOST_TEST(rows[3].integer() == (1000 + 5499) * 4500);
    BOOST_TEST(rows[4].integer() == 4500 - 643);
}

BOOST_AUTO_TEST_CASE(what_the_source_throws_comes_out_of_the_query) {
    struct broken final : duck::batch_source {
        bool next(record_batch&) override { throw failure("value.mismatch", "row 7 is bad"); }
    };
    auto c = memory_database()->connect();
    auto scan = c.add_scan(schema_of("id BIGINT"), std::make_shared<broken>());
    BOOST_TEST(code_of([&] { c.query("SELECT * FROM " + scan.sql()); }) == "value.mismatch");
    BOOST_TEST(c.integer("SELECT 1") == 1);
}

BOOST_AUTO_TEST_CASE(a_batch_without_columns_is_refused) {
    auto c = memory_database()->connect();
    BOOST_TEST(code_of([&] {
                   c.add_scan(std::make_shared<const arrow_schema>(parse_ddl("")),
                              std::make_shared<batch_list>(std::vector<record_batch>()));
               }) != "");
}

BOOST_AUTO_TEST_CASE(zero_rows) {
    auto c = memory_database()->connect();
    std::vector<record_batch> batches;
    batches.push_back(numbers(0, 0));
    auto scan = scan_of(c, std::move(batches));
    BOOST_TEST(c.integer("SELECT count(*) FROM " + scan.sql()) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
