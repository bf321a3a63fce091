// host/rows/abi.cpp: see abi.h. Each slot checks its pointers and lets no exception out.
#include "host/rows/abi.h"

#include <new>

#include "host/base/error.h"
#include "host/base/text.h"
#include "host/http/http.h"
#include "host/rows/decoder.h"

struct lf_decoder {
    lakeflow::host::decoder impl;
};

namespace lakeflow::host {
namespace {

template <class F>
lf_status guarded(lf_error* error, F&& f) noexcept {
    try {
        return f();
    } catch (...) {
        try {
            to_abi(current_error(), error);
        } catch (...) {
            if (error && LF_HAS(error, lf_error, retry)) error->retry = LF_RETRY_PERMANENT;
        }
        return LF_ERROR;
    }
}

void need(bool given, const char* what) {
    if (!given)
        throw failure("plugin.contract", std::string("lakeflow.rows/1: ") + what + " is a null pointer", {},
                      retry_class::invalid);
}

lf_status write(const lf_sink* out, std::string_view text) {
    return out->write(out->state, text.data(), text.size()) == LF_OK
               ? LF_OK
               : throw failure("plugin.contract", "lakeflow.rows/1: the sink did not take the text", {},
                               retry_class::invalid);
}

bool can_write(const lf_sink* sink) { return sink && LF_HAS(sink, lf_sink, write) && sink->write; }

lf_status open(lf_context* context, const lf_rows_args* args, lf_decoder** out, lf_error* error) noexcept {
    if (out) *out = nullptr;
    return guarded(error, [&] {
        need(context, "context");
        need(out, "out");
        need(args && LF_HAS(args, lf_rows_args, schema) && args->schema, "args->schema");
        const std::string_view spec = LF_HAS(args, lf_rows_args, spec) ? view(args->spec) : std::string_view();
        try {
            *out = std::make_unique<lf_decoder>(lf_decoder{decoder(context, *args->schema, spec)}).release();
        } catch (const failure& f) {
            lakeflow::host::error e = f.get();
            if (e.retry == retry_class::permanent) e.retry = retry_class::invalid;
            throw failure(std::move(e));
        }
        return LF_OK;
    });
}

lf_status decode(lf_decoder* self, lf_exchange* answer, lf_error* error) noexcept {
    return guarded(error, [&] {
        need(self, "decoder");
        need(answer && answer->impl, "exchange");
        self->impl.decode(*answer->impl);
        return LF_OK;
    });
}

lf_status feed(lf_decoder* self, lf_str bytes, lf_error* error) noexcept {
    return guarded(error, [&] {
        need(self, "decoder");
        need(bytes.data || bytes.size == 0, "bytes");
        self->impl.feed(view(bytes));
        return LF_OK;
    });
}

lf_status finish(lf_decoder* self, lf_error* error) noexcept {
    return guarded(error, [&] {
        need(self, "decoder");
        self->impl.finish();
        return LF_OK;
    });
}

void abandon(lf_decoder* self) noexcept {
    if (self) self->impl.abandon();
}

lf_status take(lf_decoder* self, ArrowArray* out, lf_error* error) noexcept {
    return guarded(error, [&]() -> lf_status {
        need(self, "decoder");
        need(out, "out");
        arrow_array batch;
        if (!self->impl.take(batch)) return LF_END;
        *out = batch.release();
        return LF_OK;
    });
}

lf_status capture(lf_decoder* self, std::uint32_t index, const lf_sink* out, lf_error* error) noexcept {
    return guarded(error, [&] {
        need(self, "decoder");
        need(can_write(out), "out");
        if (index >= self->impl.captures())
            throw failure("plugin.contract",
                          "lakeflow.rows/1: there is no capture " + std::to_string(index) + "; the spec names " +
                              std::to_string(self->impl.captures()),
                          {}, retry_class::invalid);
        const auto value = self->impl.capture(index);
        return value ? write(out, *value) : LF_OK;
    });
}

lf_status stats(lf_decoder* self, const lf_sink* out, lf_error* error) noexcept {
    return guarded(error, [&] {
        need(self, "decoder");
        need(can_write(out), "out");
        return write(out, self->impl.stats());
    });
}

void close(lf_decoder* self) noexcept { std::unique_ptr<lf_decoder> owner(self); }

constexpr lf_rows_v1 table = {sizeof(lf_rows_v1), 0, open, decode, feed, finish, abandon, take, capture, stats, close};

}  // namespace

const lf_rows_v1* rows_table() noexcept { return &table; }

}  // namespace lakeflow::host
