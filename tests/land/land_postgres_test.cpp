// Every mode into a real PostgreSQL, against the oracle; and what only PostgreSQL has: its types, its names, a connection that breaks.
#include <postgresql/libpq-fe.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <thread>

#include "host/arrow/builder.h"
#include "host/base/error.h"
#include "host/land/postgres/connection.h"
#include "host/land/postgres/postgres.h"
#include "host/land/quarantine.h"
#include "host/scan/predicate.h"
#include "tests/support/breaking_proxy.h"
#include "tests/support/land_oracle.h"
#include "tests/support/postgres_server.h"
#include "tests/support/refusal.h"

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
    if (flow.mismatches) flow.mismatches->begin_anew();
    auto target = to.open(flow);
    auto landing = target->begin();
    landing->add(0, to_arrow(flow.schema, rows));
    return landing->commit({1, batch, "{\"n\":" + std::to_string(batch) + "}", "{}"});
}

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

BOOST_AUTO_TEST_CASE(what_the_database_cannot_hold_is_nulled_or_put_aside) {  // cases 35, 38 and 60
    ask("CREATE TABLE public.narrow (id bigint PRIMARY KEY, t text, n numeric(4,1))");
    const auto to = make_destination(options_of(), {}, nullptr);
    flow_spec flow = flow_of("narrow", "id BIGINT NOT NULL, t STRING, n BIGINT", land_mode::scd1);
    const auto with = [&](mismatch_policy policy, std::optional<std::int64_t> most = {}) {
        mismatch_log::about about;
        about.job = about.flow = about.table = "narrow";
        about.policy = policy;
        about.most = most;
        flow.mismatches = std::make_shared<mismatch_log>(about);
    };
    const std::vector<std::vector<cell>> rows{{std::int64_t{1}, "a"s, std::int64_t{1}},
                                              {std::int64_t{2}, "a\0b"s, std::int64_t{2}},
                                              {std::int64_t{3}, "c"s, std::int64_t{30000}},
                                              {std::int64_t{4}, "d"s, std::int64_t{4}},
                                              {std::int64_t{5}, "e\0"s, std::int64_t{50000}}};
    with(mismatch_policy::fail);
    BOOST_TEST(refusal([&] { land(*to, flow, 1, rows); }).code == "value.mismatch");
    with(mismatch_policy::quarantine, 2);
    BOOST_TEST(has(refusal([&] { land(*to, flow, 1, rows); }).message, "max_mismatches"));
    BOOST_TEST(one("SELECT count(*) FROM public.narrow") == "0");
    BOOST_TEST(one("SELECT count(*) FROM pg_class WHERE relname = 'narrow__quarantine'") == "0");
    with(mismatch_policy::quarantine);
    BOOST_TEST(land(*to, flow, 1, rows).rows_landed == 2);
    BOOST_TEST(flow.mismatches->committed().refused == 3);
    BOOST_TEST(one("SELECT string_agg(id::text, ',' ORDER BY id) FROM public.narrow") == "1,4");
    const auto aside = ask("SELECT \"row\", column_name, reason FROM public.narrow__quarantine ORDER BY \"row\"");
    BOOST_REQUIRE(aside.size() == 3u);
    BOOST_TEST(aside[0][0] == R"({"id":2,"t":"a\u0000b","n":2})");
    BOOST_TEST(aside[0][1] == "t");
    BOOST_TEST(aside[1][1] == "n");
    BOOST_TEST((has(aside[1][2], "id = 3") && has(aside[1][2], "numeric(4,1)")), aside[1][2]);
    // The same batch in a later one adds nothing.
    land(*to, flow, 2, rows);
    BOOST_TEST(one("SELECT count(*) FROM public.narrow__quarantine") == "3");
    with(mismatch_policy::null);
    BOOST_TEST(land(*to, flow, 3, rows).rows_landed == 3);
    BOOST_TEST(flow.mismatches->committed().nulled == 4);
    BOOST_TEST(one("SELECT string_agg(id || coalesce(t, '~') || coalesce(n::text, '~'), ' ' ORDER BY id) FROM "
                   "public.narrow") == "1a1.0 2~2.0 3c~ 4d4.0 5~~");
    // A key has no null.
    flow.schema = std::make_shared<const arrow_schema>(parse_ddl("id STRING, t STRING"));
    flow.table = flow.flow = "narrow_key";
    flow.primary_keys = {"id"};
    BOOST_TEST(refusal([&] { land(*to, flow, 1, {{"\0"s, "a"s}}); }).code == "value.mismatch");
}

BOOST_AUTO_TEST_CASE(both_tables_land_or_neither) {
    for (const char* stop : {"open", "write", "position", "commit", "close"}) {
        bool armed = false;
        const auto to = postgres::make_postgres_destination(options_of(), {}, nullptr, [&](std::string_view at) {
            if (armed && at == stop) throw std::runtime_error("killed");
        });
        flow_spec flow = flow_of("both_"s + stop, "id BIGINT NOT NULL, t STRING", land_mode::scd1);
        mismatch_log::about about;
        about.policy = mismatch_policy::quarantine;
        flow.mismatches = std::make_shared<mismatch_log>(about);
        land(*to, flow, 1, {{std::int64_t{1}, "a"s}, {std::int64_t{2}, "\0"s}});
        armed = true;
        BOOST_CHECK_THROW(land(*to, flow, 2, {{std::int64_t{1}, "b"s}, {std::int64_t{3}, "\0"s}}), std::runtime_error);
        armed = false;
        const bool landed = stop == "close"s;
        BOOST_TEST(one("SELECT t FROM public." + flow.table) == (landed ? "b" : "a"));
        BOOST_TEST(one("SELECT count(*) FROM public." + flow.table + "__quarantine") == (landed ? "2" : "1"));
        if (!landed) land(*to, flow, 2, {{std::int64_t{1}, "b"s}, {std::int64_t{3}, "\0"s}});
        BOOST_TEST(one("SELECT t FROM public." + flow.table) == "b");
        BOOST_TEST(one("SELECT count(*) FROM public." + flow.table + "__quarantine") == "2");
    }
}

BOOST_AUTO_TEST_CASE(a_snapshot_of_a_part_leaves_the_rest_alone) {  // contract 37
    const auto to = make_destination(options_of(), {}, nullptr);
    flow_spec flow = flow_of("part", "id BIGINT, v STRING, nr BIGINT", land_mode::snapshot);
    const cell zero = std::int64_t{0};
    const auto row = [&](std::int64_t id, const cell& v) { return std::vector<cell>{id, v, zero}; };
    land(*to, flow, 1, {row(1, "in"s), row(2, "out"s), row(3, "in"s), row(4, cell{})});
    predicate p;
    p.op = predicate_op::like;
    p.column = {"v"};
    p.type.id = type_id::utf8;
    p.format = "u";
    p.values = {"i_"s};
    flow.filter = std::make_shared<const predicate>(p);
    const auto held = [] { return one("SELECT string_agg(id || coalesce(v, '~'), ' ' ORDER BY id) FROM public.part"); };
    BOOST_TEST(land(*to, flow, 2, {row(3, "in"s), row(5, "in"s)}).rows_deleted == 1);
    BOOST_TEST(held() == "2out 3in 4~ 5in");
    BOOST_TEST(!land(*to, flow, 3, {row(5, "in"s), row(3, "in"s)}).committed);
    land(*to, flow, 3, {row(2, "in"s), row(3, "in"s)});
    BOOST_TEST(held() == "2in 3in 4~");
    BOOST_TEST(refusal([&] {
                   auto target = to->open(flow);
                   target->begin()->commit({1, 4, "{}", "{}"});
               }).code == "destination.would_empty");
    flow.primary_keys.clear();
    land(*to, flow, 4, {row(9, "in"s)});
    BOOST_TEST(held() == "4~ 9in");
}

// A small batch into a large table looks its keys up.
BOOST_AUTO_TEST_CASE(a_table_that_is_made_here_has_an_index_on_its_keys) {
    const auto to = make_destination(options_of(), {}, nullptr);
    const auto index_of = [](const std::string& table) {
        return one("SELECT indexdef FROM pg_indexes WHERE tablename = '" + table + "'");
    };
    land(*to, flow_of("index_number", "id BIGINT, v STRING", land_mode::scd1), 1, {{std::int64_t{1}, "a"s}});
    BOOST_TEST(has(index_of("index_number"), "USING btree (id)"), index_of("index_number"));
    // A text may be longer than an entry of a btree.
    const flow_spec text = flow_of("index_text", "id STRING, v STRING", land_mode::snapshot);
    land(*to, text, 1, {{std::string(10'000, 'x'), "a"s}});
    BOOST_TEST(has(index_of("index_text"), "USING hash (id)"), index_of("index_text"));
    flow_spec both = flow_of("index_both", "who STRING, id BIGINT", land_mode::scd1);
    both.primary_keys = {"who", "id"};
    land(*to, both, 1, {{"a"s, std::int64_t{1}}});
    BOOST_TEST(has(index_of("index_both"), "USING btree (id)"), index_of("index_both"));
    land(*to, flow_of("index_none", "id BIGINT"), 1, {{std::int64_t{1}}});
    BOOST_TEST(index_of("index_none") == "nothing");
    std::vector<std::vector<cell>> many;
    for (std::int64_t id = 0; id < 50'000; ++id) many.push_back({id, "a"s});
    const flow_spec large = flow_of("index_used", "id BIGINT, v STRING", land_mode::scd1);
    land(*to, large, 1, many);
    ask("ANALYZE public.index_used");
    const auto scans = [] { return one("SELECT idx_scan FROM pg_stat_user_indexes WHERE relname = 'index_used'"); };
    const std::string before = scans();
    land(*to, large, 2, {{std::int64_t{7}, "b"s}, {std::int64_t{-7}, "c"s}});
    std::string after = scans();
    for (int i = 0; i < 50 && after == before; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        after = scans();
    }
    BOOST_TEST(after != before);
    BOOST_TEST(one("SELECT count(*) FROM public.index_used WHERE v = 'a'") == "49999");
}

BOOST_AUTO_TEST_CASE(a_users_primary_key_is_no_trouble) {  // case 55
    ask("CREATE TABLE public.keyed (id bigint PRIMARY KEY, v text, s bigint)");
    const auto to = make_destination(options_of(), {}, nullptr);
    flow_spec flow = flow_of("keyed", "id BIGINT NOT NULL, v STRING, s BIGINT", land_mode::scd1);
    flow.sequence_by = "s";
    const cell c1 = std::int64_t{1}, c2 = std::int64_t{2}, c3 = std::int64_t{3};
    land(*to, flow, 1, {{c1, "a"s, c1}, {c2, "b"s, c1}});
    {
        auto target = to->open(flow);
        auto landing = target->begin();
        landing->add(0, to_arrow(flow.schema, {{c1, "A"s, c2}, {c2, "B"s, c3}}));
        landing->add_deletes(to_arrow(deletes_schema(flow), {{c2, c2}}));
        landing->commit({1, 2, "{}", "{}"});
    }
    BOOST_TEST(one("SELECT string_agg(id || v || s, ' ' ORDER BY id) FROM public.keyed") == "1A2 2B3");
    ask("CREATE TABLE public.keyed_history (id bigint, v text, s bigint, \"__START_AT\" bigint NOT NULL, \"__END_AT\" "
        "bigint, PRIMARY KEY (id, \"__START_AT\"))");
    flow_spec history = flow_of("keyed_history", "id BIGINT NOT NULL, v STRING, s BIGINT", land_mode::scd2);
    history.sequence_by = "s";
    land(*to, history, 1, {{c1, "a"s, c1}, {c1, "c"s, std::int64_t{9}}});
    land(*to, history, 2, {{c1, "b"s, c2}, {c1, "C"s, std::int64_t{9}}});
    BOOST_TEST(one("SELECT string_agg(v || \"__START_AT\" || coalesce(\"__END_AT\"::text, '-'), ' ' ORDER BY "
                   "\"__START_AT\") FROM public.keyed_history") == "a12 b29 C9-");
    flow.mode = land_mode::append;
    flow.primary_keys.clear();
    BOOST_TEST(refusal([&] { land(*to, flow, 3, {{c1, "x"s, c1}}); }).code == "destination.constraint");
}

BOOST_AUTO_TEST_CASE(a_struct_grows_in_jsonb_and_twins_by_case_stay_apart) {
    const auto to = make_destination(options_of(), {}, nullptr);
    const auto put = [&](const std::string& ddl, std::uint32_t batch, bool wide) {
        const flow_spec flow = flow_of("grown_struct", ddl);
        auto table = make_table(*flow.schema->get());
        auto& record = static_cast<struct_column&>(table->child(0));
        static_cast<fixed_column<std::int32_t>&>(record.child(0)).append(7);
        if (wide) static_cast<text_column&>(record.child(1)).append("x");
        record.end_value();
        table->end_value();
        auto target = to->open(flow);
        auto landing = target->begin();
        landing->add(0, {flow.schema, table->finish()});
        landing->commit({1, batch, "{}", "{}"});
    };
    put("s STRUCT<a: INT>", 1, false);
    put("s STRUCT<a: INT, b: STRING>", 2, true);
    BOOST_TEST(one("SELECT string_agg(s::text, ' ' ORDER BY length(s::text)) FROM public.grown_struct") ==
               "{\"a\": 7} {\"a\": 7, \"b\": \"x\"}");
    land(*to, flow_of("twins", "Total STRING, total STRING"), 1, {{"a"s, "b"s}});
    BOOST_TEST(one("SELECT \"Total\" || total FROM public.twins") == "ab");
    // Two names that PostgreSQL cannot tell apart once they are shortened.
    const std::string longest(70, 'n');
    const error e = refusal([&] {
        to->open(flow_of("short_twins", "`" + longest + "` INT, `" + postgres::short_name(longest) + "` INT"));
    });
    BOOST_TEST(e.code == "destination.column_name");
    BOOST_TEST((has(e.message, longest) && has(e.message, "short_twins")), e.message);
    BOOST_TEST(one("SELECT count(*) FROM pg_class WHERE relname = 'short_twins'") == "0");
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
        ask("SELECT a.attname, c.relname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid WHERE c.relkind = "
            "'r' AND c.relname LIKE 'nnnn%' AND a.attnum > 0 ORDER BY a.attnum");
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
