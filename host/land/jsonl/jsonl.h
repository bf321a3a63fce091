// host/land/jsonl/jsonl.h: the jsonl destination: a file of JSON lines a table, or standard output. Threads: see destination.h.
#pragma once

#include <memory>

#include "host/land/destination.h"

namespace lakeflow::host::jsonl {

// Modes append and snapshot; a snapshot is written beside the file and takes its name. Rows that a source reads again are dropped by key, which a file is searched for (standard output cannot be).
// Beside <table>.jsonl lies .<table>.jsonl.lakeflow, which holds the length of the file up to the last commit and
// the position of each flow: it is replaced atomically after the rows are durable, so a longer file is the left-over of a dead
// run and is cut back before the next commit. With path "-" rows go to options.standard_output as a batch commits, and the
// position is the local state's alone.
std::unique_ptr<destination> make_jsonl_destination(const destination_options& options, logger log,
                                                    std::shared_ptr<cancel_token> stop);

}  // namespace lakeflow::host::jsonl
