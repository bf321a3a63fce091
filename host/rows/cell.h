// host/rows/cell.h: one scalar of a column as a value of its own: constants, conditions, keys, and what is watched. Used by one
// thread at a time.
#pragma once

#include <string>

#include "host/arrow/builder.h"
#include "host/rows/spec.h"

namespace lakeflow::host {

struct cell {
    enum class kind { null_, integer, real, text };
    kind type = kind::null_;
    int128 integer = 0;  // also booleans, days, microseconds, decimals in their column's scale
    double real = 0;
    std::string text;  // also binary
};

// True for the types that a cell can hold.
bool has_cells(type_id id) noexcept;

// The value of a row, which is in the column. `out` keeps its text's memory.
void read_cell(const column& from, std::int64_t row, cell& out);
// The sign of (value of the row - `other`); neither is null. For text: by its bytes.
int compare_cell(const column& from, std::int64_t row, const cell& other) noexcept;
// The value of the spec as the column would hold it: numbers exactly, instants from RFC 3339 text or int64 microseconds. Throws
// config.rows_spec naming `what`.
cell make_cell(const spec_value& value, const ArrowSchema& node, const std::string& what);
void append_cell(column& to, const cell& value);
// Bytes that tell cells of one column apart.
void append_key(std::string& key, const cell& value);
// As stats gives it: instants and dates as text, numbers and text as JSON.
std::string cell_json(const cell& value, const ArrowSchema& node);

}  // namespace lakeflow::host
