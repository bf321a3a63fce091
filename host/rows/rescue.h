// host/rows/rescue.h: members of a row that no column asks for (schema = "rescue") travel as one more column behind the plugin's back: a
// batch of a decoder has it beside the columns that the plugin sees, and the host finds it again when the plugin hands the batch on.
// Any thread.
#pragma once

#include "host/arrow/arrow.h"

namespace lakeflow::host {

inline constexpr const char* rescued_column = "_rescued_data";

// The schema with `_rescued_data STRING` at its end. Throws schema.unsupported if it has a column of that name.
arrow_schema with_rescued(const ArrowSchema& schema);

// Hides the last column of a batch that owns its memory.
arrow_array hide_last(arrow_array whole);
// The batch with its hidden column, or with one of nulls if a plugin made it of its own.
arrow_array reveal_last(arrow_array batch);

}  // namespace lakeflow::host
