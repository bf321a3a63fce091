// host/stream/flow_spool.cpp: how a batch comes into the table: straight from the reader; or, where the source cannot be read again,
// through the spool. See flow.h and spool.h.
#include "host/base/error.h"
#include "host/stream/flow.h"
#include "host/stream/landing_session.h"
#include "host/stream/spool.h"

namespace lakeflow::host {
namespace {

// What leaves the spool passes the gate that it did not pass on its way in.
class from_spool final : public batch_sink {
  public:
    from_spool(std::shared_ptr<const gate> passing, landing_session& landing, mismatch_log& mismatches)
        : passing_(std::move(passing)), landing_(landing), mismatches_(mismatches) {}

    void add(std::uint32_t part, record_batch rows) override {
        auto passed = passing_->pass(std::move(rows));
        above_ += passed.above;
        if (passed.rows.rows() > 0) landing_.add(part, std::move(passed.rows));
    }
    void add_deletes(record_batch rows) override { landing_.add_deletes(std::move(rows)); }
    void add_bad(std::vector<bad_row> rows) override {
        mismatches_.count({static_cast<std::int64_t>(rows.size()), 0, 0}, rows.empty() ? "" : rows.back().reason);
        landing_.add_bad(std::move(rows));
    }
    void part_done(std::uint32_t part) override { landing_.part_done(part); }
    void start_over() override { landing_.start_over(); }
    void ensure_open() override { landing_.ensure_open(); }

    std::int64_t above() const noexcept { return above_; }

  private:
    std::shared_ptr<const gate> passing_;
    landing_session& landing_;
    mismatch_log& mismatches_;
    std::int64_t above_ = 0;
};

}  // namespace

spool_place flow::place() const {
    return {job_.io, job_.state->spool_folder(table_.flow), what(), plan_.tuning.spool_bytes};
}

flow::batch_outcome flow::read_and_land(batch_plan batch,
                                        const std::function<batch_outcome(const batch_plan&, batch_sink&)>& read) {
    if (!spools()) {
        return with_attempts([&](landing_session& landing) {
            auto out = read(batch, landing);
            if (out.next != verdict::ends) commit_batch(landing, out);
            return out;
        });
    }
    batch.to_spool = true;
    job_.state->check_held();
    spool_writer spool(place(), settings_.source_schema);
    auto out = with_attempts([&](landing_session&) {
        spool.start_over();
        return read(batch, spool);
    });
    if (out.next == verdict::ends || spool.empty()) {
        spool.start_over();
        return out;
    }
    spooled_batch spooled;
    spooled.job = plan_.job;
    spooled.flow = table_.flow;
    spooled.batch = stand_.committed.batch + 1;
    spooled.start = batch.start;
    spooled.end = out.end;
    spooled.deletes_start = stand_.deletes_end;
    spooled.deletes_end = out.deletes_end;
    spooled.deletes_read = out.deletes_read;
    spooled.bound = batch.bound;
    spooled.init_time_us = init_time_us_;
    spooled.rows = out.came;
    spooled.again = out.again;
    spooled.tombstones = out.tombstones;
    spooled.parts = static_cast<std::uint32_t>(out.parts);
    job_.state->check_held();
    const auto nulled = settings_.spec.mismatches->batch().nulled;
    auto landed = land_spooled(spool.finish(std::move(spooled)), batch.context, false, nulled);
    landed.last = out.last;
    return landed;
}

// From the spool into the table, in one commit; the spool is kept until the state has its mark. `again`: a run before this one may
// have tried it. `nulled`: cells that hold null for a value, as the read has counted.
flow::batch_outcome flow::land_spooled(const spooled_batch& spooled, const std::shared_ptr<flow_context>& context,
                                       bool again, std::int64_t nulled) {
    batch_plan batch;
    batch.start = spooled.start;
    batch.end = spooled.end;
    batch.context = context;
    std::optional<whole_batch> whole;
    if (target_->lands_whole_batches())
        whole = whole_batch{spooled.id, spooled.batch, spooled.parts, spooled.rows, again};
    const auto land = [&](landing_session& landing) {
        if (settings_.snapshot) landing.ensure_open();
        batch_outcome out;
        out.end = spooled.end;
        out.deletes_end = spooled.deletes_end;
        out.deletes_read = spooled.deletes_read;
        out.came = spooled.rows;
        out.again = spooled.again;
        out.rows = spooled.rows - spooled.again;
        out.tombstones = spooled.tombstones;
        out.parts = spooled.parts;
        settings_.spec.mismatches->count({0, 0, nulled}, "");
        from_spool sink(make_gate(batch, batch.end), landing, *settings_.spec.mismatches);
        replay_spooled(place(), spooled, settings_.source_schema, sink);
        out.above = sink.above();
        commit_batch(landing, out);
        return out;
    };
    try {
        return with_attempts(land, std::move(whole));
    } catch (const failure& f) {
        // A snapshot that was given up is read anew: it replaces everything, and is newer then.
        const bool kept = f.get().retry == retry_class::cancelled || f.get().code.starts_with("state.");
        if (settings_.snapshot && !kept) remove_spooled(*job_.io, place().folder);
        throw;
    }
}

// After a crash: a batch that was read to its end is landed as it was read; the source is not asked for it again.
void flow::recover_spooled() {
    std::string left;
    const auto spooled = find_spooled(place(), plan_.job, table_.flow, left);
    if (!left.empty()) note(log_level::warn, left);
    if (!spooled) return;
    const bool there = spooled->end == stand_.end && spooled->deletes_end == stand_.deletes_end;
    if (spooled->batch <= stand_.committed.batch || there) {
        remove_spooled(*job_.io, place().folder);  // it was landed; the run died before it could forget it
        return;
    }
    if (spooled->batch != stand_.committed.batch + 1 || spooled->start != stand_.end) {
        throw failure(
            error{"state.corrupt",
                  what() + ": the spooled batch in " + place().folder.string() + " is batch " +
                      std::to_string(spooled->batch) + " from " + spooled->start + ", and the flow stands at batch " +
                      std::to_string(stand_.committed.batch) + ", " + stand_.end,
                  "state and destination do not belong together. Restore the right ones; or `lakeflow-host reset` of "
                  "the flow gives the spooled batch up",
                  retry_class::permanent});
    }
    note(log_level::info, "batch " + std::to_string(spooled->batch) +
                              " was read by a run that ended before its commit; it is landed from the spool, to " +
                              spooled->end);
    const auto context = make_context(spooled->init_time_us);
    plugin_connector instance(plan_.plugin, plan_.connection, context, job_.reading);
    laws_.emplace(laws_of(false), stand_.end);
    const auto out = land_spooled(*spooled, context, true);
    move_on(out, instance);
}

}  // namespace lakeflow::host
