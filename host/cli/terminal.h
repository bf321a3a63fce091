// host/cli/terminal.h: the person's side of a run: log lines and a block of progress that do not run into each other on stderr. Any
// thread.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

#include "host/base/log.h"

namespace lakeflow::host {

enum class log_format { text, json };

class terminal {
  public:
    // `live`: stderr is a terminal and progress may be redrawn in place.
    terminal(log_format format, bool live);
    ~terminal();
    terminal(const terminal&) = delete;
    terminal& operator=(const terminal&) = delete;

    bool live() const noexcept { return live_; }

    // One log line: "12:00:01 warn  github/issues: ...", or a JSON object.
    void log(log_level level, std::string_view component, std::string_view text);
    // Lines for a person, above the progress.
    void say(std::string_view text);
    // Replaces the block of progress, when live.
    void draw(const std::string& block);
    // Takes the block away.
    void clear();

  private:
    void erase_block();  // under the lock
    void put(std::string_view text);

    log_format format_;
    bool live_;
    std::mutex mutex_;
    std::string block_;
};

// Columns of the terminal behind stderr; 80 if that is not known.
int terminal_width();

}  // namespace lakeflow::host
