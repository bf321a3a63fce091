// Names that fold together, in every destination that needs no server: refused by both names before anything is written where the
// destination or a reader of it would take them for one, kept apart where they are two.
#include <boost/test/unit_test.hpp>
#include <fstream>

#include "host/base/error.h"
#include "tests/support/land_oracle.h"
#include "tests/support/refusal.h"
#include "tests/support/temporary_folder.h"

using namespace lakeflow::host;
using namespace lakeflow::host::testing;

namespace {

namespace fs = std::filesystem;

flow_spec flow_of(const std::string& ddl) {
    flow_spec flow;
    flow.job = flow.flow = "f";
    flow.table = "t";
    flow.schema = std::make_shared<const arrow_schema>(parse_ddl(ddl));
    return flow;
}

struct lake {
    temporary_folder folder;
    destination_options options;
    explicit lake(const std::string& type) {
        options.type = type;
        options.path = folder.string() + (type == "duckdb" ? "/lake.duckdb" : "/lake");
    }
    error refusal(const flow_spec& flow) const {
        return testing::refusal([&] { make_destination(options, {}, nullptr)->open(flow); });
    }
    bool empty() const { return fs::is_empty(folder.string()); }
};

}  // namespace

BOOST_AUTO_TEST_CASE(names_that_differ_by_case_alone_are_refused_before_a_byte_is_written) {
    for (const std::string type : {"delta", "duckdb"}) {
        for (const std::string ddl : {"Total INT, id INT, tOTAL INT", "s STRUCT<Total: INT, tOTAL: INT>"}) {
            BOOST_TEST_CONTEXT(type << ": " << ddl) {
                const lake l(type);
                const error e = l.refusal(flow_of(ddl));
                BOOST_TEST(e.code == "destination.column_name", e.code << ": " << e.message);
                BOOST_TEST((has(e.message, "Total") && has(e.message, "tOTAL") && has(e.message, "t")), e.message);
                BOOST_TEST(l.empty());
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(json_lines_keep_them_apart) {
    using namespace std::string_literals;
    const lake l("jsonl");
    const flow_spec flow = flow_of("Total STRING, total STRING");
    auto target = make_destination(l.options, {}, nullptr)->open(flow);
    auto landing = target->begin();
    landing->add(0, to_arrow(flow.schema, {{"a"s, "b"s}}));
    landing->commit({target->take_over(), 1, "{}", "{}"});
    std::ifstream in(l.options.path + "/t.jsonl");
    std::string line;
    std::getline(in, line);
    BOOST_TEST(line == R"({"Total":"a","total":"b"})");
}
