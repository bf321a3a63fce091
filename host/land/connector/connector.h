// host/land/connector/connector.h: any plugin with "lakeflow.writer/1" as a destination (contract 28). A service has no transaction that
// holds rows and position together, so a batch lies on disk before it goes out (whole_batch), every request carries a key that is the
// same in each attempt, and a write that may have been committed is asked for before it is sent again. The position is the local state's.
#pragma once

#include <memory>

#include "host/land/destination.h"

namespace lakeflow::host::connector {

// Throws config.not_writable if the plugin cannot write. open() refuses the modes that the resource cannot do.
std::unique_ptr<destination> make_connector_destination(const destination_options& options, logger log,
                                                        std::shared_ptr<cancel_token> stop);

}  // namespace lakeflow::host::connector
