// host/land/delta/writer.h: writes data files of a table with DuckDB's COPY, one pass over each row. Used by one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "host/duck/duck.h"
#include "host/land/delta/actions.h"
#include "host/land/delta/rows.h"
#include "host/land/delta/schema.h"
#include "host/land/store.h"

namespace lakeflow::host::delta {

// A data file that is written and in no commit yet.
struct data_file {
    add_file add;
    std::string name;  // in the store
    std::int64_t rows = 0;
    std::size_t bytes = 0;  // in memory, about

    bool moves_rows = false;  // its rows were in the table before

    // Of the keys, where they were watched: in strict order, and their range (see key_watch).
    bool ordered = false;
    std::string key_min, key_max;
    // Where the rows came from: (partition, how many files of it came before) orders files by arrival.
    std::uint32_t partition = 0;
    std::uint32_t sequence = 0;
};

class file_writer {
  public:
    file_writer(duck::connection& connection, store& files, std::vector<field> columns);

    // Rows of buffers are versions that begin at this column's value (mode scd2).
    void begin_versions_at(std::string sequence) { sequence_ = std::move(sequence); }

    // The rows of a buffer as one file. Columns of the table that the rows lack are null.
    data_file write(row_buffer rows, const std::shared_ptr<const arrow_schema>& schema);
    // The rows of a query, which gives the columns of the table, as one file. `row_bytes`: of one row, about.
    data_file write_query(const std::string& sql, std::size_t row_bytes);
    // The same as several files, cut in the order of the query.
    std::vector<data_file> write_run(const std::string& sql, std::size_t row_bytes, std::int64_t max_rows,
                                     std::size_t max_bytes);

    // The same as `parts` files: the query gives, last, an INTEGER column lf_b, the number of a row's file. In memory are some rows
    // of each of a few files at once, never a sorted run: DuckDB's sort keeps wide rows pinned past its memory limit.
    std::vector<data_file> write_parts(const std::string& sql, std::size_t row_bytes, std::int64_t parts);

    // As files have them: "\"id\", \"name\"", with a prefix before each: "s.\"id\", s.\"name\"".
    std::string column_list(const std::string& prefix = {}) const;

    const std::vector<field>& columns() const noexcept { return columns_; }
    // Names of all files that were written and not forgotten: the caller removes those that no commit took.
    const std::set<std::string>& written() const noexcept { return written_; }
    void forget(const std::string& name) { written_.erase(name); }

  private:
    std::vector<data_file> write_small(const std::string& sql, std::size_t row_bytes, std::int64_t file_rows);
    std::string copy_options(std::int64_t group_rows) const;
    data_file copied(duck::result& row, const std::string& name, std::size_t row_bytes) const;

    duck::connection& connection_;
    store& files_;
    std::vector<field> columns_;
    std::string sequence_;
    std::string field_ids_;  // of mapped columns, for COPY
    std::set<std::string> written_;
};

// A new name of a data file: "part-00000-<uuid>.zstd.parquet".
std::string new_file_name();

}  // namespace lakeflow::host::delta
