// What the server saw: counts and a bounded log of requests. Never holds a credential, only whether one was sent. Thread safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace lakeflow::github_server {

struct request_record {
    std::uint64_t sequence = 0;
    std::string method;
    std::string target;
    int status = 0;  // 0: not answered (reset, hang) or not yet
    bool authorization = false;
    bool conditional = false;
    std::uint32_t in_flight = 0;  // with this one
    std::int64_t at_ms = 0;       // since the server started
    std::uint64_t bytes = 0;      // of the body as sent
    std::string user_agent;
    std::string api_version;
};

struct stats_snapshot {
    std::uint64_t requests = 0;
    std::uint64_t not_modified = 0;
    std::uint64_t with_authorization = 0;
    std::uint64_t body_bytes = 0;
    std::uint64_t connections = 0;
    std::uint32_t in_flight = 0;
    std::uint32_t max_in_flight = 0;
    std::map<int, std::uint64_t> by_status;
    std::map<std::string, std::map<int, std::uint64_t>> by_path;  // without the query
};

class stats {
  public:
    explicit stats(std::size_t log_entries) : log_entries_(log_entries) {}

    // begin: the head of a request is read. finish: its answer is written, or its connection gone. Each ticket is finished once.
    std::uint64_t begin(request_record record);
    void finish(std::uint64_t ticket, int status, std::uint64_t bytes);
    void connected();

    void reset();
    stats_snapshot snapshot() const;
    std::deque<request_record> requests() const;
    std::string to_json() const;
    std::string requests_to_json() const;

  private:
    const std::size_t log_entries_;
    const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
    mutable std::mutex mutex_;
    std::uint64_t next_ = 1;
    std::uint64_t valid_from_ = 1;  // tickets below belong to the time before a reset
    std::uint64_t dropped_ = 0;
    stats_snapshot counts_;
    std::map<std::uint64_t, request_record> open_;
    std::deque<request_record> log_;
};

}  // namespace lakeflow::github_server
