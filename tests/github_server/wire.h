// An answer as the bytes that go out, whole or broken on purpose. Pure, any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/github_server/message.h"

namespace lakeflow::github_server {

struct wire {
    std::shared_ptr<const std::string> body;             // keeps the views below alive
    std::deque<std::string> framing;                     // head and chunk marks, same purpose
    std::vector<std::vector<std::string_view>> batches;  // each is written in one go, with pause_ms between two
    std::uint32_t pause_ms = 0;
    std::uint64_t body_bytes = 0;  // of the body that are sent
    bool close_after = false;
    bool reset_after = false;
};

std::string_view reason(int status);
wire make_wire(const answer& given, bool head_request, bool keep_alive);

}  // namespace lakeflow::github_server
