// host/plugin/services.cpp: see services.h. A null context is answered harmlessly: a plugin's mistake must not end the process.
#include "host/plugin/services.h"

#include <algorithm>
#include <chrono>
#include <string>

#include "host/base/context.h"
#include "host/base/text.h"
#include "host/http/abi.h"
#include "host/rows/abi.h"

namespace lakeflow::host {
namespace {

void log_write(lf_context* context, std::int32_t level, lf_str text) {
    if (!context) return;
    const auto wanted =
        level >= LF_LOG_TRACE && level <= LF_LOG_ERROR ? static_cast<log_level>(level) : log_level::info;
    const flow_context& flow = *context->flow;
    try {
        flow.log.write(wanted, flow.table.empty() ? flow.plugin : flow.plugin + "/" + flow.table, view(text));
    } catch (...) {
        // A log line that cannot be written is dropped: the slot cannot fail.
        return;
    }
}

bool log_enabled(lf_context* context, std::int32_t level) {
    return context && context->flow->log.enabled(static_cast<log_level>(level));
}

std::int64_t now_us(lf_context* context) { return (context ? *context->flow->time : system_clock()).now_us(); }
std::int64_t monotonic_us(lf_context* context) {
    return (context ? *context->flow->time : system_clock()).monotonic_us();
}
std::int64_t init_time_us(lf_context* context) { return context ? context->flow->init_time_us : 0; }

bool cancel_requested(lf_context* context) { return context && context->cancelled->requested(); }

lf_status cancel_wait_ms(lf_context* context, std::int64_t milliseconds) {
    if (!context) return LF_END;
    if (milliseconds <= 0) return context->cancelled->requested() ? LF_END : LF_OK;
    constexpr std::int64_t longest = 365ll * 86400 * 1000;
    const std::chrono::milliseconds time(std::min(milliseconds, longest));
    return context->cancelled->wait_for(time) ? LF_OK : LF_END;
}

void metrics_add(lf_context* context, lf_str name, std::int64_t delta) {
    if (context) context->flow->metrics.add(view(name), delta);
}
void metrics_set(lf_context* context, lf_str name, std::int64_t value) {
    if (context) context->flow->metrics.set(view(name), value);
}

constexpr lf_log_v1 log_service{sizeof(lf_log_v1), 0, log_write, log_enabled};
constexpr lf_clock_v1 clock_service{sizeof(lf_clock_v1), 0, now_us, monotonic_us, init_time_us};
constexpr lf_cancel_v1 cancel_service{sizeof(lf_cancel_v1), 0, cancel_requested, cancel_wait_ms};
constexpr lf_metrics_v1 metrics_service{sizeof(lf_metrics_v1), 0, metrics_add, metrics_set};

const void* service(const lf_host*, lf_str id) {
    const std::string_view name = view(id);
    if (name == LF_LOG_ID) return &log_service;
    if (name == LF_CLOCK_ID) return &clock_service;
    if (name == LF_CANCEL_ID) return &cancel_service;
    if (name == LF_METRICS_ID) return &metrics_service;
    if (name == LF_HTTP_ID) return http_table();
    if (name == LF_ROWS_ID) return rows_table();
    return nullptr;
}

constexpr std::string_view name = "lakeflow-host";
constexpr std::string_view version = LAKEFLOW_VERSION;
constexpr lf_host the_host{
    sizeof(lf_host), LF_ABI_VERSION, {name.data(), name.size()}, {version.data(), version.size()}, service};

}  // namespace

const lf_host* host_table() noexcept { return &the_host; }

}  // namespace lakeflow::host
