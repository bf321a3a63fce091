// host/stream/batch_read.cpp: see batch_read.h.
#include "host/stream/batch_read.h"

#include <algorithm>
#include <utility>

#include "host/base/text.h"

namespace lakeflow::host {
namespace {

using steady = std::chrono::steady_clock;

// A plugin that was cancelled has this long before its task is left alone.
constexpr std::chrono::seconds last_grace{5};

}  // namespace

struct batch_read::shared {
    shared(read_source s, std::shared_ptr<worker_arena> a, std::shared_ptr<byte_budget> b,
           std::shared_ptr<cancel_token> parent, live_counts& counts)
        : source(std::move(s)),
          arena(std::move(a)),
          budget(std::move(b)),
          stop(std::make_shared<cancel_token>(std::move(parent))),
          live(counts) {}

    const read_source source;
    const std::shared_ptr<worker_arena> arena;
    const std::shared_ptr<byte_budget> budget;
    const std::shared_ptr<cancel_token> stop;
    live_counts& live;  // used only while `watched`

    std::mutex mutex;
    std::condition_variable changed;
    std::deque<read_item> ready;
    std::uint32_t parts = 0;
    std::uint32_t next_part = 0;
    std::uint32_t running = 0;    // tasks in the arena
    std::optional<error> failed;  // the first
    bool exhausted = false;       // it was transient, and the part has been tried as often as allowed
    read_totals totals;
    bool watched = true;  // the reading side is still there
    std::vector<std::optional<steady::time_point>>
        without_rows;                // since when a part is in the plugin's hands and gave none
    std::int64_t requests_seen = 0;  // of the flow, when that was last looked at
};

bool worth_retrying(const error& e, const flow_context& flow) {
    if (e.retry != retry_class::transient && e.retry != retry_class::rate_limited) return false;
    const auto& counters = flow.job_counters ? *flow.job_counters : flow.counters;
    return counters.requests.load() == 0 || counters.bytes.load() > 0;
}

std::optional<std::chrono::microseconds> backoff(const error& e, int attempt, const run_tuning& tuning,
                                                 const flow_context& flow) {
    auto wait = std::chrono::duration_cast<std::chrono::microseconds>(tuning.first_backoff);
    const auto most = std::chrono::duration_cast<std::chrono::microseconds>(tuning.max_backoff);
    for (int i = 1; i < attempt && wait < most; ++i) wait *= 2;
    wait = std::min(wait, most);
    // Up to a fifth longer, different for each flow and attempt, so that they do not all come back at once.
    wait += wait *
            static_cast<std::int64_t>(hash64(flow.run_id + flow.flow, static_cast<std::uint64_t>(attempt)) % 200) /
            1'000;
    if (e.retry == retry_class::rate_limited && e.retry_after_ms > 0) {
        const std::chrono::microseconds asked = std::chrono::milliseconds(e.retry_after_ms);
        if (asked.count() > flow.http.max_wait_us) return std::nullopt;
        wait = std::max(wait, asked);
    }
    return wait;
}

batch_read::batch_read(read_source source, std::shared_ptr<worker_arena> arena, std::shared_ptr<byte_budget> budget,
                       std::shared_ptr<cancel_token> stop, live_counts& live)
    : shared_(std::make_shared<shared>(std::move(source), std::move(arena), std::move(budget), std::move(stop), live)) {
    auto& s = *shared_;
    s.parts =
        s.source.what == read_source::kind::partitions ? static_cast<std::uint32_t>(s.source.descriptors.size()) : 1;
    s.without_rows.resize(s.parts);
    s.totals.seconds.reserve(s.parts);
    live.partitions = s.parts;
    live.partitions_done = 0;
    // As many tasks as there are workers; each makes room for another flow's before it takes up its next part.
    s.running = std::min(s.parts, static_cast<std::uint32_t>(s.arena->width()));
    const auto tasks = s.running;
    for (std::uint32_t i = 0; i < tasks; ++i) s.arena->enqueue([s = shared_] { run_part(s); });
}

batch_read::~batch_read() { stop(); }

void batch_read::stop() {
    shared_->stop->cancel();
    finish();
}

void batch_read::run_part(const std::shared_ptr<shared>& s) {
    std::uint32_t part = 0;
    bool any = false;
    {
        const std::lock_guard guard(s->mutex);
        any = !s->failed && s->next_part < s->parts && !s->stop->requested();
        if (any) part = s->next_part++;
    }
    if (any) {
        const auto begin = steady::now();
        read_part(*s, part);
        const std::lock_guard guard(s->mutex);
        s->totals.seconds.push_back(std::chrono::duration<double>(steady::now() - begin).count());
        if (s->watched) ++s->live.partitions_done;
        any = !s->failed && s->next_part < s->parts && !s->stop->requested();
    }
    if (any) return s->arena->enqueue([s] { run_part(s); });
    const std::lock_guard guard(s->mutex);
    --s->running;
    s->changed.notify_all();
}

// Never throws: what goes wrong is the batch's failure.
void batch_read::read_part(shared& s, std::uint32_t part) {
    for (int tries = 1;; ++tries) {
        bool handed_on = false;
        bool exhausted = false;
        error thrown;
        std::optional<std::chrono::microseconds> wait;
        try {
            attempt(s, part, handed_on);
            return;
        } catch (const failure& f) {
            thrown = f.get();
            exhausted = !handed_on;
            const bool again =
                !handed_on && tries < s.source.tuning.partition_attempts && worth_retrying(f.get(), *s.source.flow);
            if (again) wait = backoff(f.get(), tries, s.source.tuning, *s.source.flow);
            if (wait) {
                s.source.flow->log.write(log_level::warn, s.source.flow->plugin + "/" + s.source.flow->table,
                                         "part " + std::to_string(part + 1) + " of " + std::to_string(s.parts) +
                                             " failed and is read again: " + to_line(f.get()));
            }
        } catch (...) {
            thrown = current_error("host.internal");
        }
        if (wait && s.stop->wait_for(*wait)) {
            const std::lock_guard guard(s.mutex);
            ++s.totals.retries;
            continue;
        }
        const std::lock_guard guard(s.mutex);
        s.without_rows[part].reset();
        if (!s.failed) {
            s.failed = std::move(thrown);
            s.exhausted = exhausted;
        }
        s.changed.notify_all();
        return;
    }
}

void batch_read::attempt(shared& s, std::uint32_t part, bool& handed_on) {
    const auto& src = s.source;
    const auto asked = [&] {
        const std::lock_guard guard(s.mutex);
        if (!s.without_rows[part]) s.without_rows[part] = steady::now();
    };
    const auto answered = [&] {
        const std::lock_guard guard(s.mutex);
        s.without_rows[part].reset();
    };
    s.stop->check();
    asked();
    plugin_connector instance(src.plugin, src.connection, src.flow, s.stop, src.pace_share);
    instance.collect_mismatches();
    auto request = src.request;
    std::unique_ptr<plugin_reader> reader;
    switch (src.what) {
        case read_source::kind::table: reader = instance.read_table(request); break;
        case read_source::kind::deletes: reader = instance.read_table_deletes(request); break;
        case read_source::kind::partitions:
            request.descriptor = src.descriptors[part];
            reader = instance.read_partition(request);
    }
    if (src.passing) src.passing->check_schema(*reader->schema());
    for (;;) {
        asked();
        auto batch = reader->next();
        if (auto bad = instance.take_mismatches(); !bad.empty()) {
            std::size_t bytes = 0;
            for (const bad_row& row : bad.rows) bytes += sizeof row + row.row.size() + row.reason.size();
            if (!s.budget->acquire(bytes, *s.stop)) s.stop->check();
            handed_on = true;
            hand_on(s, {part, std::nullopt, std::move(bad), budget_share(*s.budget, bytes)});
        }
        if (!batch) break;
        const std::int64_t came = batch->rows();
        if (came > 0) answered();  // batches without rows are no answer: they may come for ever
        const std::size_t bytes = memory_size(*batch->schema->get(), *batch->array.get());
        gate_result passed;
        if (src.passing) {
            passed = src.passing->pass(std::move(*batch));
        } else {
            passed.rows = std::move(*batch);
        }
        {
            const std::lock_guard guard(s.mutex);
            s.totals.rows += came;
            s.totals.above += passed.above;
            s.totals.again += passed.again;
            if (passed.highest && (!s.totals.highest || *passed.highest > *s.totals.highest))
                s.totals.highest = passed.highest;
            if (s.watched) s.live.rows += came;
        }
        if (came > 0) handed_on = true;  // it is counted, so it must not come twice
        if (passed.rows.rows() == 0) continue;
        if (!s.budget->acquire(bytes, *s.stop)) s.stop->check();
        hand_on(s, {part, std::move(passed.rows), {}, budget_share(*s.budget, bytes)});
    }
    if (src.what != read_source::kind::partitions) {
        auto end = reader->end_offset();
        const std::lock_guard guard(s.mutex);
        s.totals.end = std::move(end);
    }
    answered();
    hand_on(s, {part, std::nullopt, {}, {}});
}

void batch_read::hand_on(shared& s, read_item item) {
    const std::lock_guard guard(s.mutex);
    s.ready.push_back(std::move(item));
    s.changed.notify_all();
}

std::optional<read_item> batch_read::next() {
    auto& s = *shared_;
    std::unique_lock lock(s.mutex);
    const auto settled = [&] { return s.failed || !s.ready.empty() || s.running == 0; };
    if (s.source.tuning.stuck_after.count() == 0) {
        s.changed.wait(lock, settled);
    } else {
        while (!s.changed.wait_for(
            lock, std::min<std::chrono::milliseconds>(s.source.tuning.stuck_after, std::chrono::seconds(1)), settled)) {
            watch_for_stuck(lock);
        }
    }
    if (s.failed) {
        // A value, not the exception itself: that one belongs to the thread that threw it.
        auto failed = *s.failed;
        lock.unlock();
        s.stop->cancel();
        finish();
        throw failure(std::move(failed));
    }
    if (!s.ready.empty()) {
        auto item = std::move(s.ready.front());
        s.ready.pop_front();
        return item;
    }
    lock.unlock();
    s.stop->check();  // the tasks ended because they were told to
    return std::nullopt;
}

// A part that gives no row for too long, in one call or in many, while nothing is asked of the source: it is cancelled.
void batch_read::watch_for_stuck(std::unique_lock<std::mutex>&) {
    auto& s = *shared_;
    const auto& flow = *s.source.flow;
    if (flow.counters.in_flight.load() > 0 || !flow.waiting.get().empty()) return;
    const auto now = steady::now();
    if (const auto requests = flow.counters.requests.load(); requests != std::exchange(s.requests_seen, requests)) {
        for (auto& since : s.without_rows) {
            if (since) since = now;
        }
        return;
    }
    for (std::uint32_t part = 0; part < s.parts; ++part) {
        if (!s.without_rows[part] || now - *s.without_rows[part] < s.source.tuning.stuck_after) continue;
        s.failed =
            error{"plugin.timeout",
                  flow.plugin + "/" + flow.table + ": part " + std::to_string(part + 1) + " of " +
                      std::to_string(s.parts) + " has given no row for " +
                      std::to_string(s.source.tuning.stuck_after.count()) + " ms, and waits for no service of the host",
                  "the plugin hangs, or gives empty batches for ever; its vendor has to wait through the host's "
                  "services, heed cancel and end its reads. `plugin_timeout` of [job] says how long it may take",
                  retry_class::permanent};
        return;
    }
}

// Waits for the tasks. One that sits in the plugin's code and heeds no cancellation is left alone after a while, if that may be.
void batch_read::finish() {
    auto& s = *shared_;
    std::unique_lock lock(s.mutex);
    const auto ended = [&] { return s.running == 0; };
    if (s.source.tuning.stuck_after.count() == 0) {
        s.changed.wait(lock, ended);
    } else if (!s.changed.wait_for(lock, std::min<std::chrono::milliseconds>(s.source.tuning.stuck_after, last_grace),
                                   ended)) {
        abandoned_ = true;
    }
    s.watched = false;
    s.ready.clear();  // gives their bytes back
}

const read_totals& batch_read::totals() const { return shared_->totals; }

bool batch_read::exhausted() const {
    const std::lock_guard guard(shared_->mutex);
    return shared_->exhausted;
}

}  // namespace lakeflow::host
