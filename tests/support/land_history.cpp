// tests/support/land_history.cpp: histories from a seed: few keys, many events, and of each ugly shape some. See land_oracle.h.
#include <algorithm>

#include "tests/support/land_oracle.h"

namespace lakeflow::host::testing {
namespace {

using namespace std::string_literals;

class generator {
  public:
    generator(const history_options& options, std::uint64_t seed)
        : options_(options), random_(seed * 2654435761u + 1) {}

    history make() {
        history out;
        out.flow.job = "job";
        out.flow.flow = "flow";
        out.flow.mode = options_.mode;
        out.flow.allow_empty = true;
        make_columns(out.flow);
        make_keys();
        const std::uint64_t batches = 2 + below(6);
        for (std::uint64_t b = 0; b < batches; ++b) out.batches.push_back(make_batch());
        return out;
    }

  private:
    std::uint64_t below(std::uint64_t n) { return random_() % n; }
    bool one_in(std::uint64_t n) { return below(n) == 0; }
    template <class List>
    const auto& any(const List& list) {
        return list[below(list.size())];
    }

    struct shape {
        std::string name;
        std::string type;
        int role;  // 0.. a key, -1 a value of text, -2 of a number, -3 the sequence
    };

    void make_columns(flow_spec& flow) {
        const bool keyed = options_.mode == land_mode::scd1 || options_.mode == land_mode::scd2 || one_in(2);
        const bool odd = options_.odd_names && one_in(2);
        key_shape_ = below(options_.bytes_as_keys ? 5 : 4);
        const std::vector<std::vector<std::string>> key_types{
            {"BIGINT"}, {"STRING"}, {"STRING", "STRING"}, {"BIGINT", "STRING"}, {"BINARY"}};
        const auto& types = key_types[key_shape_];
        std::vector<shape> columns;
        for (std::size_t i = 0; i < types.size(); ++i) {
            const std::string name = odd ? (i ? "Second \"key\" \xc3\xa9" : "select") : "k" + std::to_string(i + 1);
            columns.push_back({name, types[i] + (one_in(2) ? " NOT NULL" : ""), static_cast<int>(i)});
            if (keyed) flow.primary_keys.push_back(name);
        }
        const std::string sequence = odd ? "updated.at" : "updated";
        columns.push_back({odd ? "1 va'lue" : "v", "STRING", -1});
        columns.push_back({odd ? "lf_no" : "n", "BIGINT", -2});
        columns.push_back({sequence, one_in(2) ? "BIGINT" : "TIMESTAMP", -3});
        if (options_.mode != land_mode::append && (options_.mode == land_mode::scd2 || !one_in(4)))
            flow.sequence_by = sequence;
        if (options_.mode == land_mode::append) flow.rereads = keyed;
        flow.cursor = sequence;
        std::shuffle(columns.begin(), columns.end(), random_);
        std::string ddl;
        for (const shape& c : columns) {
            std::string quoted = c.name;
            for (std::size_t at = 0; (at = quoted.find('`', at)) != std::string::npos; at += 2)
                quoted.insert(at, 1, '`');
            ddl += (ddl.empty() ? "`" : ", `") + quoted + "` " + c.type;
            roles_.push_back(c.role);
            if (options_.mode == land_mode::scd2 && tracks_ && (c.role == -1 || one_in(4)))
                flow.track.push_back(c.name);
        }
        flow.schema = std::make_shared<const arrow_schema>(parse_ddl(ddl));
        sequenced_ = !flow.sequence_by.empty();
        always_sequenced_ = options_.mode == land_mode::scd2;
        key_columns_ = types.size();
    }

    void make_keys() {
        const std::string nul = options_.nul_in_text ? "\0"s : "\x01"s;
        const std::vector<std::int64_t> numbers{0, 1, -1, 9007199254740993, 9007199254740992, INT64_MIN, INT64_MAX};
        const std::vector<std::string> texts{"",   "a", "A",  "ab",       "a" + nul,   "a" + nul + "b", " a",
                                             "a ", "1", "01", "\xc3\xa9", "e\xcc\x81", "null",          "\\N",
                                             "\\", "'", "\n", "\t",       "~"};
        const std::vector<std::pair<std::string, std::string>> pairs{
            {"a", "bc"}, {"ab", "c"},      {"abc", ""},      {"", "abc"},  {"a|", "b"},
            {"a", "|b"}, {"a" + nul, "b"}, {"a", nul + "b"}, {"a,b", "c"}, {"a", "b,c"}};
        const std::vector<std::string> bytes{"", "a", "\0"s, "\0\0"s, "\xff\0"s, "\xff"};
        const std::uint64_t count = 1 + below(7);
        for (std::uint64_t i = 0; i < count; ++i) {
            std::vector<cell> key;
            switch (key_shape_) {
                case 0: key = {any(numbers)}; break;
                case 1: key = {any(texts)}; break;
                case 2: {
                    const auto& pair = any(pairs);
                    key = {pair.first, pair.second};
                    break;
                }
                case 3: key = {any(numbers), any(texts)}; break;
                default: key = {any(bytes)};
            }
            keys_.push_back(std::move(key));
        }
    }

    std::int64_t next_sequence() {
        switch (below(8)) {
            case 0: return now_;                                                                    // a tie
            case 1: return static_cast<std::int64_t>(below(static_cast<std::uint64_t>(now_) + 1));  // late
            case 2: return now_ - std::min<std::int64_t>(now_, 1);
            default: return now_ += 1 + static_cast<std::int64_t>(below(3));
        }
    }

    std::vector<cell> make_row() {
        if (!seen_.empty() && one_in(6)) {
            std::vector<cell> again = any(seen_);  // just as it was, or with nothing new but its sequence
            if (one_in(2)) return again;
            for (std::size_t i = 0; i < roles_.size(); ++i) {
                if (roles_[i] == -3) again[i] = next_sequence();
            }
            seen_.push_back(again);
            return again;
        }
        const std::vector<cell> texts{std::monostate{}, "A"s, "B"s, ""s, options_.nul_in_text ? "\0"s : "\\"s};
        const std::vector<cell> key = any(keys_);
        std::vector<cell> row;
        for (const int role : roles_) {
            if (role >= 0) {
                row.push_back(key[static_cast<std::size_t>(role)]);
            } else if (role == -1) {
                row.push_back(any(texts));
            } else if (role == -2) {
                row.push_back(one_in(3) ? cell{} : cell(static_cast<std::int64_t>(below(2))));
            } else {
                row.push_back(!always_sequenced_ && one_in(12) ? cell{} : cell(next_sequence()));
            }
        }
        seen_.push_back(row);
        return row;
    }

    land_batch make_batch() {
        land_batch out;
        const std::uint64_t partitions = 1 + below(4);
        const std::uint64_t rows = one_in(8) ? 0 : below(14);
        for (std::uint64_t i = 0; i < rows; ++i) {
            out.rows.push_back({static_cast<std::uint32_t>(below(partitions)), make_row()});
        }
        const bool deletes =
            options_.tombstones && (options_.mode == land_mode::scd1 || options_.mode == land_mode::scd2);
        if (deletes && !one_in(3)) {
            for (std::uint64_t i = below(4); i > 0; --i) {
                std::vector<cell> gone = any(keys_);
                if (sequenced_) gone.push_back(next_sequence());
                out.tombstones.push_back({0, std::move(gone)});
            }
        }
        // An unchanged snapshot.
        if (options_.mode == land_mode::snapshot && !last_.rows.empty() && one_in(4)) {
            out = last_;
            std::stable_sort(out.rows.begin(), out.rows.end(),
                             [](const land_event& a, const land_event& b) { return a.partition < b.partition; });
        }
        last_ = out;
        return out;
    }

    history_options options_;
    std::mt19937_64 random_;
    bool tracks_ = options_.tracks && one_in(2);
    std::uint64_t key_shape_ = 0;
    std::size_t key_columns_ = 0;
    std::vector<int> roles_;
    std::vector<std::vector<cell>> keys_;
    std::vector<std::vector<cell>> seen_;
    land_batch last_;
    std::int64_t now_ = 5;
    bool sequenced_ = false;
    bool always_sequenced_ = false;
};

}  // namespace

history generate_history(const history_options& options, std::uint64_t seed) { return generator(options, seed).make(); }

}  // namespace lakeflow::host::testing
