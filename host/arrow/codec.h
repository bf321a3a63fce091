// host/arrow/codec.h: a checked array as bytes and back, for rows that wait on disk. The bytes are this host's own (little-endian, as
// every machine that it runs on) and hold no schema: who keeps them keeps that too, and a checksum. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "host/arrow/arrow.h"

namespace lakeflow::host {

// Appends the rows of a checked array.
void encode_rows(const ArrowSchema& schema, const ArrowArray& array, std::string& out);

// The rows again, in memory of their own, checked like a plugin's. Throws state.corrupt if the bytes are not rows of this schema;
// `what` names where they come from.
arrow_array decode_rows(const ArrowSchema& schema, std::string_view bytes, std::string_view what);

}  // namespace lakeflow::host
