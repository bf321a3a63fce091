// host/base/error.h: what went wrong, for a person and for a program. Thrown inside the host as `failure`; nothing is
// thrown over the C ABI. Any thread.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "lakeflow/abi.h"

namespace lakeflow::host {

// The retry classes of the ABI (lakeflow/abi.h), as a type.
enum class retry_class : std::int32_t {
    permanent = LF_RETRY_PERMANENT,
    transient = LF_RETRY_TRANSIENT,
    rate_limited = LF_RETRY_RATE_LIMITED,
    auth = LF_RETRY_AUTH,
    not_found = LF_RETRY_NOT_FOUND,
    invalid = LF_RETRY_INVALID,
    unsupported = LF_RETRY_UNSUPPORTED,
    cancelled = LF_RETRY_CANCELLED,
};

// "transient", "rate_limited", ...: the words of the report.
std::string_view to_string(retry_class c) noexcept;

struct error {
    std::string code;     // a stable id: "offset.repeated"
    std::string message;  // what went wrong, naming table, key and value; never a secret
    std::string hint;     // what to do about it; may be empty
    retry_class retry = retry_class::permanent;
    std::int64_t retry_after_ms = 0;  // with rate_limited: how long, 0 if unknown
    std::int32_t vendor_code = 0;     // the source's own number (an HTTP status), 0 if none
};

// "source.auth: GET https://... said 401. Hint: ..." on one line, as logs show it.
std::string to_line(const error& e);

class failure : public std::exception {
  public:
    explicit failure(error e) : error_(std::move(e)), what_(error_.code + ": " + error_.message) {}
    failure(std::string code, std::string message, std::string hint = {}, retry_class retry = retry_class::permanent)
        : failure(error{std::move(code), std::move(message), std::move(hint), retry}) {}

    const error& get() const noexcept { return error_; }
    const char* what() const noexcept override { return what_.c_str(); }

  private:
    error error_;
    std::string what_;
};

// The error of the exception that is being handled: a failure's own, `fallback_code` for any other.
// Call only inside a catch block.
error current_error(std::string_view fallback_code = "host.internal");

// Writes an error into the ABI's struct, cut at its sizes on a UTF-8 boundary; out may be null or of an older size.
void to_abi(const error& e, lf_error* out) noexcept;

// The code that goes with a retry class when a plugin named none: "source.auth" for auth, ...
std::string_view default_code(retry_class c) noexcept;

}  // namespace lakeflow::host
