// Every mode into DuckDB files, against the oracle.
#include <boost/test/unit_test.hpp>

#include "host/arrow/builder.h"
#include "host/base/error.h"
#include "host/duck/duck.h"
#include "tests/support/land_oracle.h"
#include "tests/support/refusal.h"
#include "tests/support/temporary_folder.h"

using namespace lakeflow::host;
using namespace lakeflow::host::testing;

namespace {

void check_mode(land_mode mode) {
    const temporary_folder folder;
    destination_options options;
    options.type = "duckdb";
    for (const std::uint64_t seed : history_seeds(12)) {
        // A file for a few histories: they share it as flows do.
        options.path = folder.string() + "/" + std::to_string(seed / 10) + ".duckdb";
        const auto to = make_destination(options, {}, nullptr);
        history_options wanted;
        wanted.mode = mode;
        wanted.odd_names = true;
        check_destination(*to, wanted, seed, [&](const flow_spec& flow) {
            std::vector<std::string> rows;
            duck::database_options file;
            file.path = options.path;
            file.read_only = true;
            if (!std::filesystem::exists(file.path)) return rows;
            auto c = duck::database::open(file)->connect();
            if (c.integer("SELECT count(*) FROM duckdb_tables() WHERE table_name = " + duck::quote_text(flow.table)) ==
                0)
                return rows;
            for (auto r = c.query("SELECT " + duckdb_row_text(flow) + " FROM " + duck::quote_name(flow.table));
                 r.next();)
                rows.emplace_back(r[0].text());
            return rows;
        });
    }
}

}  // namespace

namespace {

struct lake {
    temporary_folder folder;
    destination_options options;

    lake() {
        options.type = "duckdb";
        options.path = folder.string() + "/lake.duckdb";
    }
    void run(const std::string& sql) const {
        duck::database_options file;
        file.path = options.path;
        duck::database::open(file)->connect().run(sql);
    }
    std::vector<std::string> ask(const std::string& sql) const {
        duck::database_options file;
        file.path = options.path;
        file.read_only = true;
        auto c = duck::database::open(file)->connect();
        std::vector<std::string> out;
        for (auto rows = c.query(sql); rows.next();) out.emplace_back(rows[0].is_null() ? "~" : rows[0].text());
        return out;
    }
    land_result land(const flow_spec& flow, std::uint32_t batch, const std::vector<std::vector<cell>>& rows,
                     const std::vector<std::vector<cell>>& gone = {}) const {
        auto target = make_destination(options, {}, nullptr)->open(flow);
        auto landing = target->begin();
        if (!rows.empty()) landing->add(0, to_arrow(flow.schema, rows));
        if (!gone.empty()) landing->add_deletes(to_arrow(deletes_schema(flow), gone));
        return landing->commit({1, batch, "{\"n\":" + std::to_string(batch) + "}", "{}"});
    }
};

flow_spec flow_of(const std::string& ddl, land_mode mode) {
    flow_spec flow;
    flow.job = flow.flow = "f";
    flow.table = "t";
    flow.mode = mode;
    flow.schema = std::make_shared<const arrow_schema>(parse_ddl(ddl));
    flow.primary_keys = {std::string(name_of(flow.schema->column(0)))};
    return flow;
}

using texts = std::vector<std::string>;
const cell one = std::int64_t{1}, two = std::int64_t{2}, three = std::int64_t{3}, nine = std::int64_t{9};

}  // namespace

BOOST_AUTO_TEST_CASE(a_users_primary_key_and_lists_are_no_trouble) {  // case 55
    const lake l;
    l.run("CREATE TABLE t (id BIGINT PRIMARY KEY, v VARCHAR, s BIGINT, more VARCHAR[])");
    flow_spec flow = flow_of("id BIGINT NOT NULL, v STRING, s BIGINT", land_mode::scd1);
    flow.sequence_by = "s";
    l.land(flow, 1, {{one, "a", one}, {two, "b", one}, {three, "c", one}});
    l.run("UPDATE t SET more = ['x', NULL]");
    // Update, delete, and delete and insert of one key in one batch.
    l.land(flow, 2, {{one, "A", two}, {two, "B", three}}, {{two, two}, {three, two}});
    BOOST_TEST(l.ask("SELECT id || v || s FROM t ORDER BY id") == (texts{"1A2", "2B3"}),
               boost::test_tools::per_element());
    l.land(flow, 3, {{three, "C", nine}});
    BOOST_TEST(l.ask("SELECT id || v || s FROM t ORDER BY id") == (texts{"1A2", "2B3", "3C9"}),
               boost::test_tools::per_element());
    flow.mode = land_mode::append;
    flow.primary_keys.clear();
    const error e = refusal([&] { l.land(flow, 4, {{one, "x", one}}); });
    BOOST_TEST(e.code == "destination.constraint");
    BOOST_TEST(has(e.message, "table t"), e.message);

    const lake h;
    h.run(
        "CREATE TABLE t (id BIGINT, v VARCHAR, s BIGINT, __START_AT BIGINT NOT NULL, __END_AT BIGINT, more VARCHAR[], "
        "PRIMARY KEY (id, __START_AT))");
    flow_spec history = flow_of("id BIGINT NOT NULL, v STRING, s BIGINT", land_mode::scd2);
    history.sequence_by = "s";
    h.land(history, 1, {{one, "a", one}, {one, "c", nine}});
    h.run("UPDATE t SET more = ['x', NULL]");
    h.land(history, 2, {{one, "b", two}, {one, "C", nine}});
    BOOST_TEST(h.ask("SELECT v || __START_AT || coalesce(__END_AT::VARCHAR, '-') FROM t ORDER BY __START_AT") ==
                   (texts{"a12", "b29", "C9-"}),
               boost::test_tools::per_element());
}

// A merge that compared every row with every other would not end within the test's time.
BOOST_AUTO_TEST_CASE(a_second_batch_of_many_rows_is_merged_by_key) {
    constexpr std::int64_t count = 150'000;
    for (const land_mode mode : {land_mode::scd1, land_mode::scd2, land_mode::snapshot}) {
        const lake l;
        flow_spec flow = flow_of("id BIGINT NOT NULL, v STRING, s BIGINT", mode);
        if (mode != land_mode::snapshot) flow.sequence_by = "s";
        std::vector<std::vector<cell>> rows;
        for (std::int64_t id = 0; id < count; ++id) rows.push_back({id, "a", one});
        l.land(flow, 1, rows);
        for (std::size_t i = 0; i < rows.size(); i += 2) rows[i] = {rows[i][0], "b", two};
        l.land(flow, 2, rows);
        BOOST_TEST(l.ask("SELECT count(*)::VARCHAR FROM t WHERE v = 'b'") == texts{std::to_string(count / 2)},
                   boost::test_tools::per_element());
        BOOST_TEST(l.ask("SELECT count(*)::VARCHAR FROM t") ==
                       texts{std::to_string(mode == land_mode::scd2 ? count / 2 * 3 : count)},
                   boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(a_table_grows_with_its_source) {
    const lake l;
    l.run("CREATE TABLE t (v VARCHAR, id INTEGER, extra DOUBLE)");
    l.run("INSERT INTO t VALUES ('old', 7, 0.5)");
    flow_spec flow = flow_of("id BIGINT, fresh STRING", land_mode::scd1);
    flow.schema_changes = schema_policy::fixed;
    const error fixed = refusal([&] { l.land(flow, 1, {{nine, "x"}}); });
    BOOST_TEST(fixed.code == "destination.schema");
    BOOST_TEST(has(fixed.message, "column id"), fixed.message);
    flow.schema_changes = schema_policy::evolve;
    l.land(flow, 1, {{std::int64_t{1} << 40, "x"}});
    // Order is stable: what is new comes last; what the source lacks is null.
    BOOST_TEST(l.ask("SELECT column_name || ' ' || data_type FROM duckdb_columns() WHERE table_name = 't' ORDER BY "
                     "column_index") == (texts{"v VARCHAR", "id BIGINT", "extra DOUBLE", "fresh VARCHAR"}),
               boost::test_tools::per_element());
    BOOST_TEST(
        l.ask("SELECT concat_ws('|', coalesce(v, '~'), id, coalesce(extra::VARCHAR, '~'), coalesce(fresh, '~')) FROM t "
              "ORDER BY id") == (texts{"old|7|0.5|~", "~|1099511627776|~|x"}),
        boost::test_tools::per_element());
    flow.schema = std::make_shared<const arrow_schema>(parse_ddl("ID INT, fresh BIGINT"));
    flow.primary_keys = {"ID"};
    const error unrelated = refusal([&] { l.land(flow, 2, {}); });
    BOOST_TEST((unrelated.code == "destination.schema" && has(unrelated.message, "column fresh")), unrelated.message);
    // A narrower type in the source fits a wider column, whatever the case of its name.
    flow.schema = std::make_shared<const arrow_schema>(parse_ddl("ID SMALLINT"));
    auto table = make_table(*flow.schema->get());
    static_cast<fixed_column<std::int16_t>&>(table->child(0)).append(5);
    table->end_value();
    record_batch small;
    small.schema = flow.schema;
    small.array = table->finish();
    auto target = make_destination(l.options, {}, nullptr)->open(flow);
    auto landing = target->begin();
    landing->add(0, std::move(small));
    BOOST_TEST(landing->commit({1, 2, "{}", "{}"}).rows_landed == 1);
    BOOST_TEST(l.ask("SELECT count(*)::VARCHAR FROM t WHERE id = 5") == texts{"1"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_struct_that_grows_is_refused_by_name) {
    const lake l;
    l.run("CREATE TABLE t (id BIGINT, s STRUCT(a INTEGER))");
    flow_spec flow = flow_of("id BIGINT, s STRUCT<a: INT, b: STRING>", land_mode::scd1);
    const error e = refusal([&] { make_destination(l.options, {}, nullptr)->open(flow); });
    BOOST_TEST(e.code == "destination.schema");
    BOOST_TEST((has(e.message, "column s") && has(e.message, "STRUCT(a INTEGER)")), e.message);
}

BOOST_AUTO_TEST_CASE(guards_of_a_snapshot) {
    const lake l;
    flow_spec flow = flow_of("id BIGINT, v STRING", land_mode::snapshot);
    flow.max_delete_ratio = 0.5;
    l.land(flow, 1, {{one, "a"}, {two, "a"}, {three, "a"}});
    BOOST_TEST(refusal([&] { l.land(flow, 2, {{three, "a"}, {nine, "a"}}); }).code == "destination.too_many_deletes");
    BOOST_TEST(refusal([&] { l.land(flow, 2, {}); }).code == "destination.would_empty");
    BOOST_TEST(l.ask("SELECT id::VARCHAR FROM t ORDER BY id") == (texts{"1", "2", "3"}),
               boost::test_tools::per_element());
    BOOST_TEST(!l.land(flow, 2, {{three, "a"}, {two, "a"}, {one, "a"}}).committed);
    BOOST_TEST(l.ask("SELECT end_offset FROM _lakeflow_positions") == texts{"{\"n\":2}"},
               boost::test_tools::per_element());
    const land_result third = l.land(flow, 2, {{three, "c"}, {two, "a"}});
    BOOST_TEST((third.committed && third.rows_deleted == 1));
}

BOOST_AUTO_TEST_CASE(scd2_refuses_what_it_cannot_place) {
    const lake l;
    flow_spec flow = flow_of("id BIGINT, s BIGINT", land_mode::scd2);
    BOOST_TEST(refusal([&] { l.land(flow, 1, {}); }).code == "config.sequence_by");
    flow.sequence_by = "s";
    const error e = refusal([&] { l.land(flow, 1, {{one, cell{}}}); });
    BOOST_TEST((e.code == "value.null_cursor" && has(e.message, "column s")), e.message);
    BOOST_TEST(refusal([&] { l.land(flow, 1, {{cell{}, one}}); }).code == "key.null");
    l.run("CREATE TABLE t (id BIGINT, s BIGINT)");
    BOOST_TEST(refusal([&] { l.land(flow, 1, {{one, one}}); }).code == "destination.schema");
    flow.schema = std::make_shared<const arrow_schema>(parse_ddl("id BIGINT, s BIGINT, __end_at BIGINT"));
    BOOST_TEST(refusal([&] { l.land(flow, 1, {}); }).code == "destination.column_name");
}

BOOST_AUTO_TEST_CASE(append_is_what_the_oracle_says) { check_mode(land_mode::append); }
BOOST_AUTO_TEST_CASE(scd1_is_what_the_oracle_says) { check_mode(land_mode::scd1); }
BOOST_AUTO_TEST_CASE(scd2_is_what_the_oracle_says) { check_mode(land_mode::scd2); }
BOOST_AUTO_TEST_CASE(snapshot_is_what_the_oracle_says) { check_mode(land_mode::snapshot); }
