// host/land/delta_log_test.cpp: what a Delta table must be beyond its rows: names and types that are refused before a file is written,
// statistics, checkpoints, writers that meet, and a crash after every step of a commit.
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <stdexcept>
#include <thread>

#include "host/land/delta/delta.h"
#include "host/land/delta/log.h"
#include "host/land/delta/schema.h"
#include "host/land/delta/stats.h"
#include "host/land/test_lake.h"

using namespace lakeflow::host;
using namespace lakeflow::host::test;

namespace {

// The content of a folder, names and bytes.
std::map<std::string, std::string> files_below(const std::string& folder) {
    std::map<std::string, std::string> found;
    if (!fs::exists(folder)) return found;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (entry.is_regular_file())
            found[entry.path().string().substr(folder.size())] = file_text(entry.path().string());
    }
    return found;
}

void write_file(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << text;
}

constexpr const char* issue_columns =
    "{\"name\":\"id\",\"type\":\"long\",\"nullable\":false,\"metadata\":{}},{\"name\":\"updated_at\",\"type\":"
    "\"timestamp\","
    "\"nullable\":true,\"metadata\":{}},{\"name\":\"title\",\"type\":\"string\",\"nullable\":true,\"metadata\":{%}},{"
    "\"name\":\"user\","
    "\"type\":{\"type\":\"struct\",\"fields\":[{\"name\":\"login\",\"type\":\"string\",\"nullable\":true,\"metadata\":{"
    "}}]},"
    "\"nullable\":true,\"metadata\":{}},{\"name\":\"labels\",\"type\":{\"type\":\"array\",\"elementType\":\"string\","
    "\"containsNull\":"
    "true},\"nullable\":true,\"metadata\":{}}";

// A table without files, with these parts of protocol, configuration and the title column's metadata.
void make_foreign(const std::string& table, const std::string& proto, const std::string& configuration,
                  const std::string& column_metadata) {
    std::string columns = issue_columns;
    columns.replace(columns.find('%'), 1, column_metadata);
    delta::metadata meta;
    meta.id = "11111111-2222-3333-4444-555555555555";
    meta.schema_string = "{\"type\":\"struct\",\"fields\":[" + columns + "]}";
    std::string text = delta::to_json(meta);
    text.replace(text.find("\"configuration\":{}"), 18, "\"configuration\":{" + configuration + "}");
    write_file(table + "/_delta_log/00000000000000000000.json", "{\"protocol\":" + proto + "}\n" + text);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(delta_refusals)

BOOST_AUTO_TEST_CASE(features_that_are_not_written_are_refused_by_name) {  // case 59
    struct sample {
        const char* proto;
        const char* configuration;
        const char* column;
        land_mode mode;
        const char* named;  // empty: accepted
    };
    constexpr const char* plain = "{\"minReaderVersion\":1,\"minWriterVersion\":2}";
    const sample samples[] = {
        {plain, "", "", land_mode::scd1, ""},
        {plain, "\"delta.appendOnly\":\"true\"", "", land_mode::append, ""},
        {plain, "\"delta.appendOnly\":\"true\"", "", land_mode::scd1, "delta.appendOnly"},
        {"{\"minReaderVersion\":1,\"minWriterVersion\":3}", "\"delta.constraints.positive\":\"id > 0\"", "",
         land_mode::append, "positive"},
        {"{\"minReaderVersion\":1,\"minWriterVersion\":4}", "\"delta.enableChangeDataFeed\":\"true\"", "",
         land_mode::scd1, "change data feed"},
        {"{\"minReaderVersion\":1,\"minWriterVersion\":4}", "", "\"delta.generationExpression\":\"id\"",
         land_mode::append, "generated column"},
        {"{\"minReaderVersion\":2,\"minWriterVersion\":5}", "\"delta.columnMapping.mode\":\"id\"", "",
         land_mode::append, "column mapping by id"},
        {"{\"minReaderVersion\":1,\"minWriterVersion\":6}", "", "\"delta.identity.start\":1", land_mode::append,
         "identity column"},
        {"{\"minReaderVersion\":3,\"minWriterVersion\":7,\"readerFeatures\":[\"xyz\"],\"writerFeatures\":[\"xyz\"]}",
         "", "", land_mode::append, "xyz"},
        {"{\"minReaderVersion\":1,\"minWriterVersion\":7,\"writerFeatures\":[\"rowTracking\"]}", "", "",
         land_mode::append, "rowTracking"},
        {"{\"minReaderVersion\":3,\"minWriterVersion\":7,\"readerFeatures\":[\"deletionVectors\"],\"writerFeatures\":["
         "\"deletionVectors\"]}",
         "\"delta.enableDeletionVectors\":\"true\"", "", land_mode::scd1, ""},
        {"{\"minReaderVersion\":4,\"minWriterVersion\":8}", "", "", land_mode::append, "reader version 4"},
        {plain, "", "\"delta.invariants\":\"{}\"", land_mode::append, "invariant"},
    };
    for (const sample& s : samples) {
        lake l;
        make_foreign(l.table(), s.proto, s.configuration, s.column);
        const auto before = files_below(l.table());
        BOOST_TEST_CONTEXT(s.proto << " " << s.configuration << " " << s.column) {
            if (!*s.named) {
                auto target = l.open(s.mode);
                BOOST_TEST(land(*target, at_batch(1), issues(1, 10)).rows_landed == 10);
                continue;
            }
            BOOST_CHECK_EXCEPTION(l.open(s.mode), failure, [&](const failure& f) {
                return f.get().code == "destination.unsupported_table" &&
                       f.get().message.find(s.named) != std::string::npos &&
                       f.get().message.find("bronze") != std::string::npos;
            });
            BOOST_TEST((files_below(l.table()) == before));
        }
    }
}

BOOST_AUTO_TEST_CASE(columns_that_do_not_fit_are_refused_by_name) {
    lake l;
    land(*l.open(land_mode::append), at_batch(1), issues(1, 10));
    const auto before = files_below(l.table());
    const auto refused = [&](const char* ddl, const char* named) {
        flow_spec flow = issue_flow(land_mode::append);
        flow.flow = "other";
        flow.schema = schema_of(ddl);
        BOOST_CHECK_EXCEPTION(l.to->open(flow), failure, [&](const failure& f) {
            return f.get().code == "destination.schema" && f.get().message.find(named) != std::string::npos;
        });
    };
    refused("id STRING NOT NULL, title STRING", "column id: STRING does not fit BIGINT");
    refused("id BIGINT, title STRING", "column id may be null in the source");
    refused("id BIGINT NOT NULL, user STRUCT<login: BOOLEAN>", "column user.login");
    refused("id BIGINT NOT NULL, labels ARRAY<BOOLEAN>", "column labels");
    BOOST_TEST((files_below(l.table()) == before));
    // Columns that the source lacks are null.
    flow_spec fewer = issue_flow(land_mode::append);
    fewer.flow = "fewer";
    fewer.schema = schema_of("title STRING, id BIGINT NOT NULL");
    auto target = l.to->open(fewer);
    land(*target, at_batch(1), make_batch(fewer.schema, 1, [](struct_column& t, std::int64_t) {
        at<text_column>(t, 0).append("bare");
        at<i64>(t, 1).append(99);
    }));
    auto rows = expected(1, 10);
    rows[99] = "bare";
    check_rows(l.table(), rows);
    BOOST_TEST(read_back(l.table(), "--where 'updated_at IS NULL'")["rows"] == "1");
}

BOOST_AUTO_TEST_CASE(names_that_readers_confuse_are_refused) {  // cases 43, 44
    lake l;
    const auto code = [&](const char* ddl) {
        flow_spec flow = issue_flow(land_mode::append);
        flow.schema = schema_of(ddl);
        return code_of([&] { l.to->open(flow); });
    };
    BOOST_TEST(code("id BIGINT, Name STRING, name STRING") == "destination.column_name");
    BOOST_TEST(code("id BIGINT, s STRUCT<A: INT, a: INT>") == "destination.column_name");
    BOOST_TEST(code("id BIGINT, s ARRAY<STRUCT<A: INT, a: INT>>") == "destination.column_name");
    BOOST_TEST(code("id BIGINT, `\xc3\x89t` INT, `\xc3\xa9t` INT") == "destination.column_name");
    BOOST_TEST(!fs::exists(l.table()));
    // Odd names that Parquet and Delta take.
    flow_spec flow = issue_flow(land_mode::scd1);
    flow.sequence_by.clear();
    flow.primary_keys = {"id", "a.b"};
    flow.schema = schema_of(
        "id BIGINT NOT NULL, `a.b` STRING NOT NULL, `1inch` INT, `y--1` INT, `q\"uote` STRING, `select` STRING, "
        "UserCode STRING");
    auto target = l.to->open(flow);
    const auto batch = [&](std::int64_t rows, const std::string& code) {
        return make_batch(flow.schema, rows, [&](struct_column& t, std::int64_t row) {
            at<i64>(t, 0).append(row);
            at<text_column>(t, 1).append("k" + std::to_string(row));
            at<fixed_column<std::int32_t>>(t, 2).append(1);
            at<fixed_column<std::int32_t>>(t, 3).append(2);
            for (const std::size_t i : {4u, 5u, 6u}) at<text_column>(t, i).append(code);
        });
    };
    land(*target, at_batch(1), batch(100, "first"));
    BOOST_TEST(land(*target, at_batch(2), batch(10, "second")).files_rewritten == 1);
    BOOST_TEST(read_back(l.table(), "--keys id,a.b")["distinct_keys"] == "100");
}

BOOST_AUTO_TEST_CASE(what_a_mode_needs_is_asked_before_anything_is_written) {
    lake l;
    flow_spec flow = issue_flow(land_mode::scd1);
    flow.primary_keys.clear();
    BOOST_TEST(code_of([&] { l.to->open(flow); }) == "config.primary_keys");
    flow.primary_keys = {"nothing"};
    BOOST_TEST(code_of([&] { l.to->open(flow); }) == "config.primary_keys");
    flow = issue_flow(land_mode::scd1);
    flow.sequence_by = "nothing";
    BOOST_TEST(code_of([&] { l.to->open(flow); }) == "config.sequence_by");
    flow = issue_flow(land_mode::scd2);
    flow.sequence_by.clear();
    BOOST_TEST(code_of([&] { l.to->open(flow); }) == "config.sequence_by");
    flow = issue_flow(land_mode::append);
    flow.table = "../elsewhere";
    BOOST_TEST(code_of([&] { l.to->open(flow); }) == "config.destination");
    destination_options other;
    other.type = "oracle";
    BOOST_TEST(code_of([&] { make_destination(other, {}, nullptr); }) == "config.destination");
    BOOST_TEST(fs::is_empty(l.folder.path()));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(delta_types)

BOOST_AUTO_TEST_CASE(every_type_is_read_alike_by_others) {
    lake l;
    flow_spec flow = issue_flow(land_mode::append);
    flow.primary_keys.clear();
    flow.schema = schema_of(
        "b BOOLEAN, i TINYINT, s SMALLINT, n INT, id BIGINT, f FLOAT, d DOUBLE, dc DECIMAL(12,2), big DECIMAL(38,4), t "
        "STRING, x BINARY, "
        "day DATE, z TIMESTAMP, l TIMESTAMP_NTZ, li ARRAY<BIGINT>, ls ARRAY<STRUCT<a: STRING, b: ARRAY<INT>>>, "
        "st STRUCT<a: INT, deep: STRUCT<b: STRING, c: ARRAY<BOOLEAN>>>, m MAP<STRING, BIGINT>");
    auto target = l.to->open(flow);
    land(*target, at_batch(1), random_batch(flow.schema, 3000, 1), random_batch(flow.schema, 1, 2));
    land(*target, at_batch(2), random_batch(flow.schema, 500, 3));
    BOOST_TEST(read_back(l.table(), "")["rows"] == "3501");
    // Types survive the way into the schema and back.
    const auto columns = delta::from_arrow(*flow.schema->get());
    BOOST_TEST(delta::to_schema_string(delta::parse_schema(delta::to_schema_string(columns))) ==
               delta::to_schema_string(columns));
}

BOOST_AUTO_TEST_CASE(statistics_hide_no_row) {  // case 42
    lake l;
    flow_spec flow = issue_flow(land_mode::append);
    flow.primary_keys.clear();
    flow.schema =
        schema_of("id BIGINT, z TIMESTAMP, l TIMESTAMP_NTZ, t STRING, d DOUBLE, n STRUCT<v: BIGINT>, day DATE");
    auto target = l.to->open(flow);
    const std::string widest(40 * 4, ' ');
    std::string highest;
    for (int i = 0; i < 40; ++i) highest += "\xf4\x8f\xbf\xbf";
    const std::string long_text(300, 'x');
    struct value {
        std::int64_t instant;
        std::string text;
        double real;
    };
    const value values[] = {{1772366399999999, highest, 1.5},       // ...23:59:59.999999
                            {-55776556800000001, long_text, -0.0},  // in year 202
                            {0, "", std::numeric_limits<double>::quiet_NaN()},
                            {1772366400123456, "a\xc3\xa9" + long_text, std::numeric_limits<double>::infinity()},
                            {253402300799999999, "plain", 1e300}};
    std::uint32_t number = 0;
    for (const value& v : values) {
        // Each value in a file of its own, so that a wrong bound skips it; NaN in the first row group too.
        land(*target, at_batch(++number), make_batch(flow.schema, 3000, [&](struct_column& t, std::int64_t row) {
            at<i64>(t, 0).append(number);
            at<i64>(t, 1).append(v.instant);
            at<i64>(t, 2).append(v.instant);
            at<text_column>(t, 3).append(v.text);
            at<fixed_column<double>>(t, 4).append(row == 3 ? v.real : 0.25);
            auto& n = at<struct_column>(t, 5);
            at<i64>(n, 0).append(number);
            n.end_value();
            at<fixed_column<std::int32_t>>(t, 6).append(static_cast<std::int32_t>(v.instant / 86'400'000'000));
        }));
    }
    const auto found = [&](const std::string& condition) {
        return read_back(l.table(), "--keys '' --where \"" + condition + "\"")["rows"];
    };
    BOOST_TEST(found("z = TIMESTAMP '2026-03-01 11:59:59.999999+00:00'") == "3000");
    BOOST_TEST(found("l = TIMESTAMP '2026-03-01 12:00:00.123456'") == "3000");
    // delta-rs cannot name the year 9999 in a condition.
    BOOST_TEST(found("l > TIMESTAMP '2200-01-01 00:00:00'") == "3000");
    BOOST_TEST(found("t = '" + long_text + "'") == "3000");
    BOOST_TEST(found("t > '" + long_text + "'") == "3000");
    BOOST_TEST(found("d > 1e299") == "3");  // NaN orders highest, as infinity does
    BOOST_TEST(found("n.v = 4") == "3000");
    BOOST_TEST(found("day = DATE '2026-03-01'") == "6000");
}

BOOST_AUTO_TEST_CASE(bounds_of_long_texts) {
    BOOST_TEST(delta::lower_text("short") == "short");
    BOOST_TEST(delta::upper_text("short").value() == "short");
    const std::string text = std::string(31, 'a') + "bcd";
    BOOST_TEST(delta::lower_text(text) == std::string(31, 'a') + "b");
    BOOST_TEST(delta::upper_text(text).value() == std::string(31, 'a') + "c");
    std::string highest;
    for (int i = 0; i < 33; ++i) highest += "\xf4\x8f\xbf\xbf";
    BOOST_TEST(!delta::upper_text(highest).has_value());
    // The character before the surrogates is raised past them.
    const std::string edge = std::string(31, 'a') + "\xed\x9f\xbf" + "z";
    BOOST_TEST(delta::upper_text(edge).value() == std::string(31, 'a') + "\xee\x80\x80");
    // What cannot be raised is dropped, and the character before it raised.
    const std::string carried = std::string(31, 'a') + "\xf4\x8f\xbf\xbf" + "z";
    BOOST_TEST(delta::upper_text(carried).value() == std::string(30, 'a') + "b");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(delta_checkpoints)

BOOST_AUTO_TEST_CASE(every_ten_commits_and_read_by_others) {  // contract 43, case 58
    lake l(50);
    auto target = l.open(land_mode::scd1);
    for (std::uint32_t batch = 1; batch <= 25; ++batch)
        land(*target, at_batch(batch), issues(batch * 7, 10, "b" + std::to_string(batch), batch * 1000));
    BOOST_TEST(fs::exists(l.table() + "/_delta_log/00000000000000000010.checkpoint.parquet"));
    BOOST_TEST(fs::exists(l.table() + "/_delta_log/00000000000000000020.checkpoint.parquet"));
    BOOST_TEST(file_text(l.table() + "/_delta_log/_last_checkpoint").find("\"version\":20") != std::string::npos);
    const contents before = read_table(l.table());
    // A log whose first commits are gone is read from the checkpoint: by us, by delta-rs and by DuckDB.
    for (int version = 0; version < 20; ++version) {
        std::string name = std::to_string(version);
        fs::remove(l.table() + "/_delta_log/" + std::string(20 - name.size(), '0') + name + ".json");
    }
    auto read = read_back(l.table());
    BOOST_TEST(read["rows"] == std::to_string(before.rows.size()));
    BOOST_TEST(read["version"] == "24");
    auto again = l.open(land_mode::scd1);
    BOOST_TEST((again->committed() == at_batch(25)));
    const land_result more = land(*again, at_batch(26), issues(1, 300, "last", 1'000'000));
    BOOST_TEST(more.rows_landed == 300);
    BOOST_TEST(read_back(l.table())["rows"] == "300");
    // The flow's txn survives in a checkpoint alone.
    flow_spec other = issue_flow(land_mode::append);
    other.flow = "quiet";
    auto quiet = l.to->open(other);
    land(*quiet, at_batch(1), issues(1000, 1));
    auto busy = l.open(land_mode::scd1);
    for (std::uint32_t batch = 27; batch <= 48; ++batch) land(*busy, at_batch(batch));
    for (int version = 20; version < 40; ++version)
        fs::remove(l.table() + "/_delta_log/000000000000000000" + std::to_string(version) + ".json");
    BOOST_TEST((l.to->open(other)->committed() == at_batch(1)));
}

BOOST_AUTO_TEST_CASE(a_broken_hint_is_ignored_and_replaced) {
    lake l;
    auto target = l.open(land_mode::append);
    for (std::uint32_t batch = 1; batch <= 12; ++batch) land(*target, at_batch(batch), issues(batch, 1));
    for (const char* broken : {"", "{\"version\":", "{\"version\":999,\"size\":1}", "[]"}) {
        write_file(l.table() + "/_delta_log/_last_checkpoint", broken);
        auto again = l.open(land_mode::append);
        const std::uint32_t next = again->committed()->batch + 1;
        land(*again, at_batch(next), issues(next, 1));
        const auto hint = delta::string_members(file_text(l.table() + "/_delta_log/_last_checkpoint"));
        BOOST_TEST(hint.count("version") == 1u);
        BOOST_TEST(
            fs::exists(l.table() + "/_delta_log/000000000000000000" + hint.at("version") + ".checkpoint.parquet"));
    }
    BOOST_TEST(read_back(l.table())["rows"] == "16");
}

BOOST_AUTO_TEST_CASE(a_torn_checkpoint_gives_way_to_the_commits) {
    lake l;
    auto target = l.open(land_mode::append);
    for (std::uint32_t batch = 1; batch <= 11; ++batch) land(*target, at_batch(batch), issues(batch, 1));
    write_file(l.table() + "/_delta_log/00000000000000000010.checkpoint.parquet", "PAR1 torn");
    auto again = l.open(land_mode::append);
    BOOST_TEST(land(*again, at_batch(12), issues(12, 1)).rows_landed == 1);
    check_rows(l.table(), expected(1, 12));
}

BOOST_AUTO_TEST_CASE(checkpoints_of_delta_rs_are_read) {
    lake l;
    auto target = l.open(land_mode::scd1);
    for (std::uint32_t batch = 1; batch <= 3; ++batch) land(*target, at_batch(batch), issues(batch * 10, 10));
    const std::string script = "from deltalake import DeltaTable; t = DeltaTable('" + l.table() +
                               "'); t.create_checkpoint(); t.optimize.compact()";
    BOOST_REQUIRE(run_python(script) == 0);
    fs::remove(l.table() + "/_delta_log/00000000000000000000.json");
    auto again = l.open(land_mode::scd1);
    BOOST_TEST((again->committed() == at_batch(3)));
    const land_result result = land(*again, at_batch(4), issues({{15, 9'000'000, "edited"}}));
    BOOST_TEST(result.files_rewritten == 1);
    auto read = read_back(l.table());
    BOOST_TEST(read["rows"] == "30");
    BOOST_TEST(read_back(l.table(), "--where \"title = 'edited'\"")["rows"] == "1");
}

BOOST_AUTO_TEST_SUITE_END()
