// host/land/delta_test.cpp: batches into Delta tables, read back by delta-rs and by DuckDB's delta extension.
#include <boost/test/unit_test.hpp>

#include "host/land/test_lake.h"

using namespace lakeflow::host;
using namespace lakeflow::host::test;

namespace {

struct lake {
    temporary_folder folder;
    destination_options options;
    std::unique_ptr<destination> to;

    explicit lake(std::int64_t max_file_rows = 1 << 20) {
        options.type = "delta";
        options.path = folder.path();
        options.max_file_rows = max_file_rows;
        to = make_destination(options, {}, nullptr);
    }
    std::string table() const { return folder.path() + "/bronze"; }
    std::unique_ptr<target> open(land_mode mode) { return to->open(issue_flow(mode)); }
};

std::map<std::int64_t, std::string> expected(std::int64_t from, std::int64_t count,
                                             const std::string& title = "first") {
    std::map<std::int64_t, std::string> rows;
    for (std::int64_t id = from; id < from + count; ++id) rows[id] = title + " " + std::to_string(id);
    return rows;
}

void check_rows(const std::string& table, const std::map<std::int64_t, std::string>& rows) {
    const contents found = read_table(table);
    BOOST_TEST(found.rows.size() == rows.size());
    BOOST_TEST((found.rows == std::multimap<std::int64_t, std::string>(rows.begin(), rows.end())));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(delta_append)

BOOST_AUTO_TEST_CASE(lands_and_is_read_by_others) {
    lake l;
    auto target = l.open(land_mode::append);
    BOOST_TEST(!target->committed().has_value());
    BOOST_TEST(target->take_over() == 1u);
    const land_result first = land(*target, at_batch(1), issues(1, 3000), issues(3001, 2000));
    BOOST_TEST(first.rows_landed == 5000);
    BOOST_TEST(first.files_written == 1);
    BOOST_TEST(first.version == "0");
    const land_result second = land(*target, at_batch(2), issues(5001, 10));
    BOOST_TEST(second.rows_landed == 10);
    check_rows(l.table(), expected(1, 5010));
    auto read = read_back(l.table());
    BOOST_TEST(read["rows"] == "5010");
    BOOST_TEST(read["distinct_keys"] == "5010");
    BOOST_TEST(read["version"] == "1");
    BOOST_TEST((target->committed() == at_batch(2)));
    // Another process sees the same, and none of it has needed DuckDB.
    lake other;
    other.options.path = l.options.path;
    other.options.duckdb_library = "/nonexistent";
    auto again = make_destination(other.options, {}, nullptr)->open(issue_flow(land_mode::append));
    BOOST_TEST((again->committed() == at_batch(2)));
    BOOST_TEST(again->take_over() == 2u);
}

BOOST_AUTO_TEST_SUITE_END()
