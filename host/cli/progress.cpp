// host/cli/progress.cpp: see progress.h.
#include "host/cli/progress.h"

#include <algorithm>
#include <cmath>

#include "host/base/text.h"

namespace lakeflow::host {
namespace {

constexpr double piped_every = 5;  // seconds between two lines when stderr is no terminal
constexpr double rate_window = 1;  // seconds over which rows/s is measured

std::string count(std::int64_t n) { return human_count(static_cast<std::uint64_t>(std::max<std::int64_t>(0, n))); }

}  // namespace

std::string progress_view::table_line(const table_progress& t, double rows_per_second, int width) const {
    std::string line = t.flow + ": " + count(t.rows) + " rows";
    if (t.rows_total && *t.rows_total > 0) line += " of " + count(*t.rows_total);
    if (!t.done) line += ", " + count(std::llround(rows_per_second)) + " rows/s";
    line += ", " + human_bytes(static_cast<std::uint64_t>(std::max<std::int64_t>(0, t.bytes))) + ", " +
            count(t.requests) + " requests";
    if (t.pages_done && t.pages_total && *t.pages_total > 0)
        line += ", page " + count(*t.pages_done) + " of " + count(*t.pages_total);
    if (t.partitions > 1 && !t.done) line += ", partition " + count(t.partitions_done) + " of " + count(t.partitions);
    if (t.done) line += ", done";
    if (!t.waiting.empty() && !t.done) line += " (" + t.waiting + ")";
    if (width > 0 && line.size() > static_cast<std::size_t>(width))
        line = std::string(cut_utf8(line, static_cast<std::size_t>(width)));
    return line;
}

void progress_view::show(const run_progress& now) {
    if (now.seconds - last_rate_at_ >= rate_window) {
        const double span = now.seconds - last_rate_at_;
        for (const auto& t : now.tables) {
            std::int64_t& then = rows_then_[t.flow];
            rate_[t.flow] = static_cast<double>(std::max<std::int64_t>(0, t.rows - then)) / span;
            then = t.rows;
        }
        last_rate_at_ = now.seconds;
    }
    if (out_.live()) {
        const int width = terminal_width() - 1;
        std::string block;
        for (const auto& t : now.tables) {
            if (t.active || t.done) block += table_line(t, rate_[t.flow], width) + "\n";
        }
        out_.draw(block);
        return;
    }
    if (now.seconds - last_line_at_ < piped_every) return;
    last_line_at_ = now.seconds;
    for (const auto& t : now.tables) {
        if (t.active) out_.say(table_line(t, rate_[t.flow], 0));
    }
}

}  // namespace lakeflow::host
