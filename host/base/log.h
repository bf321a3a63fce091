// host/base/log.h: one line a call, to a sink that the program chooses. The core never writes to stdout. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "host/base/secrets.h"

namespace lakeflow::host {

enum class log_level : std::int32_t { trace = 0, debug = 1, info = 2, warn = 3, error = 4, off = 5 };

std::string_view to_string(log_level level) noexcept;

// A log with a level and a sink. Every line passes the redactor before the sink sees it.
class logger {
  public:
    // level, component ("http", "github/issues"), text. Called under a lock, so lines do not mix.
    using sink = std::function<void(log_level, std::string_view component, std::string_view text)>;

    logger() = default;
    logger(log_level level, sink out, std::shared_ptr<const secrets> redactor);

    bool enabled(log_level level) const noexcept { return level >= level_ && out_ != nullptr; }
    void write(log_level level, std::string_view component, std::string_view text) const;

  private:
    log_level level_ = log_level::off;
    sink out_;
    std::shared_ptr<const secrets> redactor_;
    std::shared_ptr<std::mutex> mutex_ = std::make_shared<std::mutex>();
};

}  // namespace lakeflow::host
