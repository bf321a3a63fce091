// host/arrow/schema.h: makes nodes of an Arrow schema that own their memory. Any thread.
#pragma once

#include <string>
#include <vector>

#include "host/arrow/arrow.h"

namespace lakeflow::host {

// One node. `children` move into it.
arrow_schema make_schema(std::string format, std::string name, bool nullable, std::vector<arrow_schema> children = {});

// The format string of a type without children: "l", "d:10,2", "tsu:UTC", "+s", ...
std::string format_of(const column_type& type);

// A map's or list's parts, whatever the producer named them. The node was checked.
inline const ArrowSchema& list_item(const ArrowSchema& list) noexcept { return *list.children[0]; }
inline const ArrowSchema& map_key(const ArrowSchema& map) noexcept { return *map.children[0]->children[0]; }
inline const ArrowSchema& map_value(const ArrowSchema& map) noexcept { return *map.children[0]->children[1]; }

}  // namespace lakeflow::host
