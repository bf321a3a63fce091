// host/land/delta_schema_test.cpp: tables whose source's columns change, and names that files cannot have: what is added, widened,
// mapped or refused, read back by delta-rs and by DuckDB's delta extension.
#include <boost/test/unit_test.hpp>

#include "host/land/delta/evolution.h"
#include "host/land/test_lake.h"

using namespace lakeflow::host;
using namespace lakeflow::host::test;

namespace {

flow_spec flow_of(land_mode mode, const char* ddl) {
    flow_spec flow = issue_flow(mode);
    flow.schema = schema_of(ddl);
    if (find_column(*flow.schema->get(), "updated_at") < 0) flow.cursor.clear(), flow.sequence_by.clear();
    return flow;
}

// Rows with these keys; every other column is filled by its type.
record_batch rows(const flow_spec& flow, std::int64_t from, std::int64_t count) {
    std::mt19937_64 random(static_cast<std::uint64_t>(from));
    return make_batch(flow.schema, count, [&](struct_column& t, std::int64_t row) {
        for (std::size_t i = 0; i < t.size(); ++i) {
            if (i > 0) {
                random_value(t.child(i), random);
            } else if (t.child(0).id() == type_id::int32) {
                at<fixed_column<std::int32_t>>(t, 0).append(static_cast<std::int32_t>(from + row));
            } else {
                at<i64>(t, 0).append(from + row);
            }
        }
    });
}

std::string columns_text(const std::string& table) {
    std::string out;
    for (const delta::field& f : delta::columns_of(state_of(table).meta))
        out += (out.empty() ? "" : ", ") + f.name + " " + delta::spark_type(f.type);
    return out;
}

void refused(lake& l, const flow_spec& flow, const std::string& named) {
    BOOST_CHECK_EXCEPTION(l.to->open(flow), failure, [&](const failure& f) {
        BOOST_TEST(f.get().message.find(named) != std::string::npos, f.get().message);
        return f.get().code == "destination.schema" && f.get().message.find("bronze") != std::string::npos;
    });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(delta_schema)

BOOST_AUTO_TEST_CASE(a_new_column_comes_last_and_a_missing_one_is_null) {
    for (const land_mode mode : {land_mode::append, land_mode::scd1, land_mode::scd2}) {
        BOOST_TEST_CONTEXT(to_string(mode)) {
            lake l(50);
            const flow_spec first =
                flow_of(mode, "id BIGINT NOT NULL, updated_at TIMESTAMP NOT NULL, a STRING, s STRUCT<x: INT>");
            land(*l.to->open(first), at_batch(1), rows(first, 1, 100));
            const flow_spec grown =
                flow_of(mode,
                        "id BIGINT NOT NULL, late INT NOT NULL, s STRUCT<x: INT, y: STRING>, updated_at "
                        "TIMESTAMP NOT NULL");
            auto target = l.to->open(grown);
            land(*target, at_batch(2), rows(grown, 51, 100));
            const std::string bounds = mode == land_mode::scd2 ? "__START_AT TIMESTAMP, __END_AT TIMESTAMP, " : "";
            BOOST_TEST(columns_text(l.table()) ==
                       "id BIGINT, updated_at TIMESTAMP, a STRING, s STRUCT<x: INT, y: STRING>, " + bounds +
                           "late INT");
            // In scd1 a row of an older sequence is dropped.
            const std::string landed = read_back(l.table(), "--where 'late IS NOT NULL'")["rows"];
            BOOST_TEST((mode == land_mode::scd1 ? landed != "0" : landed == "100"));
            BOOST_TEST(commits(l.table()).size() == 2u);
            land(*target, at_batch(3), rows(grown, 1, 1));
            BOOST_TEST(read_back(l.table())["distinct_keys"] == "150");
            // The flow that lacks the column goes on.
            land(*l.to->open(first), at_batch(4), rows(first, 1000, 10));
            BOOST_TEST(read_back(l.table())["distinct_keys"] == "160");
        }
    }
}

BOOST_AUTO_TEST_CASE(a_column_without_a_type_lands_when_it_has_one) {  // case 39
    lake l;
    const flow_spec untyped = flow_of(land_mode::scd1, "id BIGINT NOT NULL, v VOID");
    land(*l.to->open(untyped), at_batch(1), rows(untyped, 1, 10));
    BOOST_TEST(columns_text(l.table()) == "id BIGINT");
    const flow_spec typed = flow_of(land_mode::scd1, "id BIGINT NOT NULL, v STRUCT<a: BIGINT>");
    land(*l.to->open(typed), at_batch(2), rows(typed, 6, 10));
    BOOST_TEST(columns_text(l.table()) == "id BIGINT, v STRUCT<a: BIGINT>");
    land(*l.to->open(untyped), at_batch(3), rows(untyped, 11, 10));
    BOOST_TEST(read_back(l.table())["rows"] == "20");
}

BOOST_AUTO_TEST_CASE(a_wider_type_is_widened_by_rewriting) {
    for (const land_mode mode : {land_mode::append, land_mode::scd1, land_mode::snapshot}) {
        BOOST_TEST_CONTEXT(to_string(mode)) {
            lake l(20);
            const flow_spec narrow = flow_of(
                mode,
                "id INT NOT NULL, f FLOAT, d DECIMAL(6,2), n BIGINT, l ARRAY<SMALLINT>, s STRUCT<v: INT>, t BIGINT");
            land(*l.to->open(narrow), at_batch(1), rows(narrow, 1, 100));
            const std::string before = read_back(l.table(), "--keys id --where 'n IS NOT NULL'")["rows"];
            const flow_spec wide =
                flow_of(mode,
                        "id BIGINT NOT NULL, f DOUBLE, d DECIMAL(12,4), n DECIMAL(38,0), l ARRAY<BIGINT>, s "
                        "STRUCT<v: BIGINT>, t STRING");
            const std::int64_t first = mode == land_mode::snapshot ? 1 : 101;
            land(*l.to->open(wide), at_batch(2), rows(wide, first, 100));
            BOOST_TEST(columns_text(l.table()) ==
                       "id BIGINT, f DOUBLE, d DECIMAL(12,4), n DECIMAL(38,0), l ARRAY<BIGINT>, s STRUCT<v: BIGINT>, t "
                       "STRING");
            BOOST_TEST(read_back(l.table())["distinct_keys"] == (mode == land_mode::snapshot ? "100" : "200"));
            if (mode != land_mode::snapshot)
                BOOST_TEST(read_back(l.table(), "--keys id --where 'n IS NOT NULL AND id <= 100'")["rows"] == before);
            // The narrower flow still fits: each of its values is exactly one of the wider type.
            land(*l.to->open(narrow), at_batch(3), rows(narrow, first, 100));
            BOOST_TEST(read_back(l.table())["distinct_keys"] == (mode == land_mode::snapshot ? "100" : "200"));
        }
    }
}

BOOST_AUTO_TEST_CASE(rows_that_only_move_are_no_change_of_data) {
    lake l(20);
    const flow_spec narrow = flow_of(land_mode::scd1, "id BIGINT NOT NULL, n INT");
    land(*l.to->open(narrow), at_batch(1), rows(narrow, 1, 100));
    const flow_spec wide = flow_of(land_mode::scd1, "id BIGINT NOT NULL, n BIGINT");
    BOOST_TEST(land(*l.to->open(wide), at_batch(2), rows(wide, 1, 10)).files_rewritten == 5);
    const std::string commit = file_text(l.table() + "/_delta_log/" + commits(l.table()).back());
    std::size_t moved = 0;
    for (std::size_t at = 0; (at = commit.find("\"dataChange\":false", at)) != std::string::npos; ++at) ++moved;
    BOOST_TEST(moved == 8u);  // four files out, four in; the fifth holds the rows that changed
    BOOST_TEST(read_back(l.table())["rows"] == "100");
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_named_and_nothing_is_written) {
    lake l;
    const char* columns = "id BIGINT NOT NULL, t STRING, n INT, day DATE, s STRUCT<v: BOOLEAN>";
    const flow_spec flow = flow_of(land_mode::scd1, columns);
    land(*l.to->open(flow), at_batch(1), rows(flow, 1, 10));
    const auto before = commits(l.table());
    refused(l, flow_of(land_mode::scd1, "id STRING NOT NULL, t STRING"), "column id: STRING does not fit BIGINT");
    refused(l, flow_of(land_mode::scd1, "id BIGINT NOT NULL, n BOOLEAN"), "column n: BOOLEAN does not fit INT");
    refused(l, flow_of(land_mode::scd1, "id BIGINT NOT NULL, n FLOAT"), "column n: FLOAT does not fit INT");
    refused(l, flow_of(land_mode::scd1, "id BIGINT NOT NULL, day TIMESTAMP"),
            "column day: TIMESTAMP does not fit DATE");
    refused(l, flow_of(land_mode::scd1, "id BIGINT NOT NULL, s STRUCT<v: INT>"),
            "column s.v: INT does not fit BOOLEAN");
    refused(l, flow_of(land_mode::scd1, "id BIGINT NOT NULL, t ARRAY<STRING>"),
            "column t: ARRAY<STRING> does not fit STRING");
    flow_spec fixed = flow_of(land_mode::scd1, "id BIGINT NOT NULL, more STRING");
    fixed.schema_changes = schema_policy::fixed;
    refused(l, fixed, "column more (STRING) is not in the table");
    fixed.schema = schema_of("id BIGINT NOT NULL, n BIGINT");
    refused(l, fixed, "column n: BIGINT does not fit INT");
    fixed.schema = schema_of("id BIGINT NOT NULL, s STRUCT<v: BOOLEAN, w: INT>");
    refused(l, fixed, "field w is new");
    BOOST_TEST((commits(l.table()) == before));
    BOOST_TEST(data_files(l.table()).size() == 1u);
    // A column that differs from the table's only by case is found, in whichever run it comes.  (case 44)
    BOOST_TEST(code_of([&] { l.to->open(flow_of(land_mode::scd1, "id BIGINT NOT NULL, T STRING")); }) ==
               "destination.column_name");
}

BOOST_AUTO_TEST_CASE(a_table_of_its_own_widening_is_not_rewritten) {
    lake l(20);
    const flow_spec narrow = flow_of(land_mode::append, "id BIGINT NOT NULL, n INT");
    land(*l.to->open(narrow), at_batch(1), rows(narrow, 1, 100));
    // Another writer turns the feature on.
    const delta::snapshot state = state_of(l.table());
    delta::metadata meta = state.meta;
    meta.configuration["delta.enableTypeWidening"] = "true";
    delta::protocol proto{3, 7, true, true, {"typeWidening"}, {"typeWidening", "appendOnly", "invariants"}};
    std::ofstream(l.table() + "/_delta_log/00000000000000000001.json") << delta::to_json(proto) << delta::to_json(meta);
    const flow_spec wide = flow_of(land_mode::append, "id BIGINT NOT NULL, n BIGINT");
    BOOST_TEST(land(*l.to->open(wide), at_batch(2), rows(wide, 101, 10)).files_rewritten == 0);
    const delta::metadata now = state_of(l.table()).meta;
    BOOST_TEST(now.schema_string.find("\"delta.typeChanges\":[{\"fromType\":\"integer\",\"toType\":\"long\"}]") !=
               std::string::npos);
    BOOST_TEST(columns_text(l.table()) == "id BIGINT, n BIGINT");
    // Merges read the old files with the new type.
    flow_spec merge = wide;
    merge.mode = land_mode::scd1;
    merge.flow = "merge";
    BOOST_TEST(land(*l.to->open(merge), at_batch(1), rows(wide, 1, 5)).rows_landed > 0);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(delta_names)

constexpr const char* odd_columns =
    "`id no` BIGINT NOT NULL, `updated at` TIMESTAMP NOT NULL, `x,y` STRING, `a;b` STRUCT<`in side`: STRING, plain: "
    "INT>, `{c}` "
    "ARRAY<STRUCT<`(d)`: INT>>, `t\tn=` MAP<STRING, STRUCT<`e f`: INT>>, `.lead` STRING, `q\"uote` STRING, `b``t` "
    "STRING, "
    "`Code r\xc3\xa9gion` STRING, `select` STRING, `1inch` INT, plain STRING";

BOOST_AUTO_TEST_CASE(any_name_lands_in_every_mode) {  // case 43
    for (const land_mode mode : {land_mode::append, land_mode::scd1, land_mode::scd2, land_mode::snapshot}) {
        BOOST_TEST_CONTEXT(to_string(mode)) {
            lake l(50);
            flow_spec flow = flow_of(mode, odd_columns);
            flow.primary_keys = {"id no"};
            flow.cursor.clear();
            if (mode == land_mode::scd1 || mode == land_mode::scd2) flow.sequence_by = "updated at";
            auto target = l.to->open(flow);
            land(*target, at_batch(1), rows(flow, 1, 200));
            land(*target, at_batch(2), rows(flow, 151, 100));
            const std::string keys = mode == land_mode::snapshot ? "100" : "250";
            BOOST_TEST(read_back(l.table(), "--keys 'id no'")["distinct_keys"] == keys);
            BOOST_TEST(read_back(l.table(), "--keys 'id no' --where '\"id no\" = 177'")["distinct_keys"] == "1");
            const delta::snapshot state = state_of(l.table());
            BOOST_TEST(state.proto.min_reader == 2);
            BOOST_TEST(state.proto.min_writer == 5);
            BOOST_TEST(state.meta.configuration.at("delta.columnMapping.mode") == "name");
            // Names that files take stand for themselves, the others do not.
            const auto columns = delta::columns_of(state.meta);
            BOOST_TEST(columns.back().name == (mode == land_mode::scd2 ? "__END_AT" : "plain"));
            BOOST_TEST(columns.back().stored_name() == columns.back().name);
            BOOST_TEST(columns.front().stored_name().starts_with("col-"));
            for (const auto& [path, file] : state.files) {
                BOOST_TEST(file.stats.find("\"" + columns.front().stored_name() + "\"") != std::string::npos);
                BOOST_TEST(file.stats.find("id no") == std::string::npos);
            }
            BOOST_TEST((l.to->open(flow)->committed() == at_batch(2)));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_plain_table_gets_mapping_when_it_needs_it) {
    lake l;
    const flow_spec plain = flow_of(land_mode::scd1, "id BIGINT NOT NULL, a STRING, z TIMESTAMP_NTZ");
    land(*l.to->open(plain), at_batch(1), rows(plain, 1, 100));
    BOOST_TEST(!state_of(l.table()).meta.configuration.contains("delta.columnMapping.mode"));
    const flow_spec odd =
        flow_of(land_mode::scd1, "id BIGINT NOT NULL, a STRING, z TIMESTAMP_NTZ, `n o` STRUCT<`p q`: INT>");
    land(*l.to->open(odd), at_batch(2), rows(odd, 51, 100));
    BOOST_TEST(read_back(l.table())["distinct_keys"] == "150");
    BOOST_TEST(columns_text(l.table()) == "id BIGINT, a STRING, z TIMESTAMP_NTZ, n o STRUCT<p q: INT>");
    const delta::snapshot state = state_of(l.table());
    BOOST_TEST((state.proto.reader_features == std::vector<std::string>{"timestampNtz", "columnMapping"}));
    const std::string stored = delta::columns_of(state.meta).back().stored_name();
    land(*l.to->open(odd), at_batch(3), rows(odd, 200, 10));
    BOOST_TEST(delta::columns_of(state_of(l.table()).meta).back().stored_name() == stored);
}

BOOST_AUTO_TEST_CASE(names_that_fold_together_are_refused) {  // case 44
    lake l;
    const auto code = [&](const char* ddl) { return code_of([&] { l.to->open(flow_of(land_mode::append, ddl)); }); };
    BOOST_TEST(code("id BIGINT, `a b` STRING, `A B` STRING") == "destination.column_name");
    BOOST_TEST(code("id BIGINT, m MAP<STRING, STRUCT<A: INT, a: INT>>") == "destination.column_name");
    BOOST_TEST(!fs::exists(l.table()));
}

BOOST_AUTO_TEST_SUITE_END()
