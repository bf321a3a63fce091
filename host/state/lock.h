// host/state/lock.h: one run of a job at a time. The lock is flock(2) on a file that names its holder, so the kernel frees it
// when the holder dies, and a second run can say who is in the way. Used by one thread at a time; held() from any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace lakeflow::host {

struct lock_holder {
    std::string host;
    std::int64_t pid = 0;
    std::int64_t started_us = 0;
    std::string run_id;
};

// This process, for a run.
lock_holder this_process(const std::string& run_id, std::int64_t started_us);

class job_lock {
  public:
    // Takes the lock. A file that a dead holder left behind is taken over; from a live one only with `take_over`: it then gets a
    // new file under the same name, and the other finds at its next step that the lock is no longer its own. Throws state.locked
    // naming host, pid and start of the holder, or state.io.
    job_lock(std::filesystem::path file, const lock_holder& me, bool take_over);
    ~job_lock();
    job_lock(const job_lock&) = delete;
    job_lock& operator=(const job_lock&) = delete;

    // False once another run has taken the lock over.
    bool held() const noexcept;
    // "pid 1234 on box, which began at ...": whom this lock was taken from; empty if it was free.
    const std::string& taken_from() const noexcept { return taken_from_; }

  private:
    void take_free(int fd, const lock_holder& me);
    void take_by_force(const lock_holder& me);

    std::filesystem::path file_;
    int fd_ = -1;
    std::string taken_from_;
};

}  // namespace lakeflow::host
