// plugins/postgres/sql_test.cpp: names, values, options and strides, without a server.
#include "sql.hpp"

#include <boost/test/unit_test.hpp>
#include <limits>

#include "parts.hpp"
#include "settings.hpp"

namespace lakeflow::postgres {
namespace {

using text = std::string;

BOOST_AUTO_TEST_SUITE(sql)

BOOST_AUTO_TEST_CASE(names_and_values_are_quoted) {
    BOOST_TEST(identifier("order \"x\"") == "\"order \"\"x\"\"\"");
    BOOST_TEST(literal("it's") == "'it''s'");
    BOOST_TEST(literal("a\\b'") == " E'a\\\\b'''");
    BOOST_CHECK_THROW(identifier(""), failure);
    BOOST_CHECK_THROW(identifier(std::string_view("a\0b", 3)), failure);
    BOOST_CHECK_THROW(literal(std::string_view("\0", 1)), failure);
}

BOOST_AUTO_TEST_CASE(a_name_of_parts_is_taken_apart_and_written_again) {
    for (const std::vector<text>& parts :
         {std::vector<text>{"public", "orders"}, {"a.b", "c\"d"}, {"x"}, {"\"", "."}}) {
        BOOST_TEST(split_name(show_name(parts)) == parts, boost::test_tools::per_element());
    }
    BOOST_TEST(split_name("public.\"Odd.Name\"") == (std::vector<text>{"public", "Odd.Name"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_jdbc_address_becomes_parameters) {
    auto all = parse_jdbc(
        "jdbc:postgresql://db.example:5433,[::1]/my%20shop?user=ann&password=p%26w&ssl=true&currentSchema=sales");
    text shown;
    for (const auto& [name, value] : all) shown += name + "=" + value + ";";
    BOOST_TEST(shown ==
               "host=db.example,::1;port=5433,5432;dbname=my "
               "shop;user=ann;password=p&w;sslmode=verify-full;options=-csearch_path=sales;");
    BOOST_TEST(parse_jdbc("jdbc:postgresql:shop").at(0).second == "shop");
    BOOST_CHECK_THROW(parse_jdbc("jdbc:postgresql://h/d?socketFactory=x"), failure);
}

text refusal(const char* options) {
    try {
        table_settings::from(json::parse(options));
    } catch (const failure& error) {
        return error.message() + " | " + error.hint();
    }
    return "";
}

BOOST_AUTO_TEST_CASE(options_that_do_not_go_together_are_refused_by_name) {
    BOOST_TEST(refusal(R"({"num_partition_column":"id"})").find("partition_column") != text::npos);
    BOOST_TEST(refusal(R"({"lower_bound":1,"upper_bound":9})").find("partition_column") != text::npos);
    BOOST_TEST(refusal(R"({"partition_column":"id","lower_bound":1})").find("upper_bound") != text::npos);
    BOOST_TEST(refusal(R"({"query":"SELECT 1","dbtable":"t"})").find("dbtable") != text::npos);
    BOOST_TEST(refusal(R"({"lookback":"5m"})").find("cursor") != text::npos);
    BOOST_TEST(refusal(R"({"cursor":"at","lookback":"soon"})").find("lookback") != text::npos);
    table_settings good =
        table_settings::from(json::parse(R"({"dbtable":" (SELECT 1 AS a;) q ","cursor":"a","lookback":"5m"})"));
    BOOST_TEST(good.query == "SELECT 1 AS a");
    BOOST_TEST(good.lookback.value() == 300'000'000);
}

BOOST_AUTO_TEST_CASE(a_password_never_reaches_an_error) {
    try {
        connection_settings::from(json::parse(R"({"dsn":"host=x password='never shown"})"));
        BOOST_ERROR("taken");
    } catch (const failure& error) {
        BOOST_TEST((error.message() + error.hint()).find("never") == text::npos);
    }
}

BOOST_AUTO_TEST_CASE(strides_cover_the_range_without_overflow) {
    BOOST_TEST(stride_points(0, 100, 4) == (std::vector<std::int64_t>{25, 50, 75}), boost::test_tools::per_element());
    BOOST_TEST(stride_points(1, 3, 10).size() == 1u);
    BOOST_TEST(stride_points(5, 5, 4).empty());
    auto wide = stride_points(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(), 2);
    BOOST_TEST(wide.at(0) == -1);
}

relation table_with(const text& name, wire form) {
    relation out;
    out.name = "t";
    column_plan column;
    column.name = name;
    column.value.form = form;
    column.temporal = form == wire::date || form == wire::timestamp || form == wire::timestamptz;
    column.select = column.compare = column.equal = identifier(name);
    out.columns.push_back(column);
    return out;
}

BOOST_AUTO_TEST_CASE(parts_by_a_column_lose_no_row) {
    table_settings chosen;
    chosen.partition_column = "id";
    chosen.lower_bound = "0";
    chosen.upper_bound = "90";
    auto parts = stride_parts(table_with("id", wire::int4), chosen, 3);
    BOOST_TEST(parts == (std::vector<text>{"\"id\" < (30) OR \"id\" IS NULL", "\"id\" >= (30) AND \"id\" < (60)",
                                           "\"id\" >= (60)"}),
               boost::test_tools::per_element());
    chosen.lower_bound = "2024-01-01";
    chosen.upper_bound = "2024-01-03";
    BOOST_TEST(stride_parts(table_with("id", wire::date), chosen, 2).at(1) == "\"id\" >= '2024-01-02'::date");
    BOOST_TEST(stride_parts(table_with("id", wire::timestamptz), chosen, 2).at(1) ==
               "\"id\" >= '2024-01-02T00:00:00Z'::timestamptz");
    BOOST_CHECK_THROW(stride_parts(table_with("id", wire::int4), chosen, 2), failure);
    BOOST_CHECK_THROW(stride_parts(table_with("id", wire::text), chosen, 2), failure);
}

BOOST_AUTO_TEST_CASE(parts_by_pages_meet_and_the_last_one_is_open) {
    auto parts = page_parts(1000, 3);
    BOOST_TEST(parts == (std::vector<text>{"ctid < '(333,0)'::tid", "ctid >= '(333,0)'::tid AND ctid < '(666,0)'::tid",
                                           "ctid >= '(666,0)'::tid"}),
               boost::test_tools::per_element());
    BOOST_TEST(page_parts(3, 8).size() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace lakeflow::postgres
