// host/land/stand.h: where a flow stands by a destination's own record, for the destinations that keep one row or line a flow. Any
// thread.
#pragma once

#include <optional>

#include "host/land/destination.h"
#include "host/state/position.h"

namespace lakeflow::host {

struct stand {
    position at;
    bool reset = false;  // `reset` has forgotten the position; its epoch still counts
    friend bool operator==(const stand&, const stand&) = default;

    // The same commit with another validator: of a snapshot that the table holds already, so that the next run need not read it.
    stand with_ends_of(const position& next) const;
};

// True if the flow stands at `next` or past it: the batch was committed by an earlier call. Throws state.fenced if another run has
// taken the flow over.
bool holds(const std::optional<stand>& known, const position& next, const flow_spec& flow);

}  // namespace lakeflow::host
