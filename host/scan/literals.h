// host/scan/literals.h: a constant of SQL text in the type of a column. For host/scan alone.
#pragma once

#include <optional>
#include <string>

#include "host/arrow/arrow.h"
#include "host/scan/predicate.h"

namespace lakeflow::host {

// A constant as it was written.
struct sql_constant {
    enum class kind { null, boolean, number, text, binary };
    kind what = kind::null;
    std::string text;          // a number's digits, "true", or the value itself
    bool whole = false;        // a number of an integer type
    std::string cast_to = {};  // "DATE", "TIMESTAMP", ...: it stood under such a cast
};

struct typed_constant {
    literal value;
    bool rounded = false;  // the constant lies between `value` and the next value of the type
};

// Nothing if no value of the type is near: another kind of value, past the range.
std::optional<typed_constant> in_type(const sql_constant& constant, const column_type& type);

}  // namespace lakeflow::host
