// plugins/github/since.hpp: issues and comments: listings with `since`. One thread at a time.
//
// Three ways to read a range, each with its descriptors:
//   {"pages": [first, last]}   the whole table, in the order of creation, which grows only at its end
//   {"last": [row, id]}        beside pages: checks at the end that no row was removed meanwhile
//   {"follow": true}           a small range in the order of creation, by links: rows enter it, none leaves
//   {"window": true, "from": i, "until": i}
//                              a window [from, until) of updated_at, where page numbers would not do: above GitHub's limit for
//                              them, or because a row may leave the listing (a state is chosen)
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "updated.hpp"

namespace lakeflow::github {

class since_feed final : public updated_feed {
  public:
    using updated_feed::updated_feed;

    std::vector<json> plan(const plan_args& args) override;
    std::unique_ptr<reader> read(const read_args& args) override;

  private:
    json limited(const latest_args& args, const json& target, std::vector<std::string>& honoured) override;

    std::vector<json> windows(const json& place, const time_range& whole, std::int64_t rows,
                              std::uint32_t parallelism) const;
    std::vector<std::int64_t> evenly(const std::string& by_update, const time_range& whole,
                                     std::uint32_t parallelism) const;
};

}  // namespace lakeflow::github
