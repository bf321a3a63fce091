// host/land/connector/writers.h: the writers of one write: one a partition, each on an instance of its own, as tasks of the arena. A
// task takes up what waits for its partition and ends when nothing does, so that none holds a worker while it waits for rows. The
// object is used by the flow's thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "host/base/error.h"
#include "host/land/destination.h"
#include "host/plugin/writing.h"

namespace lakeflow::host::connector {

using make_instance = std::function<std::unique_ptr<plugin_connector>()>;

class part_writers {
  public:
    // `write` is what every writer is opened with, but for its partition. At most `most_bytes` of rows wait.
    part_writers(write_request write, make_instance make, worker_pool workers, std::size_t most_bytes);
    ~part_writers();  // ends what is going on and closes
    part_writers(const part_writers&) = delete;
    part_writers& operator=(const part_writers&) = delete;

    // Hands rows on; waits while too many wait. Throws the first failure of any writer.
    void add(std::uint32_t part, record_batch rows);
    // No more rows come: the writer commits.
    void done(std::uint32_t part);
    // All writers have committed. Throws the first failure.
    std::vector<write_message> finish();
    // What was posted so far, of the writers that committed and of those that did not, which are aborted. Sends nothing.
    std::vector<write_message> abort(const std::function<void(const error&)>& failed);

  private:
    struct part;
    struct shared;
    static void work(const std::shared_ptr<shared>& s, part& p);
    static void step(shared& s, part& p, std::optional<record_batch> rows);
    void schedule(part& p);
    part& of(std::uint32_t number);
    void stop();

    std::shared_ptr<shared> shared_;
};

}  // namespace lakeflow::host::connector
