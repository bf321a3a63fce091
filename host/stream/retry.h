// host/stream/retry.h: a planning call that is made again after a transient failure, with back-off. On the calling thread.
#pragma once

#include "host/base/error.h"
#include "host/stream/batch_read.h"

namespace lakeflow::host {

template <class Call>
auto with_retries(const flow_context& flow, const run_tuning& tuning, const cancel_token& stop, Call call) {
    for (int tries = 1;; ++tries) {
        try {
            return call();
        } catch (const failure& f) {
            if (tries >= tuning.partition_attempts || !worth_retrying(f.get(), flow)) throw;
            const auto wait = backoff(f.get(), tries, tuning, flow);
            if (!wait || !stop.wait_for(*wait)) throw;
            flow.log.write(log_level::warn, flow.plugin + "/" + flow.table,
                           "planning is tried again: " + to_line(f.get()));
        }
    }
}

}  // namespace lakeflow::host
