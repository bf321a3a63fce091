// Rows that are put aside, and snapshots of a part, in the destinations that need no server: they land with their batch, once, whatever
// how often it is landed; a step that fails leaves nothing behind that a second attempt would double.
#include <boost/json.hpp>
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <set>

#include "host/base/error.h"
#include "host/duck/duck.h"
#include "host/land/duckdb/duckdb.h"
#include "host/land/quarantine.h"
#include "host/scan/predicate.h"
#include "tests/support/land_oracle.h"
#include "tests/support/refusal.h"
#include "tests/support/temporary_folder.h"

using namespace lakeflow::host;
using namespace lakeflow::host::testing;

namespace {

namespace fs = std::filesystem;
using texts = std::vector<std::string>;
const cell one = std::int64_t{1}, two = std::int64_t{2}, three = std::int64_t{3}, four = std::int64_t{4};

std::shared_ptr<mismatch_log> a_log(mismatch_policy policy = mismatch_policy::quarantine,
                                    std::optional<std::int64_t> most = {}) {
    mismatch_log::about about;
    about.job = "job";
    about.flow = "t";
    about.table = "t";
    about.run_id = "run";
    about.policy = policy;
    about.most = most;
    return std::make_shared<mismatch_log>(about);
}

flow_spec flow_of(land_mode mode) {
    flow_spec flow;
    flow.job = "job";
    flow.flow = flow.table = "t";
    flow.mode = mode;
    flow.schema = std::make_shared<const arrow_schema>(parse_ddl("id BIGINT NOT NULL, v STRING"));
    if (mode != land_mode::append) flow.primary_keys = {"id"};
    flow.mismatches = a_log();
    return flow;
}

bad_row bad(const std::string& row) { return {row, "t: column v: it does not fit", "value.mismatch", "v"}; }

struct lake {
    temporary_folder folder;
    destination_options options;

    explicit lake(const std::string& type) {
        options.type = type;
        options.path = folder.string() + (type == "duckdb" ? "/lake.duckdb" : "/lake");
    }
    std::string relation(const std::string& table) const {
        if (options.type == "duckdb") return duck::quote_name(table);
        if (options.type == "jsonl")
            return "read_json(" + duck::quote_text(options.path + "/" + table + ".jsonl") + ")";
        std::string live;
        std::set<std::string> files;
        for (int version = 0;; ++version) {
            std::string name = std::to_string(version);
            name.insert(0, 20 - name.size(), '0');
            std::ifstream log(options.path + "/" + table + "/_delta_log/" + name + ".json");
            if (!log) break;
            for (std::string line; std::getline(log, line);) {
                const auto action = boost::json::parse(line).as_object();
                if (const auto* gone = action.if_contains("remove")) files.erase(gone->at("path").as_string().c_str());
                if (const auto* made = action.if_contains("add")) files.insert(made->at("path").as_string().c_str());
            }
        }
        for (const auto& file : files)
            live += (live.empty() ? "" : ", ") + duck::quote_text(options.path + "/" + table + "/" + file);
        return live.empty() ? "(SELECT 0 AS id, '' AS v, '' AS \"row\" WHERE false)" : "read_parquet([" + live + "])";
    }
    texts ask(const std::string& table, const std::string& what) const {
        duck::database_options file;
        if (options.type == "duckdb") {
            file.path = options.path;
            file.read_only = true;
        }
        auto c = duck::database::open(file)->connect();
        texts out;
        for (auto rows = c.query("SELECT " + what + " AS x FROM " + relation(table) + " ORDER BY x"); rows.next();)
            out.emplace_back(rows[0].is_null() ? "~" : rows[0].text());
        return out;
    }
    texts main() const { return ask("t", "id::VARCHAR || v"); }
    texts aside() const { return ask("t__quarantine", "\"row\"::VARCHAR"); }
};

land_result land(destination& to, const flow_spec& flow, std::uint32_t batch,
                 const std::vector<std::vector<cell>>& rows, const std::vector<bad_row>& aside = {}) {
    auto target = to.open(flow);
    const std::uint32_t epoch = target->take_over();
    flow.mismatches->begin_anew();
    flow.mismatches->at(epoch, batch, "{\"n\":" + std::to_string(batch - 1) + "}");
    auto landing = target->begin();
    if (!rows.empty()) landing->add(0, to_arrow(flow.schema, rows));
    if (!aside.empty()) landing->quarantine(flow.mismatches->rows(aside));
    return landing->commit({epoch, batch, "{\"n\":" + std::to_string(batch) + "}", "{}"});
}

}  // namespace

BOOST_AUTO_TEST_CASE(rows_are_put_aside_with_their_batch_and_once) {
    for (const std::string type : {"delta", "duckdb", "jsonl"}) {
        BOOST_TEST_CONTEXT(type) {
            const lake l(type);
            const auto to = make_destination(l.options, {}, nullptr);
            const flow_spec flow = flow_of(land_mode::append);
            land(*to, flow, 1, {{one, "a"}}, {bad(R"({"id":2})"), bad(R"({"id":3})"), bad(R"({"id":3})")});
            BOOST_TEST(l.main() == (texts{"1a"}), boost::test_tools::per_element());
            BOOST_TEST(l.aside() == (texts{R"({"id":2})", R"({"id":3})", R"({"id":3})"}),
                       boost::test_tools::per_element());
            // A later batch brings one again, as an inclusive read does, and a new one; and one that has bad rows alone.
            land(*to, flow, 2, {{two, "b"}}, {bad(R"({"id":3})"), bad(R"({"id":4})")});
            land(*to, flow, 3, {}, {bad(R"({"id":5})")});
            BOOST_TEST(l.main() == (texts{"1a", "2b"}), boost::test_tools::per_element());
            BOOST_TEST(l.aside() == (texts{R"({"id":2})", R"({"id":3})", R"({"id":3})", R"({"id":4})", R"({"id":5})"}),
                       boost::test_tools::per_element());
            BOOST_TEST(l.ask("t__quarantine", "code || ' ' || column_name || ' ' || reason").front() ==
                       "value.mismatch v t: column v: it does not fit");
            BOOST_TEST(has(l.ask("t__quarantine", "position::VARCHAR").front(), "batch"));
            // Without quarantine there is no side table.
            flow_spec plain = flow_of(land_mode::append);
            plain.table = plain.flow = "plain";
            plain.mismatches = a_log(mismatch_policy::fail);
            land(*to, plain, 1, {{one, "a"}});
            BOOST_TEST(!fs::exists(l.options.path + "/plain__quarantine"));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_batch_that_fails_between_the_two_tables_is_landed_once_by_the_next_run) {
    for (const std::string type : {"delta", "jsonl"}) {
        BOOST_TEST_CONTEXT(type) {
            const lake l(type);
            const auto to = make_destination(l.options, {}, nullptr);
            const flow_spec flow = flow_of(land_mode::append);
            land(*to, flow, 1, {{one, "a"}}, {bad(R"({"id":2})")});
            // The run died when the side table had its commit and the table had not: only the side table is landed.
            {
                auto side = to->open(quarantine_flow(flow_of(land_mode::append)));
                auto landing = side->begin();
                flow.mismatches->begin_anew();
                landing->add(0, flow.mismatches->rows({bad(R"({"id":3})")}));
                landing->commit({side->take_over() + 3, 2, "{\"n\":2}", "{}"});
            }
            land(*to, flow, 2, {{four, "d"}}, {bad(R"({"id":3})"), bad(R"({"id":5})")});
            BOOST_TEST(l.main() == (texts{"1a", "4d"}), boost::test_tools::per_element());
            BOOST_TEST(l.aside() == (texts{R"({"id":2})", R"({"id":3})", R"({"id":5})"}),
                       boost::test_tools::per_element());
        }
    }
}

BOOST_AUTO_TEST_CASE(duckdb_lands_both_or_neither) {
    for (const std::string stop : {"open", "write", "position", "commit", "close"}) {
        BOOST_TEST_CONTEXT(stop) {
            const lake l("duckdb");
            bool armed = false;
            const auto to = duckdb::make_duckdb_destination(l.options, {}, nullptr, [&](std::string_view at) {
                if (armed && at == stop) throw std::runtime_error("killed");
            });
            const flow_spec flow = flow_of(land_mode::scd1);
            land(*to, flow, 1, {{one, "a"}}, {bad(R"({"id":2})")});
            armed = true;
            BOOST_CHECK_THROW(land(*to, flow, 2, {{one, "b"}}, {bad(R"({"id":3})")}), std::runtime_error);
            armed = false;
            const bool landed = stop == "close";
            BOOST_TEST(l.main() == texts{landed ? "1b" : "1a"}, boost::test_tools::per_element());
            BOOST_TEST(l.aside().size() == (landed ? 2u : 1u));
            if (!landed) land(*to, flow, 2, {{one, "b"}}, {bad(R"({"id":3})")});
            BOOST_TEST(l.main() == texts{"1b"}, boost::test_tools::per_element());
            BOOST_TEST(l.aside() == (texts{R"({"id":2})", R"({"id":3})"}), boost::test_tools::per_element());
        }
    }
}

BOOST_AUTO_TEST_CASE(so_many_bad_values_are_borne_and_no_more) {
    const auto log = a_log(mismatch_policy::quarantine, 3);
    log->count({2, 0, 0}, "");
    BOOST_TEST(log->committed().read == 2);
    log->count({0, 0, 1}, "");
    const error e = refusal([&] { log->count({0, 1, 0}, "the fourth"); });
    BOOST_TEST(e.code == "value.mismatch");
    BOOST_TEST((has(e.message, "table t") && has(e.message, "max_mismatches = 3") && has(e.message, "the fourth")),
               e.message);
    log->begin_anew();
    log->count({1, 0, 0}, "");  // a batch that is read again is not counted twice
    auto redactor = std::make_shared<secrets>();
    redactor->add("hunter2-secret");
    mismatch_log::about about;
    about.redactor = redactor;
    const record_batch rows = mismatch_log(about).rows({bad(R"({"v":"hunter2-secret"})")});
    BOOST_TEST(!has(value_text(rows.schema->column(1), *rows.array.get()->children[1], 0), "hunter2"));
}

BOOST_AUTO_TEST_CASE(standard_output_has_no_place_for_a_side_table) {
    destination_options options;
    options.type = "jsonl";
    options.path = "-";
    const auto to = make_destination(options, {}, nullptr);
    BOOST_TEST(refusal([&] { to->open(flow_of(land_mode::append)); }).code == "config.not_supported");
}

namespace {

std::shared_ptr<const predicate> v_is(const std::string& value) {
    predicate p;
    p.op = predicate_op::equal;
    p.column = {"v"};
    p.type.id = type_id::utf8;
    p.format = "u";
    p.values = {value};
    return std::make_shared<const predicate>(p);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_snapshot_of_a_part_leaves_the_rest_alone) {  // contract 37
    for (const std::string type : {"delta", "duckdb"}) {
        for (const bool keyed : {true, false}) {
            BOOST_TEST_CONTEXT(type << (keyed ? " with keys" : " without")) {
                const lake l(type);
                const auto to = make_destination(l.options, {}, nullptr);
                flow_spec flow = flow_of(land_mode::snapshot);
                if (!keyed) flow.primary_keys.clear();
                land(*to, flow, 1, {{one, "in"}, {two, "out"}, {three, "in"}, {four, cell{}}});
                flow.filter = v_is("in");
                const land_result second = land(*to, flow, 2, {{three, "in"}, {std::int64_t{5}, "in"}});
                BOOST_TEST(second.committed);
                BOOST_TEST(second.rows_deleted == (keyed ? 1 : type == "duckdb" ? 1 : 0));
                BOOST_TEST(l.ask("t", "id::VARCHAR || coalesce(v, '~')") == (texts{"2out", "3in", "4~", "5in"}),
                           boost::test_tools::per_element());
                const land_result same = land(*to, flow, 3, {{std::int64_t{5}, "in"}, {three, "in"}});
                BOOST_TEST(!same.committed);
                // One that the filter did not let through comes inside.
                land(*to, flow, 3, {{three, "in"}, {std::int64_t{5}, "in"}, {two, "in"}});
                const texts wanted =
                    keyed ? texts{"2in", "3in", "4~", "5in"} : texts{"2in", "2out", "3in", "4~", "5in"};
                BOOST_TEST(l.ask("t", "id::VARCHAR || coalesce(v, '~')") == wanted, boost::test_tools::per_element());
                // Nothing passes any more: guarded, and only the part would go.
                BOOST_TEST(refusal([&] { land(*to, flow, 4, {}); }).code == "destination.would_empty");
                flow.allow_empty = true;
                land(*to, flow, 4, {});
                const texts left = keyed ? texts{"4~"} : texts{"2out", "4~"};
                BOOST_TEST(l.ask("t", "id::VARCHAR || coalesce(v, '~')") == left, boost::test_tools::per_element());
                BOOST_TEST(!land(*to, flow, 5, {}).committed);
                flow.max_delete_ratio = 0.4;
                land(*to, flow, 6, {{one, "in"}, {three, "in"}});
                BOOST_TEST(refusal([&] { land(*to, flow, 7, {{one, "in"}}); }).code == "destination.too_many_deletes");
            }
        }
    }
    const lake l("jsonl");
    const auto to = make_destination(l.options, {}, nullptr);
    flow_spec flow = flow_of(land_mode::snapshot);
    flow.filter = v_is("in");
    BOOST_TEST(refusal([&] { to->open(flow); }).code == "config.not_supported");
}
