// plugins/github/feed.hpp: how a table that advances is read: where the next micro-batch ends, how (start, end] is split, and
// how a part is read. One feed a call; it keeps nothing between calls. One thread at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client.hpp"
#include "lakeflow/lakeflow.hpp"

namespace lakeflow::github {

class feed {
  public:
    explicit feed(std::shared_ptr<const client> source) : source_(std::move(source)) {}
    virtual ~feed() = default;
    feed(const feed&) = delete;
    feed& operator=(const feed&) = delete;

    virtual lakeflow::latest latest(const latest_args& args) = 0;
    virtual std::vector<json> plan(const plan_args& args) = 0;
    virtual std::unique_ptr<reader> read(const read_args& args) = 0;

  protected:
    const client& source() const { return *source_; }
    const std::shared_ptr<const client>& shared() const { return source_; }

  private:
    std::shared_ptr<const client> source_;
};

// The feed of a table that is no snapshot.
std::unique_ptr<feed> open_feed(const environment& env, const table& what, const json& options);

// A feed read in one piece, part after part: the simple read of a table that can also be split.
std::unique_ptr<reader> read_serially(std::unique_ptr<feed> parts, const read_args& args);

}  // namespace lakeflow::github
