// host/laws/laws.cpp: see laws.h. Each law has one place.
#include "host/laws/laws.h"

#include <algorithm>

#include "host/base/error.h"
#include "host/base/json.h"
#include "host/base/text.h"

namespace lakeflow::host {
namespace {

// Offsets go up to 64 KiB; a message shows as much as a person reads.
std::string shown(std::string_view offset) {
    constexpr std::size_t most = 300;
    if (offset.size() <= most) return std::string(offset);
    return std::string(cut_utf8(offset, most)) + "... (" + std::to_string(offset.size()) + " bytes)";
}

bool is_law(std::string_view code) {
    for (const std::string_view group : {"offset.", "records.", "key.", "partition.", "plugin.", "secret."}) {
        if (code.starts_with(group)) return true;
    }
    return false;
}

std::string_view remedy(std::string_view code) {
    if (code.starts_with("key.")) return "choose other primary_keys, or mode = \"append\"";
    if (code.starts_with("partition."))
        return "nothing was landed for this batch. A descriptor is a JSON object of at most 64 KiB; the plugin's "
               "vendor has to correct it";
    return "nothing was landed for this batch. The plugin breaks the contract: a report to its vendor should hold this "
           "message";
}

}  // namespace

error with_place(error e, const std::string& what, const std::string& start, const std::optional<std::string>& end) {
    if (!is_law(e.code)) return e;
    if (e.message.find(what) == std::string::npos) e.message = what + ": " + e.message;
    if (e.message.find(start) == std::string::npos || (end && e.message.find(*end) == std::string::npos)) {
        e.message += ". The batch began at " + shown(start) + (end ? " and was to end at " + shown(*end) : "");
    }
    if (e.hint.empty()) e.hint = remedy(e.code);
    return e;
}

flow_laws::flow_laws(law_config config, std::string start)
    : config_(std::move(config)), order_(config_.cursor), position_(std::move(start)) {
    remember(position_);
}

void flow_laws::set_bound(std::string offset) {
    bound_ = std::move(offset);
    bound_is_law_ = true;
}

void flow_laws::set_bound_time(std::int64_t init_time_us, bool declared) {
    bound_ = order_.at_instant(init_time_us);
    bound_is_law_ = declared;
}

bool flow_laws::reaches(const std::string& end) const {
    if (!bound_) return false;
    if (order_.same(end, *bound_)) return true;
    const auto order = order_.compare(end, *bound_);
    // Rows that share the bound's cursor may be left if the offset tells them apart: then only the same offset is the end.
    return order && (*order > 0 || (*order == 0 && order_.only_cursor(end)));
}

void flow_laws::broken(std::string_view code, const std::string& what, std::string_view law,
                       std::string_view hint) const {
    throw failure(error{std::string(code),
                        config_.plugin + "/" + config_.table + ": " + what + ". The law: " + std::string(law) + ".",
                        std::string(hint), retry_class::permanent});
}

void flow_laws::check_moved(std::string_view call, const std::string& end) const {
    if (remembered(end)) {
        broken("offset.repeated",
               std::string(call) + " gave " + shown(end) + ", an offset that this run has left behind (it stands at " +
                   shown(position_) + ")",
               "an offset never returns to an earlier one of the run",
               "nothing was landed for this batch. A report to the plugin's vendor should hold the two offsets");
    }
    if (const auto order = order_.compare(end, position_); order && *order < 0) {
        broken("offset.went_back",
               std::string(call) + " gave " + shown(end) + ", whose " + config_.cursor->member +
                   " lies before that of " + shown(position_),
               "an offset never goes back",
               "nothing was landed for this batch. If the source really starts anew, `lakeflow-host reset` reads it "
               "from the beginning");
    }
}

law_end flow_laws::bounded(std::string_view call, const std::string& end) const {
    law_end out{verdict::goes_on, end, false, false};
    if (!bound_ || !bound_is_law_ || order_.same(end, *bound_)) return out;
    const auto order = order_.compare(end, *bound_);
    if (!order || *order <= 0) return out;
    if (order_.only_cursor(end) && order_.only_cursor(*bound_)) {
        out.end = *bound_;
        out.capped = true;
        return out;
    }
    broken("offset.beyond_bound",
           std::string(call) + " gave " + shown(end) + ", which lies past the bound " + shown(*bound_) +
               " that this run recorded",
           "an end offset never passes the run's bound; the host caps it only if the cursor is its only member",
           "the plugin has to cap the offset at the bound it is given. Nothing was landed for this batch");
}

law_end flow_laws::planned(const std::string& end) const {
    if (order_.same(end, position_)) return {verdict::ends, position_, false, true};
    check_moved("latest_offset", end);
    if (config_.snapshot) return {verdict::goes_on, end, false, true};
    return bounded("latest_offset", end);
}

law_end flow_laws::replayed(const std::string& end) const { return {verdict::goes_on, end, false, config_.snapshot}; }

law_end flow_laws::read(const std::optional<std::string>& end, std::int64_t rows, std::int64_t again) {
    if (config_.snapshot) return read_snapshot(end, rows);
    if (!end) {
        broken("plugin.contract", "read_table from " + shown(position_) + " ended without saying where it ended",
               "a read that was given a start has an end offset",
               "the reader's end_offset has to write an offset once next has said the end");
    }
    if (order_.same(*end, position_)) {
        if (rows == 0) return {verdict::ends, position_, false, true};
        if (rows == again) return {verdict::goes_on, position_, false, true};
        broken("offset.rows_without_progress",
               "read_table gave " + std::to_string(rows) + " rows and ended where it began, at " + shown(position_),
               "rows mean a moved offset; equal offsets mean no rows",
               "a read that was cut by a limit has to say how far it came. Nothing was landed for this batch");
    }
    check_moved("read_table", *end);
    return bounded("read_table", *end);
}

// The same offset and no rows: unchanged, or no further piece. Else the whole table, or its next piece, and another offset.
law_end flow_laws::read_snapshot(const std::optional<std::string>& end, std::int64_t rows) {
    if (!end) return {verdict::goes_on, position_, false, true};
    if (order_.same(*end, position_)) {
        if (rows == 0) return {snapshot_rows_ == 0 ? verdict::ends : verdict::goes_on, position_, false, true};
        // A table without any validator: the whole of it, each time.
        if (position_ == "{}" && snapshot_rows_ == 0) return {verdict::goes_on, position_, false, true};
        broken("offset.rows_without_progress",
               "read_table gave " + std::to_string(rows) + " rows of a snapshot and the offset it was given, " +
                   shown(position_),
               "a snapshot's offset that does not move means unchanged, or the end of its last piece, and no rows",
               "give another offset with rows. Nothing was landed");
    }
    if (remembered(*end)) check_moved("read_table", *end);
    snapshot_rows_ += rows;
    return {verdict::goes_on, *end, false, false};
}

void flow_laws::moved(const std::string& end, std::int64_t rows) {
    const auto order = order_.compare(end, position_);
    const bool nearer = bound_ && order && *order > 0;
    const std::string before = std::exchange(position_, end);
    if (!remembered(end)) remember(end);
    if (rows > 0 || nearer) {
        without_progress_ = 0;
        return;
    }
    if (++without_progress_ <= config_.no_progress_limit) return;
    broken(
        "offset.no_progress_limit",
        std::to_string(without_progress_) + " batches in a row brought no rows and came no nearer to " +
            (bound_ ? "the bound " + shown(*bound_) : std::string("any known bound")) + "; the last went from " +
            shown(before) + " to " + shown(end),
        "a run of batches without rows comes nearer to its bound, or ends",
        "the plugin has to return the same offset where nothing is left, or name its offset's cursor in the metadata");
}

void flow_laws::remember(const std::string& offset) { seen_.emplace(hash64(offset, 1), hash64(offset, 2)); }

bool flow_laws::remembered(const std::string& offset) const {
    return seen_.contains({hash64(offset, 1), hash64(offset, 2)});
}

std::vector<std::string> flow_laws::not_honoured(std::string_view limits, const std::vector<std::string>& honoured) {
    std::vector<std::string> out;
    for (auto& kind : offset_members(canonical_offset(limits, "limits"))) {
        if (std::find(honoured.begin(), honoured.end(), kind) == honoured.end()) out.push_back(kind);
    }
    return out;
}

}  // namespace lakeflow::host
