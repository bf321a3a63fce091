// Queries over a table in memory: pushdown on and off give the same rows, whatever the source takes over; statements that are no query are
// refused by name; `where` means in a flow what it means in a query.
#include "host/query/query.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>

#include "host/base/error.h"
#include "host/base/text.h"
#include "host/duck/sql.h"
#include "host/scan/sql_tree.h"
#include "tests/support/engine_bench.h"
#include "tests/support/honest_source.h"

using namespace lakeflow::host;
using namespace lakeflow::host::testing;

namespace {

const std::string ddl =
    "id BIGINT NOT NULL, name STRING, amount DOUBLE, n INT, price DECIMAL(10,2), flag BOOLEAN, day DATE, ts TIMESTAMP";

std::vector<cells> some_rows(int count) {
    std::mt19937_64 random(42);
    const auto pick = [&](int n) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(n)); };
    const std::vector<std::string> names{"anna", "Anna", "ANNA", "", "a%b", "xa", "x\xc3\xa4y", "bob", "b_b"};
    std::vector<cells> out;
    for (std::int64_t id = 1; id <= count; ++id) {
        const auto or_null = [&](cell c) { return pick(5) == 0 ? cell() : std::move(c); };
        const double amount = pick(12) == 0 ? std::nan("") : static_cast<double>(pick(40) - 20) * 0.25;
        out.push_back({id, or_null(names[static_cast<std::size_t>(pick(9))]), or_null(amount), or_null(pick(9) - 4),
                       or_null((pick(9) - 4) * 50), or_null(pick(2)), or_null(std::int64_t{20'000} + pick(4)),
                       or_null(std::int64_t{1'772'323'200'000'000} + pick(4) * 3'600'000'000)});
    }
    return out;
}

std::shared_ptr<duck::database> shared_database() {
    static const auto db = duck::database::open({});
    return db;
}

struct query_bench : engine_bench {
    honest_source source{plugin, ddl, some_rows(120)};
    run_plan run_of = plan();

    query_bench() { run_of.parallelism = 2; }

    query_settings settings(bool pushdown) const {
        query_settings s;
        s.pushdown = pushdown;
        s.database = shared_database();
        s.table = [this](const std::vector<std::string>& parts) { return table(parts.back()); };
        return s;
    }
    std::string rows(const std::string& sql, bool pushdown, row_format format = row_format::jsonl) {
        run_of.plugin = plugin.use();
        table_query q(run_of, settings(pushdown), sql);
        std::string out;
        const auto printer = make_printer(format, [&](std::string_view text) {
            out += text;
            return true;
        });
        q.run(*printer);
        return out;
    }
    explanation explained(const std::string& sql) {
        run_of.plugin = plugin.use();
        return table_query(run_of, settings(true), sql).explain();
    }
    error refusal(const std::string& sql) {
        try {
            rows(sql, true);
        } catch (const failure& f) {
            return f.get();
        }
        return {};
    }
};

// Queries whose answer does not depend on the order of rows: they order by what is unique, or ask for what has no order.
class generator {
  public:
    explicit generator(std::uint64_t seed) : random_(seed) {}

    std::string query() {
        const std::string where = pick(6) == 0 ? "" : " WHERE " + condition(2);
        switch (pick(9)) {
            case 0: return "SELECT * FROM t" + where + " ORDER BY id";
            case 1: return "SELECT count(*) AS rows FROM t" + where;
            case 2: return "SELECT Name, AMOUNT FROM t" + where + " ORDER BY id DESC LIMIT " + number(1, 20);
            case 3:
                return "SELECT id, n FROM t" + where + " ORDER BY n" + (pick(2) ? " DESC" : "") +
                       (pick(2) ? " NULLS FIRST" : "") + ", id LIMIT " + number(1, 30) + " OFFSET " + number(0, 30);
            case 4:
                return "SELECT name, count(*), sum(amount), min(n), max(price), avg(n), count(name), avg(amount) FROM "
                       "t" +
                       where + " GROUP BY name" + (pick(3) ? "" : " HAVING count(*) > 3") +
                       " ORDER BY name NULLS FIRST";
            case 5:
                return "SELECT sum(n), min(name), max(day), sum(price), count(ts), max(amount), min(flag) FROM t" +
                       where;
            case 6:
                return "SELECT id, upper(name) AS u FROM t" + (where.empty() ? " WHERE " : where + " AND ") +
                       "length(name) > 2 ORDER BY id LIMIT 9";
            case 7: return "SELECT DISTINCT flag, n + 1 AS m FROM t" + where + " ORDER BY ALL LIMIT 12";
            default:
                return "SELECT flag, n, sum(price) * 2 AS twice, count(DISTINCT name) AS names FROM t" + where +
                       " GROUP BY flag, n ORDER BY 1, 2";
        }
    }

  private:
    int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
    std::string number(int least, int most) { return std::to_string(least + pick(most - least + 1)); }
    std::string text() {
        const std::vector<std::string> all{"'anna'", "'Anna'", "''", "'a%b'", "'b'", "NULL", "'x\xc3\xa4y'"};
        return all[static_cast<std::size_t>(pick(7))];
    }
    std::string comparison() {
        const std::vector<std::string> ops{"=", "<>", "<", "<=", ">", ">="};
        return ops[static_cast<std::size_t>(pick(6))];
    }
    std::string condition(int depth) {
        if (depth > 0 && pick(3) == 0) return "NOT (" + condition(depth - 1) + ")";
        if (depth > 0 && pick(2) == 0)
            return "(" + condition(depth - 1) + (pick(2) ? " AND " : " OR ") + condition(depth - 1) + ")";
        switch (pick(16)) {
            case 0: return "name " + comparison() + " " + text();
            case 1: return "amount " + comparison() + " " + number(-4, 4) + (pick(2) ? ".25" : "");
            case 2: return "amount = 'NaN'::DOUBLE";
            case 3: return "n " + comparison() + " " + number(-4, 4);
            case 4: return "n > " + number(-3, 3) + ".5";
            case 5: return "price " + comparison() + " " + number(-2, 2) + (pick(2) ? ".5" : "");
            case 6: return "price <= " + number(-2, 1) + ".333";
            case 7: return pick(2) ? "flag" : "flag <> true";
            case 8: return "day " + comparison() + " DATE '2024-10-0" + number(4, 7) + "'";
            case 9: return "ts " + comparison() + " '2026-03-01 0" + number(0, 3) + ":00:00'";
            case 10: return "name " + std::string(pick(2) ? "" : "NOT ") + "IN (" + text() + ", " + text() + ")";
            case 11: return "n NOT IN (1, NULL)";
            case 12: return "name LIKE " + std::string(pick(2) ? "'a%'" : pick(2) ? "'%n_a'" : "'%a%'");
            case 13: return std::string(pick(2) ? "name" : "amount") + " IS " + (pick(2) ? "NOT " : "") + "NULL";
            case 14: return "n IS NOT DISTINCT FROM " + std::string(pick(2) ? "NULL" : "2");
            default: return number(-3, 3) + " < n AND id BETWEEN " + number(1, 50) + " AND " + number(40, 120);
        }
    }

    std::mt19937_64 random_;
};

std::vector<predicate> where(const std::string& text, const std::string& of = ddl) {
    return where_of(duck::parse_where({}, text), parse_ddl(of), text);
}

std::string report(const run_result& r) {
    if (r.error) return to_line(*r.error);
    return r.tables.empty() || !r.tables[0].error ? r.status : to_line(*r.tables[0].error);
}

std::string where_text(const std::string& text) {
    std::string out;
    for (const auto& p : where(text)) out += (out.empty() ? "" : " & ") + to_text(p);
    return out;
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(pushdown_on_and_off_give_the_same_rows, query_bench) {
    const std::vector<source_abilities> mixes{
        {},
        {"some", "exact", "exact", "exact", "partial", "no", 1},
        {"partial", "exact", "exact", "exact", "exact", "exact", 3},
        {"exact", "exact", "partial", "partial", "partial", "no", 3},
        {"exact", "no", "no", "exact", "no", "exact", 2},
        {"no", "exact", "exact", "exact", "exact", "exact", 2},
    };
    int pushed = 0;
    for (int i = 0; i < 1'000; ++i) {
        generator g(static_cast<std::uint64_t>(i));
        const auto sql = g.query();
        source.can = mixes[static_cast<std::size_t>(i) % mixes.size()];
        std::string off;
        std::string on;
        try {
            off = rows(sql, false);
            const auto calls = plugin.count("plan_scan");
            on = rows(sql, true);
            if (plugin.count("plan_scan") > calls) ++pushed;
        } catch (const failure& f) {
            BOOST_FAIL(sql << ": " << f.what());
        }
        BOOST_TEST_REQUIRE(off == on, "query " << i << ": " << sql);
    }
    BOOST_TEST(pushed > 700);
}

BOOST_FIXTURE_TEST_CASE(an_aggregate_travels_as_groups, query_bench) {
    source.can.partitions = 3;
    const auto e = explained("SELECT name, COUNT(*), SUM(amount) FROM t WHERE amount > 0.5 GROUP BY name");
    BOOST_TEST(e.partitions == 3);
    const auto text = explain_text(e);
    BOOST_TEST(text.find("PushedAggregates: [COUNT(*), SUM(amount)]\nPushedGroupBy: [name]\n") != std::string::npos,
               text);
    BOOST_TEST(text.find("PushedFilters: [GreaterThan(amount, 0.5)]\n") != std::string::npos, text);
    BOOST_TEST(text.find("ReadSchema: struct<name:string,a0:bigint,a1:double>\n") != std::string::npos, text);
    // COUNT(DISTINCT) is never pushed.
    BOOST_TEST(explain_text(explained("SELECT COUNT(DISTINCT name) FROM t")).find("PushedAggregates: []") !=
               std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(a_count_alone_reads_no_column, query_bench) {
    source.can.aggregate = "no";
    BOOST_TEST(rows("SELECT count(*) AS rows FROM t", true) == "{\"rows\":120}\n");
    BOOST_TEST(plugin.count("plan_scan t {\"columns\":[]}") == 1);
}

BOOST_FIXTURE_TEST_CASE(what_can_pass_no_row_is_not_read, query_bench) {
    source.can.filters = "no";
    BOOST_TEST(rows("SELECT count(*) AS rows FROM t WHERE n = NULL", true) == "{\"rows\":0}\n");
    BOOST_TEST(plugin.count("read_partition") == 0);
}

BOOST_FIXTURE_TEST_CASE(rows_are_printed_for_programs_and_people, query_bench) {
    const std::string sql =
        "SELECT 1 AS a, 'x,\"y' AS b, NULL AS c, 1.50 AS d, sum(n) FILTER (n < -9) AS e, "
        "'' AS f FROM t";
    BOOST_TEST(rows(sql, true) == "{\"a\":1,\"b\":\"x,\\\"y\",\"c\":null,\"d\":1.50,\"e\":null,\"f\":\"\"}\n");
    BOOST_TEST(rows(sql, true, row_format::csv) == "a,b,c,d,e,f\n1,\"x,\"\"y\",,1.50,,\"\"\n");
    BOOST_TEST(rows("SELECT id, name FROM t WHERE id IN (7, 100) ORDER BY id", false, row_format::table)
                   .starts_with(" id  name"));
    BOOST_TEST(rows("SELECT {'k': [1, NULL]} AS s, MAP {'a': 1} AS m, INTERVAL 1 DAY AS i FROM t LIMIT 1", true) ==
               "{\"s\":{\"k\":[1,null]},\"m\":{\"a\":1},\"i\":\"1 day\"}\n");
}

BOOST_FIXTURE_TEST_CASE(what_is_no_query_is_refused_by_name, query_bench) {
    const std::vector<std::pair<std::string, std::string>> cases{
        {"SELECT * FROM a JOIN b ON a.x = b.x", "a join"},
        {"SELECT * FROM t WHERE id IN (SELECT 1)", "a subquery"},
        {"WITH x AS (SELECT 1) SELECT * FROM x", "a WITH"},
        {"SELECT 1 FROM t UNION SELECT 2 FROM t", "UNION"},
        {"SELECT 1", "no table"},
        {"SELECT * FROM read_csv('/etc/passwd')", "a table function"},
        {"SELECT 1 FROM t; SELECT 2 FROM t", "2 statements"},
        {"DELETE FROM t", "Only SELECT"},
        {"SELEC 1 FROM t", "syntax error"},
        {"SELECT nothing FROM t", "nothing"},
        {"SELECT ? FROM t", "a parameter"}};
    for (const auto& [sql, what] : cases) {
        const auto e = refusal(sql);
        BOOST_TEST(e.code == "config.query", sql << ": " << e.code);
        BOOST_TEST(e.message.find(what) != std::string::npos, sql << ": " << e.message);
    }
}

BOOST_FIXTURE_TEST_CASE(a_source_that_ignores_an_exact_filter_is_found_out, query_bench) {
    plugin.read_partition = [](const script_call&) {
        script_read out;
        out.ddl = "id BIGINT NOT NULL";
        out.batches = {{{std::int64_t{1}}, {std::int64_t{2}}}};
        return out;
    };
    const auto e = refusal("SELECT id FROM t WHERE id = 1");
    BOOST_TEST(e.code == "source.filter_ignored");
    BOOST_TEST(e.message.find("id = 2") != std::string::npos, e.message);
}

BOOST_FIXTURE_TEST_CASE(columns_that_differ_only_by_case_are_told_apart, query_bench) {
    const honest_source twins(plugin, "id BIGINT NOT NULL, ID BIGINT", {{std::int64_t{1}, std::int64_t{2}}});
    for (const bool pushdown : {true, false}) {
        BOOST_TEST(rows("SELECT * FROM t", pushdown) == "{\"id\":1,\"ID\":2}\n");
        BOOST_TEST(rows("SELECT \"ID\" FROM t WHERE ID = 2 AND id = 1", pushdown) == "{\"ID\":2}\n");
        BOOST_TEST(rows("SELECT sum(ID) AS s FROM t", pushdown) == "{\"s\":2}\n");
    }
}

BOOST_AUTO_TEST_CASE(literals_take_the_type_of_the_column) {
    BOOST_TEST(where_text("AMOUNT > 50") == "GreaterThan(amount, 50.0)");
    BOOST_TEST(where_text("id > 1.5 and id <= 2.5 and 3.0 = id") ==
               "GreaterThan(id, 1) & LessThanOrEqual(id, 2) & EqualTo(id, 3)");
    BOOST_TEST(where_text("id < -1.5") == "LessThanOrEqual(id, -2)");
    BOOST_TEST(where_text("price = 1") == "EqualTo(price, 1.00)");
    BOOST_TEST(where_text("day >= '2026-01-02' and ts < timestamp '2026-01-02 03:04:05'") ==
               "GreaterThanOrEqual(day, 2026-01-02) & LessThan(ts, 2026-01-02T03:04:05Z)");
    BOOST_TEST(where_text("n in (1, 2.5, 3)") == "In(n, [1,3])");
    BOOST_TEST(where_text("name = 5") == "EqualTo(name, 5)");
}

BOOST_AUTO_TEST_CASE(sql_forms_become_the_same_tree) {
    BOOST_TEST(where_text("n between 1 and 2 and not (n > 4) and name like 'x%'") ==
               "GreaterThanOrEqual(n, 1) & LessThanOrEqual(n, 2) & LessThanOrEqual(n, 4) & StartsWith(name, x)");
    BOOST_TEST(where_text("name like '%x' or name like '%y%' or name like 'z' or name like 'a_%'") ==
               "Or(EndsWith(name, x), Contains(name, y), EqualTo(name, z), Like(name, a_%))");
    BOOST_TEST(where_text("flag and 5 < n and name is distinct from 'x'") ==
               "EqualTo(flag, true) & GreaterThan(n, 5) & Not(EqualNullSafe(name, x))");
    BOOST_TEST(where_text("n = 1 -- and so on") == "EqualTo(n, 1)");
    BOOST_TEST(to_text(where("s.a.b = 1 and \"x.y\" = 'z'", "s STRUCT<a: STRUCT<b: INT>>, `x.y` STRING").front()) ==
               "EqualTo(s.a.b, 1)");
}

BOOST_AUTO_TEST_CASE(a_where_that_is_more_than_a_condition_is_refused_by_name) {
    const std::vector<std::pair<std::string, std::string>> cases{{"n = 1 ORDER BY n", "an ORDER BY"},
                                                                 {"n = 1 LIMIT 5", "a LIMIT"},
                                                                 {"n = 1; SELECT 1", "2 statements"},
                                                                 {"n = 1 GROUP BY n", "a GROUP BY"},
                                                                 {"n = 1 UNION SELECT 1", "set_operation"},
                                                                 {"lower(name) = 'x'", "the function lower"},
                                                                 {"n IN (SELECT 1)", "a subquery"},
                                                                 {"n = id", "two columns"},
                                                                 {"nam = 'x'", "\"nam\""},
                                                                 {"n = 99999999999", "99999999999"},
                                                                 {"n = 1)", "syntax error"},
                                                                 {"", "syntax error"},
                                                                 {"n + 1 = 2", "the function +"}};
    for (const auto& one : cases) {
        const auto& text = one.first;
        const auto& what = one.second;
        BOOST_CHECK_EXCEPTION(where(text), failure, [&](const failure& f) {
            const bool right = f.get().code == "config.where" && f.get().message.find(what) != std::string::npos;
            if (!right) BOOST_TEST_MESSAGE(text << ": " << f.what());
            return right;
        });
    }
}

BOOST_FIXTURE_TEST_CASE(where_in_a_flow_lands_what_the_query_prints, query_bench) {
    for (const std::string filters : {"exact", "some", "partial", "no"}) {
        lake = std::make_shared<memory_destination>();
        source.can.filters = filters;
        auto t = table("t");
        t.mode = land_mode::append;
        t.where = "amount > 1.5 AND name LIKE '%n%' OR id = 3";
        auto p = plan({t});
        p.state_directory += filters;
        const auto result = run_job(p);
        BOOST_TEST(result.status == "succeeded", report(result));
        std::string landed;
        for (const auto& id : lake->values("t", "id")) landed += id + "\n";
        std::vector<std::string> wanted;
        for (const auto& line : split(rows("SELECT id FROM t WHERE " + t.where, false, row_format::csv), '\n')) {
            if (!line.empty() && line != "id") wanted.push_back(line);
        }
        std::sort(wanted.begin(), wanted.end());
        std::string expected;
        for (const auto& id : wanted) expected += id + "\n";
        BOOST_TEST(landed == expected, filters);
        BOOST_TEST(wanted.size() > 3);
    }
}

BOOST_FIXTURE_TEST_CASE(a_snapshot_with_where_is_one_of_a_part, query_bench) {
    auto t = table("t");
    t.where = "amount > 1.5";
    const auto result = run_job(plan({t}));
    BOOST_TEST(result.status == "succeeded", report(result));
    const auto opened = lake->opened();
    BOOST_REQUIRE(!opened.empty());
    BOOST_REQUIRE(opened.back().filter);
    BOOST_TEST(to_text(*opened.back().filter) == "GreaterThan(amount, 1.5)");
    // The table has to hold what the condition asks for, or nobody could say which of its rows pass.
    t.columns = {"id", "name"};
    const auto refused = run_job(plan({t}));
    BOOST_TEST(refused.error->code == "config.columns");
    BOOST_TEST((refused.error->message.find("amount") != std::string::npos), refused.error->message);
}

BOOST_FIXTURE_TEST_CASE(a_where_that_no_predicate_says_and_a_schema_that_is_not_taken_are_refused, query_bench) {
    auto t = table("t");
    t.mode = land_mode::append;
    t.where = "lower(name) = 'x'";
    BOOST_TEST(run_job(plan({t})).error->code == "config.where");
    t.where.clear();
    t.read_schema = "id BIGINT";
    BOOST_TEST(run_job(plan({t})).error->code == "config.read_schema");
}
