// host/plugin/guarded.h: around each call into a plugin: what it throws holds no secret, and what it stores neither. For host/plugin alone.
#pragma once

#include <string_view>
#include <utility>

#include "host/base/cancel.h"
#include "host/base/context.h"
#include "host/base/error.h"

namespace lakeflow::host {

// Runs a call and turns what it threw into a failure without secrets; a failure after a cancellation is the cancellation.
template <class F>
auto guarded(const flow_context& flow, const cancel_token& stop, F&& call) {
    try {
        return call();
    } catch (const failure& f) {
        error e = f.get();
        e.message = flow.redactor->redact(e.message);
        e.hint = flow.redactor->redact(e.hint);
        if (stop.requested() && e.code != "plugin.bad_status" && e.code != "plugin.contract") {
            e.code = "cancelled";
            e.retry = retry_class::cancelled;
        }
        throw failure(std::move(e));
    }
}

// Offsets, descriptors and commit messages are stored and shown: no secret may ride in them (contract 14).
void refuse_secrets(const flow_context& flow, std::string_view text, std::string_view what);

}  // namespace lakeflow::host
