// host/land/connector/writers.cpp: see writers.h.
#include "host/land/connector/writers.h"

#include <utility>

namespace lakeflow::host::connector {

struct part_writers::part {
    std::uint32_t number = 0;
    std::deque<record_batch> waiting;
    bool done = false;
    bool busy = false;  // a task has it, or will
    // Of the task that has it.
    std::unique_ptr<plugin_connector> instance;
    std::unique_ptr<plugin_writer> writer;
    std::optional<write_message> message;
};

struct part_writers::shared {
    write_request write;
    make_instance make;
    worker_pool workers;
    std::size_t most_bytes = 0;

    std::mutex mutex;
    std::condition_variable changed;
    std::map<std::uint32_t, part> parts;
    std::size_t bytes = 0;  // of rows that wait
    std::size_t busy = 0;   // parts
    std::optional<error> failed;
    bool stopped = false;
};

part_writers::part_writers(write_request write, make_instance make, worker_pool workers, std::size_t most_bytes)
    : shared_(std::make_shared<shared>()) {
    shared_->write = std::move(write);
    shared_->make = std::move(make);
    shared_->workers = std::move(workers);
    shared_->most_bytes = most_bytes;
}

part_writers::~part_writers() {
    stop();
    // Here, and not on the worker that lets go of `shared_` last.
    for (auto& [number, p] : shared_->parts) {
        p.writer.reset();
        p.instance.reset();
    }
}

// The request under way comes to its end: what it posted has a name then, and can be rolled back.
void part_writers::stop() {
    auto& s = *shared_;
    std::unique_lock lock(s.mutex);
    s.stopped = true;
    s.changed.wait(lock, [&] { return s.busy == 0; });
    for (auto& [number, p] : s.parts) p.waiting.clear();
    s.bytes = 0;
}

part_writers::part& part_writers::of(std::uint32_t number) {
    const auto [at, made] = shared_->parts.try_emplace(number);
    if (made) at->second.number = number;  // its task reads it without the lock
    return at->second;
}

void part_writers::add(std::uint32_t number, record_batch rows) {
    auto& s = *shared_;
    const std::size_t bytes = memory_size(*rows.schema->get(), *rows.array.get());
    std::unique_lock lock(s.mutex);
    s.changed.wait(lock, [&] { return s.failed || s.bytes == 0 || s.bytes + bytes <= s.most_bytes; });
    if (s.failed) throw failure(*s.failed);
    auto& p = of(number);
    p.waiting.push_back(std::move(rows));
    s.bytes += bytes;
    lock.unlock();
    schedule(p);
}

void part_writers::done(std::uint32_t number) {
    auto& s = *shared_;
    std::unique_lock lock(s.mutex);
    const auto found = s.parts.find(number);
    if (found == s.parts.end()) return;  // it had no rows
    found->second.done = true;
    lock.unlock();
    schedule(found->second);
}

void part_writers::schedule(part& p) {
    auto& s = *shared_;
    {
        const std::lock_guard guard(s.mutex);
        if (p.busy || s.failed || s.stopped) return;
        p.busy = true;
        ++s.busy;
    }
    // Nodes of the map stay where they are, and the task keeps what they belong to.
    auto task = [shared = shared_, &p] { work(shared, p); };
    if (s.workers.enqueue) return s.workers.enqueue(std::move(task));
    task();
}

void part_writers::work(const std::shared_ptr<shared>& s, part& p) {
    for (;;) {
        std::optional<record_batch> rows;
        std::size_t bytes = 0;
        {
            const std::lock_guard guard(s->mutex);
            const bool idle = p.waiting.empty() && (!p.done || p.message);
            if (s->failed || s->stopped || idle) {
                p.busy = false;
                --s->busy;
                s->changed.notify_all();
                return;
            }
            if (!p.waiting.empty()) {
                rows = std::move(p.waiting.front());
                p.waiting.pop_front();
                bytes = memory_size(*rows->schema->get(), *rows->array.get());
            }
        }
        std::optional<error> failed;
        try {
            step(*s, p, std::move(rows));
        } catch (...) {
            failed = current_error("host.internal");
        }
        const std::lock_guard guard(s->mutex);
        s->bytes -= bytes;
        if (failed && !s->failed) s->failed = std::move(failed);
        s->changed.notify_all();
    }
}

void part_writers::step(shared& s, part& p, std::optional<record_batch> rows) {
    if (!rows) {
        auto message = p.writer->commit();
        const std::lock_guard guard(s.mutex);
        p.message = std::move(message);
        return;
    }
    if (!p.writer) {
        p.instance = s.make();
        auto request = s.write;
        request.partition = p.number;
        p.writer = p.instance->open_writer(request);
    }
    p.writer->write(std::move(*rows));
}

std::vector<write_message> part_writers::finish() {
    auto& s = *shared_;
    std::vector<std::uint32_t> open;
    for (auto& [number, p] : s.parts) open.push_back(number);
    for (const auto number : open) done(number);
    std::unique_lock lock(s.mutex);
    s.changed.wait(lock, [&] { return s.busy == 0; });
    if (s.failed) throw failure(*s.failed);
    std::vector<write_message> out;
    for (auto& [number, p] : s.parts) out.push_back(*p.message);
    return out;
}

std::vector<write_message> part_writers::abort(const std::function<void(const error&)>& failed) {
    stop();
    std::vector<write_message> out;
    for (auto& [number, p] : shared_->parts) {
        if (p.message) {
            out.push_back(*p.message);
        } else if (p.writer) {
            try {
                out.push_back(p.writer->abort());
            } catch (const failure& f) {
                failed(f.get());
            }
        }
        p.writer.reset();
        p.instance.reset();
    }
    return out;
}

}  // namespace lakeflow::host::connector
