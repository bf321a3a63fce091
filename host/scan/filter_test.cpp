// Predicates over Arrow batches: every type, nulls, NaN, struct members, slices; and a promise of the source that is not kept.
#include "host/scan/filter.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "host/arrow/builder.h"
#include "host/arrow/schema.h"
#include "host/base/error.h"

using namespace lakeflow::host;

namespace {

predicate on(const arrow_schema& schema, predicate_op op, column_path path, std::vector<literal> values) {
    predicate p;
    p.op = op;
    const ArrowSchema* node = schema.get();
    for (const auto& part : path) node = node->children[find_column(*node, part)];
    p.column = std::move(path);
    p.type = type_of(*node);
    p.format = node->format;
    p.values = std::move(values);
    return p;
}

std::string kept(const arrow_schema& schema, const ArrowArray& rows, const predicate& p) {
    std::vector<std::uint8_t> keep(static_cast<std::size_t>(rows.length), 1);
    const auto dropped = row_filter(schema, {p}, {}, "t").apply(rows, keep);
    std::string out;
    for (const auto k : keep) out += k ? '1' : '0';
    BOOST_TEST(dropped == std::count(out.begin(), out.end(), '0'));
    return out;
}

struct texts {
    arrow_schema schema = parse_ddl("s STRING");
    arrow_array rows;
    explicit texts(const std::vector<const char*>& values) {
        auto table = make_table(*schema.get());
        auto& column = dynamic_cast<text_column&>(table->child(0));
        for (const auto* v : values) {
            v ? column.append(v) : column.append_null();
            table->end_value();
        }
        rows = table->finish();
    }
    std::string operator()(predicate_op op, const std::string& value) const {
        return kept(schema, *rows.get(), on(schema, op, {"s"}, {value}));
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(text_compares_by_its_bytes) {
    const texts t({"a", "B", nullptr, "\xc3\xa4", ""});
    BOOST_TEST(t(predicate_op::less, "a") == "01001");
    BOOST_TEST(t(predicate_op::greater_or_equal, "a") == "10010");
    BOOST_TEST(t(predicate_op::equal, "b") == "00000");
    BOOST_TEST(t(predicate_op::starts_with, "") == "11011");
}

BOOST_AUTO_TEST_CASE(like_has_two_wildcards_and_no_escape) {
    const texts t({"abc", "a%c", "a\\c", nullptr,
                   "\xc3\xa4"
                   "bc",
                   "ab"});
    BOOST_TEST(t(predicate_op::like, "a_c") == "111000");
    BOOST_TEST(t(predicate_op::like, "_bc") == "100010");
    BOOST_TEST(t(predicate_op::like, "%b%c") == "100010");
    BOOST_TEST(t(predicate_op::like, "a\\%") == "001000");
    BOOST_TEST(t(predicate_op::like, "%") == "111011");
    BOOST_TEST(t(predicate_op::contains, "b") == "100011");
    BOOST_TEST(t(predicate_op::ends_with, "c") == "111010");
}

BOOST_AUTO_TEST_CASE(nan_equals_itself_and_is_the_greatest_number) {
    const auto schema = parse_ddl("x DOUBLE");
    auto table = make_table(*schema.get());
    auto& column = dynamic_cast<fixed_column<double>&>(table->child(0));
    for (const double v : {1.0, std::nan(""), std::numeric_limits<double>::infinity(), -0.0}) {
        column.append(v);
        table->end_value();
    }
    const auto rows = table->finish();
    const auto test = [&](predicate_op op, double v) { return kept(schema, *rows.get(), on(schema, op, {"x"}, {v})); };
    BOOST_TEST(test(predicate_op::equal, std::nan("")) == "0100");
    BOOST_TEST(test(predicate_op::greater, std::numeric_limits<double>::infinity()) == "0100");
    BOOST_TEST(test(predicate_op::less_or_equal, 1.0) == "1001");
    BOOST_TEST(test(predicate_op::equal, 0.0) == "0001");
}

BOOST_AUTO_TEST_CASE(a_member_of_a_null_struct_is_null) {
    const auto schema = parse_ddl("s STRUCT<a: BIGINT>");
    auto table = make_table(*schema.get());
    auto& outer = dynamic_cast<struct_column&>(table->child(0));
    auto& inner = dynamic_cast<fixed_column<std::int64_t>&>(outer.child(0));
    inner.append(1);
    outer.end_value();
    table->end_value();
    outer.append_null();
    table->end_value();
    inner.append_null();
    outer.end_value();
    table->end_value();
    const auto rows = table->finish();
    BOOST_TEST(kept(schema, *rows.get(), on(schema, predicate_op::equal, {"s", "a"}, {std::int64_t{1}})) == "100");
    BOOST_TEST(kept(schema, *rows.get(), on(schema, predicate_op::is_null, {"s", "a"}, {})) == "011");
    BOOST_TEST(kept(schema, *rows.get(), on(schema, predicate_op::is_null, {"s"}, {})) == "010");
}

BOOST_AUTO_TEST_CASE(offsets_of_table_and_column_are_heeded) {
    const auto schema = parse_ddl("a INT, d DECIMAL(10,2)");
    auto table = make_table(*schema.get());
    for (int i = 0; i < 6; ++i) {
        dynamic_cast<fixed_column<std::int32_t>&>(table->child(0)).append(i);
        dynamic_cast<fixed_column<int128>&>(table->child(1)).append(i * 100);
        table->end_value();
    }
    const auto rows = table->finish();
    ArrowArray part = *rows.get();
    part.offset = 2;
    part.length = 3;
    BOOST_TEST(kept(schema, part, on(schema, predicate_op::greater, {"a"}, {std::int64_t{2}})) == "011");
    BOOST_TEST(kept(schema, part, on(schema, predicate_op::less, {"d"}, {int128{400}})) == "110");
}

BOOST_AUTO_TEST_CASE(a_row_that_the_source_had_promised_to_leave_out_is_named) {
    const texts t({"a", "b"});
    const auto promised = on(t.schema, predicate_op::equal, {"s"}, {std::string("a")});
    std::vector<std::uint8_t> keep{1, 1};
    const row_filter checking(t.schema, {}, {promised}, "p/t");
    BOOST_CHECK_EXCEPTION(checking.apply(*t.rows.get(), keep), failure, [](const failure& f) {
        return f.get().code == "source.filter_ignored" && f.get().message.find("EqualTo(s, a)") != std::string::npos &&
               f.get().message.find("s = b") != std::string::npos;
    });
    // A column that does not come is not looked at.
    const auto other = parse_ddl("x BIGINT");
    BOOST_TEST(row_filter(other, {}, {promised}, "p/t").does_nothing());
    BOOST_CHECK_THROW(row_filter(other, {promised}, {}, "p/t"), failure);
}
