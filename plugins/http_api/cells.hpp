// plugins/http_api/cells.hpp: values of a batch, one at a time: for keys, tokens, checks and the write path. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lakeflow/lakeflow.hpp"

namespace lakeflow::http_api {

// A value as JSON: integers and decimals with all their digits, instants as RFC 3339 (without a zone: as they stand), dates as text,
// binary as base64, maps as objects, NaN and infinities as null.
json cell(const field& column, const ArrowArray& array, std::int64_t row);

bool is_null(const ArrowArray& array, std::int64_t row);

// Integers, booleans, dates and timestamps as they are stored.
std::int64_t integer_cell(const type& of, const ArrowArray& array, std::int64_t row);
double real_cell(const type& of, const ArrowArray& array, std::int64_t row);
std::string_view text_cell(const type& of, const ArrowArray& array, std::int64_t row);
std::string decimal_cell(const type& of, const ArrowArray& array, std::int64_t row);

// "2026-03-01" of days since 1970.
std::string date_text(std::int64_t days);

// The first `columns` columns and `rows` rows of a batch.
batch cut(batch whole, std::int64_t columns, std::int64_t rows);

}  // namespace lakeflow::http_api
