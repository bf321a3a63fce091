// Every mode into a real PostgreSQL, against the oracle; and what only PostgreSQL has: its types, its names, a connection that breaks.
#include <postgresql/libpq-fe.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <thread>

#include "host/arrow/builder.h"
#include "host/base/error.h"
#include "host/land/postgres/connection.h"
#include "host/land/postgres/postgres.h"
#include "tests/support/breaking_proxy.h"
#include "tests/support/land_oracle.h"
#include "tests/support/postgres_server.h"

using namespace lakeflow::host;
using namespace lakeflow::host::testing;

namespace {

using namespace std::string_literals;

postgres_server& server() {
    static postgres_server one;
    return one;
}

destination_options options_of(const std::string& dsn = server().dsn()) {
    destination_options options;
    options.type = "postgres";
    options.path = dsn;
    return options;
}

// Plain libpq: nothing of the code under test.
std::vector<std::vector<std::string>> ask(const std::string& sql) {
    PGconn* c = PQconnectdb(server().dsn().c_str());
    BOOST_REQUIRE(PQstatus(c) == CONNECTION_OK);
    PGresult* r = PQexec(c, ("SET TimeZone = 'UTC'; " + sql).c_str());
    const auto status = PQresultStatus(r);
    BOOST_TEST_REQUIRE((status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK), sql << ": " << PQerrorMessage(c));
    std::vector<std::vector<std::string>> rows;
    for (int i = 0; i < PQntuples(r); ++i) {
        auto& row = rows.emplace_back();
        for (int k = 0; k < PQnfields(r); ++k) row.emplace_back(PQgetisnull(r, i, k) ? "~" : PQgetvalue(r, i, k));
    }
    PQclear(r);
    PQfinish(c);
    return rows;
}
std::string one(const std::string& sql) {
    const auto rows = ask(sql);
    return rows.empty() ? "nothing" : rows[0][0];
}

void check_mode(land_mode mode) {
    const auto to = make_destination(options_of(), {}, nullptr);
    history_options wanted;
    wanted.mode = mode;
    wanted.nul_in_text = false;
    wanted.odd_names = true;
    PGconn* c = PQconnectdb(server().dsn().c_str());
    for (const std::uint64_t seed : history_seeds(20)) {
        check_destination(*to, wanted, seed, [&](const flow_spec& flow) {
            std::vector<std::string> rows;
            const std::string sql = "SELECT " + postgres_row_text(flow) + " FROM public." + flow.table;
            PGresult* r = PQexec(c, sql.c_str());
            for (int i = 0; i < PQntuples(r); ++i) rows.emplace_back(PQgetvalue(r, i, 0));
            PQclear(r);
            return rows;
        });
    }
    PQfinish(c);
    BOOST_TEST(one("SELECT count(*) FROM pg_class WHERE relname LIKE 'lf\\_%'") ==
               "0");  // nothing of the staging stays
}

flow_spec flow_of(const std::string& table, const std::string& ddl, land_mode mode = land_mode::append) {
    flow_spec flow;
    flow.job = "job";
    flow.flow = flow.table = table;
    flow.mode = mode;
    flow.schema = std::make_shared<const arrow_schema>(parse_ddl(ddl));
    if (mode != land_mode::append) flow.primary_keys = {std::string(name_of(flow.schema->column(0)))};
    return flow;
}

land_result land(destination& to, const flow_spec& flow, std::uint32_t batch,
                 const std::vector<std::vector<cell>>& rows) {
    auto target = to.open(flow);
    auto landing = target->begin();
    landing->add(0, to_arrow(flow.schema, rows));
    return landing->commit({1, batch, "{\"n\":" + std::to_string(batch) + "}", "{}"});
}

error refusal(const std::function<void()>& action) {
    try {
        action();
    } catch (const failure& f) {
        return f.get();
    }
    return {"none", "", ""};
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

BOOST_AUTO_TEST_CASE(append_is_what_the_oracle_says) { check_mode(land_mode::append); }
BOOST_AUTO_TEST_CASE(scd1_is_what_the_oracle_says) { check_mode(land_mode::scd1); }
BOOST_AUTO_TEST_CASE(scd2_is_what_the_oracle_says) { check_mode(land_mode::scd2); }
BOOST_AUTO_TEST_CASE(snapshot_is_what_the_oracle_says) { check_mode(land_mode::snapshot); }

BOOST_AUTO_TEST_CASE(every_type_lands_exactly) {
    flow_spec flow = flow_of(
        "every_type",
        "i TINYINT, s SMALLINT, n INT, b BIGINT, f FLOAT, d DOUBLE, dc DECIMAL(38,4), t STRING, x BINARY, o BOOLEAN, "
        "day DATE, z TIMESTAMP, l TIMESTAMP_NTZ, li ARRAY<STRING>, st STRUCT<a: INT, b: DECIMAL(20,2)>");
    auto table = make_table(*flow.schema->get());
    const auto put = [&]<class T>(std::size_t i, T value) {
        static_cast<fixed_column<T>&>(table->child(i)).append(value);
    };
    const auto row = [&](std::int32_t day, std::int64_t instant, double real, bool full) {
        put(0, std::int8_t{-128});
        put(1, std::int16_t{32767});
        put(2, std::int32_t{-2147483647 - 1});
        put(3, std::int64_t{9007199254740993});
        put(4, 0.1f);
        put(5, real);
        put(6, static_cast<int128>(1'000'000'000'000'000'000) * 10'000'000'000'000'000 + 1);
        static_cast<text_column&>(table->child(7)).append("a\\b\tc\nd\r'\"\xc3\xa9");
        static_cast<text_column&>(table->child(8)).append("\0\\\xff"s);
        static_cast<bool_column&>(table->child(9)).append(true);
        put(10, day);
        put(11, instant);
        put(12, instant);
        auto& list = static_cast<list_column&>(table->child(13));
        auto& record = static_cast<struct_column&>(table->child(14));
        if (full) {
            static_cast<text_column&>(list.child()).append("x\"");
            list.child().append_null();
            list.end_value();
            static_cast<fixed_column<std::int32_t>&>(record.child(0)).append(7);
            static_cast<fixed_column<int128>&>(record.child(1)).append(123);
            record.end_value();
        } else {
            list.append_null();
            record.append_null();
        }
        table->end_value();
    };
    row(20513, 1772366400123456, 0.1, true);
    row(-735234, -62135596800000000 - 1, -0.0, false);  // 0044-03-15 BC or so; the microsecond before year 1
    row(3652059 + 365 * 3000, 253402300800000000 + 1, std::numeric_limits<double>::infinity(), true);
    row(0, std::numeric_limits<std::int64_t>::max(), std::numeric_limits<double>::quiet_NaN(), true);
    row(0, std::numeric_limits<std::int64_t>::min(), 5e-324, true);
    record_batch batch;
    batch.schema = flow.schema;
    batch.array = table->finish();
    const auto to = make_destination(options_of(), {}, nullptr);
    auto target = to->open(flow);
    auto landing = target->begin();
    landing->add(0, std::move(batch));
    landing->commit({1, 1, "{}", "{}"});
    const auto rows = ask("SELECT * FROM public.every_type");
    BOOST_REQUIRE(rows.size() == 5u);
    const std::vector<std::string> first{"-128",
                                         "32767",
                                         "-2147483648",
                                         "9007199254740993",
                                         "0.1",
                                         "0.1",
                                         "1000000000000000000000000000000.0001",
                                         "a\\b\tc\nd\r'\"\xc3\xa9",
                                         "\\x005cff",
                                         "t",
                                         "2026-03-01",
                                         "2026-03-01 12:00:00.123456+00",
                                         "2026-03-01 12:00:00.123456",
                                         "[\"x\\\"\", null]",
                                         "{\"a\": 7, \"b\": 1.23}"};
    BOOST_TEST(rows[0] == first, boost::test_tools::per_element());
    BOOST_TEST(rows[1][5] == "-0");
    BOOST_TEST(has(rows[1][10], " BC"));
    BOOST_TEST(rows[1][11] == "0001-12-31 23:59:59.999999+00 BC");
    BOOST_TEST(rows[1][13] == "~");
    BOOST_TEST(rows[2][11] == "10000-01-01 00:00:00.000001+00");
    BOOST_TEST(rows[2][5] == "Infinity");
    BOOST_TEST(rows[3][11] == "infinity");
    BOOST_TEST(rows[3][5] == "NaN");
    BOOST_TEST(rows[4][12] == "-infinity");
    BOOST_TEST(rows[4][5] == "5e-324");
    BOOST_TEST(one("SELECT pg_typeof(dc)::text FROM public.every_type") == "numeric");
}

BOOST_AUTO_TEST_CASE(a_nul_in_text_is_named_and_nothing_lands) {
    const auto to = make_destination(options_of(), {}, nullptr);
    const flow_spec flow = flow_of("nul", "id BIGINT, t STRING", land_mode::scd1);
    const error e = refusal([&] { land(*to, flow, 1, {{std::int64_t{1}, "a"s}, {std::int64_t{7}, "a\0b"s}}); });
    BOOST_TEST(e.code == "value.mismatch");
    BOOST_TEST((has(e.message, "nul") && has(e.message, "column t") && has(e.message, "id = 7")), e.message);
    BOOST_TEST(one("SELECT count(*) FROM pg_class WHERE relname = 'nul'") == "0");
}

BOOST_AUTO_TEST_CASE(an_existing_table_takes_what_it_holds_exactly) {  // case 38
    ask("CREATE TABLE public.there (id numeric(18,2) PRIMARY KEY, flag text, n smallint, filled text DEFAULT 'x' NOT "
        "NULL)");
    flow_spec flow = flow_of("there", "id BIGINT, flag STRING, n BIGINT", land_mode::scd1);
    flow.schema_changes = schema_policy::fixed;
    flow.schema = std::make_shared<const arrow_schema>(parse_ddl("id BIGINT NOT NULL, flag STRING, n BIGINT"));
    const auto to = make_destination(options_of(), {}, nullptr);
    const error fixed = refusal([&] { to->open(flow); });
    BOOST_TEST(fixed.code == "destination.schema");
    BOOST_TEST((has(fixed.message, "column n") && has(fixed.message, "smallint")), fixed.message);
    flow.schema_changes = schema_policy::evolve;
    const std::int64_t large = 40000;
    BOOST_TEST(land(*to, flow, 1, {{std::int64_t{7}, "true"s, large}}).rows_landed == 1);
    BOOST_TEST(one("SELECT id || ' ' || flag || ' ' || n || ' ' || filled FROM public.there") == "7.00 true 40000 x");
    // Too many digits for numeric(18,2): the row is named.
    const error e = refusal([&] { land(*to, flow, 2, {{std::int64_t{1}, "a"s, {}}, {INT64_MAX, "b"s, {}}}); });
    BOOST_TEST(e.code == "value.mismatch");
    BOOST_TEST((has(e.message, "column id (numeric(18,2))") && has(e.message, "id = 9223372036854775807")), e.message);
    BOOST_TEST(one("SELECT count(*) FROM public.there") == "1");
    flow.schema = std::make_shared<const arrow_schema>(parse_ddl("id BIGINT NOT NULL, flag TIMESTAMP"));
    const error unrelated = refusal([&] { to->open(flow); });
    BOOST_TEST((unrelated.code == "destination.schema" && has(unrelated.message, "column flag")), unrelated.message);
}

BOOST_AUTO_TEST_CASE(a_table_grows_with_its_source) {
    const auto to = make_destination(options_of(), {}, nullptr);
    flow_spec flow = flow_of("grows", "id INT, v STRING", land_mode::scd1);
    auto table = make_table(*flow.schema->get());
    static_cast<fixed_column<std::int32_t>&>(table->child(0)).append(1);
    static_cast<text_column&>(table->child(1)).append("a");
    table->end_value();
    record_batch batch;
    batch.schema = flow.schema;
    batch.array = table->finish();
    {
        auto target = to->open(flow);
        auto landing = target->begin();
        landing->add(0, std::move(batch));
        landing->commit({1, 1, "{}", "{}"});
    }
    flow.schema = std::make_shared<const arrow_schema>(parse_ddl("fresh STRING, id BIGINT"));
    flow.schema_changes = schema_policy::fixed;
    BOOST_TEST(refusal([&] { to->open(flow); }).code == "destination.schema");
    flow.schema_changes = schema_policy::evolve;
    land(*to, flow, 2, {{"new"s, std::int64_t{1} << 40}});
    const auto rows = ask("SELECT * FROM public.grows ORDER BY 1");
    BOOST_TEST(rows[0] == (std::vector<std::string>{"1", "a", "~"}), boost::test_tools::per_element());
    BOOST_TEST(rows[1] == (std::vector<std::string>{"1099511627776", "~", "new"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(long_names_are_shortened_and_stay_apart) {
    const std::string stem(60, 'n');
    const flow_spec flow =
        flow_of(stem + "-table", "`" + stem + "-one` BIGINT, `" + stem + "-two` STRING", land_mode::scd2);
    flow_spec sequenced = flow;
    sequenced.sequence_by = stem + "-one";
    const auto to = make_destination(options_of(), {}, nullptr);
    land(*to, sequenced, 1, {{std::int64_t{5}, "x"s}});
    const auto names =
        ask("SELECT a.attname, c.relname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid WHERE c.relname "
            "LIKE 'nnnn%' AND a.attnum > 0 ORDER BY a.attnum");
    BOOST_REQUIRE(names.size() == 4u);
    BOOST_TEST(names[0][0] != names[1][0]);
    BOOST_TEST(names[0][0] == postgres::short_name(stem + "-one"));
    BOOST_TEST(names[0][0].size() == 63u);
    BOOST_TEST(names[2][0] == "__START_AT");
    land(*to, sequenced, 2, {{std::int64_t{5}, "y"s}});
    BOOST_TEST(one("SELECT count(*) FROM public.\"" + names[0][1] + "\"") == "1");
}

BOOST_AUTO_TEST_CASE(guards_of_a_snapshot) {
    const auto to = make_destination(options_of(), {}, nullptr);
    flow_spec flow = flow_of("guarded", "id BIGINT, v STRING", land_mode::snapshot);
    flow.max_delete_ratio = 0.5;
    land(*to, flow, 1, {{std::int64_t{1}, "a"s}, {std::int64_t{2}, "a"s}, {std::int64_t{3}, "a"s}});
    BOOST_TEST(refusal([&] {
                   land(*to, flow, 2, {{std::int64_t{3}, "a"s}, {std::int64_t{4}, "a"s}});
               }).code == "destination.too_many_deletes");
    const error e = refusal([&] {
        auto target = to->open(flow);
        target->begin()->commit({1, 2, "{}", "{}"});
    });
    BOOST_TEST(e.code == "destination.would_empty");
    BOOST_TEST(one("SELECT count(*) FROM public.guarded") == "3");
    BOOST_TEST(one("SELECT end_offset FROM public._lakeflow_positions WHERE flow = 'guarded'") == "{\"n\":1}");
}

BOOST_AUTO_TEST_CASE(an_older_run_is_fenced) {
    const auto to = make_destination(options_of(), {}, nullptr);
    const flow_spec flow = flow_of("fenced", "id BIGINT", land_mode::scd1);
    auto old = to->open(flow), newer = to->open(flow);
    const std::uint32_t epoch = old->take_over();
    auto slow = old->begin();
    slow->add(0, to_arrow(flow.schema, {{std::int64_t{1}}}));
    {
        auto quick = newer->begin();
        quick->add(0, to_arrow(flow.schema, {{std::int64_t{2}}}));
        quick->commit({newer->take_over(), 1, "{}", "{}"});
    }
    BOOST_TEST(refusal([&] { slow->commit({epoch, 1, "{}", "{}"}); }).code == "state.fenced");
    BOOST_TEST(one("SELECT string_agg(id::text, ',') FROM public.fenced") == "2");
}

BOOST_AUTO_TEST_CASE(a_connection_that_breaks_during_commit_is_resolved_by_reading_the_position_back) {
    for (const bool arrives : {true, false}) {
        breaking_proxy proxy(server().port());
        const auto to = make_destination(options_of(server().dsn_at(proxy.port())), {}, nullptr);
        const flow_spec flow = flow_of(arrives ? "broke_after" : "broke_before", "id BIGINT", land_mode::scd1);
        auto target = to->open(flow);
        auto landing = target->begin();
        landing->add(0, to_arrow(flow.schema, {{std::int64_t{1}}}));
        proxy.break_at(
            "\0\0\0\x0b"
            "COMMIT"s,
            arrives);  // the message, not the word: temporary tables have ON COMMIT DROP
        const position next{1, 1, "{\"n\":1}", "{}"};
        if (arrives) {
            BOOST_TEST(landing->commit(next).rows_landed == 1);
        } else {
            const error e = refusal([&] { landing->commit(next); });
            BOOST_TEST(e.code == "destination.unavailable");
            BOOST_TEST((e.retry == retry_class::transient));
        }
        BOOST_TEST(proxy.broke());
        landing.reset();
        BOOST_TEST((target->committed() == (arrives ? std::optional(next) : std::nullopt)));
        if (!arrives) {
            auto again = target->begin();
            again->add(0, to_arrow(flow.schema, {{std::int64_t{1}}}));
            BOOST_TEST(again->commit(next).committed);
        }
        BOOST_TEST(one("SELECT count(*) FROM public." + flow.table) == "1");
    }
}

BOOST_AUTO_TEST_CASE(a_stop_at_any_step_lands_all_or_nothing) {
    for (const char* stop : {"open", "write", "position", "commit", "close"}) {
        const flow_spec flow = flow_of("stop_"s + stop, "id BIGINT", land_mode::scd2);
        flow_spec sequenced = flow;
        sequenced.sequence_by = "id";
        bool armed = false;
        const auto to = postgres::make_postgres_destination(options_of(), {}, nullptr, [&](std::string_view step) {
            if (armed && step == stop) throw std::runtime_error("stopped");
        });
        land(*to, sequenced, 1, {{std::int64_t{1}}});
        armed = true;
        BOOST_CHECK_THROW(land(*to, sequenced, 2, {{std::int64_t{2}}}), std::runtime_error);
        armed = false;
        auto again = to->open(sequenced);
        const bool landed = again->committed()->batch == 2;
        BOOST_TEST(landed == (std::string(stop) == "close"));
        if (!landed) land(*to, sequenced, 2, {{std::int64_t{2}}});
        BOOST_TEST(one("SELECT count(*) FROM public." + flow.table) == "2");
    }
}

BOOST_AUTO_TEST_CASE(no_error_shows_the_password) {
    const std::string wrong = "host=127.0.0.1 port=" + std::to_string(server().port()) +
                              " dbname=postgres user=lakeflow password=hunter2-secret";
    const flow_spec flow = flow_of("secret", "id BIGINT");
    for (const std::string& dsn : {wrong, wrong + " nonsense", "postgresql://u:hunter2-secret@127.0.0.1:1/x"s,
                                   "postgresql://u:hunter2-secret@[bad"s, "password='hunter2-secret"s}) {
        const error e = refusal([&] { make_destination(options_of(dsn), {}, nullptr)->open(flow); });
        BOOST_TEST(e.code != "none");
        BOOST_TEST(!has(e.message + e.hint, "hunter2"), e.message);
    }
    BOOST_TEST(refusal([&] { make_destination(options_of(wrong), {}, nullptr)->open(flow); }).code ==
               "destination.auth");
    BOOST_TEST(make_destination(options_of(wrong), {}, nullptr)->describe("t") ==
               "postgres 127.0.0.1:" + std::to_string(server().port()) + "/postgres public.t");
    BOOST_TEST(!postgres::secrets_of_dsn(wrong).empty());
    BOOST_TEST(postgres::secrets_of_dsn("host=x").empty());
}
