// plugins/github/columns.hpp: reads single values out of decoded batches and their statistics. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lakeflow/lakeflow.hpp"

namespace lakeflow::github {

// A column's value in one of the objects of rows_stats (min, max, last), as an instant.
std::optional<std::int64_t> instant_of(const rows_stats& stats, const json& values, std::string_view column);

// A column of int64 (or of instants); rows without a value are left out.
std::vector<std::int64_t> integers(const schema& columns, const batch& rows, std::string_view column);
// The keys of the rows whose instant is `at`.
std::vector<std::int64_t> keys_at(const schema& columns, const batch& rows, std::string_view key,
                                  std::string_view instant, std::int64_t at);
// A column of text; rows without a value give "".
std::vector<std::string> texts(const schema& columns, const batch& rows, std::string_view column);
// A column of lists of structs with one member, a text: those texts.
std::vector<std::vector<std::string>> text_lists(const schema& columns, const batch& rows, std::string_view column);

}  // namespace lakeflow::github
