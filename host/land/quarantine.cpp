// host/land/quarantine.cpp: see quarantine.h.
#include "host/land/quarantine.h"

#include <algorithm>

#include "host/arrow/builder.h"
#include "host/base/error.h"
#include "host/base/json.h"
#include "host/base/text.h"

namespace lakeflow::host {
namespace {

constexpr const char* id_column = "_lakeflow_id";

std::string hex(std::uint64_t value) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string out(16, '0');
    for (std::size_t i = 16; i-- > 0; value >>= 4) out[i] = digits[value & 15];
    return out;
}

// Two tables, and a flow that commits them one after the other.
class paired_landing final : public landing {
  public:
    paired_landing(std::unique_ptr<landing> main, target& side) : main_(std::move(main)), side_table_(side) {}

    void add(std::uint32_t partition, record_batch rows) override { main_->add(partition, std::move(rows)); }
    void add_deletes(record_batch rows) override { main_->add_deletes(std::move(rows)); }
    void partition_done(std::uint32_t partition) override { main_->partition_done(partition); }
    void quarantine(record_batch rows) override {
        if (!side_) side_ = side_table_.begin();
        side_->add(0, std::move(rows));
    }
    error give_up(error why) override { return main_->give_up(std::move(why)); }
    land_result commit(const position& next) override {
        if (side_) {
            // Numbers of its own: that a batch is in the side table says nothing of the table, and its rows are known by their ids.
            position aside = next;
            aside.batch = side_table_.committed().value_or(position{}).batch + 1;
            side_->commit(aside);
            side_.reset();
        }
        return main_->commit(next);
    }

  private:
    std::unique_ptr<landing> main_;
    target& side_table_;
    std::unique_ptr<landing> side_;
};

class paired_target final : public target {
  public:
    paired_target(std::unique_ptr<target> main, std::unique_ptr<target> side)
        : main_(std::move(main)), side_(std::move(side)) {}

    std::optional<position> committed() override { return main_->committed(); }
    bool holds_position() const override { return main_->holds_position(); }
    std::unique_ptr<landing> begin() override { return std::make_unique<paired_landing>(main_->begin(), *side_); }
    // The side table may have been committed by a run that died before the table was.
    std::uint32_t take_over() override { return std::max(main_->take_over(), side_->take_over()); }
    void fence(std::uint32_t epoch) override {
        main_->fence(epoch);
        side_->fence(epoch);
    }
    void reset() override { main_->reset(); }

  private:
    std::unique_ptr<target> main_;
    std::unique_ptr<target> side_;
};

class pairing_destination final : public destination {
  public:
    explicit pairing_destination(std::unique_ptr<destination> inner) : inner_(std::move(inner)) {}
    std::unique_ptr<target> open(const flow_spec& flow) override {
        auto main = inner_->open(flow);
        if (!flow.quarantines()) return main;
        auto side = inner_->open(quarantine_flow(flow));
        if (!side->holds_position()) {
            throw failure("config.not_supported",
                          "table " + flow.table +
                              ": on_mismatch = \"quarantine\" needs a table to put rows aside in, and " +
                              inner_->describe(flow.table) + " has none",
                          "use on_mismatch = \"null\" or \"fail\", or another destination", retry_class::invalid);
        }
        return std::make_unique<paired_target>(std::move(main), std::move(side));
    }
    std::string describe(const std::string& table) const override { return inner_->describe(table); }

  private:
    std::unique_ptr<destination> inner_;
};

}  // namespace

std::string quarantine_table(const std::string& table) { return table + "__quarantine"; }

bool flow_spec::quarantines() const noexcept {
    return mismatches && mismatches->policy() == mismatch_policy::quarantine;
}

const std::shared_ptr<const arrow_schema>& quarantine_schema() {
    static const auto* const made = new std::shared_ptr<
        const arrow_schema>(std::make_shared<const arrow_schema>(parse_ddl(
        std::string(id_column) +
        " STRING NOT NULL, `row` STRING NOT NULL, reason STRING NOT NULL, code STRING NOT NULL, column_name STRING, "
        "position STRING NOT NULL, run_id STRING NOT NULL, quarantined_at TIMESTAMP NOT NULL")));
    return *made;
}

flow_spec quarantine_flow(const flow_spec& flow) {
    flow_spec side;
    side.job = flow.job;
    side.flow = flow.flow;
    side.table = quarantine_table(flow.table);
    side.mode = land_mode::append;
    side.primary_keys = {id_column};
    side.rereads = true;
    side.schema = quarantine_schema();
    return side;
}

void mismatch_log::at(std::uint32_t epoch, std::uint32_t batch, const std::string& start) {
    position_ =
        "{\"batch\":" + std::to_string(batch) + ",\"epoch\":" + std::to_string(epoch) + ",\"start\":" + start + "}";
}

void mismatch_log::begin_anew() {
    batch_ = {};
    seen_.clear();
}

void mismatch_log::count(const counts& more, const std::string& reason) {
    batch_.read += more.read;
    batch_.refused += more.refused;
    batch_.nulled += more.nulled;
    const std::int64_t all = before_ + batch_.all();
    if (!about_.most || all <= *about_.most) return;
    throw failure("value.mismatch",
                  "table " + about_.table + ": " + std::to_string(all) +
                      " values do not fit so far, and max_mismatches = " + std::to_string(*about_.most) +
                      "; nothing of this batch lands" + (reason.empty() ? "" : ". The last one: " + reason),
                  "mend the source, declare the column with a type that holds it, or raise max_mismatches");
}

mismatch_log::counts mismatch_log::committed() {
    before_ += batch_.all();
    return std::exchange(batch_, {});
}

record_batch mismatch_log::rows(const std::vector<bad_row>& bad) {
    auto table = make_table(*quarantine_schema()->get());
    const auto put = [&](std::size_t column, std::string_view text) {
        static_cast<text_column&>(table->child(column)).append(text);
    };
    const auto clean = [&](const std::string& text) { return about_.redactor ? about_.redactor->redact(text) : text; };
    for (const bad_row& b : bad) {
        const std::string identity = about_.job + '\0' + about_.flow + '\0' + b.row;
        const std::int64_t nth = ++seen_[{hash64(identity, 1), hash64(identity, 2)}];
        const std::string numbered = identity + '\0' + std::to_string(nth);
        put(0, hex(hash64(numbered, 1)) + hex(hash64(numbered, 2)));
        put(1, clean(b.row));
        put(2, clean(b.reason));
        put(3, b.code);
        if (b.column.empty()) {
            table->child(4).append_null();
        } else {
            put(4, b.column);
        }
        put(5, position_);
        put(6, about_.run_id);
        static_cast<fixed_column<std::int64_t>&>(table->child(7)).append(about_.time_us);
        table->end_value();
    }
    return {quarantine_schema(), table->finish()};
}

std::unique_ptr<destination> with_side_tables(std::unique_ptr<destination> inner) {
    return std::make_unique<pairing_destination>(std::move(inner));
}

}  // namespace lakeflow::host
