// lakeflow/cpp/writer.hpp: the mixin of a source that can be a destination too (writer.h).
// A job begins once, opens one batch_writer a partition, and commits once with all their messages, or aborts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lakeflow/cpp/batch.hpp"
#include "lakeflow/cpp/json.hpp"
#include "lakeflow/cpp/schema.hpp"
#include "lakeflow/writer.h"

namespace lakeflow {

// One write (writer.h, lf_write_args), owned: a writer may keep it.
struct write_args {
    std::string table;
    json options;  // in open_writer the member "begin" holds what begin_write gave
    std::string run_id;
    std::string mode;  // "append", "upsert", "truncate" (all rows are replaced)
    std::string key;   // identity of this write, equal for a retry: an idempotency key
    schema columns;
    uint32_t partitions = 1;
    uint32_t partition = 0, attempt = 0;
};

// One partition's writer. write, write, ... then commit or abort; the destructor closes.
class batch_writer {
  public:
    virtual ~batch_writer() = default;
    // Buffers and posts full chunks.
    virtual void write(batch rows) = 0;
    // Flushes; gives the message {"partition", "attempt", "rows", "batch_ids", ...}.
    virtual json commit() = 0;
    // Drops the buffer, sends nothing more; gives the message of what was posted already.
    virtual json abort() = 0;
    // From any thread: must not block.
    virtual void cancel() {}
    // The writer is done, in whatever state; the destructor follows. What it throws is swallowed.
    virtual void close() {}
};

class writer {
  public:
    virtual ~writer() = default;
    // Checks mode and schema, truncates where the mode says so; throw unsupported() for another mode. The answer reaches each
    // open_writer as options' member "begin".
    virtual json begin_write(const write_args& args) = 0;
    // On a fresh instance.
    virtual std::unique_ptr<batch_writer> open_writer(const write_args& args) = 0;
    virtual void commit_write(const write_args& args, const std::vector<json>& messages) = 0;
    // Rolls back what the messages say was posted; gives the batch ids that could not be.
    virtual std::vector<std::string> abort_write(const write_args& args, const std::vector<json>& messages) = 0;
};

class recoverable_writer : public writer {
  public:
    // Whether a write of args.key was committed; asked after a crash.
    virtual bool was_committed(const write_args& args) = 0;
};

}  // namespace lakeflow
