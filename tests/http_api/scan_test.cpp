// The planner through the ABI (contract 22, 23, 25, 35): what is pushed, what the reads then ask for, and what explain says.
#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "tests/http_api/harness.h"

namespace lakeflow::http_api_test {
namespace {

namespace tt = boost::test_tools;
using lines = std::vector<std::string>;

// The lesson's service: id BIGINT, name, amount DOUBLE, category, ts; filters on id, amount, category only.
constexpr std::string_view lesson =
    R"({"data":{"path":"data","schema":"id BIGINT NOT NULL, name STRING, amount DOUBLE, category STRING, ts TIMESTAMP",
        "primary_keys":["id"],"columns":{"ts":{"format":"epoch_ms"}},
        "paging":{"type":"offset","offset":"offset","limit":"limit"},"total":{"header":"X-Total-Count"},
        "sort":{"by":"_sort","order":"_order","nulls":"smallest"},
        "filters":{"id":{"=":"id","in":"id_in"},"amount":{">":"amount_gt","<":"amount_lt",">=":"amount_gte"},"category":{"=":"category","in":"category_in"}},
        "aggregate":{"path":"data/aggregate","group_by":"group_by","functions":"agg","records":"/groups"}}})";

std::string equal(const std::string& column, const std::string& value) {
    return R"({"op":"=","column":[")" + column + R"("],"type":"u","value":")" + value + "\"}";
}
std::string above(const std::string& column, const std::string& value) {
    return R"({"op":">","column":[")" + column + R"("],"type":"g","value":")" + value + "\"}";
}
const std::string like_pro = R"({"op":"contains","column":["name"],"type":"u","value":"Pro"})";

json answers(const json& reply) { return reply.at("filters"); }

BOOST_AUTO_TEST_SUITE(scan_planner)

BOOST_AUTO_TEST_CASE(two_filters_are_pushed_and_one_is_returned) {
    bench b([](const asked&, int) { return answer(500, ""); });
    b.resources = lesson;
    const json reply = b.plan("data", R"({"filters":[)" + equal("category", "electronics") + "," + like_pro + "," +
                                          above("amount", "50") + "]}");
    BOOST_TEST(answers(reply).dump() == R"(["exact","no","exact"])");
    BOOST_TEST(reply.at("schema").size() == 5u);
    BOOST_TEST(b.lines().empty());
    // The same request, the same answer, on another instance.
    BOOST_TEST(b.plan("data", R"({"filters":[)" + equal("category", "electronics") + "," + like_pro + "," +
                                  above("amount", "50") + "]}")
                   .dump() == reply.dump());
}

BOOST_AUTO_TEST_CASE(pruning_leaves_the_columns_that_are_asked_for_in_their_order) {
    bench b([](const asked&, int) { return answer(500, ""); });
    b.resources = lesson;
    const json reply = b.plan("data", R"({"columns":[["amount"],["ID"]]})");
    BOOST_TEST(reply.text("columns") == "exact");
    BOOST_TEST(reply.at("schema").dump() == R"([{"name":"amount","type":"g"},{"name":"id","type":"l"}])");
}

BOOST_AUTO_TEST_CASE(an_aggregate_has_its_groups_first) {
    bench b([](const asked&, int) { return answer(500, ""); });
    b.resources = lesson;
    const std::string aggregate =
        R"("aggregate":{"group_by":[["category"]],"functions":[{"op":"count_star"},{"op":"sum","column":["amount"]}]})";
    const json reply = b.plan("data", "{" + aggregate + "}");
    BOOST_TEST(reply.text("aggregate") == "exact");
    BOOST_TEST(
        reply.at("schema").dump() ==
        R"j([{"name":"category","type":"u"},{"name":"count(*)","type":"l"},{"name":"sum(amount)","type":"g"}])j");
    // Neither an aggregate nor a limit while a filter is left over.
    const json left = b.plan("data", R"({"filters":[)" + like_pro + "]," + aggregate + R"(,"limit":5})");
    BOOST_TEST(left.text("aggregate") == "no");
    BOOST_TEST(left.text("limit") == "no");
    // A group by a column that the service does not know.
    const json other = b.plan("data", R"({"aggregate":{"group_by":[["name"]],"functions":[{"op":"count_star"}]}})");
    BOOST_TEST(other.text("aggregate") == "no");
}

BOOST_AUTO_TEST_CASE(what_cannot_be_said_in_a_parameter_stays) {
    bench b([](const asked&, int) { return answer(500, ""); });
    b.resources = lesson;
    const auto one = [&](const std::string& conjunct) {
        return answers(b.plan("data", R"({"filters":[)" + conjunct + "]}")).items()[0].as_text();
    };
    BOOST_TEST(one(R"({"op":"or","args":[)" + equal("category", "a") + "," + equal("category", "b") + "]}") == "no");
    BOOST_TEST(one(R"({"op":"not","arg":)" + equal("category", "a") + "}") == "no");
    BOOST_TEST(one(R"({"op":"=","column":["category"],"type":"u","value":null})") == "no");
    BOOST_TEST(one(above("amount", "NaN")) == "no");
    BOOST_TEST(one(equal("name", "x")) == "no");
    BOOST_TEST(one(R"({"op":"in","column":["id"],"type":"l","values":[]})") == "no");
    BOOST_TEST(one(R"({"op":"in","column":["id"],"type":"l","values":[1,null,3]})") == "exact");
    BOOST_TEST(one(R"({"op":"in","column":["category"],"type":"u","values":["a","b,c"]})") == "no");
    BOOST_TEST(one(R"({"op":"<=>","column":["category"],"type":"u","value":"a"})") == "exact");
    BOOST_TEST(one(R"({"op":"=","column":["CATEGORY"],"type":"u","value":"a"})") == "exact");
    BOOST_TEST(one(R"({"op":"=","column":["category","deep"],"type":"u","value":"a"})") == "no");
    BOOST_TEST(one(R"({"op":"is_not_null","column":["amount"]})") == "no");
    // Not null goes with another comparison of the column; a parameter that is taken is not sent twice.
    BOOST_TEST(answers(b.plan("data", R"({"filters":[{"op":"is_not_null","column":["amount"]},)" +
                                          above("amount", "1") + "," + above("amount", "2") + "]}"))
                   .dump() == R"(["exact","exact","no"])");
}

BOOST_AUTO_TEST_CASE(the_requests_are_those_of_the_lesson) {
    bench b([](const asked& a, int) {
        std::string body = "[";
        const std::int64_t from = a.number("offset", 0), to = std::min<std::int64_t>(from + a.number("limit", 1), 3000);
        for (std::int64_t id = from + 1; id <= to; ++id)
            body += (body.size() > 1 ? "," : "") + std::string(R"({"id":)") + std::to_string(id) +
                    R"(,"name":"Pro","amount":60.5,"category":"electronics","ts":1000})";
        return answer(200, body + "]", "X-Total-Count: 3000\r\n");
    });
    b.resources = lesson;
    b.options = R"({"num_partitions":8})";
    const json reply =
        b.plan("data", R"({"filters":[)" + equal("category", "electronics") + "," + above("amount", "50.0") + "," +
                           like_pro + R"(],"columns":[["id"],["name"],["amount"]]})");
    const outcome out = b.batch("data", reply.at("scan").dump());
    BOOST_TEST(out.partitions == 3u);  // of a thousand rows each
    BOOST_TEST(out.ids() == up_to(3000), tt::per_element());
    BOOST_TEST(out.batches.front().schema->columns() == 3);
    for (const std::string& line : b.lines()) {
        BOOST_TEST(line.substr(line.find(' ') + 1).find("/api/data?category=electronics&amount_gt=50.0&offset=") == 0u,
                   line);
    }
    BOOST_TEST(b.lines().front() == "HEAD /api/data?category=electronics&amount_gt=50.0&offset=0&limit=1");
    const json said = b.explain("data", reply.at("scan").dump());
    BOOST_TEST(
        said.text("description") ==
        "http-api.data[schema=id,name,amount, filters=[EqualTo(category, electronics), GreaterThan(amount, 50.0)]]");
    BOOST_TEST(said.text("table") == "http-api:" + b.server.url("/api") + " data");
    BOOST_TEST(said.at("requests").items()[1].as_text() ==
               "GET " + b.server.url("/api/data?category=electronics&amount_gt=50.0&offset=0&limit=200"));
}

BOOST_AUTO_TEST_CASE(a_filter_that_the_service_ignores_is_named) {
    bench b([](const asked&, int) {
        return answer(200, R"([{"id":1,"amount":60,"category":"electronics"},{"id":2,"amount":60,"category":"toys"}])");
    });
    b.resources =
        R"({"data":{"schema":"id BIGINT, amount DOUBLE, category STRING","filters":{"category":{"=":"category"}}}})";
    const std::string scan =
        b.plan("data", R"({"filters":[)" + equal("category", "electronics") + "]}").at("scan").dump();
    const auto error = error_of([&] { b.batch("data", scan); });
    BOOST_TEST(error.code == "source.filter_ignored");
    BOOST_TEST(error.message.find("toys") != std::string::npos);
    // A column that is not read is not checked, unless the resource says so.
    const std::string pruned =
        b.plan("data", R"({"filters":[)" + equal("category", "electronics") + R"(],"columns":[["id"]]})")
            .at("scan")
            .dump();
    BOOST_TEST(b.batch("data", pruned).rows() == 2);
    b.options = R"({"verify":true})";
    BOOST_TEST(error_of([&] { b.batch("data", pruned); }).code == "source.filter_ignored");
}

BOOST_AUTO_TEST_CASE(groups_come_in_one_request_and_nothing_counts_as_one_row) {
    bench b([](const asked& a, int) {
        if (a.path != "/api/data/aggregate") return answer(404, "{}");
        if (a.value("category") == "none") return answer(200, R"({"groups":[]})");
        return answer(
            200,
            R"j({"groups":[{"category":"a","count(*)":2,"sum(amount)":3.5},{"category":null,"count(*)":1,"sum(amount)":null}]})j");
    });
    b.resources = lesson;
    const std::string by = R"("functions":[{"op":"count_star"},{"op":"sum","column":["amount"]}]}})";
    const std::string scan =
        b.plan("data", R"({"filters":[)" + above("amount", "1") + R"(],"aggregate":{"group_by":[["category"]],)" + by)
            .at("scan")
            .dump();
    const outcome out = b.batch("data", scan);
    BOOST_TEST((out.column("count(*)") == lines{"2", "1"}));
    BOOST_TEST((b.lines() ==
                lines{"GET /api/data/aggregate?amount_gt=1.0&group_by=category&agg=count%28%2A%29%2Csum%28amount%29"}));
    const std::string whole =
        b.plan("data", R"({"filters":[)" + equal("category", "none") + R"(],"aggregate":{)" + by).at("scan").dump();
    BOOST_TEST((b.serial("data", whole).column("count(*)") == lines{"0"}));
}

BOOST_AUTO_TEST_CASE(limits_and_top_n_ask_for_no_more) {
    bench b([](const asked& a, int) {
        std::string body = "[";
        const std::int64_t from = a.number("offset", 0);
        for (std::int64_t i = 0; i < a.number("limit", 1); ++i)
            body += (i > 0 ? "," : "") + std::string(R"({"id":)") + std::to_string(1000 - from - i) + R"(,"amount":1})";
        return answer(200, body + "]", "X-Total-Count: 1000\r\n");
    });
    b.resources = lesson;
    const std::string order = R"("order_by":[{"column":["id"],"descending":true,"nulls_first":false}])";
    const json reply = b.plan("data", "{" + order + R"(,"limit":7,"offset":2,"columns":[["id"]]})");
    BOOST_TEST(reply.text("order_by") == "exact");
    BOOST_TEST(reply.text("limit") == "exact");
    BOOST_TEST(reply.text("offset") == "exact");
    const outcome out = b.batch("data", reply.at("scan").dump());
    BOOST_TEST(out.ids() == up_to(998, 992), tt::per_element());
    BOOST_TEST((b.lines() == lines{"GET /api/data?_sort=id&_order=desc&offset=2&limit=7"}));
    // The service's order of texts is its own, and so is the place of its nulls.
    BOOST_TEST(b.plan("data", R"({"order_by":[{"column":["name"]}],"limit":7})").text("limit") == "no");
    BOOST_TEST(b.plan("data", R"({"order_by":[{"column":["amount"],"descending":true,"nulls_first":true}],"limit":7})")
                   .text("limit") == "no");
    BOOST_TEST(b.plan("data", R"({"order_by":[{"column":["amount"],"descending":true,"nulls_first":false}],"limit":7})")
                   .text("limit") == "exact");
    // A large limit is still read in parts.
    const outcome many = b.batch("data", b.plan("data", R"({"limit":900})").at("scan").dump());
    BOOST_TEST(many.rows() == 900);
}

BOOST_AUTO_TEST_CASE(rows_without_columns_are_counted) {
    bench b([](const asked&, int) { return answer(200, R"([{"id":1},{"id":2},{"id":3}])"); });
    b.resources = R"({"data":{"schema":"id BIGINT, name STRING"}})";
    const outcome out = b.batch("data", b.plan("data", R"({"columns":[]})").at("scan").dump());
    BOOST_TEST(out.rows() == 3);
    BOOST_TEST(out.batches.front().schema->columns() == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace lakeflow::http_api_test
