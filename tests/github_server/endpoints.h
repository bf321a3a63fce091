// The endpoints: path and query -> a page of JSON and its links. Called under the world's read lock, by any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/github_server/listing.h"
#include "tests/github_server/world.h"

namespace lakeflow::github_server {

struct reply {
    int status = 200;
    std::shared_ptr<const page> content;
    std::string links;     // value of Link, or empty
    std::string location;  // of a 301
};

struct call {
    std::vector<std::string> path;  // decoded segments
    std::string raw_path;           // as sent
    std::string raw_query;
    parameters query;
    std::string origin;  // http://127.0.0.1:1234, for Link and Location
    api_version version = api_version::v2022_11_28;
    bool authenticated = false;
};

// GitHub's error body.
reply failure(int status, std::string_view message, std::string_view documentation = "rest",
              std::string_view extra = "");

class endpoints {
  public:
    explicit endpoints(world& w) : world_(w) {}
    reply answer(const call& asked) const;

  private:
    using part = std::function<void(std::string&, std::uint64_t)>;  // appends element i
    reply repository_call(const call& asked, repository& repo, const std::vector<std::string>& rest) const;
    reply rows(const call& asked, const repository& repo, row_table table) const;
    reply commits(const call& asked, const repository& repo) const;
    reply reviews(const call& asked, const repository& repo, std::string_view number) const;
    reply owned_repositories(const call& asked, const organisation& owner) const;
    reply organisation_teams(const call& asked, const organisation& owner) const;
    reply me(const call& asked) const;
    reply list(const call& asked, const std::string& url, std::uint64_t count, const part& render) const;
    reply object(const std::function<void(std::string&)>& render) const;
    row_slice slice(const repository& repo, row_table table, row_state state, row_sort sort, bool ascending,
                    const std::optional<std::int64_t>& since, const page_request& asked, const call& call_) const;
    world& world_;
};

}  // namespace lakeflow::github_server
