// host/plugin/calls.cpp: see calls.h.
#include "host/plugin/calls.h"

#include <cstring>

#include "host/base/text.h"

namespace lakeflow::host {
namespace {

template <std::size_t size>
std::string text_of(const char (&field)[size]) {
    return {field, strnlen(field, size)};
}

}  // namespace

void call_error::check(lf_status status, std::string_view what) {
    if (status == LF_OK) return;
    if (status != LF_ERROR) {
        throw failure("plugin.bad_status",
                      std::string(what) + " returned status " + std::to_string(status) + ", which does not exist",
                      "The plugin breaks the contract; ask its vendor.");
    }
    throw failure(get(what));
}

error call_error::get(std::string_view what, std::string_view fallback_code) {
    if (raw_.retry < LF_RETRY_PERMANENT || raw_.retry > LF_RETRY_CANCELLED) {
        throw failure(
            "plugin.bad_status",
            std::string(what) + " failed with retry class " + std::to_string(raw_.retry) + ", which does not exist",
            "The plugin breaks the contract; ask its vendor.");
    }
    error e;
    e.retry = static_cast<retry_class>(raw_.retry);
    e.code = text_of(raw_.code);
    if (e.code.empty()) e.code = fallback_code.empty() ? default_code(e.retry) : fallback_code;
    e.message = text_of(raw_.message);
    if (!is_utf8(e.message)) e.message = "(a message that is not UTF-8)";
    if (e.message.empty()) e.message = std::string(what) + " failed without a message";
    e.hint = text_of(raw_.hint);
    if (!is_utf8(e.hint)) e.hint.clear();
    e.retry_after_ms = raw_.retry_after_ms < 0 ? 0 : raw_.retry_after_ms;
    e.vendor_code = raw_.vendor_code;
    return e;
}

lf_status text_sink::write(void* state, const char* data, std::size_t size) noexcept {
    auto& self = *static_cast<text_sink*>(state);
    if (size > self.limit_ - self.text_.size() || (size != 0 && !data)) return LF_ERROR;
    self.written_ = true;
    try {
        self.text_.append(data, size);
    } catch (...) {
        return LF_ERROR;
    }
    return LF_OK;
}

}  // namespace lakeflow::host
