// tests/support/land_check.cpp: drives a destination through a history and compares with the oracle. See land_oracle.h.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <map>
#include <set>

#include "host/base/error.h"
#include "host/base/text.h"
#include "tests/support/land_oracle.h"

namespace lakeflow::host::testing {
namespace {

class checker {
  public:
    checker(destination& to, const history_options& options, std::uint64_t seed, const row_reader& read)
        : to_(to), read_(read), random_(seed), history_(generate_history(options, seed)), oracle_(history_.flow) {
        history_.flow.table = "h" + std::to_string(static_cast<int>(options.mode)) + "_" + std::to_string(seed);
        history_.flow.flow = history_.flow.table;
    }

    void run() {
        target_ = to_.open(history_.flow);
        BOOST_TEST(!target_->committed().has_value());
        last_.epoch = target_->take_over();
        for (const land_batch& batch : history_.batches) step(batch);
        compare("at the end");
        if (!last_committed_ || !one_in(4)) return;
        // Contract 39: the position goes, the rows stay, and all is read again.
        target_->reset();
        reopen();
        BOOST_TEST(!target_->committed().has_value());
        compare("after a reset");
        const std::uint32_t epoch = target_->take_over();
        BOOST_TEST(epoch > last_.epoch);
        last_ = position{epoch, 0, "{}", "{}"};
        last_committed_ = false;
        landed_.clear();
        for (const land_batch& batch : history_.batches) step(batch);
        compare("after all was read again");
    }

  private:
    bool one_in(std::uint64_t n) { return random_() % n == 0; }

    void reopen() {
        target_.reset();
        target_ = to_.open(history_.flow);
    }

    void fill(landing& to, const land_batch& batch) {
        std::size_t tombstone = 0;
        const auto bury = [&](std::size_t some) {
            std::vector<std::vector<cell>> rows;
            for (; some > 0 && tombstone < batch.tombstones.size(); --some)
                rows.push_back(batch.tombstones[tombstone++].row);
            if (!rows.empty()) to.add_deletes(to_arrow(deletes_schema(history_.flow), rows));
        };
        std::set<std::uint32_t> partitions;
        for (std::size_t i = 0; i < batch.rows.size();) {
            if (one_in(4)) bury(1);
            const std::uint32_t partition = batch.rows[i].partition;
            std::vector<std::vector<cell>> rows;
            do {
                rows.push_back(batch.rows[i++].row);
            } while (i < batch.rows.size() && batch.rows[i].partition == partition && !one_in(3));
            to.add(partition, to_arrow(history_.flow.schema, rows));
            partitions.insert(partition);
        }
        bury(batch.tombstones.size());
        for (const std::uint32_t partition : partitions) to.partition_done(partition);
    }

    void step(const land_batch& batch) {
        if (batch.rows.empty() && batch.tombstones.empty() && history_.flow.mode != land_mode::snapshot) return;
        if (one_in(6)) fill(*target_->begin(), batch);  // and drops it
        if (one_in(3)) reopen();
        const auto at = static_cast<std::int64_t>(landed_.size());
        const position next{last_.epoch, last_.batch + 1, "{\"n\":" + std::to_string(at) + "}", "{}"};
        const auto before = oracle_.rows();
        oracle_.apply(batch);
        land_result result;
        {
            auto landing = target_->begin();
            fill(*landing, batch);
            result = landing->commit(next);
        }
        if (result.committed) {
            last_ = next;
            last_committed_ = true;
            landed_.push_back({next, &batch});
        } else {
            BOOST_TEST((history_.flow.mode == land_mode::snapshot && before == oracle_.rows()),
                       "a batch was not committed");
            last_.end = next.end;
            landed_.push_back({std::nullopt, &batch});
        }
        if (last_committed_) {
            if (one_in(3)) reopen();
            BOOST_TEST((target_->committed() == last_));
        }
        check_laws(batch, "after batch " + std::to_string(at + 1));
        if (last_committed_ && one_in(3)) replay();
    }

    void replay() {
        const auto& [was, batch] = landed_[random_() % landed_.size()];
        if (!was || (!(*was == last_) && history_.flow.mode == land_mode::snapshot)) return;
        if (one_in(2)) reopen();
        auto landing = target_->begin();
        fill(*landing, *batch);
        const land_result result = landing->commit(*was);
        BOOST_TEST(!result.committed, "a batch was committed again");
        BOOST_TEST(result.rows_landed == 0);
        landing.reset();
        BOOST_TEST((target_->committed() == last_));
        compare("after the batch of " + was->end + " was landed again");
    }

    std::vector<std::string> compare(const std::string& when) {
        auto found = read_(history_.flow);
        std::sort(found.begin(), found.end());
        const auto expected = oracle_.rows();
        if (found == expected) return found;
        std::string text;
        std::vector<std::string> only;
        std::set_difference(expected.begin(), expected.end(), found.begin(), found.end(), std::back_inserter(only));
        for (const auto& row : only) text += "\n  missing " + row;
        only.clear();
        std::set_difference(found.begin(), found.end(), expected.begin(), expected.end(), std::back_inserter(only));
        for (const auto& row : only) text += "\n  too much " + row;
        BOOST_ERROR(when << ", table " << history_.flow.table << " of " << to_ddl(*history_.flow.schema->get()) << ":"
                         << text);
        throw failure("test.differs", "the table is not what it must be");
    }

    // One open row a key; intervals follow each other and do not overlap; they touch where nothing was deleted; what was closed stays
    // as it was unless an event came late.
    void check_laws(const land_batch& batch, const std::string& when) {
        const std::vector<std::string> rows = compare(when);
        if (history_.flow.mode != land_mode::scd2) return;
        const ArrowSchema& schema = *history_.flow.schema->get();
        const auto key_of_row = [&](const auto& cells) {
            std::string key;
            for (const auto& name : history_.flow.primary_keys)
                key += text_of(cells[static_cast<std::size_t>(find_column(schema, name))]) + "|";
            return key;
        };
        std::map<std::string, std::int64_t> earliest;
        const auto saw = [&](const std::string& key, const cell& sequence) {
            const std::int64_t at = std::get<std::int64_t>(sequence);
            const auto [held, fresh] = earliest.emplace(key, at);
            if (!fresh) held->second = std::min(held->second, at);
            newest_now_[key] = std::max(newest_now_[key], at);
        };
        const auto sequence = static_cast<std::size_t>(find_column(schema, history_.flow.sequence_by));
        for (const land_event& e : batch.rows) saw(key_of_row(e.row), e.row[sequence]);
        for (const land_event& e : batch.tombstones) {
            std::string key;
            for (std::size_t i = 0; i + 1 < e.row.size(); ++i) key += to_text(e.row[i]) + "|";
            saw(key, e.row.back());
            deleted_.insert(key);
        }
        std::map<std::string, std::map<std::int64_t, std::string>> intervals;
        std::set<std::string> closed;
        for (const std::string& row : rows) {
            const auto cells = split(row, '|');
            const std::string key = key_of_row(cells);
            const std::string& end = cells.back();
            const std::int64_t start = parse_int(cells[cells.size() - 2]).value();
            BOOST_TEST(intervals[key].emplace(start, end).second, when << ": two versions begin at once: " << row);
            if (end != "~") {
                BOOST_TEST(parse_int(end).value() > start, when << ": an empty version " << row);
                closed.insert(row);
            }
        }
        for (const auto& [key, versions] : intervals) {
            for (auto v = versions.begin(); std::next(v) != versions.end(); ++v) {
                BOOST_REQUIRE_MESSAGE(v->second != "~", when << ": key " << key << " is open before its last version");
                const std::int64_t end = parse_int(v->second).value();
                const std::int64_t next = std::next(v)->first;
                BOOST_TEST(end <= next, when << ": versions of " << key << " overlap");
                BOOST_TEST((end == next || deleted_.contains(key)), when << ": versions of " << key << " leave a gap");
            }
        }
        for (const std::string& row : closed_) {
            const std::string key = key_of_row(split(row, '|'));
            const auto came = earliest.find(key);
            const bool late = came != earliest.end() && came->second < newest_[key];
            BOOST_TEST((late || closed.contains(row)), when << ": a closed version changed: " << row);
        }
        closed_ = std::move(closed);
        newest_ = newest_now_;
    }
    static std::string text_of(const std::string& text) { return text; }
    static std::string text_of(const cell& value) { return to_text(value); }

    destination& to_;
    const row_reader& read_;
    std::mt19937_64 random_;
    history history_;
    land_oracle oracle_;
    std::unique_ptr<target> target_;
    position last_;
    bool last_committed_ = false;
    std::vector<std::pair<std::optional<position>, const land_batch*>> landed_;
    std::set<std::string> closed_;
    std::set<std::string> deleted_;
    std::map<std::string, std::int64_t> newest_, newest_now_;
};

}  // namespace

std::vector<std::uint64_t> history_seeds(std::uint64_t count) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    count = std::max<std::uint64_t>(3, count / 4);  // each takes ten times as long
#endif
    std::uint64_t first = 1;
    const std::uint64_t fresh = std::getenv("LAKEFLOW_LAND_SEEDS") ? 0 : 1 + count / 4;
    if (const char* wanted = std::getenv("LAKEFLOW_LAND_SEEDS")) {
        const auto bounds = split(wanted, '-');
        first = static_cast<std::uint64_t>(parse_int(bounds.front()).value());
        count = static_cast<std::uint64_t>(parse_int(bounds.back()).value());
    }
    std::vector<std::uint64_t> seeds;
    for (std::uint64_t seed = first; seed <= count; ++seed) seeds.push_back(seed);
    std::random_device chance;
    for (std::uint64_t i = 0; i < fresh; ++i) seeds.push_back(1'000'000 + chance() % 1'000'000'000);
    return seeds;
}

void check_destination(destination& to, const history_options& options, std::uint64_t seed, const row_reader& read) {
    BOOST_TEST_CONTEXT("mode " << to_string(options.mode) << ", seed " << seed) {
        try {
            checker(to, options, seed, read).run();
        } catch (const failure& f) {
            BOOST_ERROR(to_line(f.get()));
        }
    }
}

}  // namespace lakeflow::host::testing
