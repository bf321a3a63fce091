// A request -> an answer: GitHub's common rules (credentials, versions, rate limit, conditional requests, gzip), then scripted faults.
// Any thread; no I/O.
#pragma once

#include <string>
#include <string_view>

#include "tests/github_server/control.h"
#include "tests/github_server/endpoints.h"
#include "tests/github_server/faults.h"
#include "tests/github_server/message.h"
#include "tests/github_server/stats.h"
#include "tests/github_server/world.h"

namespace lakeflow::github_server {

class router {
  public:
    explicit router(const server_config& config);
    // Counts the request (unless it is the control API's); the transport must call finish once with what came of it.
    answer handle(const request& asked);
    void finish(const answer& given, int status, std::uint64_t body_bytes);

    world& state() { return world_; }
    stats& seen() { return stats_; }
    control& controls() { return control_; }

  private:
    answer respond(const request& asked);
    std::string origin(const request& asked) const;

    world world_;
    stats stats_;
    fault_script faults_;
    control control_;
    endpoints endpoints_;
};

}  // namespace lakeflow::github_server
