// plugins/http_api/listing.hpp: readers over one walk, or one for each parent.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "walk.hpp"

namespace lakeflow::http_api {

struct listing_plan {
    walk_plan base;
    // Children: one walk for each of these arrays of values.
    bool has_parents = false;
    std::vector<std::string> names;  // of the values
    json parents = json::array();
    std::vector<std::pair<std::string, std::string>> given;  // column of the child, column of the parent
    // How the read ends: nothing for a batch or a part.
    std::optional<json> end;
    bool unchanged = false;  // no row is read at all
    bool follows = false;    // the end is the newest cursor that was seen
    std::string field;
    json start = json::object();
    std::optional<cursor_value> at, bound;  // the start's value; what the end does not pass

    void follow_cursor(const json& start_offset, const std::string& name, const std::optional<json>& planned_end,
                       const std::optional<cursor_value>& limit, cursor_kind kind);
};

std::unique_ptr<reader> read_listing(std::shared_ptr<const service> source, listing_plan plan);

// The groups of an aggregate, in one request; `whole`: without groups, which is one row even where there is none to count.
std::unique_ptr<reader> read_aggregate(std::shared_ptr<const service> source, walk_plan plan, bool whole);

}  // namespace lakeflow::http_api
