// The control API: changes over time, faults, statistics and the ground truth, as JSON. Any thread; takes the world's lock itself.
#pragma once

#include <string>
#include <string_view>

#include "tests/github_server/faults.h"
#include "tests/github_server/stats.h"
#include "tests/github_server/text.h"
#include "tests/github_server/world.h"

namespace lakeflow::github_server {

struct control_reply {
    int status = 200;
    std::string body;
    std::string content_type = "application/json; charset=utf-8";
};

class control {
  public:
    control(world& w, stats& s, fault_script& f) : world_(w), stats_(s), faults_(f) {}

    // `path` is what follows /__control: "/stats", "/edit", "/truth/issues?repo=octo/demo", ...
    control_reply call(std::string_view method, std::string_view path, std::string_view body);
    // A JSON array of {"op":NAME,...}. Throws std::invalid_argument.
    void run(std::string_view actions);
    // One operation with its arguments as a JSON object; returns JSON. Throws std::invalid_argument.
    std::string operate(std::string_view op, std::string_view arguments);

  private:
    world& world_;
    stats& stats_;
    fault_script& faults_;
};

// JSON lines of (key, updated_at, a few fields) of one table: issues, pulls, comments, commits, reviews, branches, assignees, collaborators,
// repositories, users, organizations, teams. Throws std::invalid_argument for another. The caller holds the world's lock.
std::string truth(world& w, std::string_view table, const repository& repo, const parameters& query);

}  // namespace lakeflow::github_server
