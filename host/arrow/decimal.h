// host/arrow/decimal.h: decimal128 values and their texts. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "host/arrow/builder.h"

namespace lakeflow::host {

// 12345 with scale 2 is "123.45": all digits of the scale, no exponent.
std::string decimal_text(int128 value, int scale);

enum class decimal_result { ok, not_a_number, out_of_range, inexact };

// The text of a number ("-12.5", "7E+3") as a decimal, exactly: `inexact` if it has digits past the scale that are not zero,
// `out_of_range` if it has more digits than the precision. JSON's grammar, and also a '+' or zeros in front.
decimal_result parse_decimal(std::string_view text, int precision, int scale, int128& value) noexcept;

}  // namespace lakeflow::host
