// host/land/delta_model_test.cpp: generated histories into Delta tables of every mode, compared with what the modes mean
// (tests/support/land_oracle.h). LAKEFLOW_LAND_SEEDS says which: "17", or "1-2000".
#include <boost/test/unit_test.hpp>

#include "host/land/test_lake.h"
#include "tests/support/land_oracle.h"

using namespace lakeflow::host;
using namespace lakeflow::host::test;

namespace {

// The rows of the files that the log names, by plain JSON and DuckDB.
std::vector<std::string> rows_of(const std::string& table, const flow_spec& flow) {
    static const auto database = duck::database::open({});
    std::vector<std::string> rows;
    const std::vector<std::string> live = live_files(table);
    if (live.empty()) return rows;
    std::string list;
    for (const std::string& file : live) list += (list.empty() ? "" : ", ") + duck::quote_text(table + "/" + file);
    auto c = database->connect();
    for (auto found = c.query("SELECT " + testing::duckdb_row_text(flow) + " FROM read_parquet([" + list +
                              "], union_by_name = true)");
         found.next();) {
        rows.emplace_back(found[0].text());
    }
    return rows;
}

void check_mode(land_mode mode, std::uint64_t count) {
    testing::history_options options;
    options.mode = mode;
    for (const std::uint64_t seed : testing::history_seeds(count)) {
        // Small files, so that a batch touches some and not others.
        lake l(seed % 3 == 0 ? 1 << 20 : static_cast<std::int64_t>(2 + seed % 7));
        testing::check_destination(*l.to, options, seed, [&](const flow_spec& flow) {
            return rows_of(l.folder.path() + "/" + flow.table, flow);
        });
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(delta_model)

BOOST_AUTO_TEST_CASE(append) { check_mode(land_mode::append, 8); }
BOOST_AUTO_TEST_CASE(scd1) { check_mode(land_mode::scd1, 12); }
BOOST_AUTO_TEST_CASE(scd2) { check_mode(land_mode::scd2, 14); }
BOOST_AUTO_TEST_CASE(snapshot) { check_mode(land_mode::snapshot, 8); }

BOOST_AUTO_TEST_SUITE_END()
