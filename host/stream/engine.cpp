// host/stream/engine.cpp: a run from lock to report. See engine.h.
#include "host/stream/engine.h"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "host/base/text.h"
#include "host/stream/flow.h"
#include "host/stream/shared.h"

namespace lakeflow::host {
namespace {

using steady = std::chrono::steady_clock;

// A mistake that a person makes in the job and that shows without a request ends the run before it begins.
bool is_mistake_of_the_job(const error& e, const flow& f) {
    if (!f.asked_nothing() || e.code.starts_with("destination.") || e.code.starts_with("state.")) return false;
    return e.retry == retry_class::permanent || e.retry == retry_class::invalid || e.retry == retry_class::not_found ||
           e.retry == retry_class::unsupported;
}

double seconds_since(steady::time_point begin) { return std::chrono::duration<double>(steady::now() - begin).count(); }

// The kernel's own mark of this program. What getrusage gives is also the mark of the process that started it, before it became us.
std::int64_t peak_rss_bytes() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (!line.starts_with("VmHWM:")) continue;
        const auto digits = line.find_first_of("0123456789");
        const auto end = line.find_first_not_of("0123456789", digits);
        if (const auto kib = digits == std::string::npos ? std::nullopt : parse_int(line.substr(digits, end - digits)))
            return *kib * 1024;
    }
    return 0;
}

void measure(run_result& out, const run_plan& plan, steady::time_point begun) {
    out.seconds = seconds_since(begun);
    rusage used{};
    if (::getrusage(RUSAGE_SELF, &used) == 0) {
        const auto seconds = [](const timeval& t) {
            return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
        };
        out.cpu_seconds = seconds(used.ru_utime) + seconds(used.ru_stime);
        out.peak_rss_bytes = static_cast<std::int64_t>(used.ru_maxrss) * 1024;
    }
    if (const auto own = peak_rss_bytes(); own > 0) out.peak_rss_bytes = own;
    out.requests = plan.counters->requests.load();
    out.http_retries = plan.counters->retries.load();
    out.bytes = plan.counters->bytes.load();
    out.throttled_seconds = static_cast<double>(plan.counters->throttled_us.load()) / 1e6;
}

void settle_status(run_result& out) {
    const auto reached = std::count_if(out.tables.begin(), out.tables.end(),
                                       [](const auto& t) { return t.status == table_status::reached_bound; });
    const bool all = reached == static_cast<std::ptrdiff_t>(out.tables.size());
    out.status = out.error ? "failed" : all ? "succeeded" : reached > 0 ? "partial" : "failed";
    out.exit_code = out.error ? 2 : all ? 0 : reached > 0 ? 3 : 1;
}

// Threads of the flows, the progress shown while they run, and the grace after a stop.
class supervision {
  public:
    supervision(job_shared& job, std::vector<std::unique_ptr<flow>>& flows)
        : job_(job), flows_(flows), begun_(steady::now()) {}

    void run() {
        const auto woken = job_.plan.stop->soft->on_cancel([this] { wake(); });
        const auto ended = job_.plan.stop->hard->on_cancel([this] { wake(); });
        {
            std::vector<std::jthread> threads;
            going_ = static_cast<std::size_t>(
                std::count_if(flows_.begin(), flows_.end(), [](const auto& f) { return !f->failed(); }));
            for (std::size_t i = 0; i < flows_.size(); ++i) {
                if (!flows_[i]->failed()) job_.slots.expect(i);
            }
            for (auto& f : flows_) {
                if (f->failed()) continue;
                threads.emplace_back([this, &f] {
                    f->run();
                    const std::lock_guard guard(mutex_);
                    --going_;
                    changed_.notify_all();
                });
            }
            watch();
        }
        job_.plan.stop->soft->remove(woken);
        job_.plan.stop->hard->remove(ended);
    }

  private:
    void wake() {
        const std::lock_guard guard(mutex_);
        changed_.notify_all();
    }

    void watch() {
        const auto& plan = job_.plan;
        std::optional<steady::time_point> stopped;
        auto next_show = steady::now() + plan.progress_interval;
        std::unique_lock lock(mutex_);
        while (going_ > 0) {
            auto until = plan.on_progress ? next_show : steady::now() + std::chrono::hours(1);
            if (job_.stopping() && !stopped) stopped = steady::now();
            const bool counting = stopped && !job_.reading->requested();
            if (counting) until = std::min(until, *stopped + plan.tuning.stop_grace);
            changed_.wait_until(lock, until);
            if (counting && steady::now() >= *stopped + plan.tuning.stop_grace) {
                lock.unlock();
                job_.reading->cancel();
                lock.lock();
            }
            if (plan.on_progress && steady::now() >= next_show) {
                next_show = steady::now() + plan.progress_interval;
                lock.unlock();
                show();
                lock.lock();
            }
        }
        lock.unlock();
        if (plan.on_progress) show();
    }

    void show() {
        run_progress out;
        out.seconds = seconds_since(begun_);
        out.requests_in_flight = job_.plan.counters->in_flight.load();
        for (const auto& f : flows_) out.tables.push_back(f->progress());
        job_.plan.on_progress(out);
    }

    job_shared& job_;
    std::vector<std::unique_ptr<flow>>& flows_;
    const steady::time_point begun_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t going_ = 0;
};

// True if the run may begin; a mistake of the job is in `out` otherwise. Failures of single tables are in their flows.
bool prepare_all(job_shared& job, std::vector<std::unique_ptr<flow>>& flows, run_result& out) {
    const auto id = job.plan.stop->soft->on_cancel([&] { job.reading->cancel(); });
    for (auto& f : flows) {
        try {
            f->prepare();
        } catch (...) {
            error e = current_error("host.internal");
            e.message = job.plan.redactor->redact(e.message);
            e.hint = job.plan.redactor->redact(e.hint);
            const bool mistake = is_mistake_of_the_job(e, *f);
            f->fail(e);
            if (mistake && !out.error) out.error = std::move(e);
        }
        if (out.error) break;
    }
    job.plan.stop->soft->remove(id);
    return !out.error;
}

void run_flows(const run_plan& plan, run_result& out) {
    job_shared job(plan);
    const auto io = plan.io ? plan.io : real_effects();
    job.io = io;
    job.state = std::make_unique<job_state>(plan.state_directory, plan.job, plan.run_id, plan.take_over, io);
    if (!job.state->taken_from().empty()) {
        plan.log.write(plan.take_over ? log_level::warn : log_level::info, "state",
                       "the job was taken over from " + job.state->taken_from());
    }
    // The arena is the run's alone: no landing outlives it.
    plan.destination->use({[arena = std::weak_ptr(job.arena)](std::function<void()> task) {
                               if (const auto here = arena.lock()) here->enqueue(std::move(task));
                           },
                           job.arena->width()});
    std::vector<std::unique_ptr<flow>> flows;
    for (std::size_t i = 0; i < plan.tables.size(); ++i)
        flows.push_back(std::make_unique<flow>(job, plan.tables[i], i));
    if (!prepare_all(job, flows, out)) return;
    supervision(job, flows).run();
    for (auto& f : flows) out.tables.push_back(f->take_result());
    if (job.abandoned) {
        // A worker that never came back still stands on these.
        static auto& kept = *std::make_unique<std::vector<std::shared_ptr<void>>>().release();
        job.arena->leave();
        kept.emplace_back(job.arena);
        kept.emplace_back(job.budget);
    }
}

}  // namespace

std::string_view to_string(trigger_kind kind) noexcept {
    switch (kind) {
        case trigger_kind::once: return "once";
        case trigger_kind::available_now: return "available_now";
        case trigger_kind::continuous: return "continuous";
    }
    return "unknown";
}

std::string_view to_string(table_status status) noexcept {
    switch (status) {
        case table_status::reached_bound: return "reached_bound";
        case table_status::failed: return "failed";
        case table_status::skipped: return "skipped";
        case table_status::stopped: return "stopped";
    }
    return "unknown";
}

run_result run_job(const run_plan& plan) {
    const auto begun = steady::now();
    run_result out;
    out.job = plan.job;
    out.run_id = plan.run_id;
    out.init_time_us = plan.init_time_us;
    try {
        run_flows(plan, out);
    } catch (...) {
        out.error = current_error("host.internal");
        out.error->message = plan.redactor->redact(out.error->message);
        out.error->hint = plan.redactor->redact(out.error->hint);
    }
    if (out.error) out.tables.clear();
    settle_status(out);
    measure(out, plan, begun);
    return out;
}

resolved_flow resolve_flow(const run_plan& plan, const table_plan& table) {
    auto context = std::make_shared<flow_context>();
    context->plugin = plan.plugin->id;
    context->flow = table.flow;
    context->table = table.source;
    context->init_time_us = plan.init_time_us;
    context->run_id = plan.run_id;
    context->http = plan.http;
    context->job_counters = plan.counters;
    context->redactor = plan.redactor;
    context->log = plan.log;
    context->time = plan.time;
    plugin_connector connector(plan.plugin, plan.connection, std::move(context), plan.stop->hard);
    auto settings = settle(plan, table, connector);
    return {std::move(settings.spec), settings.path != read_path::simple,
            std::string(to_string(settings.metadata.ingestion))};
}

}  // namespace lakeflow::host
