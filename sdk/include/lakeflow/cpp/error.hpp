// lakeflow/cpp/error.hpp: the one exception of a connector, and the way between it and lf_error. Any thread.
//
// Throw a failure wherever something goes wrong; the layer turns it into the C error at the edge. Any other exception is
// reported as "plugin.exception", permanent. `throw not_found("table 'x' does not exist")`.
#pragma once

#include <cstdint>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "lakeflow/abi.h"

namespace lakeflow {

// What a caller may do about an error (abi.h, LF_RETRY_*).
enum class retry : lf_retry {
    permanent = LF_RETRY_PERMANENT,
    transient = LF_RETRY_TRANSIENT,
    rate_limited = LF_RETRY_RATE_LIMITED,
    auth = LF_RETRY_AUTH,
    not_found = LF_RETRY_NOT_FOUND,
    invalid = LF_RETRY_INVALID,
    unsupported = LF_RETRY_UNSUPPORTED,
    cancelled = LF_RETRY_CANCELLED,
};

// An error with its retry class. `message` says what went wrong and names table, key and value (no secret); `hint` what a
// person should do; `code` is a stable id, empty: the one that goes with the class.
class failure : public std::exception {
  public:
    failure(retry how, std::string message, std::string hint = {}, std::string code = {})
        : how_(how), message_(std::move(message)), hint_(std::move(hint)), code_(std::move(code)) {}

    failure& with_code(std::string code) { return code_ = std::move(code), *this; }
    failure& with_hint(std::string hint) { return hint_ = std::move(hint), *this; }
    failure& with_vendor_code(int32_t code) { return vendor_code_ = code, *this; }
    failure& with_retry_after(int64_t milliseconds) { return retry_after_ms_ = milliseconds, *this; }
    // Puts text before the message: where it happened.
    failure& in(std::string_view place) { return message_.insert(0, std::string(place) + ": "), *this; }

    const char* what() const noexcept override { return message_.c_str(); }
    retry how() const noexcept { return how_; }
    const std::string& message() const noexcept { return message_; }
    const std::string& hint() const noexcept { return hint_; }
    const std::string& code() const noexcept { return code_; }
    int32_t vendor_code() const noexcept { return vendor_code_; }
    int64_t retry_after_ms() const noexcept { return retry_after_ms_; }

    // The failure that a host service reported.
    static failure from(const lf_error& error) {
        failure out(static_cast<retry>(error.retry), error.message, error.hint, error.code);
        out.vendor_code_ = error.vendor_code;
        out.retry_after_ms_ = error.retry_after_ms;
        return out;
    }

  private:
    retry how_;
    std::string message_, hint_, code_;
    int32_t vendor_code_ = 0;
    int64_t retry_after_ms_ = 0;
};

// The table, or what it stands on, does not exist.
inline failure not_found(std::string message, std::string hint = {}) {
    return {retry::not_found, std::move(message), std::move(hint)};
}
// The options or arguments are wrong.
inline failure invalid(std::string message, std::string hint = {}) {
    return {retry::invalid, std::move(message), std::move(hint)};
}
// This plugin does not do this; the host may go another way.
inline failure unsupported(std::string message, std::string hint = {}) {
    return {retry::unsupported, std::move(message), std::move(hint)};
}
// The same call fails again.
inline failure permanent(std::string message, std::string hint = {}) {
    return {retry::permanent, std::move(message), std::move(hint)};
}
// The same call may succeed later.
inline failure transient(std::string message, std::string hint = {}) {
    return {retry::transient, std::move(message), std::move(hint)};
}
// The source asks to wait so many milliseconds; 0: it does not say how long.
inline failure rate_limited(std::string message, int64_t retry_after_ms = 0) {
    return failure(retry::rate_limited, std::move(message)).with_retry_after(retry_after_ms);
}
// The credential is refused or lacks a right.
inline failure auth_refused(std::string message, std::string hint = {}) {
    return {retry::auth, std::move(message), std::move(hint)};
}
// The caller cancelled.
inline failure cancelled(std::string message = "cancelled") { return {retry::cancelled, std::move(message)}; }
// The source answered with something that is not what it documents.
inline failure protocol(std::string message, std::string hint = {}) {
    return {retry::permanent, std::move(message), std::move(hint), "source.protocol"};
}

// An lf_error ready to be handed to a service.
inline lf_error empty_error() {
    lf_error error;
    std::memset(&error, 0, sizeof error);
    error.struct_size = sizeof error;
    return error;
}

// Throws the failure of a service call that was not LF_OK or LF_END; gives the status back otherwise.
inline lf_status check(lf_status status, const lf_error& error) {
    if (status == LF_OK || status == LF_END) return status;
    throw failure::from(error);
}

}  // namespace lakeflow
