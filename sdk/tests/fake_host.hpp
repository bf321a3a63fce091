// sdk/tests/fake_host.hpp: a host in the test's own process: scripted HTTP answers, a small rows/1 on the SDK's own JSON, and a
// record of what a connector did. One thread, but for cancel.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lakeflow/lakeflow.hpp"

struct lf_context {
    int unused = 0;
};

namespace lakeflow::testing {

struct answer {
    int status = 200;
    std::map<std::string, std::string> headers;  // names in lower case
    std::string body;
};

class fake_host {
  public:
    fake_host();
    ~fake_host();

    std::map<std::string, answer> answers;    // by URL; another one is "source.not_found"
    std::vector<std::string> events;          // "start URL", "head URL", "decode URL"
    std::vector<json> requests;               // {"method", "url", "origin", "headers", "auth", "body"}
    std::map<std::string, int64_t> counters;  // of metrics
    std::vector<std::string> log;
    int64_t now_us = 1'700'000'000'000'000, init_us = 1'600'000'000'000'000;
    std::atomic<bool> cancelled{false};
    int open_objects = 0;  // exchanges and decoders that were not closed
    bool without_rows = false;

    const lf_host* host() const { return &host_; }
    lf_context* context() { return &context_; }
    services all() { return {&host_, &context_}; }

  private:
    lf_context context_;
    lf_host host_;
};

}  // namespace lakeflow::testing
