// sdk/tests/schema_test.cpp: DDL text, Arrow schemas and instants.
#include <boost/test/unit_test.hpp>

#include "lakeflow/cpp/schema.hpp"
#include "lakeflow/cpp/time.hpp"

using namespace lakeflow;

BOOST_AUTO_TEST_CASE(ddl_text_is_read_and_written) {
    const char* text =
        "id BIGINT NOT NULL, name STRING, `odd ``name` INT, price DECIMAL(10,2), at TIMESTAMP, local TIMESTAMP_NTZ, "
        "user STRUCT<login: STRING NOT NULL, tags: ARRAY<STRING>>, counts MAP<STRING, DOUBLE>, a TINYINT, b SMALLINT, "
        "c FLOAT, d BOOLEAN, e BINARY, f DATE, g VOID, h STRUCT<>";
    schema columns = schema::ddl(text);
    BOOST_TEST(columns.size() == 16u);
    BOOST_TEST(columns.ddl() == text);
    BOOST_TEST(!columns.fields()[0].nullable);
    BOOST_TEST(columns.fields()[2].name == "odd `name");
    BOOST_TEST(columns.find("user")->type.children()[1].type.children()[0].name == "element");
    BOOST_TEST(schema::ddl("a long, b dec, c varchar(10) comment 'it''s, x', d array<struct<x:int,y:int>>").ddl() ==
               "a BIGINT, b DECIMAL(10,0), c STRING, d ARRAY<STRUCT<x: INT, y: INT>>");
}

BOOST_AUTO_TEST_CASE(ddl_text_that_is_wrong_names_the_place) {
    for (const char* text : {"", "id", "id BIGINT,", "id BIGINT NOT", "id FOO", "id DECIMAL(39,0)", "id DECIMAL(5,6)",
                             "a ARRAY<INT", "a MAP<INT>", "a STRUCT<x INT", "`a INT", "a INT b INT", "a INT, a STRING",
                             "a INT COMMENT", "a INT COMMENT 'x", "a VARCHAR", "a DECIMAL(x)"}) {
        BOOST_CHECK_THROW(schema::ddl(text), failure);
    }
    try {
        schema::ddl("id BIGINT, x NUMBER");
        BOOST_ERROR("accepted");
    } catch (const failure& error) {
        BOOST_TEST(error.message().find("'NUMBER' is not a type") != std::string::npos);
    }
    std::string deep = "a ";
    for (int i = 0; i < 100; ++i) deep += "ARRAY<";
    BOOST_CHECK_THROW(schema::ddl(deep), failure);
}

BOOST_AUTO_TEST_CASE(an_arrow_schema_comes_back) {
    schema columns = schema::ddl(
        "id BIGINT NOT NULL, s STRING, d DECIMAL(38,9), t TIMESTAMP, n TIMESTAMP_NTZ, u STRUCT<a: INT NOT NULL, b: "
        "ARRAY<BINARY>>, m MAP<STRING, BIGINT>, x VOID, y DATE, z BOOLEAN, f FLOAT, g DOUBLE, h TINYINT, i SMALLINT");
    arrow_schema arrow = columns.to_arrow();
    BOOST_TEST(std::string(arrow->format) == "+s");
    BOOST_TEST(arrow->n_children == 14);
    BOOST_TEST((arrow->children[0]->flags & ARROW_FLAG_NULLABLE) == 0);
    BOOST_TEST((arrow->children[1]->flags & ARROW_FLAG_NULLABLE) != 0);
    BOOST_TEST(std::string(arrow->children[6]->children[0]->name) == "entries");
    BOOST_TEST((schema::from_arrow(*arrow.get()) == columns));
    // A child that a consumer moved out is its own owner.
    ArrowSchema child = *arrow->children[5];
    arrow->children[5]->release = nullptr;
    arrow.reset();
    BOOST_TEST(std::string(child.children[1]->name) == "b");
    child.release(&child);
    BOOST_TEST(child.release == nullptr);
    BOOST_CHECK_THROW(schema().add(std::string("a\0b", 3), type::int64()).to_arrow(), failure);
}

BOOST_AUTO_TEST_CASE(arrow_types_outside_the_profile_are_refused) {
    ArrowSchema child{}, root{};
    ArrowSchema* children[] = {&child};
    child.format = "tsn:UTC";
    child.name = "at";
    root.format = "+s";
    root.n_children = 1;
    root.children = children;
    try {
        schema::from_arrow(root);
        BOOST_ERROR("accepted");
    } catch (const failure& error) {
        BOOST_TEST(error.code() == "schema.unsupported");
        BOOST_TEST(error.message().find("'at'") != std::string::npos);
    }
}

BOOST_AUTO_TEST_CASE(columns_are_selected_in_the_asked_order) {
    schema columns = schema::ddl("a INT, b STRING, c DATE");
    BOOST_TEST(columns.select({"c", "a"}).ddl() == "c DATE, a INT");
    BOOST_CHECK_THROW(columns.select({"z"}), failure);
}

BOOST_AUTO_TEST_CASE(instants_are_read_and_written) {
    BOOST_TEST(parse_instant("1970-01-01T00:00:00Z").value() == 0);
    BOOST_TEST(parse_instant("2026-03-01T12:00:00.25+01:00").value() == 1772362800250000);
    BOOST_TEST(parse_instant("2026-03-01 11:00:00.250000999z").value() == 1772362800250000);
    BOOST_TEST(parse_instant("1969-12-31T23:59:59.999999Z").value() == -1);
    BOOST_TEST(parse_instant("2016-12-31T23:59:60Z").value() == parse_instant("2017-01-01T00:00:00Z").value());
    for (const char* text :
         {"", "2026-03-01", "2026-03-01T12:00:00", "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z",
          "2026-03-01T24:00:00Z", "2026-03-01T12:60:00Z", "2026-03-01T12:00:00.Z", "2026-03-01T12:00:00+1:00",
          "2026-03-01T12:00:00Zx", "26-03-01T12:00:00Z", "2026-03-01T12:00:00+0100"}) {
        BOOST_TEST(!parse_instant(text), text);
    }
    for (const char* text : {"1970-01-01T00:00:00Z", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z",
                             "2000-02-29T12:34:56.5Z", "1969-12-31T23:59:59.999999Z", "1900-03-01T00:00:00.000001Z"}) {
        BOOST_TEST(format_instant(parse_instant(text).value()) == text);
    }
    for (int64_t day = -800000; day < 2900000; day += 997) {
        int64_t micro = day * 86'400'000'000 / 4 + 1;
        if (micro < -62'167'219'200'000'000 || micro > 253'402'300'799'999'999) continue;
        BOOST_TEST(parse_instant(format_instant(micro)).value() == micro);
    }
    BOOST_CHECK_THROW(format_instant(INT64_MAX), failure);
}
