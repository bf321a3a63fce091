// host/land/delta/delta.h: the delta destination: a folder a table, below the job's path. Threads: see destination.h.
#pragma once

#include <functional>
#include <memory>

#include "host/base/clock.h"
#include "host/land/delta/log.h"
#include "host/land/delta/rows.h"
#include "host/land/destination.h"
#include "host/land/store.h"

namespace lakeflow::host::delta {

// What the targets of one destination share.
struct environment {
    destination_options options;
    logger log;
    std::shared_ptr<cancel_token> stop;
    duck_provider duck;
    std::shared_ptr<memory_budget> budget;
    // Opens the folder of a table; tests put a store of their own there.
    std::function<std::shared_ptr<store>(const std::string& table)> open_store;
    const clock* time = &system_clock();
};

std::unique_ptr<destination> make_delta_destination(destination_options options, logger log,
                                                    std::shared_ptr<cancel_token> stop);
// For tests: with a store of their own.
std::unique_ptr<destination> make_delta_destination(std::shared_ptr<environment> shared);
std::shared_ptr<environment> make_environment(destination_options options, logger log,
                                              std::shared_ptr<cancel_token> stop);

}  // namespace lakeflow::host::delta
