// plugins/http_api/walk.hpp: the pages of one listing, or of one part of it, from its first to its last, and the distrust that goes
// with it: pages that repeat, walks that do not end, totals that are not kept, filters that the service ignored (contract 20, 23, 32).
// One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "cursor.hpp"
#include "service.hpp"

namespace lakeflow::http_api {

// What to read of a listing.
struct walk_plan {
    resource of;                                          // with the table's options
    std::string path;                                     // its placeholders filled
    parameters fixed;                                     // what each request says: filters, range, columns, sort
    schema columns;                                       // that the batches have
    schema all;                                           // of the table: types of columns that are read but not given
    std::vector<std::pair<std::string, json>> constants;  // columns that the parent gives
    cursor_range range;
    bool ranged = false;                 // rows outside the range are dropped, and the cursor is watched
    bool undated = false;                // ... but not those without a cursor
    std::string deleted;                 // a BOOLEAN column: rows for which it is true ...
    bool tombstones = false;             // ... are dropped, or the only ones that are kept
    std::vector<json> checks;            // conjuncts that the service promised to apply
    std::int64_t first_row = 0;          // a part: where it begins ...
    std::optional<std::int64_t> rows;    // ... and how many rows it has; absent: to the end
    std::optional<std::int64_t> stated;  // the rows that the whole listing had when the part was planned
    bool tail = true;                    // it reaches the end of the listing
    std::int64_t page_size = 0;          // that the part was planned by; 0: the resource's
    std::optional<std::int64_t> limit;   // rows to give at most
    std::vector<int> skipped;            // statuses that mean "no rows here"
};

class walk {
  public:
    walk(std::shared_ptr<const service> source, walk_plan plan);

    const schema& columns() const { return plan_.columns; }
    // The next batch; false: there is no more.
    bool next(batch& out);

    // Over all rows seen, those that were dropped too; nothing if none had a cursor.
    const std::optional<cursor_value>& newest() const { return newest_; }
    std::int64_t rows() const { return at_.row - plan_.first_row; }

    // The first request: for explain.
    static request first_request(const service& source, const walk_plan& plan);

  private:
    struct page {
        position at;
        std::int64_t asked = 0;  // rows; 0: as many as the service likes
    };

    std::int64_t size_at(const position& at) const;
    page page_at(position at) const { return {at, size_at(at)}; }
    exchange send(const page& wanted);
    void guard(const page& wanted);
    void load();
    void inspect(batch& rows);
    void count_keys(const batch& rows);
    void check_row(const batch& rows);
    void watch_cursor(const rows_stats& stats);
    void refuse_repetition(const rows_stats& stats);
    std::optional<position> behind(const page& here, const exchange& answer, std::int64_t rows);
    std::optional<bool> says_more(const exchange& answer) const;
    std::optional<position> confirm_end(position next, std::int64_t rows);
    void check_size(const page& here, std::int64_t rows);
    std::int64_t row_of(const position& at) const;
    std::optional<position> by_number(const position& from, std::int64_t rows) const;
    std::optional<std::int64_t> state_again() const;
    std::int64_t distinct() const;
    std::string name() const;
    failure trouble(std::string message, std::string code, std::string hint = {}) const;

    std::shared_ptr<const service> source_;
    walk_plan plan_;
    schema decoded_;  // the columns that are given, and those that are looked at
    rows_spec spec_;
    decoder rows_;
    std::vector<std::string> watched_;
    std::vector<std::size_t> keys_;  // places of the primary keys, if all are decoded
    std::int64_t next_capture_ = -1, more_capture_ = -1, total_capture_ = -1;
    std::optional<cursor_kind> cursor_;
    bool inspects_ = false, counts_ = false;

    position at_;
    std::optional<page> coming_page_;
    exchange coming_;
    bool started_ = false, done_ = false, again_ = false, grown_ = false;
    std::optional<std::int64_t> stated_;
    std::int64_t empty_ = 0, pages_ = 0, real_size_ = 0;
    std::optional<std::int64_t> left_;
    std::unordered_set<std::uint64_t> seen_;   // of requests
    std::unordered_set<std::uint64_t> known_;  // of keys
    std::int64_t bad_ = 0;                     // rows that came and are put aside
    std::string signature_;
    int repeated_ = 0;
    json last_;
    std::optional<cursor_value> newest_;
    std::vector<batch> held_;
};

}  // namespace lakeflow::http_api
