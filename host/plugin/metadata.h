// host/plugin/metadata.h: the JSON answers of a plugin, checked. For host/plugin alone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/plugin/connector.h"

namespace lakeflow::host {

// Throws plugin.contract, naming `what` and the member.
table_metadata parse_metadata(std::string_view text, std::string_view what);
// {"offset": {...}, "honoured": [...]}. Throws plugin.contract or offset.*.
latest parse_latest(std::string_view text, std::string_view what);
// An array of strings, without repetitions.
std::vector<std::string> parse_names(std::string_view text, std::string_view what);
// An array of namespaces, each an array of parts; each comes back as canonical JSON.
std::vector<std::string> namespaces_of(std::string_view text, std::string_view what);

}  // namespace lakeflow::host
