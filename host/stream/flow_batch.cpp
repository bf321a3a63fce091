// host/stream/flow_batch.cpp: one micro-batch of a flow: read, landed, committed, marked. See flow.h.
#include <algorithm>
#include <numeric>

#include "host/base/error.h"
#include "host/stream/flow.h"
#include "host/stream/landing_session.h"
#include "host/stream/retry.h"
#include "host/stream/spool.h"

namespace lakeflow::host {
namespace {

// Tombstones come in a schema of the plugin's own: keys and, if there is one, the sequence column are taken from it.
class delete_gate {
  public:
    delete_gate(std::string what, const flow_settings& settings) : what_(std::move(what)), settings_(settings) {}

    record_batch pass(record_batch in) {
        if (in.schema != seen_) {
            seen_ = in.schema;
            gate_.emplace(what_, in.schema, columns(*in.schema), settings_.spec.primary_keys);
        }
        return gate_->pass(std::move(in)).rows;
    }

  private:
    std::vector<std::int64_t> columns(const arrow_schema& schema) const {
        std::vector<std::int64_t> out;
        for (const auto& key : settings_.spec.primary_keys) out.push_back(column(schema, key));
        const auto& sequence = settings_.spec.sequence_by;
        const bool is_key = std::find(settings_.spec.primary_keys.begin(), settings_.spec.primary_keys.end(),
                                      sequence) != settings_.spec.primary_keys.end();
        if (!sequence.empty() && !is_key) out.push_back(column(schema, sequence));
        return out;
    }
    std::int64_t column(const arrow_schema& schema, const std::string& name) const {
        const auto at = find_column(*schema.get(), name);
        if (at < 0) {
            throw failure("records.schema_drift", what_ + ": the deletes have no column '" + name + "'",
                          "tombstones need the primary keys and the cursor field");
        }
        const auto& there = settings_.source_schema->column(find_column(*settings_.source_schema->get(), name));
        if (type_of(schema.column(at)) != type_of(there)) {
            throw failure("records.schema_drift",
                          what_ + ": column '" + name + "' of the deletes is " + type_name(schema.column(at)) +
                              ", and " + type_name(there) + " in the table",
                          "tombstones have to give keys and cursor in the table's own types");
        }
        return at;
    }

    std::string what_;
    const flow_settings& settings_;
    std::shared_ptr<const arrow_schema> seen_;
    std::optional<gate> gate_;
};

}  // namespace

// A transient failure reads the whole batch again, a bounded number of times; what it has landed so far is dropped.
flow::batch_outcome flow::with_attempts(const std::function<batch_outcome(landing_session&)>& attempt,
                                        std::optional<whole_batch> whole) {
    for (int tries = 1;; ++tries) {
        if (whole) whole->again = whole->again || tries > 1;
        mismatch_log& log = *settings_.spec.mismatches;
        landing_session landing(
            *target_, job_.writing, log, [this, &log] { log.at(epoch(), stand_.committed.batch + 1, stand_.end); },
            whole);
        log.begin_anew();
        exhausted_ = false;
        try {
            return attempt(landing);
        } catch (const failure& f) {
            const bool again = !exhausted_ && tries < plan_.tuning.batch_attempts && !job_.reading->requested() &&
                               worth_retrying(f.get(), *context_);
            const auto wait = again ? backoff(f.get(), tries, plan_.tuning, *context_) : std::nullopt;
            if (!wait) throw failure(landing.give_up(f.get()));
            note(log_level::warn, "the batch failed and is read again: " + to_line(f.get()));
            ++result_.retries;
            if (!job_.reading->wait_for(*wait)) throw;
        }
    }
}

std::optional<cursor_column> flow::cursor_of_rows() const {
    const auto& cursor = settings_.metadata.cursor;
    const auto& field = settings_.metadata.cursor_field;
    if (!cursor || field.empty()) return std::nullopt;
    return cursor_column::make(*settings_.source_schema->get(), field, cursor->form);
}

// Above `limit` rows are left out in append; in a table that reads rows again, those at or below the start are told apart.
std::shared_ptr<const gate> flow::make_gate(const batch_plan& batch, const std::optional<std::string>& limit) const {
    std::vector<std::int64_t> columns = settings_.columns;
    if (batch.to_spool) {
        columns.resize(static_cast<std::size_t>(settings_.source_schema->columns()));
        std::iota(columns.begin(), columns.end(), std::int64_t{0});
    }
    auto out = std::make_shared<gate>(what(), settings_.source_schema, columns, settings_.spec.primary_keys);
    out->filter(settings_.filter);
    const bool append = settings_.spec.mode == land_mode::append && !batch.to_spool;
    if (settings_.snapshot || (!append && !settings_.metadata.rereads)) return out;
    if (const auto cursor = cursor_of_rows()) {
        const auto& order = laws_->order();
        out->watch(*cursor, append && limit ? order.value(*limit) : std::nullopt,
                   settings_.metadata.rereads ? order.value(batch.start) : std::nullopt);
    }
    return out;
}

read_source flow::source_of(read_source::kind kind, const batch_plan& batch,
                            std::shared_ptr<const gate> passing) const {
    read_source out;
    out.what = kind;
    out.plugin = plan_.plugin;
    out.connection = plan_.connection;
    out.flow = batch.context;
    out.request.table = table_.source;
    out.request.options = table_.options;
    out.request.start = batch.start;
    out.request.end = batch.end;
    out.request.bound = batch.bound;
    out.request.limits = batch.limits;
    if (kind != read_source::kind::deletes) out.request.scan = settings_.scan;
    out.passing = std::move(passing);
    out.tuning = plan_.tuning;
    return out;
}

read_totals flow::drain(read_source source, batch_sink& to, std::uint32_t first_part, const watcher& seen) {
    const bool deletes = source.what == read_source::kind::deletes;
    delete_gate tombstones(what() + " (deletes)", settings_);
    if (deletes) settings_.spec.mismatches->begin_again();
    batch_read read(std::move(source), job_.arena, job_.budget, job_.reading, live_);
    try {
        while (auto item = read.next()) {
            if (!item->bad.empty()) {
                auto& bad = item->bad;
                settings_.spec.mismatches->count({static_cast<std::int64_t>(bad.rows.size()), 0, bad.nulled},
                                                 bad.rows.empty() ? std::string() : bad.rows.back().reason);
                if (!bad.rows.empty()) to.add_bad(std::move(bad.rows));
            } else if (!item->rows) {
                if (!deletes) to.part_done(first_part + item->partition);
            } else if (deletes) {
                to.add_deletes(tombstones.pass(std::move(*item->rows)));
            } else {
                if (seen) seen(*item->rows);
                to.add(first_part + item->partition, std::move(*item->rows));
            }
        }
    } catch (...) {
        exhausted_ = read.exhausted();
        if (read.abandoned()) job_.abandoned = true;
        throw;
    }
    const auto& totals = read.totals();
    result_.retries += totals.retries;
    part_seconds_.insert(part_seconds_.end(), totals.seconds.begin(), totals.seconds.end());
    return totals;
}

// Rows of (start, end], or of read_table from the start; they are in the landing when this returns.
flow::batch_outcome flow::read_rows(const batch_plan& batch, batch_sink& to) {
    batch_outcome out;
    out.end = batch.start;
    out.deletes_end = stand_.deletes_end;
    read_totals totals;
    if (settings_.path == read_path::partitions) {
        auto source = source_of(read_source::kind::partitions, batch, make_gate(batch, batch.end));
        source.descriptors = with_retries(*batch.context, plan_.tuning, *job_.reading, [&] {
            return batch.planner->get_partitions(source.request, static_cast<std::uint32_t>(plan_.parallelism));
        });
        out.parts = source.descriptors.size();
        totals = drain(std::move(source), to, 0);
        out.end = *batch.end;
    } else {
        out.parts = 1;
        // The end is known only when the read is over; what lies above the bound lies above the end too.
        const auto early = batch.end ? batch.end : laws_->bound_is_law() ? batch.bound : std::nullopt;
        totals = drain(source_of(read_source::kind::table, batch, make_gate(batch, early)), to, 0);
        if (batch.end) {
            out.end = *batch.end;
        } else {
            const auto end = laws_->read(totals.end, totals.rows, totals.again);
            if (end.next == verdict::ends) {
                out.next = verdict::ends;
                return out;
            }
            out.end = end.end;
            out.last = end.complete;
            const auto reached = laws_->order().value(end.end);
            const bool append = settings_.spec.mode == land_mode::append && !batch.to_spool;
            if (append && totals.highest && reached && *totals.highest > *reached) {
                // Rows above the end come again (contract 8), and some are in the landing: read just (start, end].
                to.start_over();
                auto exact = batch;
                exact.end = end.end;
                totals = drain(source_of(read_source::kind::table, exact, make_gate(exact, exact.end)), to, 0);
            }
        }
    }
    out.again = totals.again;
    out.rows = totals.rows - totals.again;
    out.came = totals.rows;
    out.above = totals.above;
    return out;
}

// Call after call, until the offset of the deletes stands still. Their own laws hold.
void flow::read_deletes(const batch_plan& batch, batch_sink& to, batch_outcome& out) {
    flow_laws laws(laws_of(true), stand_.deletes_end);
    laws.set_bound_time(init_time_us_, false);
    auto call = batch;
    call.end.reset();
    call.bound.reset();
    do {
        call.start = laws.position();
        const auto totals = drain(source_of(read_source::kind::deletes, call, nullptr), to, 0);
        const auto end = laws.read(totals.end, totals.rows);
        if (end.next == verdict::ends) break;
        laws.moved(end.end, totals.rows);
        out.tombstones += totals.rows;
    } while (!laws.reached() && plan_.trigger != trigger_kind::once);
    out.deletes_end = laws.position();
    out.deletes_read = true;
}

// Before a byte is read: what will be read, so that a run after a crash reads just that.
void flow::plan_batch(const batch_plan& batch) {
    planned_ = planned_batch{
        epoch_, stand_.committed.batch + 1, batch.start, *batch.end, stand_.deletes_end, init_time_us_, batch.bound};
    save();
}

void flow::commit_batch(landing_session& landing, const batch_outcome& out) {
    if (!landing.open()) return count_mismatches();  // nothing came: the position moves in the state alone
    job_.state->check_held();
    const position next{epoch(), stand_.committed.batch + 1, out.end, out.deletes_end};
    const auto landed = landing.commit(next);
    // Not committed: nothing had changed, or an attempt before this one had done it and its answer was lost.
    if (landed.committed || (target_->holds_position() && target_->committed() == next)) {
        stand_.committed = next;
        ++result_.batches;
        ++shown_batches_;
    }
    count_mismatches();
    result_.rows_read += out.came - out.above - landed.rows_again;
    result_.rows_landed += landed.rows_landed;
    result_.rows_again += landed.rows_again;
    result_.rows_deleted += landed.rows_deleted;
    result_.files_written += landed.files_written;
    result_.files_rewritten += landed.files_rewritten;
    result_.files_compacted += landed.files_compacted;
    result_.files_vacuumed += landed.files_vacuumed;
    result_.log_files_removed += landed.log_files_removed;
    if (landed.files_compacted + landed.files_vacuumed > 0) {
        note(log_level::info, std::to_string(landed.files_compacted) + " small files put together, " +
                                  std::to_string(landed.files_vacuumed) + " old ones deleted");
    }
    shown_landed_ += landed.rows_landed;
    lag_due_ = true;
    note(log_level::debug, "batch " + std::to_string(next.batch) + " to " + out.end + ": " + std::to_string(out.came) +
                               " rows, " + std::to_string(landed.rows_landed) + " landed" +
                               (landed.version.empty() ? "" : ", version " + landed.version));
    landed_ = true;
}

void flow::count_mismatches() {
    const auto met = settings_.spec.mismatches->committed();
    result_.rows_read += met.read;
    result_.rows_quarantined += met.read + met.refused;
    result_.values_nulled += met.nulled;
}

// After the destination's transaction: the commit mark, then the plugin's commit, then the laws.
void flow::move_on(const batch_outcome& out, plugin_connector& planner) {
    const bool landed = std::exchange(landed_, false);
    const bool moved = out.end != stand_.end;
    result_.rows_above_bound += out.above;
    result_.partitions += static_cast<std::int64_t>(out.parts);
    widest_ = std::max(widest_, out.parts);
    stand_.end = out.end;
    stand_.deletes_end = out.deletes_end;
    result_.end = stand_.end;
    planned_.reset();
    dirty_ = true;
    // Progress without rows is written with the next plan, or at the end: empty windows do not cost an fsync each.
    if (landed) {
        save();
        if (moved) planner.commit(table_.source, table_.options, stand_.end);
    }
    if (spools()) remove_spooled(*job_.io, place().folder);
    if (out.deletes_read) deletes_done_ = true;
    laws_->moved(out.end, out.rows);
    if (std::chrono::steady_clock::now() - lag_asked_ > std::chrono::seconds(5)) report_lag();
}

void flow::save() {
    flow_record record;
    record.committed = stand_.committed;
    record.end = stand_.end;
    record.deletes_end = stand_.deletes_end;
    record.planned = planned_;
    job_.state->save(table_.flow, std::move(record));
    dirty_ = false;
}

// The flow is taken over when there is first something to land, so that an idle run leaves the destination alone.
std::uint32_t flow::epoch() {
    if (epoch_ != 0) return epoch_;
    const auto taken = target_->take_over();
    if (target_->holds_position()) {
        const auto there = target_->committed().value_or(position{});
        if (there.batch != stand_.committed.batch || there.end != stand_.committed.end) {
            throw failure("state.fenced",
                          what() + ": another run has committed batch " + std::to_string(there.batch) + " to " +
                              plan_.destination->describe(table_.destination) + " while this one was reading",
                          "nothing was lost: the next run goes on from there");
        }
    }
    // `run --take-over`: the other run may still be the quicker of the two, so its commits are made to fail from now on.
    if (plan_.take_over) target_->fence(taken);
    epoch_ = taken;
    return epoch_;
}

}  // namespace lakeflow::host
