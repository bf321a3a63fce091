// tests/support/memory_destination.h: a destination in memory that keeps the promises of land/destination.h, as an oracle for the
// engine: rows and position change together, positions at or below the own one are recognised, another run's are fenced. It outlives
// the runs of a test, as a lake outlives a process. `step` is called before each of its effects and may throw.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "host/base/error.h"
#include "host/land/destination.h"
#include "host/land/quarantine.h"

namespace lakeflow::host::testing {

using text_row = std::map<std::string, std::string>;

class memory_destination final : public destination {
  public:
    struct stored {
        std::vector<text_row> rows;
        std::map<std::string, position> positions;  // by flow
        int commits = 0;
        int begins = 0;
        std::vector<std::int64_t> rows_a_commit;
    };

    std::function<void(const std::string&)> step = [](const std::string&) {};
    std::chrono::milliseconds slow{0};  // of each add
    bool holds = true;
    std::atomic<std::int64_t> adding{0};
    std::atomic<std::int64_t> most_adding{0};

    std::unique_ptr<target> open(const flow_spec& flow) override;
    std::string describe(const std::string& table) const override { return "memory " + table; }

    stored table(const std::string& name) {
        const std::lock_guard guard(mutex_);
        return tables_[name];
    }
    // Values of one column, sorted, doubles kept.
    std::vector<std::string> values(const std::string& name, const std::string& column) {
        std::vector<std::string> out;
        for (const auto& row : table(name).rows) {
            const auto cell = row.find(column);
            out.push_back(cell == row.end() ? "absent" : cell->second);
        }
        std::sort(out.begin(), out.end());
        return out;
    }
    void change(const std::function<void(std::map<std::string, stored>&)>& how) {
        const std::lock_guard guard(mutex_);
        how(tables_);
    }
    std::vector<flow_spec> opened() {
        const std::lock_guard guard(mutex_);
        return opened_;
    }

  private:
    friend class memory_target;
    friend class memory_landing;
    std::mutex mutex_;
    std::map<std::string, stored> tables_;
    std::vector<flow_spec> opened_;
};

class memory_landing final : public landing {
  public:
    memory_landing(memory_destination& d, const flow_spec& spec, std::optional<position>& seen)
        : d_(d), spec_(spec), seen_(seen) {}

    void add(std::uint32_t, record_batch rows) override {
        d_.step("add");
        const auto now = ++d_.adding;
        for (auto most = d_.most_adding.load(); now > most && !d_.most_adding.compare_exchange_weak(most, now);) {
        }
        if (d_.slow.count()) std::this_thread::sleep_for(d_.slow);
        append(rows, rows_);
        --d_.adding;
    }
    void add_deletes(record_batch rows) override {
        d_.step("add_deletes");
        append(rows, deletes_);
    }
    void quarantine(record_batch rows) override {
        d_.step("quarantine");
        append(rows, aside_);
    }
    void partition_done(std::uint32_t) override {}

    land_result commit(const position& next) override {
        d_.step("commit before");
        land_result out;
        {
            const std::lock_guard guard(d_.mutex_);
            auto& t = d_.tables_[spec_.table];
            const auto at = t.positions.find(spec_.flow);
            const auto there = at == t.positions.end() ? std::nullopt : std::optional(at->second);
            if (there != seen_) throw failure("state.fenced", "memory: another run was here");
            if (at != t.positions.end() &&
                std::pair(next.epoch, next.batch) <= std::pair(at->second.epoch, at->second.batch)) {
                out.committed = false;
                return out;
            }
            auto rows = t.rows;
            switch (spec_.mode) {
                case land_mode::append: append_to(rows, out); break;
                case land_mode::snapshot: replace(rows, out); break;
                default: merge(rows, out);
            }
            out.committed = out.rows_landed + out.rows_deleted > 0 || !aside_.empty();
            auto& aside = d_.tables_[quarantine_table(spec_.table)].rows;
            for (auto& row : aside_) {
                const bool there = std::any_of(aside.begin(), aside.end(), [&](const text_row& other) {
                    return other.at("_lakeflow_id") == row.at("_lakeflow_id");
                });
                if (!there) aside.push_back(std::move(row));
            }
            if (out.committed) {
                t.rows = std::move(rows);
                t.positions[spec_.flow] = next;
                seen_ = next;
                ++t.commits;
                t.rows_a_commit.push_back(out.rows_landed);
            }
        }
        d_.step("commit after");
        return out;
    }

  private:
    static void append(const record_batch& batch, std::vector<text_row>& to) {
        for (std::int64_t r = 0; r < batch.rows(); ++r) {
            text_row row;
            for (std::int64_t c = 0; c < batch.schema->columns(); ++c) {
                row[std::string(name_of(batch.schema->column(c)))] =
                    value_text(batch.schema->column(c), *batch.array.get()->children[c], batch.array.get()->offset + r);
            }
            to.push_back(std::move(row));
        }
    }
    std::string key(const text_row& row) const {
        std::string out;
        for (const auto& k : spec_.primary_keys) out += row.at(k) + "\n";
        return out;
    }
    std::int64_t sequence(const text_row& row) const {
        return spec_.sequence_by.empty() ? 0 : std::stoll(row.at(spec_.sequence_by));
    }

    void append_to(std::vector<text_row>& rows, land_result& out) {
        std::set<std::string> keys;
        if (spec_.rereads) {
            for (const auto& row : rows) keys.insert(key(row));
        }
        for (auto& row : rows_) {
            if (spec_.rereads && !keys.insert(key(row)).second) {
                ++out.rows_again;
                continue;
            }
            ++out.rows_landed;
            rows.push_back(std::move(row));
        }
    }
    void replace(std::vector<text_row>& rows, land_result& out) {
        if (rows == rows_) {
            out.rows_again = static_cast<std::int64_t>(rows_.size());
            return;
        }
        out.rows_landed = static_cast<std::int64_t>(rows_.size());
        rows = std::move(rows_);
    }
    void merge(std::vector<text_row>& rows, land_result& out) {
        std::map<std::string, text_row> by_key;
        for (auto& row : rows) by_key[key(row)] = row;
        for (auto& row : rows_) {
            const auto at = by_key.find(key(row));
            if (at != by_key.end() && (at->second == row || sequence(at->second) > sequence(row))) {
                ++out.rows_again;
                continue;
            }
            ++out.rows_landed;
            by_key[key(row)] = std::move(row);
        }
        for (const auto& gone : deletes_) {
            const auto at = by_key.find(key(gone));
            if (at == by_key.end() || sequence(at->second) > sequence(gone)) continue;
            by_key.erase(at);
            ++out.rows_deleted;
        }
        rows.clear();
        for (auto& [k, row] : by_key) rows.push_back(std::move(row));
    }

    memory_destination& d_;
    const flow_spec& spec_;
    std::optional<position>& seen_;
    std::vector<text_row> rows_;
    std::vector<text_row> deletes_;
    std::vector<text_row> aside_;
};

class memory_target final : public target {
  public:
    memory_target(memory_destination& d, flow_spec spec) : d_(d), spec_(std::move(spec)) {}

    std::optional<position> committed() override {
        const std::lock_guard guard(d_.mutex_);
        look();
        return d_.holds ? seen_ : std::nullopt;
    }
    bool holds_position() const override { return d_.holds; }
    std::unique_ptr<landing> begin() override {
        d_.step("begin");
        const std::lock_guard guard(d_.mutex_);
        ++d_.tables_[spec_.table].begins;
        return std::make_unique<memory_landing>(d_, spec_, seen_);
    }
    std::uint32_t take_over() override {
        d_.step("take over");
        const std::lock_guard guard(d_.mutex_);
        look();
        return (seen_ ? seen_->epoch : 0) + 1;
    }
    void fence(std::uint32_t epoch) override {
        d_.step("fence");
        const std::lock_guard guard(d_.mutex_);
        auto& positions = d_.tables_[spec_.table].positions;
        const auto at = positions.find(spec_.flow);
        if (at != positions.end() && at->second.epoch < epoch) at->second.epoch = epoch;
        look();
    }
    void reset() override {
        const std::lock_guard guard(d_.mutex_);
        d_.tables_[spec_.table].positions.erase(spec_.flow);
    }

  private:
    void look() {
        const auto& positions = d_.tables_[spec_.table].positions;
        const auto at = positions.find(spec_.flow);
        seen_ = at == positions.end() ? std::nullopt : std::optional(at->second);
    }

    memory_destination& d_;
    const flow_spec spec_;
    std::optional<position> seen_;  // what this target saw last: its commits build on that
};

inline std::unique_ptr<target> memory_destination::open(const flow_spec& flow) {
    const std::lock_guard guard(mutex_);
    opened_.push_back(flow);
    return std::make_unique<memory_target>(*this, flow);
}

}  // namespace lakeflow::host::testing
