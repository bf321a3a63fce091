// sdk/tests/json_test.cpp: the SDK's JSON value: exact integers, strict parsing, canonical text.
#include <boost/test/unit_test.hpp>

#include "lakeflow/cpp/json.hpp"
#include "lakeflow/cpp/options.hpp"

using lakeflow::failure;
using lakeflow::json;

BOOST_AUTO_TEST_CASE(a_document_comes_back_as_it_was) {
    for (const char* text :
         {"null", "true", "false", "0", "-7", "9223372036854775807", "-9223372036854775808", "\"\"", "[]", "{}",
          "[1,[2,[]],{}]", "{\"b\":1,\"a\":[null,\"x\"]}", "1.50", "1E400", "123456789012345678901234567890", "-0.0"}) {
        BOOST_TEST(json::parse(text).dump() == text);
    }
    BOOST_TEST(json::parse(" \t\r\n{ \"a\" : [ 1 , 2 ] } ").dump() == "{\"a\":[1,2]}");
}

BOOST_AUTO_TEST_CASE(strings_are_unescaped_and_escaped) {
    json value = json::parse(R"("a\"\\\/\b\f\n\r\t\u0000\u00e9\ud83d\ude00é")");
    std::string expected("a\"\\/\b\f\n\r\t\0\xc3\xa9\xf0\x9f\x98\x80\xc3\xa9", 18);
    BOOST_TEST(value.as_text() == expected);
    BOOST_TEST(json::parse(value.dump()).as_text() == expected);
    BOOST_TEST(json(std::string("\0\x1f", 2)).dump() == "\"\\u0000\\u001f\"");
}

BOOST_AUTO_TEST_CASE(what_is_no_json_is_refused) {
    for (const char* text : {"",
                             " ",
                             "nul",
                             "tru",
                             "01",
                             "1.",
                             ".5",
                             "1e",
                             "+1",
                             "-",
                             "[1,]",
                             "[1",
                             "{\"a\"}",
                             "{\"a\":}",
                             "{a:1}",
                             "{\"a\":1,}",
                             "{\"a\":1,\"a\":2}",
                             "\"\\x\"",
                             "\"\\u12\"",
                             "\"\\ud800\"",
                             "\"\\udc00\"",
                             "\"\\ud800\\u0041\"",
                             "\"a",
                             "\"\n\"",
                             "\"\xff\"",
                             "\"\xc0\x80\"",
                             "\"\xed\xa0\x80\"",
                             "\"\xf4\x90\x80\x80\"",
                             "1 2",
                             "[]]",
                             "NaN",
                             "'a'"}) {
        BOOST_CHECK_THROW(json::parse(text), failure);
    }
    std::string deep(256, '[');
    BOOST_CHECK_NO_THROW(json::parse(deep + std::string(256, ']')));
    BOOST_CHECK_THROW(json::parse(std::string(300, '[') + std::string(300, ']')), failure);
    try {
        json::parse("{\"a\": tru}");
        BOOST_ERROR("accepted");
    } catch (const failure& error) {
        BOOST_TEST(error.message().find("byte 6") != std::string::npos);
    }
}

BOOST_AUTO_TEST_CASE(integers_are_exact) {
    BOOST_TEST(json::parse("7.0").as_int() == 7);
    BOOST_TEST(json::parse("7E0").as_int() == 7);
    BOOST_TEST(json::parse("0.07e2").as_int() == 7);
    BOOST_TEST(json::parse("-0").as_int() == 0);
    BOOST_TEST(json::parse("9007199254740993").as_int() == 9007199254740993);
    BOOST_TEST(json::parse("9007199254740993.0").as_int() == 9007199254740993);
    BOOST_TEST(json::parse("9.223372036854775807e18").as_int() == INT64_MAX);
    for (const char* text : {"7.5", "1e19", "9223372036854775808", "1e-1", "1e999999999999999999999"}) {
        BOOST_CHECK_THROW(json::parse(text).as_int(), failure);
    }
    BOOST_TEST(json::parse("0e999999999999999999999").as_int() == 0);
    BOOST_TEST(json::parse("2.5").as_double() == 2.5);
    BOOST_CHECK_THROW(json(UINT64_MAX), failure);
    BOOST_TEST(json(uint64_t{7}).as_int() == 7);
}

BOOST_AUTO_TEST_CASE(canonical_text_is_equal_for_equal_values) {
    BOOST_TEST(json::parse("{\"b\":1.0,\"a\":{\"d\":2,\"c\":10e-1}}").canonical() ==
               "{\"a\":{\"c\":1,\"d\":2},\"b\":1}");
    BOOST_TEST((json::parse("{\"n\": 100}") == json::parse("{\"n\":1e2}")));
    BOOST_TEST((json::parse("[1.50]") == json::parse("[15e-1]")));
    BOOST_TEST((json::parse("1.5") != json::parse("1.51")));
    BOOST_TEST((json(1) != json("1")));
    BOOST_TEST((json() != json::object()));
}

BOOST_AUTO_TEST_CASE(members_are_found_set_and_named_in_errors) {
    json value = json::object({{"name", "x"}, {"count", 3}, {"on", true}, {"none", nullptr}});
    BOOST_TEST(value.text("name") == "x");
    BOOST_TEST(value.integer("count") == 3);
    BOOST_TEST(value.boolean("on"));
    BOOST_TEST(value.text("none", "fallback") == "fallback");
    BOOST_TEST(value.integer("absent", 9) == 9);
    value.set("count", 4).set("more", json::array({1, "two", json::object()}));
    BOOST_TEST(value.dump() == "{\"name\":\"x\",\"count\":4,\"on\":true,\"none\":null,\"more\":[1,\"two\",{}]}");
    try {
        value.integer("name");
        BOOST_ERROR("text as an integer");
    } catch (const failure& error) {
        BOOST_TEST(error.message() == "name: expected an integer, found text");
    }
    BOOST_CHECK_THROW(value.at("absent"), failure);
    BOOST_CHECK_THROW(json(1).set("a", 1), failure);
}

BOOST_AUTO_TEST_CASE(pointers_follow_rfc_6901) {
    json value = json::parse(R"({"foo":["bar","baz"],"":0,"a/b":1,"m~n":8,"deep":{"x":{"y":5}}})");
    BOOST_TEST(value.pointer("") == &value);
    BOOST_TEST(value.pointer("/foo/1")->as_text() == "baz");
    BOOST_TEST(value.pointer("/")->as_int() == 0);
    BOOST_TEST(value.pointer("/a~1b")->as_int() == 1);
    BOOST_TEST(value.pointer("/m~0n")->as_int() == 8);
    BOOST_TEST(value.pointer("/deep/x/y")->as_int() == 5);
    BOOST_TEST(value.pointer("/foo/2") == nullptr);
    BOOST_TEST(value.pointer("/foo/-1") == nullptr);
    BOOST_TEST(value.pointer("/nothing/there") == nullptr);
    BOOST_CHECK_THROW(value.pointer("foo"), failure);
}

BOOST_AUTO_TEST_CASE(an_option_may_say_more_of_its_schema) {
    constexpr lakeflow::option all[] = {
        lakeflow::option::object("auth").help("how to sign in").schema(R"("properties": {"token": {"secret": true}})")};
    BOOST_TEST(lakeflow::options_schema(all).at("properties").at("auth").dump() ==
               R"({"type":"object","description":"how to sign in","properties":{"token":{"secret":true}}})");
}
