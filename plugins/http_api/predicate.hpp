// plugins/http_api/predicate.hpp: the conjuncts of lakeflow/scan.h: what each becomes in a request, and whether a row passes it. Pure;
// any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "declaration.hpp"
#include "service.hpp"

namespace lakeflow::http_api {

// An instant as it is written in requests: rfc3339, epoch_s, epoch_ms, epoch_us, date. Units round down.
std::string time_text(std::int64_t microseconds, std::string_view format);

// A literal in its column's type, as the service reads it: 50 on a DOUBLE is "50.0". Nothing if it cannot be said exactly.
std::optional<std::string> literal_text(const type& of, const json& value, std::string_view format);

// The column that a conjunct is about, as the schema spells it: without regard to case unless two columns differ only by it
// (contract 22). Null for a nested one, and for one that is not there.
const field* column_of(const schema& columns, const json& conjunct);

// What a conjunct becomes: a parameter, and whether the service applies it exactly.
struct pushed {
    parameter sent;
    bool exact = true;
};
// Nothing where the resource does not take this conjunct.
std::optional<pushed> push_filter(const resource& of, const schema& columns, const json& conjunct);

// Whether a value passes a comparison, as SQL has it: what is unknown does not pass.
bool passes(const json& conjunct, const field& column, const ArrowArray& array, std::int64_t row);

// "EqualTo(category, electronics)": Spark's way to write it.
std::string describe(const json& conjunct);

}  // namespace lakeflow::http_api
