// host/scan/predicate.h: what a row must satisfy, as a small tree that the host, plugins and Spark have in common: columns, typed
// literals, comparisons, AND, OR, NOT. Logic is three-valued as in SQL; a row passes if the tree is true. Text compares by its bytes; NaN
// equals NaN and is the greatest number. Its JSON is a conjunct of lakeflow/scan.h. Values; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "host/arrow/arrow.h"
#include "host/arrow/builder.h"

namespace lakeflow::host {

enum class predicate_op {
    equal,
    equal_null_safe,
    less,
    less_or_equal,
    greater,
    greater_or_equal,
    in,
    is_null,
    is_not_null,
    starts_with,
    ends_with,
    contains,
    like,
    and_,
    or_,
    not_,
    always_true,
    always_false,
};
std::string_view to_string(predicate_op op) noexcept;  // "=", "starts_with", "and": the words of lakeflow/scan.h

// A value in the type of the column that it is compared with: null; a boolean; integers, days and microseconds; unscaled decimals;
// floats; text and binary.
using literal = std::variant<std::monostate, bool, std::int64_t, int128, double, std::string>;

using column_path = std::vector<std::string>;  // a column, or a member of a struct; a dot inside a part is a character

struct predicate {
    predicate_op op = predicate_op::always_true;
    column_path column;           // of comparisons
    column_type type;             // of that column
    std::string format;           // the same as Arrow's format string
    std::vector<literal> values;  // one; `in`: any number; is_null and is_not_null: none
    std::vector<predicate> args;  // of and, or, not

    friend bool operator==(const predicate&, const predicate&) = default;
};

predicate make_not(predicate arg);
predicate make_list(predicate_op op, std::vector<predicate> args);  // and, or
predicate constant(bool value);

// The conjuncts of a predicate in one form: NOT stands only before what has no opposite, AND and OR are flat, an OR of equalities on one
// column is an IN, constants are folded, no conjunct stands twice. No conjunct at all: every row passes. One that is always_false stands
// alone. The result is true, false and unknown for the same rows as the predicate is true, or not true.
std::vector<predicate> conjuncts_of(predicate whole);

// {"op":"=","column":["category"],"type":"u","value":"a"}: a conjunct of lakeflow/scan.h.
std::string to_json(const predicate& p);
// "EqualTo(category, electronics)": Spark's words, for explain.
std::string to_text(const predicate& p);
// One value as explain shows it.
std::string to_text(const literal& value, const column_type& type);

// Adds the columns of the tree, each once, in the order in which they come.
void add_columns(const predicate& p, std::vector<column_path>& out);

}  // namespace lakeflow::host
