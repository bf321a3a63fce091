// host/base/log.cpp: see log.h.
#include "host/base/log.h"

#include <utility>

namespace lakeflow::host {

std::string_view to_string(log_level level) noexcept {
    switch (level) {
        case log_level::trace: return "trace";
        case log_level::debug: return "debug";
        case log_level::info: return "info";
        case log_level::warn: return "warn";
        case log_level::error: return "error";
        case log_level::off: return "off";
    }
    return "info";
}

logger::logger(log_level level, sink out, std::shared_ptr<const secrets> redactor)
    : level_(level), out_(std::move(out)), redactor_(std::move(redactor)) {}

void logger::write(log_level level, std::string_view component, std::string_view text) const {
    if (!enabled(level)) return;
    const std::string clean = redactor_ ? redactor_->redact(text) : std::string(text);
    const std::scoped_lock lock(*mutex_);
    out_(level, component, clean);
}

}  // namespace lakeflow::host
