// host/scan/explain.h: what a scan does, on one page (contract 26): stable lines for people and diffs, JSON for programs. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/arrow/arrow.h"
#include "host/scan/negotiate.h"

namespace lakeflow::host {

// What a plugin says of a scan (lakeflow/scan.h, explain). Members that it left out are empty.
struct plugin_explanation {
    std::string table;
    std::string description;
    std::vector<std::string> lines;
    std::vector<std::string> requests;
};

// Throws plugin.contract.
plugin_explanation parse_explanation(const std::string& text, const std::string& what);

struct explanation {
    std::string plugin;
    std::string table;
    scan_wish wish;
    scan_choice choice;
    std::vector<std::string> further_filters;  // conditions that no predicate can say, as SQL
    std::int64_t partitions = 1;
    std::string partition_hint;  // contract 27; empty: none
    plugin_explanation said;
};

std::string explain_text(const explanation& e);
std::string explain_json(const explanation& e);

// "struct<id:bigint,name:string>": Spark's short name of a type.
std::string short_type(const ArrowSchema& node);

// Contract 27: what the number of partitions suggests; empty if nothing.
std::string partition_hint(std::int64_t partitions, int workers);

}  // namespace lakeflow::host
