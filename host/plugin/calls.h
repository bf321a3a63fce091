// host/plugin/calls.h: what every call into a plugin needs: an error struct that is checked when it comes back, and a sink with a
// limit. For host/plugin alone.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "host/base/error.h"
#include "lakeflow/abi.h"

namespace lakeflow::host {

// The error struct of one call.
class call_error {
  public:
    call_error() noexcept { raw_.struct_size = sizeof raw_; }

    lf_error* out() noexcept { return &raw_; }

    // LF_OK passes; LF_ERROR throws the plugin's error; anything else throws plugin.bad_status. `what` names plugin, table and slot.
    void check(lf_status status, std::string_view what);

    // What the plugin wrote. `fallback_code` if it named none. Throws plugin.bad_status for a retry class that does not exist.
    error get(std::string_view what, std::string_view fallback_code = {});

  private:
    lf_error raw_{};
};

// Receives text from a plugin; refuses more than `limit` bytes.
class text_sink {
  public:
    explicit text_sink(std::size_t limit = 64u << 20) noexcept : limit_(limit) {}
    text_sink(const text_sink&) = delete;
    text_sink& operator=(const text_sink&) = delete;

    const lf_sink* out() noexcept { return &raw_; }
    const std::string& text() const noexcept { return text_; }
    std::string take() noexcept { return std::move(text_); }
    bool written() const noexcept { return written_; }

  private:
    static lf_status write(void* state, const char* data, std::size_t size) noexcept;

    lf_sink raw_{sizeof(lf_sink), 0, this, write};
    std::string text_;
    std::size_t limit_;
    bool written_ = false;
};

}  // namespace lakeflow::host
