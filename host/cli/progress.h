// host/cli/progress.h: what a long run shows: on a terminal a line a table, redrawn; piped, one line every few seconds. Called by the
// engine on the thread that runs the job.
#pragma once

#include <map>
#include <string>

#include "host/cli/terminal.h"
#include "host/stream/plan.h"

namespace lakeflow::host {

class progress_view {
  public:
    explicit progress_view(terminal& out) : out_(out) {}

    void show(const run_progress& now);

  private:
    std::string table_line(const table_progress& t, double rows_per_second, int width) const;

    terminal& out_;
    double last_line_at_ = 0;
    double last_rate_at_ = 0;
    std::map<std::string, std::int64_t> rows_then_;
    std::map<std::string, double> rate_;
};

}  // namespace lakeflow::host
