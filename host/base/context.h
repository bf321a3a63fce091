// host/base/context.h: the host's side of one plugin instance; what `lf_context*` points at. Services learn from it
// whose call this is: which table, whose secrets, what was cancelled, which options of the host apply. Made by the
// engine before `create` and kept until after `destroy`. The fields are set before the first call and then only read;
// counters are atomic. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/cancel.h"
#include "host/base/clock.h"
#include "host/base/log.h"
#include "host/base/mismatch.h"
#include "host/base/secrets.h"

namespace lakeflow::host {

// Counters of the http service; one set a flow and one a job, both counted.
struct http_counters {
    std::atomic<std::int64_t> requests{0};  // sent, retries included
    std::atomic<std::int64_t> retries{0};
    std::atomic<std::int64_t> throttled_us{0};  // waited for the pace, Retry-After or a rate limit
    std::atomic<std::int64_t> bytes{0};         // body bytes as received
    std::atomic<std::int64_t> in_flight{0};
};

// What a person may want to know while it runs: "waiting 12 s for the rate limit of api.github.com". Replaced, not
// appended.
class wait_note {
  public:
    void set(std::string text);
    void clear() { set({}); }
    std::string get() const;

  private:
    mutable std::mutex mutex_;
    std::string text_;
};

// Counters and gauges that a plugin sets through lakeflow.metrics/1.
class metric_set {
  public:
    void add(std::string_view name, std::int64_t delta);
    void set(std::string_view name, std::int64_t value);
    std::map<std::string, std::int64_t> values() const;

  private:
    mutable std::mutex mutex_;
    std::map<std::string, std::int64_t, std::less<>> values_;
};

// The host's own keys of [connection] (contract 31), shared by all instances of a job.
struct http_options {
    int attempts = 6;
    std::int64_t max_wait_us = 300'000'000;  // the longest single wait
    std::int64_t connect_timeout_us = 30'000'000;
    std::int64_t first_byte_timeout_us = 30'000'000;
    std::int64_t idle_timeout_us = 30'000'000;
    std::string ca_file;               // instead of the system's roots
    std::string proxy;                 // instead of the environment's
    std::vector<std::string> origins;  // other origins that a link may lead to
    std::int64_t max_body_bytes = 1ll << 30;
    std::string user_agent = "lakeflow-host";
    std::int64_t backoff_us = 1'000'000;      // the first wait between tries; it doubles
    std::int64_t limit_wait_us = 60'000'000;  // the first wait for a rate limit that names no time
};

// What is shared by all instances that work for one flow.
struct flow_context {
    std::string plugin;                    // "github"
    std::string flow;                      // name of the [[tables]] entry
    std::string table;                     // the source's table
    std::vector<std::string> key_columns;  // named in messages about values
    mismatch_policy on_mismatch = mismatch_policy::fail;
    bool rescue = false;  // members that no column asks for are kept (rows/rescue.h)
    std::int64_t init_time_us = 0;
    std::string run_id;
    http_options http;
    http_counters counters;
    metric_set metrics;
    wait_note waiting;
    std::shared_ptr<http_counters> job_counters;  // may be null
    std::shared_ptr<secrets> redactor;            // never null
    logger log;
    const clock* time = &system_clock();
};

}  // namespace lakeflow::host

// One a plugin instance.
struct lf_context {
    std::shared_ptr<lakeflow::host::flow_context> flow;         // never null
    std::shared_ptr<lakeflow::host::cancel_token> cancelled;    // never null; a child of the run's
    std::uint32_t pace_share = 1000;                            // in 1/1000 of the source's rate
    std::shared_ptr<lakeflow::host::mismatch_sink> mismatches;  // null: nobody collects them (planning)
};
