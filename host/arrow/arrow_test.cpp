// host/arrow/arrow_test.cpp: schemas, DDL, builders, filters, texts of values.
#include "host/arrow/arrow.h"

#include <boost/test/unit_test.hpp>

#include "host/arrow/builder.h"
#include "host/arrow/decimal.h"
#include "host/arrow/schema.h"
#include "host/arrow/utf8.h"
#include "host/base/error.h"

using namespace lakeflow::host;

namespace {

std::string code_of(const std::function<void()>& f, std::string* message = nullptr) {
    try {
        f();
    } catch (const failure& e) {
        if (message) *message = e.get().message;
        return e.get().code;
    }
    return "nothing was thrown";
}

// Rows 0..n-1 of a table with every kind of column; each third row is null where it may be.
struct sample {
    arrow_schema schema = parse_ddl(
        "id BIGINT NOT NULL, flag BOOLEAN, small SMALLINT, ratio DOUBLE, price DECIMAL(20,2), name STRING, day DATE, "
        "at TIMESTAMP, raw BINARY, tags ARRAY<STRING>, user STRUCT<login: STRING, n: INT NOT NULL>, "
        "props MAP<STRING, BIGINT>, nothing VOID");
    std::unique_ptr<struct_column> table = make_table(*schema.get());

    template <class T>
    T& at(std::size_t i) {
        return dynamic_cast<T&>(table->child(i));
    }

    void add(std::int64_t i) {
        const bool null = i % 3 == 2;
        at<fixed_column<std::int64_t>>(0).append(i);
        if (null) {
            for (std::size_t c = 1; c < table->size(); ++c) table->child(c).append_null();
        } else {
            at<bool_column>(1).append(i % 2 == 0);
            at<fixed_column<std::int16_t>>(2).append(static_cast<std::int16_t>(i));
            at<fixed_column<double>>(3).append(static_cast<double>(i) / 2);
            at<fixed_column<int128>>(4).append(static_cast<int128>(i) * 100 + 5);
            at<text_column>(5).append("name " + std::to_string(i));
            at<fixed_column<std::int32_t>>(6).append(static_cast<std::int32_t>(i));
            at<fixed_column<std::int64_t>>(7).append(i * 1'000'000);
            at<text_column>(8).append(std::string_view("\0\1", 2));
            auto& tags = at<list_column>(9);
            for (std::int64_t t = 0; t < i % 4; ++t) {
                if (t == 1)
                    tags.child().append_null();
                else
                    dynamic_cast<text_column&>(tags.child()).append("t" + std::to_string(t));
            }
            tags.end_value();
            auto& user = at<struct_column>(10);
            dynamic_cast<text_column&>(user.child(0)).append("u" + std::to_string(i));
            dynamic_cast<fixed_column<std::int32_t>&>(user.child(1)).append(7);
            user.end_value();
            auto& props = at<list_column>(11);
            auto& entries = dynamic_cast<struct_column&>(props.child());
            dynamic_cast<text_column&>(entries.child(0)).append("k");
            dynamic_cast<fixed_column<std::int64_t>&>(entries.child(1)).append(i);
            entries.end_value();
            props.end_value();
            table->child(12).append_null();
        }
        table->end_value();
    }
};

std::vector<std::string> texts(const arrow_schema& schema, const arrow_array& array) {
    std::vector<std::string> rows;
    for (std::int64_t row = 0; row < array.rows(); ++row) {
        std::string line;
        for (std::int64_t c = 0; c < schema.columns(); ++c)
            line += value_text(schema.column(c), *array.get()->children[c], array.get()->offset + row) + "|";
        rows.push_back(line);
    }
    return rows;
}

void equal(const std::vector<std::string>& a, const std::vector<std::string>& b) {
    BOOST_TEST(a == b, boost::test_tools::per_element());
}

}  // namespace

BOOST_AUTO_TEST_CASE(ddl_round_trip) {
    const std::string_view ddl =
        "id BIGINT NOT NULL, a BOOLEAN, b TINYINT, c SMALLINT, d INT, e FLOAT, f DOUBLE, g DECIMAL(38,10), h STRING, "
        "i BINARY, j DATE, k TIMESTAMP, l TIMESTAMP_NTZ, m ARRAY<ARRAY<STRING>>, n MAP<STRING, DECIMAL(5,0)>, "
        "o STRUCT<x: INT NOT NULL, `a b`: STRUCT<y: DATE>>, `tick``s, and` STRING, \xC3\xA9t\xC3\xA9 STRING, s "
        "STRUCT<>, "
        "v VOID";
    const arrow_schema schema = parse_ddl(ddl);
    check_schema(*schema.get(), "test");
    BOOST_TEST(to_ddl(*schema.get()) == ddl);
    const arrow_schema copy = copy_schema(*schema.get());
    BOOST_TEST(same_schema(*copy.get(), *schema.get()));
    BOOST_TEST(to_ddl(*copy.get()) == ddl);
    BOOST_TEST(to_ddl(*parse_ddl(" a long , b  array < int >\n COMMENT 'x, \\' y' ").get()) ==
               "a BIGINT, b ARRAY<INT>");
    BOOST_TEST(to_ddl(*parse_ddl("s struct<a int, b: string comment \"c\">").get()) == "s STRUCT<a: INT, b: STRING>");
    BOOST_TEST(parse_ddl("").columns() == 0);
    BOOST_TEST(to_ddl(*parse_ddl("d decimal, n numeric(4)").get()) == "d DECIMAL(10,0), n DECIMAL(4,0)");
}

BOOST_AUTO_TEST_CASE(ddl_errors_name_the_place) {
    const std::pair<std::string_view, std::string_view> cases[] = {
        {"id BIGIN", "did you mean bigint?"},
        {"id", "expected a type at byte 2"},
        {"id INT,", "after the last comma"},
        {"id INT name STRING", "at byte 7"},
        {"a ARRAY<INT", "\">\""},
        {"a INT, a STRING", "twice"},
        {"s STRUCT<x: INT, x: INT>", "twice"},
        {"d DECIMAL(39,0)", "38 digits"},
        {"d DECIMAL(3,4)", "at most its precision"},
        {"`a INT", "does not end"},
        {"a INT NOT", "expected NULL"},
        {"m MAP<STRING>", "\",\""},
        {"`` INT", "empty"},
    };
    for (const auto& c : cases) {
        const std::string_view ddl = c.first;
        const std::string_view part = c.second;
        std::string message;
        BOOST_TEST(code_of([&] { parse_ddl(ddl); }, &message) == "config.schema", ddl);
        BOOST_TEST(message.find(part) != std::string::npos, ddl << ": " << message);
    }
    std::string deep = "a ";
    for (int i = 0; i < 100; ++i) deep += "ARRAY<";
    BOOST_TEST(code_of([&] { parse_ddl(deep); }) == "config.schema");
}

BOOST_AUTO_TEST_CASE(schemas_are_compared) {
    const arrow_schema base = parse_ddl("id BIGINT NOT NULL, u STRUCT<a: INT, b: ARRAY<STRING>>, m MAP<STRING, INT>");
    const std::pair<std::string_view, std::string_view> cases[] = {
        {"id BIGINT, u STRUCT<a: INT, b: ARRAY<STRING>>, m MAP<STRING, INT>", "id: NOT NULL and nullable"},
        {"id INT NOT NULL, u STRUCT<a: INT, b: ARRAY<STRING>>, m MAP<STRING, INT>", "id: BIGINT and INT"},
        {"id BIGINT NOT NULL, u STRUCT<a: INT, c: ARRAY<STRING>>, m MAP<STRING, INT>", "u: column 1 is b and c"},
        {"id BIGINT NOT NULL, u STRUCT<a: INT, b: ARRAY<INT>>, m MAP<STRING, INT>", "u.b.element: STRING and INT"},
        {"id BIGINT NOT NULL, u STRUCT<a: INT, b: ARRAY<STRING>>, m MAP<STRING, DATE>", "m.value: INT and DATE"},
        {"id BIGINT NOT NULL", "the table: 3 columns and 1 columns"},
    };
    for (const auto& [ddl, expected] : cases) {
        std::string why;
        BOOST_TEST(!same_schema(*base.get(), *parse_ddl(ddl).get(), &why));
        BOOST_TEST(why == expected);
    }
    const arrow_schema picked = select_columns(*base.get(), {"m", "id"});
    BOOST_TEST(to_ddl(*picked.get()) == "m MAP<STRING, INT>, id BIGINT NOT NULL");
    BOOST_TEST(find_column(*base.get(), "m") == 2);
    BOOST_TEST(find_column(*base.get(), "M") == -1);
    BOOST_TEST(code_of([&] { select_columns(*base.get(), {"idd"}); }) == "config.unknown_column");
}

BOOST_AUTO_TEST_CASE(bad_schemas_are_refused) {
    const auto refused = [](const auto& spoil, std::string_view part) {
        arrow_schema schema = parse_ddl("id BIGINT, tags ARRAY<STRING>, m MAP<STRING, INT>");
        ArrowSchema& raw = *schema.get();
        ArrowSchema** children = raw.children;
        ArrowSchema* first = children[0];
        const ArrowSchema saved = *first;
        const ArrowSchema list = *children[1];
        const std::int64_t n = raw.n_children;
        spoil(raw);
        std::string message;
        BOOST_TEST(code_of([&] { check_schema(raw, "plugin x"); }, &message) == "schema.unsupported");
        BOOST_TEST(message.find(part) != std::string::npos, message);
        BOOST_TEST(message.starts_with("plugin x"));
        raw.n_children = n;  // so that it can be released
        raw.children = children;
        children[0] = first;
        *first = saved;
        *children[1] = list;
    };
    refused([](ArrowSchema& s) { s.children[0]->format = nullptr; }, "column id: its format is a null pointer");
    refused([](ArrowSchema& s) { s.children[0]->format = "tsn:"; }, "column id: the Arrow format \"tsn:\"");
    refused([](ArrowSchema& s) { s.children[0]->format = "d:40,2"; }, "d:40,2");
    refused([](ArrowSchema& s) { s.children[0]->name = ""; }, "child 0 has no name");
    refused([](ArrowSchema& s) { s.children[0]->name = nullptr; }, "child 0 has no name");
    refused([](ArrowSchema& s) { s.children[0]->name = "tags"; }, "the name tags is there twice");
    refused([](ArrowSchema& s) { s.children[0]->name = "\xff"; }, "not UTF-8");
    refused([](ArrowSchema& s) { s.children[0] = nullptr; }, "child 0 is a null pointer");
    refused([](ArrowSchema& s) { s.children = nullptr; }, "its children is null");
    refused([](ArrowSchema& s) { s.n_children = -1; }, "-1 children");
    refused([](ArrowSchema& s) { s.children[1]->n_children = 0; }, "column tags: it has 0 children, not 1");
    refused([](ArrowSchema& s) { s.children[0]->n_children = 1; }, "column id: it has 1 children, not 0");
    refused([](ArrowSchema& s) { s.children[0]->dictionary = s.children[1]; }, "dictionaries");
    ArrowSchema empty{};
    BOOST_TEST(code_of([&] { check_schema(empty, "x"); }) == "schema.unsupported");
}

BOOST_AUTO_TEST_CASE(built_columns_pass_the_check_and_read_back) {
    sample s;
    for (std::int64_t i = 0; i < 100; ++i) s.add(i);
    const std::size_t bytes = s.table->bytes();
    const arrow_array array = s.table->finish();
    check_array(*s.schema.get(), *array.get(), "test");
    BOOST_TEST(array.rows() == 100);
    const auto rows = texts(s.schema, array);
    BOOST_TEST(rows[1] ==
               "1|false|1|0.5|1.05|name 1|1970-01-02|1970-01-01T00:00:01Z|AAE=|[\"t0\"]|"
               "{\"login\":\"u1\",\"n\":7}|{\"k\":1}|null|");
    BOOST_TEST(rows[2] == "2|null|null|null|null|null|null|null|null|null|null|null|null|");
    BOOST_TEST(rows[7].find("[\"t0\",null,\"t2\"]") != std::string::npos);
    const std::size_t size = memory_size(*s.schema.get(), *array.get());
    BOOST_TEST(size <= bytes + 64);
    BOOST_TEST(size * 10 >= bytes * 9);
    // The columns are ready for the next batch.
    s.add(5);
    const arrow_array next = s.table->finish();
    check_array(*s.schema.get(), *next.get(), "test");
    BOOST_TEST(next.rows() == 1);
}

BOOST_AUTO_TEST_CASE(columns_are_cut_back_and_split) {
    sample whole;
    for (std::int64_t i = 0; i < 60; ++i) whole.add(i);
    const auto expected = texts(whole.schema, whole.table->finish());

    sample cut;
    for (std::int64_t i = 0; i < 41; ++i) cut.add(i);
    for (const std::int64_t mark : {37, 8, 9, 0}) {
        cut.table->truncate(mark);
        for (std::int64_t i = mark; i < 60; ++i) cut.add(i);
    }
    // A row that has begun: some columns are longer than others, and one text is open.
    cut.at<fixed_column<std::int64_t>>(0).append(99);
    cut.at<text_column>(5).append_part("half");
    dynamic_cast<text_column&>(cut.at<list_column>(9).child()).append("element");
    const arrow_array head = cut.table->copy(0, 23);
    cut.table->erase_head(23);
    BOOST_TEST(cut.at<text_column>(5).open_value() == "half");
    cut.table->truncate(37);
    const arrow_array tail = cut.table->finish();
    check_array(*cut.schema.get(), *head.get(), "head");
    check_array(*cut.schema.get(), *tail.get(), "tail");
    auto both = texts(cut.schema, head);
    const auto second = texts(cut.schema, tail);
    both.insert(both.end(), second.begin(), second.end());
    equal(both, expected);
}

BOOST_AUTO_TEST_CASE(rows_are_filtered) {
    sample s;
    for (std::int64_t i = 0; i < 200; ++i) s.add(i);
    arrow_array array = s.table->finish();
    const auto all = texts(s.schema, array);
    for (const std::int64_t offset : {0, 3, 64, 100}) {
        // A slice: the parent's offset moves every child.
        array.get()->offset = offset;
        array.get()->length = 200 - offset;
        check_array(*s.schema.get(), *array.get(), "slice");
        for (const int pattern : {0, 1, 2, 3, 7}) {
            std::vector<std::uint8_t> keep;
            std::vector<std::string> expected;
            for (std::int64_t i = offset; i < 200; ++i) {
                const bool stays = pattern == 0 ? false : pattern == 1 ? true : i % pattern == 0;
                keep.push_back(stays);
                if (stays) expected.push_back(all[static_cast<std::size_t>(i)]);
            }
            const arrow_array filtered = filter_rows(*s.schema.get(), *array.get(), keep);
            check_array(*s.schema.get(), *filtered.get(), "filtered");
            equal(texts(s.schema, filtered), expected);
        }
    }
    BOOST_TEST(code_of([&] { filter_rows(*s.schema.get(), *array.get(), {1}); }) == "host.internal");
}

BOOST_AUTO_TEST_CASE(children_that_were_moved_out_stay_valid) {
    sample s;
    for (std::int64_t i = 0; i < 10; ++i) s.add(i);
    arrow_array array = s.table->finish();
    arrow_array child(std::exchange(*array.get()->children[5], ArrowArray{}));
    array.reset();
    BOOST_TEST(value_text(s.schema.column(5), *child.get(), 4) == "name 4");
}

BOOST_AUTO_TEST_CASE(decimals) {
    const auto parse = [](std::string_view text, int precision, int scale) -> std::string {
        int128 value = 0;
        switch (parse_decimal(text, precision, scale, value)) {
            case decimal_result::ok: return decimal_text(value, scale);
            case decimal_result::not_a_number: return "not a number";
            case decimal_result::out_of_range: return "range";
            case decimal_result::inexact: return "inexact";
        }
        return {};
    };
    BOOST_TEST(parse("12.5", 10, 2) == "12.50");
    BOOST_TEST(parse("-0.05", 3, 2) == "-0.05");
    BOOST_TEST(parse("7E+3", 4, 0) == "7000");
    BOOST_TEST(parse("7E+4", 4, 0) == "range");
    BOOST_TEST(parse("1.2300", 3, 2) == "1.23");
    BOOST_TEST(parse("1.234", 9, 2) == "inexact");
    BOOST_TEST(parse("12345e-2", 5, 2) == "123.45");
    BOOST_TEST(parse("0e999999999999", 1, 0) == "0");
    BOOST_TEST(parse("1e-999999999999", 38, 2) == "inexact");
    BOOST_TEST(parse("1e999999999999", 38, 2) == "range");
    BOOST_TEST(parse("99999999999999999999999999999999999999", 38, 0) == "99999999999999999999999999999999999999");
    BOOST_TEST(parse("-99999999999999999999999999999999999999", 38, 38) == "range");
    BOOST_TEST(parse("-0.99999999999999999999999999999999999999", 38, 38) ==
               "-0.99999999999999999999999999999999999999");
    BOOST_TEST(parse("-0", 5, 0) == "0");
    BOOST_TEST(parse("007.50", 3, 2) == "7.50");
    for (const char* bad : {"", "-", ".5", "5.", "1e", "1e+", "abc", "1 ", " 1", "0x1", "NaN", "1,5", "--1"})
        BOOST_TEST(parse(bad, 38, 2) == "not a number", bad);
}

BOOST_AUTO_TEST_CASE(utf8) {
    const auto valid = [](std::string_view s) { return utf8_valid(s.data(), s.data() + s.size()); };
    const std::string pad(40, 'a');
    for (const std::string& good :
         {std::string("\xC2\x80"), std::string("\xDF\xBF"), std::string("\xE0\xA0\x80"), std::string("\xED\x9F\xBF"),
          std::string("\xEE\x80\x80"), std::string("\xF0\x90\x80\x80"), std::string("\xF4\x8F\xBF\xBF"),
          std::string("\0", 1), std::string()})
        for (std::size_t i = 0; i < 40; ++i) BOOST_TEST(valid(pad.substr(i) + good + pad.substr(0, i)));
    for (const char* bad :
         {"\x80", "\xC0\x80", "\xC1\xBF", "\xC2", "\xC2\x41", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xE2\x82",
          "\xE2\x82\x41", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xF0\x9F\x98", "\xFF"})
        for (std::size_t i = 0; i < 40; ++i) {
            BOOST_TEST(!valid(pad.substr(i) + bad));
            BOOST_TEST(!valid(pad.substr(i) + bad + pad.substr(0, i) + "b"));
        }
}
