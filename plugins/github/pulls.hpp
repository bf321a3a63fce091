// plugins/github/pulls.hpp: pull requests and their reviews: listings without `since`, read from their newest row. One thread
// at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "updated.hpp"

namespace lakeflow::github {

// Descriptors: {"pages": [first, last]}, {"follow": true} (the whole table), {"touched": true} (a range, newest first).
class pulls_feed final : public updated_feed {
  public:
    using updated_feed::updated_feed;

    std::vector<json> plan(const plan_args& args) override;
    std::unique_ptr<reader> read(const read_args& args) override;
};

// A review appears on a pull request and touches it, so what is new are the reviews of the pull requests that were touched: the
// offset is that of pull requests. Such a read brings the older reviews of the same pull request again.
// Descriptors: {"pages": [first, last]} (of the listing of pull requests), {"pulls": [number, ...]}.
class reviews_feed final : public updated_feed {
  public:
    using updated_feed::updated_feed;

    std::vector<json> plan(const plan_args& args) override;
    std::unique_ptr<reader> read(const read_args& args) override;
};

}  // namespace lakeflow::github
