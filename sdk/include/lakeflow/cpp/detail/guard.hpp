// lakeflow/cpp/detail/guard.hpp: the barrier at the edge: every exception becomes an lf_error here. Any thread.
#pragma once

#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "lakeflow/abi.h"
#include "lakeflow/cpp/detail/utf8.hpp"
#include "lakeflow/cpp/error.hpp"
#include "lakeflow/cpp/json.hpp"
#include "lakeflow/cpp/text.hpp"

namespace lakeflow::detail {

// True if the field exists in the struct, by the size that its allocator stated.
template <class Struct, class Field>
bool has(const Struct* object, Field Struct::*member) noexcept {
    auto end =
        reinterpret_cast<const char*>(&(object->*member)) - reinterpret_cast<const char*>(object) + sizeof(Field);
    return object->struct_size >= end;
}

// A text field, absent where the struct is of an older size.
template <class Struct>
lf_str text_of(const Struct* object, lf_str Struct::*member) noexcept {
    return has(object, member) ? object->*member : no_str();
}

// Copies text into a fixed field: cut between characters, always terminated.
template <size_t N>
void put_text(char (&out)[N], std::string_view text) noexcept {
    std::string_view part = utf8_prefix(text, N - 1);
    std::memcpy(out, part.data(), part.size());
    out[part.size()] = '\0';
}

inline void write_error(lf_error* out, retry how, std::string_view code, std::string_view message,
                        std::string_view hint, int64_t retry_after_ms = 0, int32_t vendor_code = 0) noexcept {
    if (out == nullptr) return;
    if (has(out, &lf_error::retry)) out->retry = static_cast<lf_retry>(how);
    if (has(out, &lf_error::retry_after_ms)) out->retry_after_ms = retry_after_ms;
    if (has(out, &lf_error::vendor_code)) out->vendor_code = vendor_code;
    if (has(out, &lf_error::code)) put_text(out->code, code);
    if (has(out, &lf_error::hint)) put_text(out->hint, hint);
    if (has(out, &lf_error::message)) put_text(out->message, message);
}

// Writes the exception that is being handled. Call only inside a catch block.
inline void write_current_exception(lf_error* out) noexcept {
    try {
        throw;
    } catch (const failure& f) {
        write_error(out, f.how(), f.code(), f.message(), f.hint(), f.retry_after_ms(), f.vendor_code());
    } catch (const std::bad_alloc&) {
        write_error(out, retry::permanent, "plugin.exception", "out of memory", "");
    } catch (const std::exception& e) {
        write_error(out, retry::permanent, "plugin.exception", e.what(),
                    "this is a mistake in the plugin: report it to its vendor");
    } catch (...) {
        write_error(out, retry::permanent, "plugin.exception", "an exception that is no std::exception",
                    "this is a mistake in the plugin: report it to its vendor");
    }
}

// Runs the body of a slot. What it throws becomes the error, and LF_ERROR the status.
template <class Body>
lf_status guard(lf_error* error, Body&& body) noexcept {
    try {
        return body();
    } catch (...) {
        write_current_exception(error);
        return LF_ERROR;
    }
}

// Runs the body of a slot that cannot fail.
template <class Body>
void guard_silent(Body&& body) noexcept {
    try {
        body();
    } catch (...) {
        // Nobody could be told: the slot has no status, and the contract says that it cannot fail.
    }
}

// Null where the contract forbids it: the host's mistake, said instead of a crash.
inline void need(const void* pointer, const char* what) {
    if (pointer == nullptr) {
        throw failure(retry::permanent, std::string("the host passed no ") + what, "", "host.contract");
    }
}

inline void emit(const lf_sink* out, std::string_view text) {
    need(out, "sink");
    if (!has(out, &lf_sink::write) || out->write == nullptr) need(nullptr, "sink");
    if (out->write(out->state, text.data() == nullptr ? "" : text.data(), text.size()) != LF_OK) {
        throw permanent("the receiver does not take more text");
    }
}

// An argument that is JSON; absent: the fallback.
inline json json_argument(lf_str text, const char* what, json fallback) {
    if (absent(text)) return fallback;
    try {
        return json::parse(view(text));
    } catch (failure& error) {
        throw error.in(what).with_code("host.contract");
    }
}

inline std::optional<json> optional_json(lf_str text, const char* what) {
    if (absent(text)) return std::nullopt;
    return json_argument(text, what, {});
}

}  // namespace lakeflow::detail
