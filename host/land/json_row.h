// host/land/json_row.h: rows of Arrow arrays as JSON lines: integers and decimals with all their digits, instants as RFC 3339. For
// the jsonl destination and the commands that print rows. Any thread.
#pragma once

#include <cstdint>
#include <string>

#include "host/arrow/arrow.h"

namespace lakeflow::host {

// {"id":1,"name":"x"} without a line end, appended to `out`. The array was checked. Text is written as it stands but for what JSON
// must escape; binary is base64; a zone-less timestamp has no Z; NaN and infinities are the texts "NaN", "Infinity", "-Infinity";
// a map with text keys is an object, another a list of {"key":..,"value":..}.
void append_json_row(const ArrowSchema& schema, const ArrowArray& array, std::int64_t row, std::string& out);
void append_json_value(const ArrowSchema& type, const ArrowArray& array, std::int64_t row, std::string& out);

}  // namespace lakeflow::host
