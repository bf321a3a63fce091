// Helpers of this folder's own tests: ask the router, read the answer, walk a listing by its Link.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/github_server/router.h"

namespace lakeflow::github_server::testing {

// One element of a listing. Members are found by name at the top level.
class row {
  public:
    explicit row(std::string json);
    bool has(const std::string& key) const { return members_.contains(key); }
    std::string text(const std::string& key) const;  // of a JSON string
    std::int64_t integer(const std::string& key) const;
    const std::string& raw(const std::string& key) const { return members_.at(key); }  // JSON text

  private:
    std::map<std::string, std::string> members_;
};

struct seen {
    int status = 0;
    std::map<std::string, std::string> headers;  // names in lower case
    std::string body;                            // unpacked
    std::vector<row> rows;                       // when the body is an array
    std::map<std::string, std::string> links;    // relation -> URL
    answer raw;
};

struct with {
    std::string authorization = {};
    std::string if_none_match = {};
    std::string user_agent = "test";
    std::string api_version = {};
    std::string accept_encoding = {};
};

std::string target_of(const std::string& url);  // path and query
std::map<std::string, std::string> read_links(std::string_view header);
std::vector<row> read_rows(std::string_view body);

class asker {
  public:
    explicit asker(const server_config& config) : router_(std::make_unique<router>(config)) {}
    seen get(const std::string& target, const with& more = {}) const;
    std::vector<row> walk(std::string target) const;  // all rows, following rel="next"
    std::string control(std::string_view op, std::string_view arguments = "{}") const {
        return router_->controls().operate(op, arguments);
    }
    router& routes() const { return *router_; }

  private:
    std::unique_ptr<router> router_;
};

}  // namespace lakeflow::github_server::testing
