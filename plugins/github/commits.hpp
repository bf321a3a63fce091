// plugins/github/commits.hpp: commits: what a head can reach. One thread at a time.
//
// Offset: {"head": sha, "etag": validator}. The listing of one fixed head never changes, so its page numbers are stable and a
// range can be read again at any time. New in (old head, new head] is what the new one reaches and the old one does not; dates
// say nothing about that, for a merged branch brings commits as old as it likes.
// Descriptors: {"pages": [first, last]}, {"follow": true} (a whole history), {"walk": true} (a range); each with "head".
#pragma once

#include <memory>
#include <vector>

#include "feed.hpp"

namespace lakeflow::github {

class commits_feed final : public feed {
  public:
    using feed::feed;

    lakeflow::latest latest(const latest_args& args) override;
    std::vector<json> plan(const plan_args& args) override;
    std::unique_ptr<reader> read(const read_args& args) override;

  private:
    json newest(const json& start) const;
    std::string listing(const json& descriptor, std::string_view head, std::int64_t per_page) const;
};

}  // namespace lakeflow::github
