// Every way to walk pages, and what is distrusted on the way.
#include <boost/test/unit_test.hpp>

#include "tests/http_api/harness.h"

namespace lakeflow::http_api_test {
namespace {

namespace tt = boost::test_tools;

// Rows first..last as a JSON array.
std::string rows(std::int64_t first, std::int64_t last) {
    std::string out = "[";
    for (std::int64_t id = first; id <= last; ++id) {
        out += (out.size() > 1 ? "," : "") + std::string(R"({"id":)") + std::to_string(id) + R"(,"name":"n)" +
               std::to_string(id) + "\"}";
    }
    return out + "]";
}

std::string resource(const std::string& paging, const std::string& more = "") {
    return R"({"orders":{"path":"orders","schema":"id BIGINT NOT NULL, name STRING","primary_keys":["id"],)" + more +
           R"("paging":)" + paging + "}}";
}

using lines = std::vector<std::string>;

BOOST_AUTO_TEST_SUITE(pages)

BOOST_AUTO_TEST_CASE(pages_are_numbered_until_a_short_one) {
    bench b([](const asked& a, int) {
        const std::int64_t page = a.number("page", 1), size = a.number("per_page", 10);
        return answer(200, rows((page - 1) * size + 1, std::min<std::int64_t>(page * size, 25)));
    });
    b.resources = resource(R"({"type":"page","page":"page","size":"per_page","page_size":10})");
    BOOST_TEST(b.batch("orders").ids() == up_to(25), tt::per_element());
    BOOST_TEST((b.lines() == lines{"GET /api/orders?page=1&per_page=10", "GET /api/orders?page=2&per_page=10",
                                   "GET /api/orders?page=3&per_page=10"}));
}

BOOST_AUTO_TEST_CASE(offsets_move_by_what_came_where_the_service_says_that_there_is_more) {
    // The service gives at most 7 rows, whatever it is asked for.
    bench b([](const asked& a, int) {
        const std::int64_t from = a.number("offset", 0), to = std::min<std::int64_t>(from + 7, 25);
        return answer(200, R"({"data":)" + rows(from + 1, to) + R"(,"more":)" + (to < 25 ? "true" : "false") + "}");
    });
    b.resources = resource(R"({"type":"offset","offset":"offset","limit":"limit","page_size":10,"more":"/more"})",
                           R"("records":"/data",)");
    BOOST_TEST(b.batch("orders").ids() == up_to(25), tt::per_element());
}

BOOST_AUTO_TEST_CASE(an_empty_page_is_no_end_where_the_service_says_that_there_is_more) {
    bench b([](const asked& a, int) {
        const std::int64_t page = a.number("page", 1);
        const std::string data = page == 2 ? "[]" : rows(page * 10, page * 10 + 1);
        return answer(200, R"({"data":)" + data + "}", page < 3 ? "X-More: true\r\n" : "X-More: false\r\n");
    });
    b.resources = resource(R"({"type":"page","more":{"header":"X-More"}})", R"("records":"/data",)");
    BOOST_TEST((b.batch("orders").ids() == std::vector<std::int64_t>{10, 11, 30, 31}));
}

BOOST_AUTO_TEST_CASE(tokens_of_a_document_or_a_header_lead_on) {
    for (const bool header : {false, true}) {
        bench b([&](const asked& a, int) {
            const std::int64_t at = a.number("cursor", 0);
            const std::string next = at < 20 ? std::to_string(at + 10) : "";
            std::string body = R"({"items":)" + rows(at + 1, at + 10);
            if (!header) body += R"(,"meta":{"next":)" + (next.empty() ? "null" : "\"" + next + "\"") + "}";
            return answer(200, body + "}", header && !next.empty() ? "Next-Page: " + next + "\r\n" : "");
        });
        b.resources = resource(header ? R"({"type":"cursor","param":"cursor","header":"Next-Page"})"
                                      : R"({"type":"cursor","param":"cursor","next":"/meta/next"})",
                               R"("records":"/items",)");
        BOOST_TEST(b.batch("orders").ids() == up_to(30), tt::per_element());
        BOOST_TEST(b.lines().front() == "GET /api/orders");
        BOOST_TEST(b.lines().back() == "GET /api/orders?cursor=20");
    }
}

BOOST_AUTO_TEST_CASE(the_last_row_leads_on_also_when_its_column_is_not_read) {
    bench b([](const asked& a, int) {
        const std::int64_t after = a.number("starting_after", 0), to = std::min<std::int64_t>(after + 10, 35);
        return answer(200,
                      R"({"data":)" + rows(after + 1, to) + R"(,"has_more":)" + (to < 35 ? "true" : "false") + "}");
    });
    b.resources = resource(
        R"({"type":"last_id","param":"starting_after","field":"id","size":"limit","page_size":10,"more":"/has_more"})",
        R"("records":"/data",)");
    BOOST_TEST(b.batch("orders").ids() == up_to(35), tt::per_element());
    const outcome names = b.batch("orders", R"({"columns":["name"]})");
    BOOST_TEST(names.rows() == 35);
    BOOST_TEST(names.batches.front().schema->columns() == 1);
    BOOST_TEST(names.column("name").back() == "n35");
}

BOOST_AUTO_TEST_CASE(links_lead_on_relative_ones_too_and_an_empty_header_is_the_end) {
    bench b([](const asked& a, int) {
        const std::int64_t page = a.number("p", 1);
        const std::string link = page < 3 ? "<../api/orders?p=" + std::to_string(page + 1) + ">; rel=\"next\"" : "";
        return answer(200, rows(page * 10 - 9, page * 10), "Link: " + link + "\r\n");
    });
    b.resources = resource(R"({"type":"link"})");
    BOOST_TEST(b.batch("orders").ids() == up_to(30), tt::per_element());
}

BOOST_AUTO_TEST_CASE(addresses_of_a_document_lead_on_by_rfc_3986) {
    bench b([](const asked& a, int) {
        const std::int64_t page = a.number("p", 1);
        const std::string next = page < 3 ? "\"?p=" + std::to_string(page + 1) + "\"" : "\"\"";
        return answer(200, R"({"rows":)" + rows(page * 10 - 9, page * 10) + R"(,"next":)" + next + "}");
    });
    b.resources = resource(R"({"type":"next_url","next":"/next"})", R"("records":"/rows",)");
    BOOST_TEST(b.batch("orders").ids() == up_to(30), tt::per_element());
    BOOST_TEST(b.lines().back() == "GET /api/orders?p=3");
}

BOOST_AUTO_TEST_CASE(a_link_to_another_origin_gets_nothing) {
    bench other([](const asked&, int) { return answer(200, "[]"); });
    bench b([&](const asked&, int) {
        return answer(200, R"({"rows":)" + rows(1, 2) + R"(,"next":")" + other.server.url("/x") + "\"}");
    });
    b.more = R"("auth":{"type":"bearer","token":"canary-token"},)";
    b.resources = resource(R"({"type":"next_url","next":"/next"})", R"("records":"/rows",)");
    BOOST_TEST(error_of([&] { b.batch("orders"); }).code == "source.off_origin");
    BOOST_TEST(other.server.requests().empty());
}

BOOST_AUTO_TEST_CASE(a_token_that_repeats_is_a_circle) {
    bench b([](const asked& a, int) {
        const bool first = !a.has("cursor");
        return answer(200, R"({"rows":)" + (first ? rows(1, 5) : rows(6, 10)) + R"(,"next":"same"})");
    });
    b.resources = resource(R"({"type":"cursor","param":"cursor","next":"/next"})", R"("records":"/rows",)");
    const auto error = error_of([&] { b.batch("orders"); });
    BOOST_TEST(error.code == "source.page_cycle");
    BOOST_TEST(b.lines().size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_page_that_repeats_is_a_circle) {
    bench b([](const asked&, int) { return answer(200, rows(1, 10)); });
    b.resources = resource(R"({"type":"page","page":"pgae","size":"n","page_size":10})");
    const auto error = error_of([&] { b.batch("orders"); });
    BOOST_TEST(error.code == "source.page_cycle");
    BOOST_TEST(error.hint.find("pgae") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(pages_without_an_end_and_without_rows_are_named) {
    bench b([](const asked&, int) { return answer(200, R"({"rows":[],"more":true})"); });
    b.resources = resource(R"({"type":"page","more":"/more"})", R"("records":"/rows",)");
    BOOST_TEST(error_of([&] { b.batch("orders"); }).code == "source.page_cycle");
    BOOST_TEST(b.lines().size() < 200u);
}

BOOST_AUTO_TEST_CASE(a_total_spreads_pages_over_parts) {
    bench b([](const asked& a, int) {
        const std::int64_t from = a.number("offset", 0),
                           to = std::min<std::int64_t>(from + a.number("limit", 10), 1000);
        return answer(200, rows(from + 1, to), "X-Total-Count: 1000\r\n");
    });
    b.resources =
        resource(R"({"type":"offset"})",
                 R"("total":{"header":"X-Total-Count"},"num_partitions":4,"rows_per_partition":100,"fetch_size":125,)");
    b.workers = 3;
    const outcome out = b.batch("orders");
    BOOST_TEST(out.partitions == 4u);
    BOOST_TEST(out.ids() == up_to(1000), tt::per_element());
    lines all = b.lines();
    BOOST_TEST(all.front() == "HEAD /api/orders?offset=0&limit=1");
    BOOST_TEST(all.size() == 1 + 8 + 1u);  // the total, eight pages, the total again
    std::sort(all.begin(), all.end());
    BOOST_TEST((std::find(all.begin(), all.end(), "GET /api/orders?offset=875&limit=125") != all.end()));
}

BOOST_AUTO_TEST_CASE(a_service_without_head_is_asked_for_one_row_and_one_without_a_total_is_read_as_it_comes) {
    for (const std::string total : {"250", "-1", ""}) {
        bench b([&](const asked& a, int) {
            if (a.method == "HEAD") return answer(405, "");
            const std::int64_t page = a.number("page", 1), size = a.number("size", 10);
            return answer(200, rows((page - 1) * size + 1, std::min<std::int64_t>(page * size, 250)),
                          total.empty() ? "" : "X-Total-Count: " + total + "\r\n");
        });
        b.resources = resource(R"({"type":"page","size":"size","page_size":50})",
                               R"("total":{"header":"X-Total-Count"},"rows_per_partition":50,"num_partitions":2,)");
        const outcome out = b.batch("orders");
        BOOST_TEST(out.partitions == (total == "250" ? 2u : 1u));
        BOOST_TEST(out.ids() == up_to(250), tt::per_element());
    }
}

BOOST_AUTO_TEST_CASE(a_service_that_gives_fewer_rows_a_page_than_asked_is_followed_at_its_size) {
    bench b([](const asked& a, int) {
        const std::int64_t page = a.number("page", 1);
        return answer(200, R"({"n":95,"rows":)" + rows(page * 10 - 9, std::min<std::int64_t>(page * 10, 95)) + "}");
    });
    b.resources = resource(R"({"type":"page","size":"size","page_size":50})",
                           R"("records":"/rows","total":{"pointer":"/n"},"rows_per_partition":50,)");
    const outcome out = b.batch("orders");
    BOOST_TEST(out.partitions == 2u);
    BOOST_TEST(out.ids() == up_to(95), tt::per_element());
}

BOOST_AUTO_TEST_CASE(fewer_rows_than_the_service_states_are_no_success) {
    for (const bool parts : {true, false}) {
        bench b([](const asked& a, int) {
            const std::int64_t from = a.number("offset", 0),
                               to = std::min<std::int64_t>(from + a.number("limit", 10), 380);
            return answer(200, from >= 380 ? "[]" : rows(from + 1, to), "X-Total-Count: 400\r\n");
        });
        b.resources = resource(R"({"type":"offset"})",
                               R"("total":{"header":"X-Total-Count"},"rows_per_partition":100,"fetch_size":50,)");
        const auto error = error_of([&] { parts ? b.batch("orders") : b.serial("orders"); });
        BOOST_TEST(error.code == "source.incomplete");
        BOOST_TEST(error.message.find("400") != std::string::npos);
        BOOST_TEST(error.message.find("380") != std::string::npos);
    }
}

BOOST_AUTO_TEST_CASE(rows_that_come_while_it_is_read_are_read_too) {
    std::atomic<int> heads{0};
    bench b([&](const asked& a, int) {
        if (a.method == "HEAD") ++heads;
        const std::int64_t all = heads < 2 ? 300 : 310;
        const std::int64_t from = a.number("offset", 0), to = std::min<std::int64_t>(from + a.number("limit", 10), all);
        return answer(200, from >= to ? "[]" : rows(from + 1, to), "X-Total-Count: " + std::to_string(all) + "\r\n");
    });
    b.resources = resource(R"({"type":"offset"})",
                           R"("total":{"header":"X-Total-Count"},"rows_per_partition":100,"fetch_size":100,)");
    BOOST_TEST(b.batch("orders").ids() == up_to(310), tt::per_element());
}

BOOST_AUTO_TEST_CASE(parts_may_be_the_declared_values_of_a_column) {
    bench b([](const asked& a, int) {
        const std::string of = a.value("category");
        const std::int64_t n = of == "a" ? 3 : of == "b" ? 4 : 8;
        return answer(200, of == "b" ? rows(4, 7) : rows(1, n), "X-Total-Count: " + std::to_string(n) + "\r\n");
    });
    const std::string split = R"("partition_by":{"field":"category","values":["a","b"]},)";
    b.resources = resource(R"({"type":"none"})", split);
    const outcome out = b.batch("orders");
    BOOST_TEST(out.partitions == 2u);
    BOOST_TEST(out.ids() == up_to(7), tt::per_element());
    // A value that nobody declared is rows that nobody reads.
    b.resources = resource(R"({"type":"none"})", split + R"("total":{"header":"X-Total-Count"},)");
    BOOST_TEST(error_of([&] { b.batch("orders"); }).code == "source.incomplete");
}

BOOST_AUTO_TEST_CASE(a_search_by_post_says_all_in_its_body) {
    bench b([](const asked& a, int) {
        if (a.header("Content-Type") == "application/json") {
            const json body = json::parse(a.body);
            const std::int64_t from = body.at("page").integer("from"),
                               to = std::min<std::int64_t>(from + body.at("page").integer("size"), 25);
            return answer(200, R"({"hits":)" + rows(from + 1, to) + R"(,"total":25})");
        }
        return answer(200,
                      R"({"hits":)" + (a.body.find("from=0&") != std::string::npos ? rows(1, 10) : rows(11, 15)) + "}");
    });
    b.resources = resource(
        R"({"type":"offset","offset":"/page/from","limit":"/page/size","page_size":10})",
        R"("method":"POST","records":"/hits","total":{"pointer":"/total"},"params":{"query":{"all":true}},"rows_per_partition":10,)");
    BOOST_TEST(b.batch("orders").ids() == up_to(25), tt::per_element());
    BOOST_TEST(read_request(b.server.requests().back()).body.find(R"({"query":{"all":true},"page":{"from":)") == 0u);
    b.resources = resource(R"({"type":"offset","offset":"from","limit":"size","page_size":10})",
                           R"("method":"POST","body":"form","records":"/hits",)");
    BOOST_TEST(b.batch("orders").ids() == up_to(15), tt::per_element());
}

BOOST_AUTO_TEST_CASE(headers_and_credentials_go_with_each_request) {
    bench b([](const asked& a, int) {
        const bool right = a.header("X-API-Key") == "k1" && a.header("Accept") == "application/vnd.shop+json";
        return right ? answer(200, rows(1, 3)) : answer(401, "{}");
    });
    b.more = R"("apiKey":"k1","headers":{"Accept":"application/vnd.shop+json"},)";
    b.resources = resource(R"({"type":"none"})", R"("params":{"expand":"customer","fields":["a","b"]},)");
    BOOST_TEST(b.batch("orders").rows() == 3);
    BOOST_TEST(b.lines().front() == "GET /api/orders?expand=customer&fields=a&fields=b");
}

BOOST_AUTO_TEST_CASE(a_page_that_is_html_is_asked_for_again_and_then_named) {
    bench b([](const asked&, int) { return answer(200, "<html>maintenance</html>", "Content-Type: text/html\r\n"); });
    b.resources = resource(R"({"type":"none"})");
    BOOST_TEST(error_of([&] { b.batch("orders"); }).code == "source.protocol");
    BOOST_TEST(b.lines().size() == 2u);
}

BOOST_AUTO_TEST_CASE(mistakes_are_found_before_a_request) {
    bench b([](const asked&, int) { return answer(200, "[]"); });
    const auto refused = [&](const std::string& resources, const std::string& code, const std::string& words) {
        b.resources = resources;
        const auto error = error_of([&] { b.batch("orders"); });
        BOOST_TEST(error.code == code, error.code + " " + error.message);
        BOOST_TEST((error.message + error.hint).find(words) != std::string::npos, error.message + " | " + error.hint);
        BOOST_TEST((error.retry == host::retry_class::invalid));
    };
    refused(resource(R"({"type":"pages"})"), "config.invalid_option", "page");
    refused(resource(R"({"type":"page","pagesize":3,"siez":"n"})"), "config.unknown_option", "size");
    refused(resource(R"({"type":"page","page_size":3,"pageSize":4})"), "config.duplicate_option", "twice");
    refused(resource(R"({"type":"cursor","param":"c"})"), "config.missing_option", "next");
    refused(resource(R"({"type":"none"})", R"("filter":{},)"), "config.unknown_option", "filters");
    refused(resource(R"({"type":"none"})", R"("filters":{"id":{"=>":"id"}},)"), "config.unknown_option",
            "is no operator");
    refused(resource(R"({"type":"none"})", R"("filters":{"nmae":{"=":"n"}},)"), "config.invalid_option", "name");
    refused(resource(R"({"type":"none"})", R"("records":"data",)"), "config.invalid_option", "/data");
    refused(resource(R"({"type":"none"})", R"("ingestion":"cdc",)"), "config.missing_option", "cursor");
    refused(resource(R"({"type":"next_url","next":"/next"})"), "config.missing_option", "records");
    refused(R"({"orders":{"schema":"id BIGNT"}})", "config.invalid_option", "schema");
    b.more = R"("auth":{"type":"bearer"},)";
    refused(resource(R"({"type":"none"})"), "config.missing_option", "token");
    b.more = R"("auth":{"type":"baerer","token":"t"},)";
    refused(resource(R"({"type":"none"})"), "config.invalid_option", "bearer");
    BOOST_TEST(b.lines().empty());
}

BOOST_AUTO_TEST_CASE(an_unknown_table_names_the_near_one) {
    bench b([](const asked&, int) { return answer(200, "[]"); });
    b.resources = resource(R"({"type":"none"})");
    const auto error = error_of([&] { b.batch("ordres"); });
    BOOST_TEST((error.retry == host::retry_class::not_found));
    BOOST_TEST(error.hint.find("orders") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace lakeflow::http_api_test
