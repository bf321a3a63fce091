// host/stream/arena.h: the workers that read partitions: a TBB arena exactly `width` wide. TBB caps its workers at the cores unless
// told otherwise, and these workers wait for the network, so the cap is lifted for as long as the object lives. One at a time in a
// process. A task blocks on nothing but our own condition variables and never throws.
#pragma once

#include <functional>
#include <memory>

namespace lakeflow::host {

class worker_arena {
  public:
    explicit worker_arena(int width);
    ~worker_arena();  // every task has ended
    worker_arena(const worker_arena&) = delete;
    worker_arena& operator=(const worker_arena&) = delete;

    int width() const noexcept;
    void enqueue(std::function<void()> task);  // any thread, tasks too
    // For an arena that is never destroyed, because a task of it does not end: its cap is no longer the process's.
    void leave();

  private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

}  // namespace lakeflow::host
