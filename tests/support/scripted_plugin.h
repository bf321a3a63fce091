// tests/support/scripted_plugin.h: a plugin in the test's own process whose answers are scripted. Its C tables are filled by hand, as
// a plugin in C would: a slot is there if its function is set. One script at a time makes instances (`use`), from any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "host/arrow/arrow.h"
#include "host/arrow/schema.h"
#include "host/plugin/plugin.h"

namespace lakeflow::host::testing {

// An integer also stands for a boolean, a date, an instant or the digits of a decimal, as the column has it.
using cell = std::variant<std::monostate, std::int64_t, std::string, double>;
using cells = std::vector<cell>;

// Thrown by a script to fail a call.
struct script_error {
    lf_retry retry = LF_RETRY_PERMANENT;
    std::string code;
    std::string message = "scripted";
    std::int64_t retry_after_ms = 0;
};

// One instance, as a script sees it.
class script_instance {
  public:
    std::int64_t init_time_us = 0;
    std::string run_id;
    lf_context* context = nullptr;

    void cancel() {
        const std::lock_guard guard(mutex_);
        cancelled_ = true;
        changed_.notify_all();
    }
    bool cancelled() const {
        const std::lock_guard guard(mutex_);
        return cancelled_;
    }
    // Waits like a well-behaved plugin: throws the cancellation.
    void wait(std::chrono::milliseconds time) {
        std::unique_lock lock(mutex_);
        if (changed_.wait_for(lock, time, [this] { return cancelled_; }))
            throw script_error{LF_RETRY_CANCELLED, "", "cancelled", 0};
    }

  private:
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    bool cancelled_ = false;
};

struct script_call {
    std::string table;
    std::string options;
    std::optional<std::string> start;
    std::optional<std::string> end;
    std::optional<std::string> bound;
    std::string limits;
    std::string descriptor;
    std::string scan;     // the accepted scan
    std::string request;  // of plan_scan
    std::uint32_t parallelism = 0;
    script_instance* instance = nullptr;
};

struct script_read {
    std::vector<std::vector<cells>> batches;
    std::optional<std::string> end;
    std::function<void(std::size_t batch, script_instance&)> before;  // runs in next, also before its end
    std::string ddl;                                                  // instead of the table's; "-": no columns
};

class scripted_plugin {
  public:
    scripted_plugin();
    ~scripted_plugin();
    scripted_plugin(const scripted_plugin&) = delete;
    scripted_plugin& operator=(const scripted_plugin&) = delete;

    std::string metadata = R"({"ingestion_type":"append","cursor_field":"c"})";
    std::map<std::string, std::string> metadata_of;  // of single tables
    std::string ddl = "id BIGINT NOT NULL, c BIGINT, name STRING";

    std::function<script_read(const script_call&)> read_table;
    std::function<script_read(const script_call&)> read_deletes;
    std::function<script_read(const script_call&)> read_partition;
    std::function<std::string(const script_call&)> get_partitions;
    std::function<std::string(const script_call&)> latest_offset;  // {"offset": .., "honoured": ..}
    std::function<std::string(const script_call&)> prepare;
    std::function<std::string(const script_call&)> default_limit;
    std::function<std::string(const script_call&)> report_latest;
    std::function<bool(const std::string& table)> is_partitioned;
    std::function<std::string(const script_call&)> plan_scan;     // the reply to call.request
    std::function<std::string(const script_call&)> explain_scan;  // of call.scan

    // The tables as they stand; a loaded plugin for the engine.
    std::shared_ptr<const plugin> use();

    std::atomic<int> created{0};
    std::atomic<int> alive{0};
    std::atomic<int> stopped{0};
    std::atomic<int> stopped_after_destroy{0};
    std::atomic<int> reading{0};  // calls of next under way
    std::atomic<int> most_reading{0};
    std::atomic<int> readers_open{0};

    void note(const std::string& call) {
        const std::lock_guard guard(mutex_);
        calls_.push_back(call);
    }
    // "latest_offset issues {} limits={} bound=-", "commit issues {...}", ... in the order in which they came.
    std::vector<std::string> calls() const {
        const std::lock_guard guard(mutex_);
        return calls_;
    }
    int count(std::string_view beginning) const {
        int out = 0;
        for (const auto& c : calls()) out += c.starts_with(beginning) ? 1 : 0;
        return out;
    }

    // "-" is a schema without columns.
    arrow_schema schema_of(const std::string& other_ddl = {}) const {
        if (other_ddl == "-") return make_schema("+s", "", false);
        return parse_ddl(other_ddl.empty() ? ddl : other_ddl);
    }

  private:
    lf_connector_v1 connector_{};
    lf_partition_v1 partition_{};
    lf_scan_v1 scan_{};
    mutable std::mutex mutex_;
    std::vector<std::string> calls_;
};

// Rows of the default table.
inline cells row(std::int64_t id, std::int64_t c, std::string name = "n") { return {id, c, std::move(name)}; }

}  // namespace lakeflow::host::testing
