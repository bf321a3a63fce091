// host/land/stand.cpp: see stand.h.
#include "host/land/stand.h"

#include <utility>

#include "host/base/error.h"

namespace lakeflow::host {

stand stand::with_ends_of(const position& next) const {
    stand out = *this;
    out.at.end = next.end;
    out.at.deletes_end = next.deletes_end;
    return out;
}

bool holds(const std::optional<stand>& known, const position& next, const flow_spec& flow) {
    const auto order = [](const position& p) { return std::pair(p.epoch, p.batch); };
    if (!known || order(next) > order(known->at)) return false;
    // The same number for another range of rows is no replay: to take it for one would drop them.
    if (next.epoch < known->at.epoch || (order(next) == order(known->at) && !(next == known->at))) {
        throw failure("state.fenced", "table " + flow.table + ": another run has taken flow " + flow.flow + " over",
                      "let one run at a time work on a job");
    }
    return true;
}

}  // namespace lakeflow::host
