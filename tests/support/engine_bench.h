// tests/support/engine_bench.h: what every test of the engine sets up: a scripted plugin, a destination in memory, a state folder, a
// plan over them with short times, and the log's lines.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "host/base/text.h"
#include "host/stream/engine.h"
#include "tests/support/breaking_effects.h"
#include "tests/support/memory_destination.h"
#include "tests/support/scripted_plugin.h"
#include "tests/support/temporary_folder.h"

namespace lakeflow::host::testing {

struct engine_bench {
    scripted_plugin plugin;
    std::shared_ptr<memory_destination> lake = std::make_shared<memory_destination>();
    std::shared_ptr<breaking_effects> io;
    temporary_folder folder;
    std::int64_t init_time_us = 1'772'359'200'000'000;  // 2026-03-01T10:00:00Z
    std::vector<std::string> log;
    std::mutex log_mutex;

    table_plan table(std::string flow = "issues") const {
        table_plan t;
        t.flow = t.source = t.destination = std::move(flow);
        return t;
    }

    run_plan plan(std::vector<table_plan> tables) {
        run_plan p;
        p.job = "job";
        p.run_id = random_id();
        p.init_time_us = init_time_us;
        p.plugin = plugin.use();
        p.tables = std::move(tables);
        p.destination = lake;
        p.state_directory = (folder.path() / "state").string();
        p.io = io;
        p.tuning.first_backoff = std::chrono::milliseconds(1);
        p.tuning.max_backoff = std::chrono::milliseconds(5);
        p.tuning.stuck_after = std::chrono::milliseconds(0);
        p.log = logger(
            log_level::debug,
            [this](log_level level, std::string_view component, std::string_view text) {
                const std::lock_guard guard(log_mutex);
                log.push_back(std::string(to_string(level)) + " " + std::string(component) + ": " + std::string(text));
            },
            p.redactor);
        return p;
    }
    run_plan plan() { return plan({table()}); }

    run_result run() { return run_job(plan()); }
    run_result run(table_plan t) { return run_job(plan({std::move(t)})); }

    bool logged(std::string_view text) {
        const std::lock_guard guard(log_mutex);
        for (const auto& line : log) {
            if (line.find(text) != std::string::npos) return true;
        }
        return false;
    }
};

// A source of rows in the order of their cursor, read by offsets {"c": n} through every path. Rows may be added between runs.
class number_source {
  public:
    explicit number_source(scripted_plugin& plugin, std::int64_t rows = 0) : plugin_(plugin) { add(rows); }

    void add(std::int64_t rows) {
        const std::lock_guard guard(mutex_);
        for (std::int64_t i = 0; i < rows; ++i) rows_.push_back(row(next_, next_)), ++next_;
    }
    std::int64_t size() const {
        const std::lock_guard guard(mutex_);
        return static_cast<std::int64_t>(rows_.size());
    }
    static std::string offset(std::int64_t c) { return "{\"c\":" + std::to_string(c) + "}"; }
    static std::int64_t number(const std::optional<std::string>& offset) {
        if (!offset || *offset == "{}") return 0;
        return std::stoll(offset->substr(offset->find(':') + 1));
    }
    std::vector<cells> between(std::int64_t above, std::int64_t up_to) const {
        const std::lock_guard guard(mutex_);
        std::vector<cells> out;
        for (const auto& r : rows_) {
            const auto c = std::get<std::int64_t>(r[1]);
            if (c > above && c <= up_to) out.push_back(r);
        }
        return out;
    }

    // read_table in pages of `page` rows, two batches each; the bound and a given end are kept.
    void serve_simple(std::int64_t page) {
        plugin_.read_table = [this, page](const script_call& call) {
            const auto start = number(call.start);
            auto end = std::min(start + page, size());
            if (call.bound) end = std::min(end, std::max(start, number(call.bound)));
            if (call.end) end = number(call.end);
            return pages(start, end);
        };
    }
    // latest_offset, get_partitions in `parts` ranges, read_partition.
    void serve_partitions(std::int64_t parts) {
        plugin_.latest_offset = [this](const script_call& call) {
            auto end = size();
            if (call.bound) end = std::min(end, number(call.bound));
            const auto rows = call.limits.find("\"max_rows\":");
            if (rows != std::string::npos)
                end = std::min<std::int64_t>(end, number(call.start) + std::stoll(call.limits.substr(rows + 11)));
            return "{\"offset\":" + (end == 0 ? "{}" : offset(end)) + R"(,"honoured":["max_rows"]})";
        };
        plugin_.get_partitions = [parts](const script_call& call) {
            const auto start = number(call.start);
            const auto end = number(call.end);
            std::string out;
            for (std::int64_t p = 0; p < parts; ++p) {
                const auto from = start + (end - start) * p / parts;
                const auto to = start + (end - start) * (p + 1) / parts;
                if (from < to)
                    out += (out.empty() ? "" : ",") + std::string("{\"from\":") + std::to_string(from) +
                           ",\"to\":" + std::to_string(to) + "}";
            }
            return "[" + out + "]";
        };
        plugin_.read_partition = [this](const script_call& call) {
            auto read = pages(number(call.descriptor), number(call.descriptor.substr(call.descriptor.find("to"))));
            read.end.reset();
            return read;
        };
        if (!plugin_.read_table) serve_simple(1'000'000);
    }

    script_read pages(std::int64_t start, std::int64_t end) const {
        script_read out;
        const auto rows = between(start, end);
        const auto half = static_cast<std::ptrdiff_t>(rows.size() / 2);
        if (half) out.batches.emplace_back(rows.begin(), rows.begin() + half);
        if (!rows.empty()) out.batches.emplace_back(rows.begin() + half, rows.end());
        out.end = end == 0 ? "{}" : offset(end);
        return out;
    }

    // The names of the rows' ids as the destination holds them, sorted as text.
    std::vector<std::string> ids() const {
        const std::lock_guard guard(mutex_);
        std::vector<std::string> out;
        for (const auto& r : rows_) out.push_back(std::to_string(std::get<std::int64_t>(r[0])));
        std::sort(out.begin(), out.end());
        return out;
    }

  private:
    scripted_plugin& plugin_;
    mutable std::mutex mutex_;
    std::vector<cells> rows_;
    std::int64_t next_ = 1;
};

}  // namespace lakeflow::host::testing
