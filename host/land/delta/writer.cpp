// host/land/delta/writer.cpp: see writer.h.
#include "host/land/delta/writer.h"

#include <algorithm>
#include <chrono>

#include "host/base/clock.h"
#include "host/base/error.h"
#include "host/base/text.h"
#include "host/land/delta/stats.h"

namespace lakeflow::host::delta {
namespace {

constexpr std::size_t row_group_bytes = 12u << 20;
constexpr std::int64_t vector_rows = 2048;
constexpr std::int64_t largest_row_group = 122'880;  // DuckDB's own default

std::int64_t row_group_rows(std::size_t row_bytes) {
    const auto fit = static_cast<std::int64_t>(row_group_bytes / std::max<std::size_t>(row_bytes, 1));
    return std::clamp(fit / vector_rows * vector_rows, vector_rows, largest_row_group);
}

std::string copy_options(std::size_t row_bytes) {
    return "FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, ROW_GROUP_SIZE " +
           std::to_string(row_group_rows(row_bytes)) + ", RETURN_STATS";
}

class buffer_source final : public duck::batch_source {
  public:
    explicit buffer_source(row_buffer rows) : rows_(std::move(rows)) {}
    bool next(record_batch& out) override { return rows_.pop(out); }

  private:
    row_buffer rows_;
};

// "\"user\".\"id\"" -> {"min": .., ..} of a row of RETURN_STATS.
file_stats read_stats(const duck::value& map) {
    file_stats stats;
    for (std::uint64_t i = 0; !map.is_null() && i < map.size(); ++i) {
        const duck::value column = map.element(i);
        const duck::value members = column.field(1);
        column_stats& of = stats[std::string(column.field(0).text())];
        for (std::uint64_t k = 0; k < members.size(); ++k) {
            const duck::value member = members.element(k);
            if (!member.field(1).is_null()) of.emplace(member.field(0).text(), member.field(1).text());
        }
    }
    return stats;
}

}  // namespace

std::string new_file_name() {
    std::string id = random_id();
    for (const std::size_t at : {8u, 13u, 18u, 23u}) id.insert(at, "-");
    return "part-00000-" + id + ".zstd.parquet";
}

std::string file_writer::column_list(const std::string& prefix) const {
    std::string out;
    for (const field& column : columns_) {
        if (!out.empty()) out += ", ";
        out += prefix + duck::quote_name(column.name);
    }
    return out;
}

data_file file_writer::copied(duck::result& row, const std::string& name, std::size_t row_bytes) const {
    data_file made;
    made.name = name;
    made.rows = row[1].integer();
    made.bytes = static_cast<std::size_t>(made.rows) * row_bytes;
    made.add.path = name;
    made.add.size = row[2].integer();
    made.add.modification_time = system_clock().now_us() / 1000;
    made.add.stats = to_stats(made.rows, columns_, read_stats(row[4]));
    return made;
}

data_file file_writer::write_query(const std::string& sql, std::size_t row_bytes) {
    const std::string name = new_file_name();
    written_.insert(name);
    auto rows = connection_.query("COPY (" + sql + ") TO " + duck::quote_text(files_.path(name)) + " (" +
                                  copy_options(row_bytes) + ")");
    if (!rows.next()) throw failure("destination.duckdb", "COPY gave no statistics");
    return copied(rows, name, row_bytes);
}

data_file file_writer::write(row_buffer rows, const std::shared_ptr<const arrow_schema>& schema) {
    const std::size_t row_bytes = rows.bytes() / static_cast<std::size_t>(std::max<std::int64_t>(rows.rows(), 1));
    const duck::scan scan = connection_.add_scan(schema, std::make_shared<buffer_source>(std::move(rows)));
    std::string list;
    for (const field& column : columns_) {
        const std::string name = duck::quote_name(column.name);
        if (!list.empty()) list += ", ";
        list +=
            find_column(*schema->get(), column.name) >= 0 ? name : "NULL::" + duckdb_type(column.type) + " AS " + name;
    }
    return write_query("SELECT " + list + " FROM " + scan.sql(), row_bytes);
}

std::vector<data_file> file_writer::write_small(const std::string& sql, std::size_t row_bytes, std::int64_t file_rows) {
    std::vector<data_file> made;
    connection_.run("CREATE OR REPLACE TEMP TABLE lakeflow_run AS " + sql);
    const std::int64_t rows = connection_.integer("SELECT count(*) FROM lakeflow_run");
    for (std::int64_t first = 0; first < rows; first += file_rows) {
        made.push_back(write_query("SELECT " + column_list() + " FROM lakeflow_run WHERE rowid >= " +
                                       std::to_string(first) + " AND rowid < " + std::to_string(first + file_rows),
                                   row_bytes));
    }
    connection_.run("DROP TABLE lakeflow_run");
    return made;
}

std::vector<data_file> file_writer::write_run(const std::string& sql, std::size_t row_bytes, std::int64_t max_rows,
                                              std::size_t max_bytes) {
    const std::int64_t by_bytes = static_cast<std::int64_t>(max_bytes / std::max<std::size_t>(row_bytes, 1));
    const std::int64_t file_rows = std::max<std::int64_t>(1, std::min(max_rows, by_bytes));
    if (file_rows < vector_rows) return write_small(sql, row_bytes, file_rows);
    // DuckDB cuts files after whole row groups, and a row group after whole vectors.
    const std::int64_t group =
        std::min(row_group_rows(row_bytes), std::max(vector_rows, file_rows / vector_rows * vector_rows));
    const std::int64_t groups = std::max<std::int64_t>(1, file_rows / group);
    const std::string folder = ".lakeflow-" + random_id();
    std::vector<data_file> made;
    const auto clean = [&] {
        for (const std::string& left : files_.list(folder)) files_.remove(folder + "/" + left);
        files_.remove(folder);
    };
    try {
        auto rows = connection_.query("COPY (" + sql + ") TO " + duck::quote_text(files_.path(folder)) +
                                      " (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, ROW_GROUP_SIZE " +
                                      std::to_string(group) + ", ROW_GROUPS_PER_FILE " + std::to_string(groups) +
                                      ", RETURN_STATS)");
        while (rows.next()) {
            const std::string path(rows[0].text());
            if (rows[1].integer() == 0) continue;
            data_file file = copied(rows, new_file_name(), row_bytes);
            written_.insert(file.name);
            files_.rename(folder + path.substr(path.rfind('/')), file.name);
            made.push_back(std::move(file));
        }
        clean();
    } catch (...) {
        clean();
        throw;
    }
    return made;
}

}  // namespace lakeflow::host::delta
