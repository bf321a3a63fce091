// host/query/values.h: a value of a DuckDB result as JSON, in the manner of the jsonl destination: integers and decimals with all their
// digits, instants as RFC 3339, binary as base64. Used by the thread of the result.
#pragma once

#include <string>

#include "host/duck/duck.h"

namespace lakeflow::host {

// False for types that have no JSON here (an interval, a UUID): a query casts those to text first.
bool can_print(const duck::value_type& type) noexcept;
// What such a column is cast to.
std::string printable_as(const duck::value_type& type);

void append_json(const duck::value& v, const duck::value_type& type, std::string& out);
// A scalar as it stands, nested values as JSON; a null is empty and `null` is set.
std::string plain_text(const duck::value& v, const duck::value_type& type, bool& null);
bool is_number(const duck::value_type& type) noexcept;

}  // namespace lakeflow::host
