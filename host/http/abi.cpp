// host/http/abi.cpp: see abi.h.
#include "host/http/abi.h"

#include <memory>
#include <string>
#include <utility>

#include "host/base/error.h"
#include "host/base/text.h"
#include "host/http/auth.h"
#include "host/http/http.h"

namespace lakeflow::host {
namespace {

[[noreturn]] void breach(const char* message) { throw failure("plugin.contract", message, {}, retry_class::invalid); }

// Runs `work` and turns what it throws into `error`.
template <typename Work>
lf_status guarded(lf_error* error_out, Work&& work) noexcept {
    try {
        return work();
    } catch (...) {
        try {
            to_abi(current_error(), error_out);
        } catch (...) {
            // Memory is out even for the message: the status says that it failed.
            return LF_ERROR;
        }
        return LF_ERROR;
    }
}

std::string text(lf_str s) { return std::string(view(s)); }

lf_status start(lf_context* context, const lf_http_request* request, lf_exchange** out, lf_error* error_out) {
    if (out != nullptr) *out = nullptr;
    return guarded(error_out, [&] {
        if (context == nullptr || request == nullptr || out == nullptr)
            breach("http start was called with a null pointer");
        const auto field = [&](bool has, const lf_str& value) { return has ? value : lf_str{nullptr, 0}; };
        if (!LF_HAS(request, lf_http_request, url))
            breach("http start was called with a request of too small a struct_size");
        http_request r;
        r.flags = request->flags;
        r.method = text(request->method);
        r.url = text(request->url);
        r.origin = text(field(LF_HAS(request, lf_http_request, origin), request->origin));
        r.headers = parse_headers(view(field(LF_HAS(request, lf_http_request, headers), request->headers)));
        r.auth = text(field(LF_HAS(request, lf_http_request, auth), request->auth));
        const lf_str body = field(LF_HAS(request, lf_http_request, body), request->body);
        r.has_body = body.data != nullptr;
        r.body = text(body);
        r.content_type = text(field(LF_HAS(request, lf_http_request, content_type), request->content_type));
        r.accept_status =
            parse_accept_status(view(field(LF_HAS(request, lf_http_request, accept_status), request->accept_status)));
        if (LF_HAS(request, lf_http_request, max_body_bytes)) r.max_body_bytes = request->max_body_bytes;
        auto made = std::make_unique<lf_exchange>();
        made->impl = http_service::instance().start(*context, r);
        *out = made.release();
        return LF_OK;
    });
}

exchange& checked(lf_exchange* e) {
    if (e == nullptr || !e->impl) breach("http was called with a null exchange");
    return *e->impl;
}

lf_status head(lf_exchange* e, int32_t* status, lf_error* error_out) {
    return guarded(error_out, [&] {
        const int code = checked(e).head();
        if (status != nullptr) *status = code;
        return LF_OK;
    });
}

lf_str absent_or(std::string_view s) noexcept { return {s.data(), s.size()}; }

lf_status header(lf_exchange* e, lf_str name, lf_str* out, lf_error* error_out) {
    return guarded(error_out, [&] {
        if (out == nullptr) breach("http header was called without a place for its value");
        *out = {nullptr, 0};
        *out = absent_or(checked(e).header(view(name)));
        return LF_OK;
    });
}

lf_status final_url(lf_exchange* e, lf_str* out, lf_error* error_out) {
    return guarded(error_out, [&] {
        if (out == nullptr) breach("http final_url was called without a place for its value");
        *out = {nullptr, 0};
        *out = absent_or(checked(e).final_url());
        return LF_OK;
    });
}

lf_status read(lf_exchange* e, lf_str* data, lf_error* error_out) {
    return guarded(error_out, [&] {
        if (data == nullptr) breach("http read was called without a place for its data");
        *data = {nullptr, 0};
        std::string_view piece;
        if (!checked(e).read(piece)) return LF_END;
        *data = absent_or(piece);
        return LF_OK;
    });
}

lf_status retry(lf_exchange* e, lf_str reason, lf_error* error_out) {
    return guarded(error_out, [&] {
        checked(e).retry(view(reason));
        return LF_OK;
    });
}

void close(lf_exchange* e) { const std::unique_ptr<lf_exchange> owner(e); }

constexpr lf_http_v1 table = {sizeof(lf_http_v1), 0, start, head, header, final_url, read, retry, close};

}  // namespace

const lf_http_v1* http_table() noexcept { return &table; }

}  // namespace lakeflow::host
