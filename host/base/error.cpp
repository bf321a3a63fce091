// host/base/error.cpp: see error.h.
#include "host/base/error.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "host/base/text.h"

namespace lakeflow::host {

std::string_view to_string(retry_class c) noexcept {
    switch (c) {
        case retry_class::permanent: return "permanent";
        case retry_class::transient: return "transient";
        case retry_class::rate_limited: return "rate_limited";
        case retry_class::auth: return "auth";
        case retry_class::not_found: return "not_found";
        case retry_class::invalid: return "invalid";
        case retry_class::unsupported: return "unsupported";
        case retry_class::cancelled: return "cancelled";
    }
    return "unknown";
}

std::string_view default_code(retry_class c) noexcept {
    switch (c) {
        case retry_class::permanent: return "source.failed";
        case retry_class::transient: return "source.transient";
        case retry_class::rate_limited: return "source.rate_limited";
        case retry_class::auth: return "source.auth";
        case retry_class::not_found: return "source.not_found";
        case retry_class::invalid: return "config.invalid";
        case retry_class::unsupported: return "source.unsupported";
        case retry_class::cancelled: return "cancelled";
    }
    return "plugin.bad_status";
}

std::string to_line(const error& e) {
    std::string line = e.code + ": " + e.message;
    if (!e.hint.empty()) line += " Hint: " + e.hint;
    return line;
}

error current_error(std::string_view fallback_code) {
    try {
        throw;
    } catch (const failure& f) {
        return f.get();
    } catch (const std::bad_alloc&) {
        return {std::string(fallback_code), "out of memory",
                "Give the process more memory or lower the job's parallelism.", retry_class::permanent};
    } catch (const std::exception& e) {
        return {std::string(fallback_code), e.what(), {}, retry_class::permanent};
    } catch (...) {
        return {std::string(fallback_code), "an exception that is not a std::exception", {}, retry_class::permanent};
    }
}

namespace {
template <std::size_t size>
void put(char (&out)[size], std::string_view text) noexcept {
    const std::string_view cut = cut_utf8(text, size - 1);
    std::memcpy(out, cut.data(), cut.size());
    out[cut.size()] = '\0';
}
}  // namespace

void to_abi(const error& e, lf_error* out) noexcept {
    if (!out) return;
    if (LF_HAS(out, lf_error, retry)) out->retry = static_cast<lf_retry>(e.retry);
    if (LF_HAS(out, lf_error, retry_after_ms)) out->retry_after_ms = e.retry_after_ms;
    if (LF_HAS(out, lf_error, vendor_code)) out->vendor_code = e.vendor_code;
    if (LF_HAS(out, lf_error, code)) put(out->code, e.code);
    if (LF_HAS(out, lf_error, hint)) put(out->hint, e.hint);
    if (LF_HAS(out, lf_error, message)) put(out->message, e.message);
}

}  // namespace lakeflow::host
