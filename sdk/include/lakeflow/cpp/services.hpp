// lakeflow/cpp/services.hpp: the small services of the host (services.h) as objects. Copies are two pointers each; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lakeflow/cpp/error.hpp"
#include "lakeflow/cpp/text.hpp"
#include "lakeflow/entry.h"
#include "lakeflow/services.h"

namespace lakeflow {

namespace detail {

// A service table with the context that goes into its calls.
template <class Table>
class service {
  public:
    service() = default;
    service(const lf_host* host, lf_context* context, std::string_view id) : context_(context), id_(id) {
        if (host != nullptr) table_ = static_cast<const Table*>(host->service(host, str(id)));
    }
    // True if this host has it.
    explicit operator bool() const { return table_ != nullptr; }
    lf_context* context() const { return context_; }
    // Throws unsupported(), naming the service.
    const Table& table() const {
        if (table_ == nullptr) throw unsupported("this host does not offer " + std::string(id_));
        return *table_;
    }

  protected:
    const Table* table_ = nullptr;
    lf_context* context_ = nullptr;
    std::string_view id_;
};

}  // namespace detail

// Logs lines; the host adds time, plugin and table, and takes out secrets. Never throws.
class log_service : public detail::service<lf_log_v1> {
  public:
    using service::service;
    bool enabled(int32_t level) const { return table_ != nullptr && table_->enabled(context_, level); }
    void write(int32_t level, std::string_view text) const {
        if (table_ != nullptr) table_->write(context_, level, str(text));
    }
    void debug(std::string_view text) const { write(LF_LOG_DEBUG, text); }
    void info(std::string_view text) const { write(LF_LOG_INFO, text); }
    void warn(std::string_view text) const { write(LF_LOG_WARN, text); }
    void error(std::string_view text) const { write(LF_LOG_ERROR, text); }
};

// Microseconds. Use these instead of the system's clocks: tests and replays set them.
class clock_service : public detail::service<lf_clock_v1> {
  public:
    using service::service;
    int64_t now_us() const { return table().now_us(context_); }              // since 1970 UTC
    int64_t monotonic_us() const { return table().monotonic_us(context_); }  // never goes back
    int64_t init_time_us() const { return table().init_time_us(context_); }  // when the run began: its frozen clock
};

// Whether the host wants this instance to stop, and the only right way to sleep.
class cancel_service : public detail::service<lf_cancel_v1> {
  public:
    using service::service;
    bool requested() const { return table_ != nullptr && table_->requested(context_); }
    // Throws cancelled() if the host wants to stop.
    void check() const {
        if (requested()) throw cancelled();
    }
    // Waits; throws cancelled() as soon as the host wants to stop.
    void wait_ms(int64_t milliseconds) const {
        if (table().wait_ms(context_, milliseconds) == LF_END) throw cancelled();
    }
};

// Counters and gauges of the table in the report: add("items_skipped", 1), set("pages_total", 51).
class metrics_service : public detail::service<lf_metrics_v1> {
  public:
    using service::service;
    void add(std::string_view name, int64_t delta) const {
        if (table_ != nullptr) table_->add(context_, str(name), delta);
    }
    void set(std::string_view name, int64_t value) const {
        if (table_ != nullptr) table_->set(context_, str(name), value);
    }
};

}  // namespace lakeflow
