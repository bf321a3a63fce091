// Negotiation with scripted replies: what is asked and when, what the host makes of each answer, and replies that break the contract.
#include "host/scan/negotiate.h"

#include <boost/test/unit_test.hpp>

#include "host/arrow/schema.h"
#include "host/base/error.h"
#include "host/scan/explain.h"

using namespace lakeflow::host;

namespace {

struct planner {
    std::vector<std::string> replies;
    std::vector<std::string> requests;

    scan_planner ask() {
        return [this](const std::string& request) -> std::optional<std::string> {
            requests.push_back(request);
            if (requests.size() > replies.size()) return std::nullopt;
            return replies[requests.size() - 1];
        };
    }
};

struct bench {
    std::shared_ptr<const arrow_schema> table = std::make_shared<const arrow_schema>(
        parse_ddl("id BIGINT NOT NULL, name STRING, amount DOUBLE, category STRING"));
    scan_wish wish;
    planner source;

    bench() { wish.columns = {0, 2}; }
    predicate on(predicate_op op, const std::string& column, literal value) const {
        predicate p;
        p.op = op;
        p.column = {column};
        const auto& node = table->column(find_column(*table->get(), column));
        p.type = type_of(node);
        p.format = node.format;
        p.values = {std::move(value)};
        return p;
    }
    // The lesson's three: two that the service takes, one that it does not.
    void lesson() {
        wish.filters = {on(predicate_op::equal, "category", std::string("electronics")),
                        on(predicate_op::greater, "amount", 50.0),
                        on(predicate_op::contains, "name", std::string("Pro"))};
    }
    scan_choice run(std::vector<std::string> replies) {
        source.replies = std::move(replies);
        return negotiate(wish, table, source.ask(), "p/t");
    }
    void refused(const std::vector<std::string>& replies, const std::string& why) {
        source.requests.clear();
        BOOST_CHECK_EXCEPTION(run(replies), failure, [&](const failure& f) {
            const bool right = f.get().code == "plugin.contract" && f.get().message.find(why) != std::string::npos;
            if (!right) BOOST_TEST_MESSAGE(f.what());
            return right;
        });
    }
};

std::string texts(const std::vector<predicate>& list) {
    std::string out;
    for (const auto& p : list) out += (out.empty() ? "" : ", ") + to_text(p);
    return out;
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(two_filters_are_pushed_and_one_stays, bench) {
    lesson();
    wish.limit = 10;
    const auto c = run({R"({"filters":["exact","exact","no"],"scan":{"n":1}})",
                        R"({"filters":["exact","exact","no"],"columns":"exact","scan":{"n":2},
                            "schema":[{"name":"id","type":"l"},{"name":"name","type":"u"},{"name":"amount","type":"g"}]})"});
    BOOST_TEST(texts(c.pushed) == "EqualTo(category, electronics), GreaterThan(amount, 50.0)");
    BOOST_TEST(texts(c.residual) == "Contains(name, Pro)");
    BOOST_TEST(c.scan == R"({"n":2})");
    // The residual's column is read too, the pushed one's is not; a limit is not even asked for.
    BOOST_TEST(to_ddl(*c.schema->get()) == to_ddl(*parse_ddl("id BIGINT NOT NULL, name STRING, amount DOUBLE").get()));
    BOOST_REQUIRE(source.requests.size() == 2);
    BOOST_TEST(source.requests[0] == R"({"filters":[{"op":"=","column":["category"],"type":"u","value":"electronics"},)"
                                     R"({"op":">","column":["amount"],"type":"g","value":"50.0"},)"
                                     R"({"op":"contains","column":["name"],"type":"u","value":"Pro"}]})");
    BOOST_TEST(source.requests[1].starts_with(R"({"columns":[["id"],["name"],["amount"]],"filters":[)"));
}

BOOST_FIXTURE_TEST_CASE(a_partial_filter_is_applied_again, bench) {
    lesson();
    const auto c = run({R"({"filters":["partial","exact","no"],"scan":{}})"});
    BOOST_TEST(texts(c.pushed) == "EqualTo(category, electronics), GreaterThan(amount, 50.0)");
    BOOST_TEST(texts(c.residual) == "EqualTo(category, electronics), Contains(name, Pro)");
    BOOST_TEST(texts(c.exact) == "GreaterThan(amount, 50.0)");
}

BOOST_FIXTURE_TEST_CASE(a_plugin_that_declines_leaves_all_to_the_host, bench) {
    lesson();
    const auto c = run({});
    BOOST_TEST(c.residual.size() == 3);
    BOOST_TEST(c.pushed.empty());
    BOOST_TEST(c.schema == table);
    BOOST_TEST(c.scan == "{}");
    const auto none = negotiate(wish, table, {}, "p/t");
    BOOST_TEST(none.residual.size() == 3);
}

BOOST_FIXTURE_TEST_CASE(an_aggregate_is_asked_for_only_when_every_filter_is_exact, bench) {
    lesson();
    wish.columns = {2, 3};
    wish.aggregate = aggregation{{{"category"}}, {{aggregate_op::count_star, {}}, {aggregate_op::sum, {"amount"}}}};
    run({R"({"filters":["exact","partial","exact"],"scan":{}})"});
    for (const auto& request : source.requests) BOOST_TEST(request.find("aggregate") == std::string::npos);
    source.requests.clear();
    const auto c = run({R"({"filters":["exact","exact","exact"],"scan":{}})",
                        R"j({"filters":["exact","exact","exact"],"aggregate":"partial","scan":{"a":1},"schema":
                            [{"name":"category","type":"u"},{"name":"count(*)","type":"l"},{"name":"sum(amount)","type":"g"}]})j"});
    BOOST_TEST((c.aggregate == answer::partial));
    BOOST_TEST(short_type(*c.schema->get()) == "struct<category:string,count(*):bigint,sum(amount):double>");
    BOOST_TEST(source.requests.size() == 2);
    BOOST_TEST(source.requests[1].find(R"("aggregate":{"group_by":[["category"]],"functions":[{"op":"count_star"},)"
                                       R"({"op":"sum","column":["amount"]}]})") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(conditions_that_only_the_host_knows_keep_aggregate_and_limit_with_it, bench) {
    wish.further_filters = true;
    wish.limit = 5;
    wish.columns = {0, 1, 2, 3};
    wish.aggregate = aggregation{{}, {{aggregate_op::count_star, {}}}};
    run({"{}"});
    BOOST_TEST(source.requests.empty());
}

BOOST_FIXTURE_TEST_CASE(a_refused_aggregate_leaves_columns_to_be_asked_for, bench) {
    wish.aggregate = aggregation{{}, {{aggregate_op::sum, {"amount"}}}};
    wish.columns = {2};
    const auto c = run({R"({"aggregate":"no"})", R"({"columns":"exact","scan":{"c":1}})"});
    BOOST_TEST((c.aggregate == answer::no));
    BOOST_TEST(c.columns);
    BOOST_TEST(source.requests[1] == R"({"columns":[["amount"]]})");
}

BOOST_FIXTURE_TEST_CASE(where_the_source_does_not_skip_it_gives_the_skipped_rows_too, bench) {
    wish.limit = 10;
    wish.offset = 5;
    wish.columns = {0, 1, 2, 3};
    const auto c = run({R"({"limit":"exact","offset":"no","scan":{}})", R"({"limit":"partial","scan":{"l":15}})"});
    BOOST_TEST(source.requests[0] == R"({"limit":10,"offset":5})");
    BOOST_TEST(source.requests[1] == R"({"limit":15})");
    BOOST_TEST((c.limit == answer::partial));
    BOOST_TEST(!c.offset);
    BOOST_TEST(c.scan == R"({"l":15})");
    source.requests.clear();
    BOOST_TEST((run({R"({"limit":"no","offset":"no"})", R"({"limit":"exact","scan":{}})"}).limit == answer::exact));
    source.requests.clear();
    BOOST_TEST(run({R"({"limit":"exact","offset":"exact","scan":{}})"}).offset);
}

BOOST_FIXTURE_TEST_CASE(a_limit_without_its_order_is_no_use, bench) {
    wish.limit = 3;
    wish.order_by = {{{"amount"}, true, false}};
    wish.columns = {0, 1, 2, 3};
    BOOST_TEST((run({R"({"limit":"exact","order_by":"no","scan":{}})"}).limit == answer::no));
    BOOST_TEST(source.requests[0] ==
               R"({"order_by":[{"column":["amount"],"descending":true,"nulls_first":false}],"limit":3})");
    source.requests.clear();
    BOOST_TEST((run({R"({"limit":"partial","order_by":"partial","scan":{}})"}).limit == answer::partial));
}

BOOST_FIXTURE_TEST_CASE(above_a_sample_of_the_host_nothing_is_cut_by_the_source, bench) {
    wish.sample = sample_wish{"bernoulli", "0.1", 7};
    wish.limit = 3;
    wish.columns = {0, 1, 2, 3};
    run({R"({"sample":"no"})"});
    BOOST_TEST(source.requests.size() == 1);
    BOOST_TEST(source.requests[0] == R"({"sample":{"method":"bernoulli","fraction":"0.1","seed":7}})");
}

BOOST_FIXTURE_TEST_CASE(no_column_at_all_is_a_request_too, bench) {
    wish.columns = {};
    const auto c = run({R"({"columns":"exact","schema":[],"scan":{}})"});
    BOOST_TEST(source.requests[0] == R"({"columns":[]})");
    BOOST_TEST(c.schema->columns() == 0);
}

BOOST_FIXTURE_TEST_CASE(replies_that_break_the_contract_are_refused, bench) {
    lesson();
    refused({"nonsense"}, "not a JSON object");
    refused({"[]"}, "not a JSON object");
    refused({R"({"filter":[]})"}, "\"filter\"");
    refused({R"({"filters":["exact"]})"}, "1 answers to 3 conjuncts");
    refused({R"({"filters":["exact","exact","perhaps"]})"}, "perhaps");
    refused({R"({"filters":["exact","exact","exact"]})"}, "no \"scan\"");
    refused({R"({"filters":["no","no","no"],"limit":"exact","scan":{}})"}, "not asked");
    refused({R"({"filters":["no","no","no"],"scan":7})"}, "\"scan\"");
    refused(
        {R"({"filters":["exact","no","no"],"scan":{}})", R"({"filters":["no","no","no"],"columns":"exact","scan":{}})"},
        "another answer");
    refused(
        {R"({"filters":["exact","exact","exact"],"scan":{}})",
         R"({"filters":["exact","exact","exact"],"columns":"exact","scan":{},"schema":[{"name":"amount","type":"g"},{"name":"id","type":"l"}]})"},
        "in their order");
    refused(
        {R"({"filters":["exact","exact","exact"],"scan":{}})",
         R"({"filters":["exact","exact","exact"],"columns":"exact","scan":{},"schema":[{"name":"id","type":"??"}]})"},
        "schema");
}

BOOST_FIXTURE_TEST_CASE(an_aggregate_of_other_types_or_order_is_refused, bench) {
    wish.aggregate = aggregation{{{"category"}}, {{aggregate_op::count, {"name"}}, {aggregate_op::max, {"amount"}}}};
    const auto with = [](const std::string& schema) {
        return std::vector<std::string>{R"({"aggregate":"exact","scan":{},"schema":)" + schema + "}"};
    };
    refused({R"({"aggregate":"exact","scan":{}})"}, "gives no \"schema\"");
    refused(with(R"([{"name":"category","type":"u"},{"name":"n","type":"l"}])"), "2 columns");
    refused(with(R"([{"name":"n","type":"l"},{"name":"category","type":"u"},{"name":"m","type":"g"}])"), "column 1");
    refused(with(R"([{"name":"category","type":"u"},{"name":"n","type":"i"},{"name":"m","type":"g"}])"), "COUNT(name)");
    refused(with(R"([{"name":"category","type":"u"},{"name":"n","type":"l"},{"name":"n","type":"g"}])"),
            "names of their own");
}

BOOST_FIXTURE_TEST_CASE(the_page_of_explain_is_stable, bench) {
    lesson();
    explanation e;
    e.plugin = "http-api";
    e.table = "orders";
    e.choice = run({R"({"filters":["exact","exact","no"],"scan":{}})",
                    R"({"filters":["exact","exact","no"],"columns":"exact","scan":{}})"});
    e.wish = wish;
    e.further_filters = {"(lower(name) = 'x')"};
    e.partitions = 8;
    e.said = parse_explanation(
        R"({"table":"http-api:https://h/api orders","requests":["GET /data?category=electronics"],"lines":["Pages: 3"]})",
        "p");
    BOOST_TEST(
        explain_text(e) ==
        "http-api.orders[schema=id,name,amount, filters=[EqualTo(category, electronics), GreaterThan(amount, 50.0)]]\n"
        "Table: http-api:https://h/api orders\n"
        "PushedFilters: [EqualTo(category, electronics), GreaterThan(amount, 50.0)]\n"
        "PostScanFilters: [Contains(name, Pro), (lower(name) = 'x')]\n"
        "PushedAggregates: []\n"
        "PushedGroupBy: []\n"
        "PushedLimit: none\n"
        "ReadSchema: struct<id:bigint,name:string,amount:double>\n"
        "Partitions: 8\n"
        "Requests: [GET /data?category=electronics]\n"
        "Pages: 3\n");
    BOOST_TEST(
        explain_json(e) ==
        R"({"table":"http-api:https://h/api orders","description":"http-api.orders[schema=id,name,amount, filters=[EqualTo(category, electronics), GreaterThan(amount, 50.0)]]",)"
        R"j("pushed_filters":["EqualTo(category, electronics)","GreaterThan(amount, 50.0)"],"post_scan_filters":["Contains(name, Pro)","(lower(name) = 'x')"],)j"
        R"("pushed_aggregates":[],"pushed_group_by":[],"pushed_limit":null,"pushed_top_n":[],"pushed_offset":null,"pushed_sample":null,)"
        R"("read_schema":"struct<id:bigint,name:string,amount:double>","partitions":8,"requests":["GET /data?category=electronics"],"lines":["Pages: 3"]})");
}

BOOST_AUTO_TEST_CASE(too_few_and_too_many_partitions_are_told) {
    BOOST_TEST(partition_hint(3, 8).find("3 of 8 workers") == 0);
    BOOST_TEST(partition_hint(8, 8).empty());
    BOOST_TEST(partition_hint(801, 8).find("more than 100") == 0);
}
