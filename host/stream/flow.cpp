// host/stream/flow.cpp: the life of a flow: prepared, recovered, run, reported. See flow.h.
#include "host/stream/flow.h"

#include <algorithm>

#include "host/base/error.h"
#include "host/stream/landing_session.h"

namespace lakeflow::host {

void flow_slots::expect(std::size_t order) {
    const std::lock_guard guard(mutex_);
    waiting_.insert(order);
}

bool flow_slots::acquire(std::size_t order, cancel_token& stop) {
    bool cancelled = false;
    const auto id = stop.on_cancel([&] {
        const std::lock_guard guard(mutex_);
        cancelled = true;
        changed_.notify_all();
    });
    std::unique_lock lock(mutex_);
    waiting_.insert(order);
    changed_.wait(lock, [&] { return cancelled || (free_ > 0 && *waiting_.begin() == order); });
    waiting_.erase(order);
    const bool taken = !cancelled;
    if (taken) --free_;
    changed_.notify_all();
    lock.unlock();
    stop.remove(id);
    return taken;
}

void flow_slots::release() {
    const std::lock_guard guard(mutex_);
    ++free_;
    changed_.notify_all();
}

flow::flow(job_shared& job, const table_plan& table, std::size_t order)
    : job_(job), plan_(job.plan), table_(table), order_(order) {
    result_.name = table.flow;
    result_.plugin = plan_.plugin->id;
    result_.source = table.source;
    result_.destination = table.destination;
}

flow::~flow() = default;

void flow::note(log_level level, const std::string& text) const {
    plan_.log.write(level, what() + " (" + table_.flow + ")", text);
}

std::shared_ptr<flow_context> flow::make_context(std::int64_t init_time_us) {
    auto out = std::make_shared<flow_context>();
    out->plugin = plan_.plugin->id;
    out->flow = table_.flow;
    out->table = table_.source;
    out->key_columns = settings_.spec.primary_keys;
    if (out->key_columns.empty() && table_.primary_keys) out->key_columns = *table_.primary_keys;
    out->on_mismatch = table_.on_mismatch;
    out->rescue = table_.schema_changes == schema_policy::rescue;
    out->init_time_us = init_time_us;
    out->run_id = plan_.run_id;
    out->http = plan_.http;
    out->job_counters = plan_.counters;
    out->redactor = plan_.redactor;
    out->log = plan_.log;
    out->time = plan_.time;
    const std::lock_guard guard(mutex_);
    contexts_.push_back(out);
    return out;
}

void flow::prepare() {
    init_time_us_ = plan_.init_time_us;
    planner_ =
        std::make_unique<plugin_connector>(plan_.plugin, plan_.connection, make_context(init_time_us_), job_.reading);
    settings_ = settle(plan_, table_, *planner_);
    result_.mode = to_string(settings_.spec.mode);
    mismatch_log::about about{plan_.job,          table_.flow,        table_.destination,    plan_.run_id,
                              plan_.init_time_us, table_.on_mismatch, table_.max_mismatches, plan_.redactor};
    settings_.spec.mismatches = std::make_shared<mismatch_log>(std::move(about));
    target_ = plan_.destination->open(settings_.spec);
    context_ = make_context(init_time_us_);
}

std::int64_t flow::requests_made() const {
    const std::lock_guard guard(mutex_);
    std::int64_t out = 0;
    for (const auto& c : contexts_) out += c->counters.requests.load();
    return out;
}

void flow::fail(const error& e) {
    stop_planner();
    if (e.retry == retry_class::cancelled && job_.stopping()) return;  // run() finds that it is stopped
    note(log_level::error, to_line(e));
    result_.status = table_status::failed;
    result_.error = e;
    finish_result();
    done_ = true;
}

void flow::run() noexcept {
    try {
        begun_ = std::chrono::steady_clock::now();
        if (plan_.trigger == trigger_kind::continuous) {
            run_continuously();
        } else if (job_.slots.acquire(order_, *plan_.stop->soft)) {
            active_ = true;
            try {
                run_once_through();
            } catch (...) {
                fail_current();
            }
            job_.slots.release();
        } else {
            result_.status = table_status::stopped;
        }
    } catch (...) {
        fail_current();
    }
    stop_planner();
    finish_result();
    active_ = false;
    done_ = true;
}

void flow::run_once_through() {
    recover();
    if (stand_.replay) replay(*stand_.replay);
    if (spools()) recover_spooled();
    const bool reached = !job_.stopping() && run_trigger(plan_.init_time_us);
    result_.status = reached ? table_status::reached_bound : table_status::stopped;
}

// Each interval is a trigger of its own. Ticks do not drift: a trigger that takes longer than the interval skips some.
void flow::run_continuously() {
    using steady = std::chrono::steady_clock;
    auto tick = steady::now();
    int failures = 0;
    bool reached = false;
    while (job_.slots.acquire(order_, *plan_.stop->soft)) {
        active_ = true;
        bool again = true;
        std::chrono::microseconds wait{0};
        try {
            recover();
            if (stand_.replay) replay(*stand_.replay);
            if (spools()) recover_spooled();
            reached = !job_.stopping() && run_trigger(plan_.time->now_us());
            failures = 0;
            result_.error.reset();
        } catch (...) {
            fail_current();
            reached = false;
            ++failures;
            again = result_.error && (result_.error->retry == retry_class::transient ||
                                      result_.error->retry == retry_class::rate_limited);
            if (again) {
                wait = backoff(*result_.error, failures, plan_.tuning, *context_)
                           .value_or(std::chrono::milliseconds(plan_.tuning.max_backoff));
                note(log_level::warn, "this interval failed, the next one tries again: " + to_line(*result_.error));
            }
        }
        stop_planner();
        active_ = false;
        job_.slots.release();
        if (!again) return;
        while (tick <= steady::now()) tick += plan_.interval;
        wait = std::max(wait, std::chrono::duration_cast<std::chrono::microseconds>(tick - steady::now()));
        if (!plan_.stop->soft->wait_for(wait)) break;
    }
    if (!result_.error) result_.status = reached ? table_status::reached_bound : table_status::stopped;
}

// A fresh planning instance for every trigger but the first, which has the one that prepared the flow.
bool flow::run_trigger(std::int64_t init_time_us) {
    if (!planner_ || init_time_us != init_time_us_) {
        stop_planner();
        init_time_us_ = init_time_us;
        context_ = make_context(init_time_us);
        planner_ = std::make_unique<plugin_connector>(plan_.plugin, plan_.connection, context_, job_.reading);
    }
    deletes_done_ = false;
    lag_asked_ = std::chrono::steady_clock::now();
    const bool reached = settings_.snapshot ? snapshot() : incremental();
    report_lag();
    return reached;
}

void flow::recover() {
    std::optional<position> there;
    const bool held = target_->holds_position();
    if (held) there = target_->committed();
    auto loaded = job_.state->load(table_.flow);
    if (loaded && !loaded->warning.empty()) note(log_level::warn, loaded->warning);
    stand_ = weigh(there, loaded ? std::optional(loaded->record) : std::nullopt, held);
    if (!stand_.note.empty()) note(log_level::info, stand_.note);
    // A snapshot's offset is no range that could be read again.
    if (settings_.snapshot || spools()) stand_.replay.reset();
    planned_ = stand_.replay;
    if (result_.batches == 0) result_.start = stand_.end;
    if (plan_.take_over) epoch();
    result_.end = stand_.end;
}

void flow::replay(const planned_batch& planned) {
    note(log_level::info, "batch " + std::to_string(planned.batch) +
                              " was planned by a run that ended before its commit; it is read again, to " +
                              planned.end);
    batch_plan batch;
    batch.start = planned.start;
    batch.end = planned.end;
    batch.bound = planned.bound;
    batch.context = make_context(planned.init_time_us);
    plugin_connector instance(plan_.plugin, plan_.connection, batch.context, job_.reading);
    batch.planner = &instance;
    laws_.emplace(laws_of(false), stand_.end);
    const auto out = with_attempts([&](landing_session& landing) {
        auto o = read_rows(batch, landing);
        commit_batch(landing, o);
        return o;
    });
    move_on(out, instance);
    stand_.replay.reset();
}

void flow::fail_current() {
    error e = with_place(current_error("host.internal"), what(), planned_ ? planned_->start : stand_.end,
                         planned_ ? std::optional(planned_->end) : std::nullopt);
    e.message = plan_.redactor->redact(e.message);
    e.hint = plan_.redactor->redact(e.hint);
    const bool cut_off =
        e.retry == retry_class::cancelled || (job_.reading->requested() && e.retry == retry_class::transient);
    if (cut_off && job_.stopping()) {
        result_.status = table_status::stopped;
        return;
    }
    note(log_level::error, to_line(e));
    result_.status = table_status::failed;
    result_.error = std::move(e);
}

void flow::stop_planner() noexcept {
    if (!planner_) return;
    planner_->stop(table_.source);
    planner_.reset();
}

// At most once a batch, and not more often than every few seconds while batches follow each other.
void flow::report_lag() {
    if (!lag_due_ || !planner_) return;
    lag_due_ = false;
    lag_asked_ = std::chrono::steady_clock::now();
    try {
        const auto newest = planner_->report_latest_offset(table_.source, table_.options);
        if (!newest) return;
        const auto& order = laws_->order();
        const auto there = order.value(*newest);
        const auto here = order.value(stand_.end);
        const auto* ahead = there ? std::get_if<std::int64_t>(&*there) : nullptr;
        const auto* reached = here ? std::get_if<std::int64_t>(&*here) : nullptr;
        result_.lag.reset();
        result_.lag_seconds.reset();
        if (ahead && reached && is_instant(order.cursor()->form)) {
            result_.lag_seconds = std::max(0.0, static_cast<double>(*ahead - *reached) / 1e6);
        } else if (ahead && reached) {
            result_.lag = std::max<std::int64_t>(0, *ahead - *reached);
        } else if (order.same(*newest, stand_.end)) {
            result_.lag = 0;
        }
        const std::lock_guard guard(mutex_);
        shown_lag_ = result_.lag_seconds;
    } catch (const failure& f) {
        note(log_level::warn, "the newest offset of the source is not known: " + to_line(f.get()));
    }
}

void flow::finish_result() {
    if (begun_ != std::chrono::steady_clock::time_point{}) {
        result_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
    }
    const std::lock_guard guard(mutex_);
    std::int64_t throttled_us = 0;
    result_.requests = result_.http_retries = result_.bytes = 0;
    for (const auto& c : contexts_) {
        result_.requests += c->counters.requests.load();
        result_.http_retries += c->counters.retries.load();
        result_.bytes += c->counters.bytes.load();
        throttled_us += c->counters.throttled_us.load();
        for (const auto& [name, value] : c->metrics.values()) result_.metrics[name] += value;
    }
    result_.throttled_seconds = static_cast<double>(throttled_us) / 1e6;
    const auto skipped = result_.metrics.find("items_skipped");
    if (skipped != result_.metrics.end()) result_.items_skipped = skipped->second;
    if (part_seconds_.empty()) return;
    std::sort(part_seconds_.begin(), part_seconds_.end());
    result_.partition_median_seconds = part_seconds_[part_seconds_.size() / 2];
    result_.partition_max_seconds = part_seconds_.back();
    if (settings_.path == read_path::simple || widest_ == 0) return;
    double all = 0;
    for (const auto seconds : part_seconds_) all += seconds;
    const auto width = static_cast<std::size_t>(plan_.parallelism);
    if (widest_ > 100 * width) {
        result_.partition_hint = std::to_string(widest_) + " partitions for " + std::to_string(width) +
                                 " workers: fewer, larger ones cost less";
    } else if (widest_ > 1 && result_.partition_max_seconds > all / 2) {
        result_.partition_hint =
            "one partition took over half of the time: partitions of similar length would end sooner";
    } else if (widest_ < width) {
        result_.partition_hint = std::to_string(widest_) + (widest_ == 1 ? " partition for " : " partitions for ") +
                                 std::to_string(width) + " workers: more of them could be read at once";
    }
}

table_progress flow::progress() const {
    table_progress out;
    out.flow = table_.flow;
    out.active = active_;
    out.done = done_;
    out.batches = shown_batches_;
    out.rows = live_.rows;
    out.rows_landed = shown_landed_;
    out.partitions = live_.partitions;
    out.partitions_done = live_.partitions_done;
    const std::lock_guard guard(mutex_);
    out.lag_seconds = shown_lag_;
    for (const auto& c : contexts_) {
        out.bytes += c->counters.bytes.load();
        out.requests += c->counters.requests.load();
        if (auto waiting = c->waiting.get(); !waiting.empty()) out.waiting = std::move(waiting);
        for (const auto& [name, value] : c->metrics.values()) {
            if (name == "pages_done") out.pages_done = value;
            if (name == "pages_total") out.pages_total = value;
            if (name == "rows_total") out.rows_total = value;
        }
    }
    return out;
}

table_result flow::take_result() { return std::move(result_); }

}  // namespace lakeflow::host
