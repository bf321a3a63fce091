// host/cli/terminal.cpp: see terminal.h.
#include "host/cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "host/base/clock.h"
#include "host/base/json.h"
#include "host/base/time.h"

namespace lakeflow::host {

int terminal_width() {
    winsize size{};
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20) return size.ws_col;
    return 80;
}

terminal::terminal(log_format format, bool live) : format_(format), live_(live) {}

terminal::~terminal() { clear(); }

void terminal::put(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

void terminal::erase_block() {
    const auto lines = std::count(block_.begin(), block_.end(), '\n');
    if (lines > 0) put("\r\x1b[" + std::to_string(lines) + "A\x1b[J");  // up to its first line, then erase to the end
}

void terminal::log(log_level level, std::string_view component, std::string_view text) {
    const std::string now = format_rfc3339(system_clock().now_us());
    std::string line;
    if (format_ == log_format::json) {
        line = "{\"time\":" + quote_json(now) + ",\"level\":" + quote_json(to_string(level)) +
               ",\"component\":" + quote_json(component) + ",\"message\":" + quote_json(text) + "}";
    } else {
        std::string word(to_string(level));
        word.resize(5, ' ');
        line = now.substr(11, 8) + " " + word + " " + std::string(component) + ": " + std::string(text);
    }
    say(line);
}

void terminal::say(std::string_view text) {
    const std::scoped_lock lock(mutex_);
    erase_block();
    put(text);
    put("\n");
    put(block_);
    std::fflush(stderr);
}

void terminal::draw(const std::string& block) {
    if (!live_) return;
    const std::scoped_lock lock(mutex_);
    erase_block();
    block_ = block;
    put(block_);
    std::fflush(stderr);
}

void terminal::clear() {
    const std::scoped_lock lock(mutex_);
    erase_block();
    block_.clear();
    std::fflush(stderr);
}

}  // namespace lakeflow::host
