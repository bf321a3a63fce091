// sdk/tests/pages_test.cpp: the page walker against a scripted host: prefetch, bounds, cycles, and requests as they are sent.
#include <boost/test/unit_test.hpp>

#include "fake_host.hpp"

using namespace lakeflow;
using lakeflow::testing::answer;
using lakeflow::testing::fake_host;

namespace {

const schema columns = schema::ddl("id BIGINT NOT NULL, updated_at STRING");

std::string address(int page) { return "https://h/items?page=" + std::to_string(page); }

std::string body(int page, int rows, const std::string& next) {
    std::string items;
    for (int i = 0; i < rows; ++i) {
        items += (i == 0 ? "" : ",") +
                 json::object({{"id", page * 1000 + i}, {"updated_at", "2026-01-0" + std::to_string(page)}}).dump();
    }
    return R"({"data":{"items":[)" + items + R"(]},"meta":{"next":)" + next + "}}";
}

// Pages 1 to `last`, linked both by header and in the body.
void serve(fake_host& host, int last, int rows) {
    for (int i = 1; i <= last; ++i) {
        answer a;
        a.body = body(i, rows, i < last ? "\"?page=" + std::to_string(i + 1) + "\"" : "null");
        if (i < last) a.headers["link"] = "</items?page=" + std::to_string(i + 1) + ">; rel=\"next\"";
        host.answers[address(i)] = a;
    }
}

page_plan plan_of(next_page head, next_page in_body) {
    page_plan plan;
    plan.columns = columns;
    plan.rows.records("/data/items").capture("/meta/next").watch("updated_at");
    plan.first = request(address(1)).bearer("secret").header("Accept", "application/json");
    plan.next_in_head = std::move(head);
    plan.next_in_body = std::move(in_body);
    return plan;
}

std::vector<int64_t> sizes(page_reader& reader) {
    std::vector<int64_t> out;
    batch rows;
    while (reader.next(rows)) out.push_back(rows.rows());
    return out;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_next_page_is_asked_for_before_this_one_is_decoded) {
    fake_host host;
    serve(host, 3, 2);
    {
        page_reader reader(host.all(), plan_of(next_link, nullptr));
        BOOST_TEST(sizes(reader) == (std::vector<int64_t>{6}), boost::test_tools::per_element());
    }
    std::vector<std::string> expected = {"start " + address(1),  "head " + address(1), "start " + address(2),
                                         "decode " + address(1), "head " + address(2), "start " + address(3),
                                         "decode " + address(2), "head " + address(3), "decode " + address(3)};
    BOOST_TEST(host.events == expected, boost::test_tools::per_element());
    BOOST_TEST(host.open_objects == 0);
    BOOST_TEST(host.counters["pages_done"] == 3);
    // Each page carries the credential, bound to the service that the first one named.
    for (const json& sent : host.requests) {
        BOOST_TEST(sent.at("auth").text("token") == "secret");
        BOOST_TEST(sent.at("headers").text("Accept") == "application/json");
    }
    BOOST_TEST(host.requests[1].text("origin") == address(1));
}

BOOST_AUTO_TEST_CASE(a_next_address_in_the_body_is_followed_before_the_batch_is_given) {
    fake_host host;
    serve(host, 3, 2);
    page_plan plan = plan_of(nullptr, [](const page& p) { return next_url(p, 0); });
    plan.batch_rows = 1;
    plan.end = [](const page_totals& totals) { return json::object({{"updated_at", *totals.max_text("updated_at")}}); };
    page_reader reader(host.all(), std::move(plan));
    batch rows;
    BOOST_TEST(reader.next(rows));
    BOOST_TEST(rows.rows() == 2);
    BOOST_TEST(host.events.back() == "start " + address(2));
    BOOST_TEST(sizes(reader) == (std::vector<int64_t>{2, 2}), boost::test_tools::per_element());
    BOOST_TEST(reader.end_offset()->dump() == "{\"updated_at\":\"2026-01-03\"}");
}

BOOST_AUTO_TEST_CASE(batches_are_bounded_by_rows_and_by_bytes) {
    fake_host host;
    serve(host, 5, 10);
    page_plan plan = plan_of(next_link, nullptr);
    plan.batch_rows = 15;
    page_reader by_rows(host.all(), plan);
    BOOST_TEST(sizes(by_rows) == (std::vector<int64_t>{20, 20, 10}), boost::test_tools::per_element());
    plan.batch_rows = 1'000'000;
    plan.batch_bytes = 1;
    page_reader by_bytes(host.all(), plan);
    BOOST_TEST(sizes(by_bytes) == (std::vector<int64_t>{10, 10, 10, 10, 10}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_walk_that_goes_round_ends_with_an_error) {
    for (int back : {1, 2, 3}) {
        fake_host host;
        serve(host, 3, 1);
        host.answers[address(3)].headers["link"] = "</items?page=" + std::to_string(back) + ">; rel=\"next\"";
        page_reader reader(host.all(), plan_of(next_link, nullptr));
        try {
            sizes(reader);
            BOOST_ERROR("the walk ended");
        } catch (const failure& error) {
            BOOST_TEST(error.code() == "source.page_cycle");
        }
        BOOST_TEST(host.requests.size() < 12u);
    }
}

BOOST_AUTO_TEST_CASE(an_answer_without_rows_ends_the_walk) {
    fake_host host;
    serve(host, 2, 3);
    host.answers[address(2)].status = 304;
    page_plan plan = plan_of(next_link, nullptr);
    page_reader reader(host.all(), plan);
    BOOST_TEST(sizes(reader) == (std::vector<int64_t>{3}), boost::test_tools::per_element());
    host.answers[address(1)].status = 204;
    page_reader none(host.all(), plan);
    BOOST_TEST(sizes(none).empty());
}

BOOST_AUTO_TEST_CASE(errors_of_the_services_arrive_as_failures) {
    fake_host host;
    page_reader missing(host.all(), plan_of(next_link, nullptr));
    batch rows;
    try {
        missing.next(rows);
        BOOST_ERROR("404 was an answer");
    } catch (const failure& error) {
        BOOST_TEST(error.code() == "source.not_found");
        BOOST_TEST((error.how() == retry::not_found));
    }
    host.without_rows = true;
    page_reader old_host(host.all(), plan_of(next_link, nullptr));
    try {
        old_host.next(rows);
        BOOST_ERROR("decoded without rows/1");
    } catch (const failure& error) {
        BOOST_TEST((error.how() == retry::unsupported));
        BOOST_TEST(error.message().find(LF_ROWS_ID) != std::string::npos);
    }
}

BOOST_AUTO_TEST_CASE(small_documents_are_read_whole) {
    fake_host host;
    host.answers["https://h/me"] = {200, {{"etag", "\"x\""}}, R"({"login": "ann", "id": 9007199254740993})"};
    BOOST_TEST(host.all().http.get_json(request("https://h/me")).integer("id") == 9007199254740993);
    exchange answer = host.all().http.start(request("https://h/me").accept(304));
    BOOST_TEST(answer.head() == 200);
    BOOST_TEST(answer.header("ETag").value() == "\"x\"");
    BOOST_TEST(!answer.header("Link"));
    BOOST_CHECK_THROW(answer.text(10), failure);
    host.answers["https://h/bad"] = {200, {}, "<html>"};
    BOOST_CHECK_THROW(host.all().http.get_json(request("https://h/bad")), failure);
    answer.close();
    BOOST_TEST(host.open_objects == 0);
    BOOST_CHECK_THROW(answer.head(), failure);  // closed, moved from or never sent: a mistake that is told, not a crash
    BOOST_CHECK_THROW(decoder().finish(), failure);
}

BOOST_AUTO_TEST_CASE(totals_compare_instants_and_numbers_as_such) {
    page_totals totals;
    rows_stats one, two;
    one.max = json::parse(R"({"at":"2026-01-01T00:00:00Z","n":9,"none":null})");
    two.max = json::parse(R"({"at":"2026-01-01T00:00:00.5Z","n":10})");
    totals.add(one), totals.add(two);
    BOOST_TEST(totals.max_text("at").value() == "2026-01-01T00:00:00.5Z");
    BOOST_TEST(totals.max_text("n").value() == "10");
    BOOST_TEST(!totals.max_text("none"));
    BOOST_TEST(totals.pages == 2);
}
