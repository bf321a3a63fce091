// Two tasks of a TBB arena that write one variable without an order between them. ThreadSanitizer must report it, and
// must report nothing when the tasks do the same under a mutex (argument `ordered`): that is what the oneTBB of
// conan/build_tsan_tbb.sh is for.

#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <thread>

namespace {

constexpr int task_count = 2;

struct shared_state {
    std::mutex mutex;
    std::condition_variable changed;
    int finished = 0;
    int written = 0;
    std::atomic<int> running{0};
};

// The two meet before they write, without an edge that TSan would take for an order.
void meet(shared_state& state) {
    state.running.fetch_add(1, std::memory_order_relaxed);
    while (state.running.load(std::memory_order_relaxed) < task_count) std::this_thread::yield();
}

void planted_race(shared_state& state, bool ordered) {
    meet(state);
    if (ordered) {
        std::lock_guard lock(state.mutex);
        ++state.written;
    } else {
        ++state.written;
    }
    std::lock_guard lock(state.mutex);
    ++state.finished;
    state.changed.notify_all();
}

}  // namespace

int main(int argc, char** argv) {
    const bool ordered = argc > 1 && std::strcmp(argv[1], "ordered") == 0;
    tbb::global_control workers(tbb::global_control::max_allowed_parallelism, task_count + 1);
    tbb::task_arena arena(task_count, 0);
    shared_state state;
    for (int i = 0; i < task_count; ++i) arena.enqueue([&state, ordered] { planted_race(state, ordered); });
    std::unique_lock lock(state.mutex);
    state.changed.wait(lock, [&state] { return state.finished == task_count; });
    std::printf("written %d\n", state.written);
    return 0;
}
