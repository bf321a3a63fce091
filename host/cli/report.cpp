// host/cli/report.cpp: see report.h. Written by hand: one flat document does not need Boost.JSON's templates.
#include "host/cli/report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

#include "host/base/clock.h"
#include "host/base/json.h"
#include "host/base/text.h"
#include "host/base/time.h"

namespace lakeflow::host {
namespace {

// Seconds with three digits, by hand: printf's %f obeys the locale.
std::string seconds(double s) {
    const auto ms = static_cast<std::int64_t>(std::llround(std::max(0.0, s) * 1000));
    std::string fraction = std::to_string(ms % 1000);
    fraction.insert(0, 3 - fraction.size(), '0');
    while (fraction.size() > 1 && fraction.back() == '0') fraction.pop_back();
    return std::to_string(ms / 1000) + "." + fraction;
}

class object_writer {
  public:
    object_writer& text(const char* name, std::string_view value) { return raw(name, quote_json(value)); }
    object_writer& number(const char* name, std::int64_t value) { return raw(name, std::to_string(value)); }
    object_writer& time(const char* name, double value) { return raw(name, seconds(value)); }
    object_writer& flag(const char* name, bool value) { return raw(name, value ? "true" : "false"); }
    object_writer& raw(const char* name, std::string_view json) {
        out_ += out_.empty() ? '{' : ',';
        out_ += quote_json(name) + ":" + std::string(json);
        return *this;
    }
    std::string done() const { return out_.empty() ? "{}" : out_ + "}"; }

  private:
    std::string out_;
};

std::string error_json(const error& e) {
    object_writer out;
    out.text("code", e.code).text("retry_class", to_string(e.retry)).text("message", e.message).text("hint", e.hint);
    if (e.retry_after_ms > 0) out.number("retry_after_ms", e.retry_after_ms);
    if (e.vendor_code != 0) out.number("vendor_code", e.vendor_code);
    return out.done();
}

std::string http_json(std::int64_t requests, std::int64_t retries, double throttled, std::int64_t bytes) {
    return object_writer()
        .number("requests", requests)
        .number("retries", retries)
        .time("throttled_seconds", throttled)
        .number("bytes", bytes)
        .done();
}

std::string table_json(const table_result& t) {
    object_writer out;
    out.text("name", t.name)
        .text("plugin", t.plugin)
        .text("source", t.source)
        .text("destination", t.destination)
        .text("mode", t.mode);
    out.text("status", to_string(t.status)).number("batches", t.batches).number("partitions", t.partitions);
    out.number("rows_read", t.rows_read).number("rows_landed", t.rows_landed).number("rows_deleted", t.rows_deleted);
    out.number("rows_quarantined", t.rows_quarantined)
        .number("values_nulled", t.values_nulled)
        .number("rows_again", t.rows_again)
        .number("rows_above_bound", t.rows_above_bound);
    out.number("items_skipped", t.items_skipped).raw("start", t.start).raw("end", t.end).flag("fell_back", t.fell_back);
    out.number("retries", t.retries).time("seconds", t.seconds);
    out.raw("partition_seconds",
            object_writer().time("median", t.partition_median_seconds).time("max", t.partition_max_seconds).done());
    if (!t.partition_hint.empty()) out.text("partition_hint", t.partition_hint);
    if (t.lag_seconds) out.time("lag_seconds", *t.lag_seconds);
    if (t.lag) out.number("lag", *t.lag);
    out.raw("http", http_json(t.requests, t.http_retries, t.throttled_seconds, t.bytes));
    out.number("files_written", t.files_written).number("files_rewritten", t.files_rewritten);
    out.number("files_compacted", t.files_compacted)
        .number("files_vacuumed", t.files_vacuumed)
        .number("log_files_removed", t.log_files_removed);
    if (!t.metrics.empty()) {
        object_writer metrics;
        for (const auto& [name, value] : t.metrics) metrics.number(name.c_str(), value);
        out.raw("metrics", metrics.done());
    }
    if (t.error) out.raw("error", error_json(*t.error));
    return out.done();
}

// Columns padded to their widest cell; numbers to the right.
std::string columns(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& right) {
    std::vector<std::size_t> width(right.size());
    for (const auto& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
    }
    std::string out;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::string pad(width[i] - row[i].size(), ' ');
            line += (i ? "  " : "") + (right[i] ? pad + row[i] : row[i] + pad);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + "\n";
    }
    return out;
}

std::string error_text(const std::string& who, const error& e) {
    std::string out = "error: " + (who.empty() ? "" : who + ": ") + e.message + " [" + e.code + "]\n";
    if (!e.hint.empty()) out += "  hint: " + e.hint + "\n";
    return out;
}

}  // namespace

std::string report_json(const run_result& r) {
    object_writer out;
    out.text("job", r.job).text("run_id", r.run_id).text("status", r.status).number("exit_code", r.exit_code);
    out.text("init_time", format_rfc3339(r.init_time_us)).time("seconds", r.seconds).time("cpu_seconds", r.cpu_seconds);
    out.number("peak_rss_bytes", r.peak_rss_bytes);
    out.raw("http", http_json(r.requests, r.http_retries, r.throttled_seconds, r.bytes));
    std::string tables = "[";
    for (const auto& t : r.tables) tables += (tables.size() > 1 ? "," : "") + table_json(t);
    out.raw("tables", tables + "]");
    if (r.error) out.raw("error", error_json(*r.error));
    return out.done();
}

std::string report_text(const run_result& r) {
    std::string out;
    if (!r.tables.empty()) {
        std::vector<std::vector<std::string>> rows{
            {"table", "destination", "mode", "status", "batches", "read", "landed", "deleted", "requests", "seconds"}};
        for (const auto& t : r.tables) {
            rows.push_back({t.name, t.destination, t.mode.empty() ? "-" : t.mode, std::string(to_string(t.status)),
                            human_count(static_cast<std::uint64_t>(t.batches)),
                            human_count(static_cast<std::uint64_t>(t.rows_read)),
                            human_count(static_cast<std::uint64_t>(t.rows_landed)),
                            human_count(static_cast<std::uint64_t>(t.rows_deleted)),
                            human_count(static_cast<std::uint64_t>(t.requests)), seconds(t.seconds)});
        }
        out += columns(rows, {false, false, false, false, true, true, true, true, true, true});
        for (const auto& t : r.tables) {
            if (t.error) out += error_text(t.name, *t.error);
            if (t.rows_quarantined > 0)
                out += "note: " + t.name + ": " + human_count(static_cast<std::uint64_t>(t.rows_quarantined)) +
                       (t.rows_quarantined == 1 ? " row was" : " rows were") + " put aside in " + t.destination +
                       "__quarantine\n";
            if (t.values_nulled > 0)
                out += "note: " + t.name + ": " + human_count(static_cast<std::uint64_t>(t.values_nulled)) +
                       (t.values_nulled == 1 ? " value did" : " values did") + " not fit, and null landed instead\n";
            if (t.fell_back)
                out += "note: " + t.name + ": the plugin could not plan partitions; the table was read in one piece\n";
            // The report has it always; a person is told where there was time to win.
            if (!t.partition_hint.empty() && t.partition_max_seconds >= 1)
                out += "note: " + t.name + ": " + t.partition_hint + "\n";
        }
    }
    if (r.error) out += error_text("", *r.error);
    const std::string took = "in " + seconds(r.seconds) + " s, " + human_count(static_cast<std::uint64_t>(r.requests)) +
                             " requests, " + human_bytes(static_cast<std::uint64_t>(r.bytes)) + ", " +
                             seconds(r.cpu_seconds) + " CPU s, peak " +
                             human_bytes(static_cast<std::uint64_t>(r.peak_rss_bytes));
    const std::string name = r.job.empty() ? "job" : "job " + r.job;
    if (r.exit_code != 2) out += name + " " + r.status + " " + took + "\n";
    return out;
}

run_result failed_run(const std::string& job, const error& e, int exit_code) {
    run_result r;
    r.job = job;
    r.status = "failed";
    r.exit_code = exit_code;
    r.init_time_us = system_clock().now_us();
    r.error = e;
    return r;
}

}  // namespace lakeflow::host
