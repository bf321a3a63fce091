// plugins/http_api/cursor.hpp: how an incremental table moves: the values of its cursor, its offsets, its ranges and their windows
// (contract 1 to 5, 21, 33). Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "declaration.hpp"
#include "service.hpp"

namespace lakeflow::http_api {

enum class cursor_kind { instant, day, integer, text };

// What kind of values a cursor column has. Throws config.invalid_option for a type that has no order.
cursor_kind kind_of(const field& column);

// One value of a cursor: microseconds of an instant (and of a day's beginning), an integer, or a text.
struct cursor_value {
    cursor_kind kind = cursor_kind::instant;
    std::int64_t number = 0;
    std::string text;

    // Reads what an offset or the statistics of a page hold. Throws invalid().
    static cursor_value from(cursor_kind kind, const json& value);
    // As it stands in an offset, and as rows/1 compares with it.
    json to_json() const;
    friend bool operator<(const cursor_value& a, const cursor_value& b) {
        return a.kind == cursor_kind::text ? a.text < b.text : a.number < b.number;
    }
    friend bool operator==(const cursor_value& a, const cursor_value& b) = default;
};

// (from, to], or [from, to] where rows at `from` are wanted again. Absent: no bound.
struct cursor_range {
    std::optional<cursor_value> from, to;
    bool includes_from = false;
};

// Adds the request's parameters of a range. What the service itself includes at its bounds does not matter: a unit more is asked for
// where that could lose rows, and what is too much is dropped by `keep_range`.
void send_range(const cursor_rule& rule, const cursor_range& range, parameters& out);

// Keeps the rows within a range. `undated` keeps those without a cursor too.
void keep_range(const cursor_range& range, const std::string& column, bool undated, rows_spec& spec);

// A range between two instants cut into windows, oldest first; they leave no gap and do not overlap.
std::vector<cursor_range> windows(const cursor_range& range, std::int64_t window_us);

}  // namespace lakeflow::http_api
