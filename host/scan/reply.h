// host/scan/reply.h: one exchange of a negotiation: the request's JSON, and the reply, checked. For host/scan alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/scan/negotiate.h"

namespace lakeflow::host {

// The pieces of one request.
struct scan_request {
    const std::vector<predicate>* filters = nullptr;
    const sample_wish* sample = nullptr;
    const aggregation* aggregate = nullptr;
    const std::vector<order_key>* order_by = nullptr;
    std::optional<std::int64_t> limit;
    std::int64_t offset = 0;
    std::optional<std::vector<std::string>> columns;
    std::uint32_t num_partitions = 0;

    std::string to_json() const;
};

struct scan_reply {
    std::vector<answer> filters;  // as many as were asked
    answer sample = answer::no;
    answer aggregate = answer::no;
    answer order_by = answer::no;
    answer limit = answer::no;
    answer offset = answer::no;
    answer columns = answer::no;
    std::optional<arrow_schema> schema;  // names and types; no children
    std::string scan = "{}";
};

// Throws plugin.contract.
scan_reply parse_reply(const std::string& text, const scan_request& request, const std::string& what);

}  // namespace lakeflow::host
