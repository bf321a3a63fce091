// See stats.h.
#include "tests/github_server/stats.h"

#include <algorithm>
#include <utility>

#include "tests/github_server/text.h"

namespace lakeflow::github_server {
namespace {

void append_member(std::string& out, std::string_view key, std::uint64_t value) {
    out.append(out.empty() || out.back() == '{' ? "" : ",")
        .append("\"")
        .append(key)
        .append("\":")
        .append(std::to_string(value));
}

void append_statuses(std::string& out, const std::map<int, std::uint64_t>& statuses) {
    out += "{";
    for (const auto& [status, count] : statuses) append_member(out, std::to_string(status), count);
    out += "}";
}

}  // namespace

std::uint64_t stats::begin(request_record record) {
    const auto now = std::chrono::steady_clock::now();
    const std::lock_guard lock(mutex_);
    record.sequence = next_++;
    record.at_ms = std::chrono::duration_cast<std::chrono::milliseconds>(now - started_).count();
    ++counts_.requests;
    counts_.with_authorization += record.authorization ? 1 : 0;
    record.in_flight = ++counts_.in_flight;
    counts_.max_in_flight = std::max(counts_.max_in_flight, counts_.in_flight);
    const std::uint64_t ticket = record.sequence;
    open_.emplace(ticket, std::move(record));
    return ticket;
}

void stats::finish(std::uint64_t ticket, int status, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto found = open_.find(ticket);
    if (found == open_.end()) return;
    request_record record = std::move(found->second);
    open_.erase(found);
    --counts_.in_flight;
    if (ticket < valid_from_) return;
    record.status = status;
    record.bytes = bytes;
    counts_.not_modified += status == 304 ? 1 : 0;
    counts_.body_bytes += bytes;
    ++counts_.by_status[status];
    ++counts_.by_path[record.target.substr(0, record.target.find('?'))][status];
    // The log keeps the order of arrival.
    const auto place =
        std::upper_bound(log_.begin(), log_.end(), record.sequence,
                         [](std::uint64_t sequence, const request_record& other) { return sequence < other.sequence; });
    log_.insert(place, std::move(record));
    if (log_.size() > log_entries_) {
        log_.pop_front();
        ++dropped_;
    }
}

void stats::connected() {
    const std::lock_guard lock(mutex_);
    ++counts_.connections;
}

void stats::reset() {
    const std::lock_guard lock(mutex_);
    const std::uint32_t in_flight = counts_.in_flight;
    counts_ = {};
    counts_.in_flight = counts_.max_in_flight = in_flight;
    log_.clear();
    dropped_ = 0;
    valid_from_ = next_;
}

stats_snapshot stats::snapshot() const {
    const std::lock_guard lock(mutex_);
    return counts_;
}

std::deque<request_record> stats::requests() const {
    const std::lock_guard lock(mutex_);
    return log_;
}

std::string stats::to_json() const {
    const stats_snapshot now = snapshot();
    std::string out = "{";
    append_member(out, "requests", now.requests);
    append_member(out, "not_modified", now.not_modified);
    append_member(out, "with_authorization", now.with_authorization);
    append_member(out, "body_bytes", now.body_bytes);
    append_member(out, "connections", now.connections);
    append_member(out, "in_flight", now.in_flight);
    append_member(out, "max_in_flight", now.max_in_flight);
    out += ",\"by_status\":";
    append_statuses(out, now.by_status);
    out += ",\"by_path\":{";
    bool first = true;
    for (const auto& [path, statuses] : now.by_path) {
        if (!first) out += ",";
        first = false;
        append_json(out, path);
        out += ":";
        append_statuses(out, statuses);
    }
    return out += "}}\n";
}

std::string stats::requests_to_json() const {
    const std::deque<request_record> all = requests();
    std::string out = "{\"requests\":[";
    for (const request_record& r : all) {
        out += out.back() == '[' ? "\n{" : ",\n{";
        append_member(out, "sequence", r.sequence);
        out.append(",\"method\":\"").append(r.method).append("\",\"target\":");
        append_json(out, r.target);
        append_member(out, "status", static_cast<std::uint64_t>(r.status));
        out.append(",\"authorization\":").append(r.authorization ? "true" : "false");
        out.append(",\"conditional\":").append(r.conditional ? "true" : "false");
        append_member(out, "in_flight", r.in_flight);
        append_member(out, "at_ms", static_cast<std::uint64_t>(r.at_ms));
        append_member(out, "bytes", r.bytes);
        out += ",\"user_agent\":";
        append_json(out, r.user_agent);
        out += ",\"api_version\":";
        append_json(out, r.api_version);
        out += "}";
    }
    out += "],\"dropped\":";
    const std::lock_guard lock(mutex_);
    out += std::to_string(dropped_);
    return out += "}\n";
}

}  // namespace lakeflow::github_server
