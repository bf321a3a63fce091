// host/stream/gate.h: what each batch passes on its way from a reader to the landing: the schema is the flow's, keys are not null,
// rows above the end are left out in append (contract 8), columns that nobody asked for are dropped. Immutable once made; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/arrow/arrow.h"
#include "host/laws/offsets.h"
#include "host/scan/filter.h"

namespace lakeflow::host {

// Reads the cursor of rows in the terms of the offset's cursor, where column and form allow it.
class cursor_column {
  public:
    // Nothing if the column's type and the cursor's form cannot be compared.
    static std::optional<cursor_column> make(const ArrowSchema& schema, const std::string& name, cursor_form form);
    // Nothing for a null, or a text that is no cursor.
    std::optional<cursor_value> at(const ArrowArray& table, std::int64_t row) const;

    // What the rows of a table come to beside a limit and a start, each of which may be absent.
    struct weighed {
        std::int64_t above = 0;               // past the limit
        std::int64_t again = 0;               // at or below the start, of the rest
        std::optional<cursor_value> highest;  // of the rest
        std::vector<std::uint8_t> keep;       // one a row, 0 for those above; empty if there are none
    };
    weighed weigh(const ArrowArray& table, const std::optional<cursor_value>& limit,
                  const std::optional<cursor_value>& start) const;

  private:
    template <class T>
    weighed weigh_numbers(const ArrowArray& table, std::int64_t limit, std::int64_t start) const;

    std::int64_t index_ = 0;
    type_id type_ = type_id::null_;
    cursor_form form_ = cursor_form::text;
    std::int64_t unit_ = 1;  // of a number in the column
};

struct gate_result {
    record_batch rows;          // of the landed columns; its schema is the gate's
    std::int64_t above = 0;     // left out: they lie above the end
    std::int64_t again = 0;     // lie at or below the start: an inclusive or look-back read brought them once more
    std::int64_t filtered = 0;  // left out: the job's `where` does not hold
    std::optional<cursor_value> highest;  // cursor of the rows that passed, where it is watched
};

class gate {
  public:
    // `source` is the schema of the table, `columns` the places of those that land, in order.
    gate(std::string what, std::shared_ptr<const arrow_schema> source, const std::vector<std::int64_t>& columns,
         std::vector<std::string> keys);

    // The cursor is compared from now on: rows above `limit` are left out, rows at or below `start` are counted as come again, the
    // highest of the rest is told. Each may be absent.
    void watch(cursor_column cursor, std::optional<cursor_value> limit, std::optional<cursor_value> start);

    // Rows that do not pass are left out from now on, after they have been looked at otherwise: they were read all the same.
    void filter(std::shared_ptr<const row_filter> rows) { filter_ = std::move(rows); }

    // Throws records.schema_drift if a reader's schema is not the table's.
    void check_schema(const arrow_schema& reader) const;
    // Throws key.null.
    gate_result pass(record_batch in) const;

    const std::shared_ptr<const arrow_schema>& landed() const noexcept { return landed_; }

  private:
    void check_keys(const ArrowArray& table) const;
    arrow_array project(arrow_array table) const;

    std::string what_;
    std::shared_ptr<const arrow_schema> source_;
    std::shared_ptr<const arrow_schema> landed_;
    std::vector<std::int64_t> columns_;
    bool all_ = true;
    std::vector<std::int64_t> keys_;
    std::optional<cursor_column> cursor_;
    std::optional<cursor_value> limit_;
    std::optional<cursor_value> start_;
    std::shared_ptr<const row_filter> filter_;  // null: every row passes
};

}  // namespace lakeflow::host
