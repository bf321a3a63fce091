// host/state/job_state.h: the local state of one job: a folder of its own below the state directory, with a lock and two files a
// flow. Load and save may be called from any thread, for one flow by one thread at a time. Format: README.md beside this file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "host/state/effects.h"
#include "host/state/lock.h"
#include "host/state/record.h"

namespace lakeflow::host {

// The job's folder below the state directory.
std::filesystem::path job_folder(const std::string& state_directory, const std::string& job);

// Where something of a flow is kept in the job's folder: `<flow><suffix>`, the name made fit for a file.
std::filesystem::path flow_file(const std::string& state_directory, const std::string& job, const std::string& flow,
                                const std::string& suffix);

// What is known of a flow without taking the lock, for `status`. Throws state.corrupt.
struct loaded_flow {
    flow_record record;
    std::string warning;  // the newest file was not readable and the one before it serves; empty: all is well
};
std::optional<loaded_flow> peek_flow(const std::string& state_directory, const std::string& job,
                                     const std::string& flow, effects& io);

class job_state {
  public:
    // Makes the folder and takes the lock. Throws state.locked, state.io.
    job_state(std::string state_directory, std::string job, const std::string& run_id, bool take_over,
              std::shared_ptr<effects> io);

    // Nothing if the flow has no state. Throws state.corrupt, naming the file and what to do, if neither of its two files can be
    // used, or if one of them is foreign or of a later version: such a file is never written over.
    std::optional<loaded_flow> load(const std::string& flow);

    // Durable when it returns. Stamps run id and time. Throws state.fenced if another run has taken the lock over, state.io.
    void save(const std::string& flow, flow_record record);

    // The folder of a flow whose source cannot be read again: a batch waits there until it is committed (host/stream/spool.h).
    std::filesystem::path spool_folder(const std::string& flow) const;

    // Removes what is kept of a flow (`reset`).
    void forget(const std::string& flow);

    // Throws state.fenced if another run has taken the lock over.
    void check_held() const;
    const std::string& taken_from() const noexcept { return lock_->taken_from(); }

  private:
    std::filesystem::path folder_;
    std::string job_;
    std::string run_id_;
    std::shared_ptr<effects> io_;
    std::unique_ptr<job_lock> lock_;
    std::mutex mutex_;
    std::map<std::string, std::uint64_t> generations_;  // newest of each flow that was loaded or saved
};

}  // namespace lakeflow::host
