// host/land/delta/writer.cpp: see writer.h.
#include "host/land/delta/writer.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>

#include "host/base/clock.h"
#include "host/base/error.h"
#include "host/base/text.h"
#include "host/land/delta/evolution.h"
#include "host/land/delta/stats.h"

namespace lakeflow::host::delta {
namespace {

constexpr std::size_t row_group_bytes = 12u << 20;
constexpr std::int64_t vector_rows = 2048;
constexpr std::int64_t largest_row_group = 122'880;  // DuckDB's own default

// Files that are written at once, and what waits for all of them: each of their row groups gets an eighth of it or more.
constexpr std::int64_t parts_at_once = 8;
constexpr std::size_t parts_bytes = 32u << 20;

std::int64_t row_group_rows(std::size_t row_bytes) {
    const auto fit = static_cast<std::int64_t>(row_group_bytes / std::max<std::size_t>(row_bytes, 1));
    return std::clamp(fit / vector_rows * vector_rows, vector_rows, largest_row_group);
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

// The numbers of mapped columns, for COPY: "\"a\": 1, \"s\": {__duckdb_field_id: 2, \"b\": 3}".
std::string ids_of(const std::vector<field>& fields, const std::string& parent = "struct") {
    std::string out;
    for (const field& f : fields) {
        // Elements, keys and values have fixed names in a file, whatever Arrow calls them.
        std::string name = f.stored_name();
        if (parent == "array") name = "element";
        if (parent == "map") name = &f == fields.data() ? "key" : "value";
        const auto members = string_members(f.metadata);
        const auto id = members.find("delta.columnMapping.id");
        std::string inner;
        if (f.type.name == "struct" || f.type.name == "array" || f.type.name == "map")
            inner = ids_of(f.type.fields, f.type.name);
        std::string value;
        if (!inner.empty())
            value = "{" + (id == members.end() ? "" : "__duckdb_field_id: " + id->second + ", ") + inner + "}";
        else if (id != members.end())
            value = id->second;
        if (!value.empty()) out += (out.empty() ? "" : ", ") + duck::quote_name(name) + ": " + value;
    }
    return out;
}

}  // namespace

std::string new_file_name() {
    std::string id = random_id();
    for (const std::size_t at : {8u, 13u, 18u, 23u}) id.insert(at, "-");
    return "part-00000-" + id + ".zstd.parquet";
}

file_writer::file_writer(duck::connection& connection, store& files, std::vector<field> columns)
    : connection_(connection), files_(files), columns_(std::move(columns)), field_ids_(ids_of(columns_)) {}

// Without bloom filters: DuckDB 1.5.6 takes rows for absent by those of a BLOB column, where a value is not ASCII.
std::string file_writer::copy_options(std::int64_t group_rows) const {
    return "FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, WRITE_BLOOM_FILTER false, ROW_GROUP_SIZE " +
           std::to_string(group_rows) + (field_ids_.empty() ? "" : ", FIELD_IDS {" + field_ids_ + "}") +
           ", RETURN_STATS";
}

std::string file_writer::column_list(const std::string& prefix) const {
    std::string out;
    for (const field& column : columns_) {
        if (!out.empty()) out += ", ";
        out += prefix + duck::quote_name(column.stored_name());
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
                                  copy_options(row_group_rows(row_bytes)) + ")");
    if (!rows.next()) throw failure("destination.duckdb", "COPY gave no statistics");
    return copied(rows, name, row_bytes);
}

data_file file_writer::write(row_buffer rows, const std::shared_ptr<const arrow_schema>& schema) {
    const std::size_t row_bytes = rows.bytes() / static_cast<std::size_t>(std::max<std::int64_t>(rows.rows(), 1));
    const auto stored = stored_schema(*schema->get(), columns_);
    const duck::scan scan = connection_.add_scan(stored, std::make_shared<buffer_source>(std::move(rows)));
    std::string list;
    for (const field& column : columns_) {
        const std::string name = duck::quote_name(column.stored_name());
        std::string value = "NULL";
        if (!sequence_.empty() && column.name == start_column)
            value = duck::quote_name(sequence_);
        else if (find_column(*schema->get(), column.name) >= 0)
            value = name;
        // The table's type may be wider than the flow's.
        list += (list.empty() ? "" : ", ") + value + "::" + duckdb_type(column.type) + " AS " + name;
    }
    return write_query("SELECT " + list + " FROM " + scan.sql(), row_bytes);
}

std::vector<data_file> file_writer::write_parts(const std::string& sql, std::size_t row_bytes, std::int64_t parts) {
    std::int64_t step = 1;  // file numbers in one of the folder's parts; 1: they are the files themselves
    while (step * parts_at_once < parts) step *= parts_at_once;
    const std::int64_t groups = (parts + step - 1) / step;
    const std::string folder = ".lakeflow-" + random_id();
    const auto part = [&](std::int64_t g) { return folder + "/lf_part=" + std::to_string(g); };
    const auto clean = [&] {
        for (std::int64_t g = 0; g < groups; ++g) {
            for (const std::string& left : files_.list(part(g))) files_.remove(part(g) + "/" + left);
            files_.remove(part(g));
        }
        files_.remove(folder);
    };
    const auto waiting = static_cast<std::int64_t>(parts_bytes / std::max<std::size_t>(row_bytes, 1));
    connection_.run("SET partitioned_write_flush_threshold = " +
                    std::to_string(std::clamp(waiting, vector_rows * parts_at_once, largest_row_group)));
    std::vector<data_file> made;
    try {
        std::map<std::int64_t, std::string> left;
        auto rows = connection_.query("COPY (SELECT " + column_list() + (step > 1 ? ", lf_b" : "") + ", lf_b // " +
                                      std::to_string(step) + " AS lf_part FROM (" + sql + ")) TO " +
                                      duck::quote_text(files_.path(folder)) + " (" +
                                      copy_options(row_group_rows(row_bytes)) + ", PARTITION_BY (lf_part))");
        while (rows.next()) {
            const std::string path(rows[0].text());
            const auto name = path.rfind('/');
            const auto key = path.rfind('=', name);
            const auto number = parse_int(std::string_view(path).substr(key + 1, name - key - 1));
            if (!number) throw failure("destination.duckdb", "COPY named a file " + path + ", which has no number");
            if (step > 1) {
                left.emplace(*number, part(*number) + path.substr(name));
                continue;
            }
            data_file file = copied(rows, new_file_name(), row_bytes);
            written_.insert(file.name);
            files_.rename(part(*number) + path.substr(name), file.name);
            made.push_back(std::move(file));
        }
        for (const auto& [number, file] : left) {
            const std::string first = std::to_string(number * step);
            auto some = write_parts("SELECT " + column_list() + ", lf_b - " + first + " AS lf_b FROM read_parquet(" +
                                        duck::quote_text(files_.path(file)) + ", hive_partitioning = false)",
                                    row_bytes, std::min(step, parts - number * step));
            std::move(some.begin(), some.end(), std::back_inserter(made));
            files_.remove(file);
        }
        clean();
    } catch (...) {
        clean();
        throw;
    }
    return made;
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
        auto rows = connection_.query("COPY (" + sql + ") TO " + duck::quote_text(files_.path(folder)) + " (" +
                                      copy_options(group) + ", ROW_GROUPS_PER_FILE " + std::to_string(groups) + ")");
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
