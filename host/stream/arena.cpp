// host/stream/arena.cpp: see arena.h. The only file that includes TBB.
#include "host/stream/arena.h"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include <optional>

namespace lakeflow::host {

struct worker_arena::impl {
    explicit impl(int w)
        : width(w),
          control(std::in_place, tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(w) + 1),
          arena(w, 0) {
        // Now, on the thread that set the cap: left to the first enqueue, TBB reads the cap on another thread without a lock.
        arena.initialize();
    }
    int width;
    std::optional<tbb::global_control> control;
    tbb::task_arena arena;
};

worker_arena::worker_arena(int width) : impl_(std::make_unique<impl>(width)) {}
worker_arena::~worker_arena() = default;

int worker_arena::width() const noexcept { return impl_->width; }
void worker_arena::enqueue(std::function<void()> task) { impl_->arena.enqueue(std::move(task)); }
void worker_arena::leave() { impl_->control.reset(); }

}  // namespace lakeflow::host
