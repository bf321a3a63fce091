// host/stream/flow_trigger.cpp: what one trigger of a flow does: its bound, its batches, its snapshot. See flow.h.
#include <algorithm>
#include <set>
#include <utility>

#include "host/base/error.h"
#include "host/base/json.h"
#include "host/stream/flow.h"
#include "host/stream/landing_session.h"
#include "host/stream/retry.h"

namespace lakeflow::host {
namespace {

// Contract 11: a planner may decline; a refused credential, a cancellation or a breach of contract is not declining.
bool may_fall_back(const error& e) {
    if (e.retry == retry_class::auth || e.retry == retry_class::cancelled) return false;
    for (const std::string_view breach : {"plugin.", "offset.", "partition.", "records.", "secret.", "host."}) {
        if (e.code.starts_with(breach)) return false;
    }
    return true;
}

// Tells a snapshot's next piece from the whole table over again, which comes if the source changed between two calls: that begins
// with the rows with which the first one began. A sample of its first keys is kept.
class first_rows {
  public:
    explicit first_rows(std::vector<std::string> keys) : keys_(std::move(keys)) {}

    // The first rows of a read; true if they are those that the first read began with.
    bool met_again(const record_batch& rows) {
        std::set<std::string> now;
        for (std::int64_t row = 0; row < std::min<std::int64_t>(rows.rows(), most); ++row)
            now.insert(key_of(rows, row));
        if (first_.empty()) {
            first_ = std::move(now);
            return false;
        }
        const auto known = std::count_if(now.begin(), now.end(), [&](const auto& key) { return first_.contains(key); });
        return 2 * static_cast<std::size_t>(known) >= std::min(first_.size(), now.size());
    }

  private:
    static constexpr std::int64_t most = 64;

    std::string key_of(const record_batch& rows, std::int64_t row) const {
        std::string out;
        for (std::int64_t c = 0; c < rows.schema->columns(); ++c) {
            const auto& column = rows.schema->column(c);
            if (!keys_.empty() && std::find(keys_.begin(), keys_.end(), name_of(column)) == keys_.end()) continue;
            const auto& array = *rows.array.get();
            out += value_text(column, *array.children[c], array.offset + row) + "\n";
        }
        return out;
    }

    std::vector<std::string> keys_;
    std::set<std::string> first_;
};

}  // namespace

law_config flow::laws_of(bool deletes) const {
    law_config out;
    out.plugin = plan_.plugin->id;
    out.table = table_.source + (deletes ? " (deletes)" : "");
    out.snapshot = settings_.snapshot && !deletes;
    out.cursor = settings_.metadata.cursor;
    out.no_progress_limit = plan_.tuning.no_progress_limit;
    return out;
}

// Contract 6: the job's limits, else the plugin's own default, else all available; once is all available whatever they say.
void flow::choose_limits() {
    limits_ = "{}";
    if (plan_.trigger == trigger_kind::once) return;
    if (!table_.limits.empty()) {
        limits_ = canonical_json(table_.limits, "config.limits", "limits of table '" + table_.flow + "'");
    } else if (auto own = planner_->default_read_limit(table_.source, table_.options)) {
        limits_ = std::move(*own);
    }
}

// Contract 4: recorded once, before the first batch of the run.
void flow::take_bound() {
    const auto ask = [&](auto call) { return with_retries(*context_, plan_.tuning, *job_.reading, call); };
    const auto prepared =
        ask([&] { return planner_->prepare_for_trigger_available_now(table_.source, table_.options); });
    if (prepared) return laws_->set_bound(*prepared);
    if (settings_.metadata.windowed) return laws_->set_bound_time(init_time_us_, true);
    if (settings_.path != read_path::partitions) return laws_->set_bound_time(init_time_us_, false);
    read_request request;
    request.table = table_.source;
    request.options = table_.options;
    request.start = stand_.end;
    laws_->set_bound(ask_latest(request).offset);
}

// Contract 9: a cheap question, whose cost does not grow with the table.
latest flow::ask_latest(const read_request& request) {
    constexpr std::int64_t cheap = 8;
    const auto before = requests_made();
    auto out = with_retries(*context_, plan_.tuning, *job_.reading, [&] { return planner_->latest_offset(request); });
    const auto requests = requests_made() - before;
    if (requests > cheap && !std::exchange(cost_noted_, true)) {
        note(log_level::warn, "latest_offset made " + std::to_string(requests) +
                                  " requests: it has to be a cheap question whose cost does not grow with the table");
    }
    return out;
}

bool flow::incremental() {
    const bool once = plan_.trigger == trigger_kind::once;
    laws_.emplace(laws_of(false), stand_.end);
    choose_limits();
    if (!once) take_bound();
    bool reached = laws_->reached();
    while (!reached && !job_.stopping()) {
        bool last = once;
        reached = !next_batch(last) || last || laws_->reached();
    }
    if (reached && settings_.deletes && !deletes_done_ && !job_.stopping()) deletes_batch();
    if (dirty_) save();
    return reached && (!settings_.deletes || deletes_done_);
}

// One micro-batch; false if there is nothing more. Sets `last` if nothing is to be asked after it.
bool flow::next_batch(bool& last) {
    const bool once = plan_.trigger == trigger_kind::once;
    batch_plan batch;
    batch.start = stand_.end;
    batch.bound = laws_->bound();
    batch.limits = limits_;
    batch.context = context_;
    batch.planner = planner_.get();
    if (settings_.path == read_path::partitions) {
        read_request request;
        request.table = table_.source;
        request.options = table_.options;
        request.start = batch.start;
        request.bound = batch.bound;
        request.limits = limits_;
        const auto answer = ask_latest(request);
        if (!limits_noted_) {
            limits_noted_ = true;
            for (const auto& kind : flow_laws::not_honoured(limits_, answer.honoured)) {
                note(log_level::warn, "the plugin does not honour the limit " + kind);
            }
        }
        const auto end = laws_->planned(answer.offset);
        if (end.next == verdict::ends) return false;
        batch.end = end.end;
        if (!spools()) plan_batch(batch);
    }
    const auto out = read_and_land(batch, [&](const batch_plan& b, batch_sink& to) {
        auto o = read_rows(b, to);
        if (o.next == verdict::ends) return o;
        // Deletes follow the last rows of the run, so that no older row comes after its own tombstone.
        if (settings_.deletes && (once || o.last || laws_->reaches(o.end))) read_deletes(b, to, o);
        return o;
    });
    if (out.next == verdict::ends) return false;
    last = last || out.last;
    move_on(out, *planner_);
    return true;
}

// Where the rows turned out to have ended already, the deletes are a batch of their own.
void flow::deletes_batch() {
    batch_plan batch;
    batch.start = stand_.end;
    batch.context = context_;
    batch.planner = planner_.get();
    const auto out = read_and_land(batch, [&](const batch_plan& b, batch_sink& to) {
        batch_outcome o;
        o.end = stand_.end;
        read_deletes(b, to, o);
        return o;
    });
    move_on(out, *planner_);
}

bool flow::snapshot() {
    laws_.emplace(laws_of(false), stand_.end);
    read_request request;
    request.table = table_.source;
    request.options = table_.options;
    request.scan = settings_.scan;
    std::optional<std::string> validator;
    if (settings_.validator) {
        auto asked = request;
        asked.start = stand_.end;
        const auto answer = ask_latest(asked);
        const auto end = laws_->planned(answer.offset);
        if (end.next == verdict::ends) return true;
        validator = end.end;
    }
    batch_plan batch;
    batch.start = stand_.end;
    batch.limits = limits_;
    batch.context = context_;
    const auto out = read_and_land(batch, [&](const batch_plan& b, batch_sink& to) {
        std::optional<std::vector<std::string>> parts;
        if (settings_.path == read_path::snapshot_batch) {
            try {
                parts = with_retries(*context_, plan_.tuning, *job_.reading, [&] {
                    return planner_->get_partitions(request, static_cast<std::uint32_t>(plan_.parallelism));
                });
            } catch (const failure& f) {
                if (!may_fall_back(f.get())) throw;
                result_.fell_back = true;
                note(log_level::info, "the planner declined, the simple read serves: " + to_line(f.get()));
            }
        }
        auto o = parts ? snapshot_parts(b, to, *parts) : snapshot_pieces(b, to, result_.fell_back ? "{}" : stand_.end);
        if (validator) o.end = *validator;
        return o;
    });
    if (out.next == verdict::ends) return true;
    move_on(out, *planner_);
    if (dirty_) save();
    return true;
}

flow::batch_outcome flow::snapshot_parts(const batch_plan& batch, batch_sink& to,
                                         const std::vector<std::string>& descriptors) {
    batch_outcome out;
    out.end = stand_.end;
    out.deletes_end = stand_.deletes_end;
    out.parts = descriptors.size();
    to.ensure_open();  // a table without rows is a snapshot too
    auto source = source_of(read_source::kind::partitions, batch, make_gate(batch, std::nullopt));
    source.request.start.reset();
    source.descriptors = descriptors;
    out.rows = out.came = drain(std::move(source), to, 0).rows;
    return out;
}

// The whole table, or piece after piece until the offset stands still; all of it in one landing.
flow::batch_outcome flow::snapshot_pieces(batch_plan batch, batch_sink& to, std::string start) {
    flow_laws laws(laws_of(false), std::move(start));
    batch_outcome out;
    out.deletes_end = stand_.deletes_end;
    first_rows sample(settings_.spec.primary_keys);
    for (bool complete = false; !complete;) {
        batch.start = laws.position();
        bool any = false;
        bool whole = false;
        const auto totals = drain(source_of(read_source::kind::table, batch, make_gate(batch, std::nullopt)), to,
                                  static_cast<std::uint32_t>(out.parts), [&](const record_batch& rows) {
                                      if (std::exchange(any, true) || !sample.met_again(rows)) return;
                                      whole = true;
                                      to.start_over();
                                  });
        const auto end = laws.read(totals.end, totals.rows);
        if (end.next == verdict::ends) {
            out.next = verdict::ends;
            return out;
        }
        if (whole) {
            note(log_level::info,
                 "the snapshot changed while it was read, and came whole a second time; that one counts");
            out.rows = out.came = 0;
        }
        to.ensure_open();
        ++out.parts;
        out.rows += totals.rows;
        out.came += totals.rows;
        laws.moved(end.end, totals.rows);
        // What comes whole needs no question whether there is a further piece.
        complete = end.complete || whole || settings_.metadata.whole_snapshot;
    }
    out.end = laws.position();
    return out;
}

}  // namespace lakeflow::host
