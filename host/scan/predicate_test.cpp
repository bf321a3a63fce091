// Predicates: one form whatever a person wrote, JSON as lakeflow/scan.h has it, and the same rows before and after.
#include "host/scan/predicate.h"

#include <boost/test/unit_test.hpp>
#include <functional>
#include <random>

#include "host/arrow/schema.h"
#include "host/scan/filter.h"

using namespace lakeflow::host;

namespace {

predicate leaf(predicate_op op, const std::string& column, std::vector<literal> values,
               column_type type = {type_id::int64}) {
    predicate p;
    p.op = op;
    p.column = {column};
    p.type = type;
    p.format = format_of(type);
    p.values = std::move(values);
    return p;
}
predicate less(std::int64_t v) { return leaf(predicate_op::less, "a", {v}); }
predicate equal(const std::string& c, std::int64_t v) { return leaf(predicate_op::equal, c, {v}); }
predicate any(std::vector<predicate> args) { return make_list(predicate_op::or_, std::move(args)); }
predicate all(std::vector<predicate> args) { return make_list(predicate_op::and_, std::move(args)); }

std::string text_of(const std::vector<predicate>& list) {
    std::string out;
    for (const auto& p : list) out += (out.empty() ? "" : " & ") + to_text(p);
    return out;
}
std::string normal(predicate p) { return text_of(conjuncts_of(std::move(p))); }

}  // namespace

BOOST_AUTO_TEST_CASE(not_goes_down_to_what_has_no_opposite) {
    BOOST_TEST(normal(make_not(less(4))) == "GreaterThanOrEqual(a, 4)");
    BOOST_TEST(normal(make_not(make_not(less(4)))) == "LessThan(a, 4)");
    BOOST_TEST(normal(make_not(equal("a", 4))) == "Not(EqualTo(a, 4))");
    BOOST_TEST(normal(make_not(any({less(4), leaf(predicate_op::is_null, "b", {})}))) ==
               "GreaterThanOrEqual(a, 4) & IsNotNull(b)");
    BOOST_TEST(normal(make_not(all({less(4), equal("b", 1)}))) == "Or(GreaterThanOrEqual(a, 4), Not(EqualTo(b, 1)))");
}

BOOST_AUTO_TEST_CASE(lists_are_flat_and_say_nothing_twice) {
    BOOST_TEST(normal(all({all({less(4), constant(true)}), less(4), equal("b", 1)})) ==
               "LessThan(a, 4) & EqualTo(b, 1)");
    BOOST_TEST(normal(any({equal("a", 1), any({equal("a", 2), equal("b", 3)})})) == "Or(In(a, [1,2]), EqualTo(b, 3))");
    BOOST_TEST(normal(any({equal("a", 1), equal("a", 2)})) == "In(a, [1,2])");
    BOOST_TEST(normal(leaf(predicate_op::in, "a", {std::int64_t{7}, std::int64_t{7}})) == "EqualTo(a, 7)");
}

BOOST_AUTO_TEST_CASE(constants_are_folded) {
    BOOST_TEST(normal(any({constant(true), less(4)})) == "");
    BOOST_TEST(normal(all({constant(false), less(4)})) == "AlwaysFalse()");
    BOOST_TEST(normal(leaf(predicate_op::in, "a", {})) == "AlwaysFalse()");
    BOOST_TEST(normal(make_not(leaf(predicate_op::in, "a", {}))) == "");
}

BOOST_AUTO_TEST_CASE(what_compares_with_null_is_never_true) {
    const literal null;
    BOOST_TEST(normal(leaf(predicate_op::equal, "a", {null})) == "AlwaysFalse()");
    BOOST_TEST(normal(make_not(leaf(predicate_op::in, "a", {std::int64_t{1}, null}))) == "AlwaysFalse()");
    BOOST_TEST(normal(leaf(predicate_op::in, "a", {std::int64_t{1}, null})) == "EqualTo(a, 1)");
    BOOST_TEST(normal(leaf(predicate_op::equal_null_safe, "a", {null})) == "IsNull(a)");
    BOOST_TEST(normal(make_not(leaf(predicate_op::equal_null_safe, "a", {null}))) == "IsNotNull(a)");
}

BOOST_AUTO_TEST_CASE(the_json_is_that_of_the_abi) {
    BOOST_TEST(to_json(equal("a", 4)) == R"({"op":"=","column":["a"],"type":"l","value":4})");
    BOOST_TEST(to_json(leaf(predicate_op::in, "a", {std::int64_t{1}, literal()})) ==
               R"({"op":"in","column":["a"],"type":"l","values":[1,null]})");
    auto deep = leaf(predicate_op::starts_with, "s", {std::string("x\"")}, {type_id::utf8});
    deep.column.emplace_back("a.b");
    BOOST_TEST(to_json(deep) == R"({"op":"starts_with","column":["s","a.b"],"type":"u","value":"x\""})");
    BOOST_TEST(to_json(leaf(predicate_op::greater, "d", {50.0}, {type_id::float64})) ==
               R"({"op":">","column":["d"],"type":"g","value":"50.0"})");
    BOOST_TEST(to_json(leaf(predicate_op::greater, "d", {int128{1050}}, {type_id::decimal128, 10, 2})) ==
               R"({"op":">","column":["d"],"type":"d:10,2","value":"10.50"})");
    BOOST_TEST(to_json(leaf(predicate_op::equal, "b", {std::string("\x00\xff", 2)}, {type_id::binary})) ==
               R"({"op":"=","column":["b"],"type":"z","value":"AP8="})");
    BOOST_TEST(
        to_json(make_not(any({equal("a", 1), constant(true)}))) ==
        R"({"op":"not","arg":{"op":"or","args":[{"op":"=","column":["a"],"type":"l","value":1},{"op":"true"}]}})");
}

BOOST_AUTO_TEST_CASE(people_read_values_as_they_would_write_them) {
    BOOST_TEST(to_text(leaf(predicate_op::greater, "t", {std::int64_t{1'772'323'200'000'000}},
                            {type_id::timestamp_utc})) == "GreaterThan(t, 2026-03-01T00:00:00Z)");
    BOOST_TEST(to_text(leaf(predicate_op::less, "d", {std::int64_t{0}}, {type_id::date32})) ==
               "LessThan(d, 1970-01-01)");
    BOOST_TEST(to_text(leaf(predicate_op::equal, "f", {1e300}, {type_id::float64})) == "EqualTo(f, 1e+300)");
}

// A random tree over a and b keeps exactly the rows for which it is true, in its own form and as conjuncts.
BOOST_AUTO_TEST_CASE(normalisation_keeps_the_rows) {
    std::mt19937_64 random(7);
    const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    std::function<predicate(int)> tree = [&](int depth) -> predicate {
        const int kind = depth == 0 ? pick(7) : pick(10);
        const std::string column = pick(2) ? "a" : "b";
        const auto value = [&]() -> literal { return pick(5) == 0 ? literal() : literal(std::int64_t{pick(4)}); };
        if (kind < 4) {
            const predicate_op ops[] = {predicate_op::equal, predicate_op::less, predicate_op::greater_or_equal,
                                        predicate_op::equal_null_safe};
            return leaf(ops[kind], column, {value()});
        }
        if (kind == 4) return leaf(pick(2) ? predicate_op::is_null : predicate_op::is_not_null, column, {});
        if (kind == 5) {
            std::vector<literal> values;
            for (int n = pick(4); n > 0; --n) values.push_back(value());
            return leaf(predicate_op::in, column, std::move(values));
        }
        if (kind == 6) return constant(pick(2) == 1);
        if (kind == 7) return make_not(tree(depth - 1));
        std::vector<predicate> args;
        for (int n = 1 + pick(3); n > 0; --n) args.push_back(tree(depth - 1));
        return make_list(kind == 8 ? predicate_op::and_ : predicate_op::or_, std::move(args));
    };
    const auto schema = parse_ddl("a BIGINT, b BIGINT");
    auto rows = make_table(*schema.get());
    for (int a = -1; a < 4; ++a) {
        for (int b = -1; b < 4; ++b) {
            const auto put = [&](std::size_t at, int v) {
                auto& column = dynamic_cast<fixed_column<std::int64_t>&>(rows->child(at));
                v < 0 ? column.append_null() : column.append(v);
            };
            put(0, a);
            put(1, b);
            rows->end_value();
        }
    }
    const auto array = rows->finish();
    const auto kept = [&](const std::vector<predicate>& conjuncts) {
        std::vector<std::uint8_t> keep(static_cast<std::size_t>(array.rows()), 1);
        row_filter(schema, conjuncts, {}, "test").apply(*array.get(), keep);
        return keep;
    };
    for (int i = 0; i < 5'000; ++i) {
        const auto p = tree(3);
        const auto before = kept({p});
        const auto after = kept(conjuncts_of(p));
        BOOST_TEST(before == after, to_text(p) << " became " << text_of(conjuncts_of(p)));
        if (before != after) break;
    }
}
