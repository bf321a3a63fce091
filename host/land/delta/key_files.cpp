// host/land/delta/key_files.cpp: see key_files.h.
#include "host/land/delta/key_files.h"

#include <algorithm>

#include "host/arrow/builder.h"
#include "host/base/error.h"
#include "host/base/text.h"

namespace lakeflow::host::delta {
namespace {

std::string file_list(const std::vector<std::string>& paths) {
    std::string out = "[";
    for (const std::string& path : paths) {
        if (out.size() > 1) out += ", ";
        out += duck::quote_text(path);
    }
    return out + "]";
}

// Numbers of the files of a table and their statistics, for SQL to look into.
class stats_rows final : public duck::batch_source {
  public:
    stats_rows(const snapshot& table, std::shared_ptr<const arrow_schema> schema)
        : schema_(std::move(schema)), next_(table.files.begin()), end_(table.files.end()) {}

    static std::shared_ptr<const arrow_schema> schema() {
        return std::make_shared<const arrow_schema>(parse_ddl("fi BIGINT, stats STRING"));
    }

    bool next(record_batch& out) override {
        if (next_ == end_) return false;
        auto rows = make_table(*schema_->get());
        for (; next_ != end_ && rows->length() < 2048; ++next_, ++number_) {
            static_cast<fixed_column<std::int64_t>&>(rows->child(0)).append(number_);
            const std::string& stats = next_->second.stats;
            stats.empty() ? rows->child(1).append_null() : static_cast<text_column&>(rows->child(1)).append(stats);
            rows->end_value();
        }
        out.schema = schema_;
        out.array = rows->finish();
        return true;
    }

  private:
    std::shared_ptr<const arrow_schema> schema_;
    std::map<std::string, add_file>::const_iterator next_, end_;
    std::int64_t number_ = 0;
};

// A JSON pointer to a member of the statistics.
std::string pointer(const char* values, const std::string& column) {
    std::string out = std::string("/") + values + "/";
    for (const char c : column) {
        if (c == '~')
            out += "~0";
        else if (c == '/')
            out += "~1";
        else
            out += c;
    }
    return duck::quote_text(out);
}

// The types whose statistics are bounds that compare as the values do. Decimals are not: JSON numbers lose their digits on the way.
bool prunes(const type& t) {
    static constexpr std::string_view names[] = {"byte",   "short", "integer",   "long",
                                                 "string", "date",  "timestamp", "timestamp_ntz"};
    return std::find(std::begin(names), std::end(names), t.name) != std::end(names);
}

std::string number(std::size_t i) { return std::to_string(i); }

}  // namespace

std::string keys_as(const merge_input& in, const std::string& prefix) {
    std::string out;
    for (std::size_t i = 0; i < in.keys.size(); ++i) {
        if (i) out += ", ";
        out += prefix + duck::quote_name(in.keys[i]) + " AS k" + number(i);
    }
    return out;
}

std::string key_names(const merge_input& in, const std::string& prefix) {
    std::string out;
    for (std::size_t i = 0; i < in.keys.size(); ++i) out += (i ? ", " : "") + prefix + "k" + number(i);
    return out;
}

std::string staged_events(const merge_input& in, bool sequenced) {
    std::string sql;
    if (!in.staged.empty()) {
        sql = "SELECT " + keys_as(in) + ", " +
              (sequenced ? duck::quote_name(in.sequence) : std::string("NULL::BIGINT")) +
              " AS s, lf_fi::BIGINT AS fi, lf_rn AS rn, false AS del FROM " + staged_relation(in, all(in.staged));
    }
    if (!in.deletes.empty()) {
        if (!in.staged.empty()) sql += " UNION ALL ";
        sql += "SELECT " + key_names(in) + ", s, -1::BIGINT AS fi, rowid::BIGINT AS rn, true AS del FROM " + in.deletes;
    }
    return sql;
}

std::string keys_equal(const merge_input& in, const std::string& a, const std::string& b) {
    std::string out;
    for (std::size_t i = 0; i < in.keys.size(); ++i) {
        if (i) out += " AND ";
        out += a + ".k" + number(i) + " = " + b + ".k" + number(i);
    }
    return out;
}

std::vector<const data_file*> all(const std::vector<data_file>& files) {
    std::vector<const data_file*> pointers;
    pointers.reserve(files.size());
    for (const data_file& file : files) pointers.push_back(&file);
    return pointers;
}

std::int64_t total_rows(const std::vector<data_file>& files) {
    std::int64_t rows = 0;
    for (const data_file& file : files) rows += file.rows;
    return rows;
}

void add_all(const std::vector<data_file>& files, plan& made) {
    for (const data_file& file : files) {
        if (file.rows > 0) made.adds.push_back(file);
    }
    made.result.files_written += static_cast<std::int64_t>(made.adds.size());
}

std::string staged_relation(const merge_input& in, const std::vector<const data_file*>& files) {
    std::vector<std::string> paths;
    paths.reserve(files.size());
    for (const data_file* file : files) paths.push_back(in.files.path(file->name));
    return "(SELECT *, file_index AS lf_fi, file_row_number AS lf_rn FROM read_parquet(" + file_list(paths) + "))";
}

std::string table_relation(const merge_input& in, const std::vector<std::string>& paths) {
    std::string typed = "SELECT ";
    std::string cast;
    for (const field& column : in.columns) {
        const std::string name = duck::quote_name(column.stored_name());
        const std::string of = "::" + duckdb_type(column.type) + " AS " + name + ", ";
        typed += "NULL" + of;
        const bool key = std::find(in.keys.begin(), in.keys.end(), column.stored_name()) != in.keys.end();
        // No filter on a BLOB may reach a file: its bloom filter may hide rows (see writer.cpp).
        cast += (key && column.type.name == "binary" ? "(" + name + " || ''::BLOB)" : name) + of;
    }
    typed += "0::UBIGINT AS lf_fi, 0::BIGINT AS lf_rn WHERE false";
    std::vector<std::string> names;
    names.reserve(paths.size());
    for (const std::string& path : paths) names.push_back(in.files.path(file_of(path)));
    std::string gone;
    bool any_gone = false;
    for (const std::string& path : paths) {
        const add_file& file = in.table.files.at(path);
        any_gone = any_gone || file.vector;
        gone += (gone.empty() ? "" : ", ") + (file.vector ? std::to_string(in.gone->number(file)) : "NULL");
    }
    const std::string there = any_gone
                                  ? " f WHERE NOT EXISTS (SELECT 1 FROM lf_gone g WHERE g.f = list_extract([" + gone +
                                        "]::BIGINT[], f.file_index::BIGINT + 1) AND g.rn = f.file_row_number)"
                                  : "";
    // An older file may lack columns, also inside structs, or have a narrower type: the casts give the table's.
    if (paths.empty()) return "(" + typed + ")";
    return "(SELECT " + cast + "lf_fi, lf_rn FROM (" + typed +
           " UNION ALL BY NAME SELECT *, file_index AS lf_fi, file_row_number AS lf_rn FROM read_parquet(" +
           file_list(names) + ", union_by_name = true)" + there + "))";
}

std::vector<std::string> files_with_keys(const merge_input& in, const std::string& keys) {
    duck::connection& c = in.connection;
    if (in.table.files.empty() || c.integer("SELECT count(*) FROM " + keys) == 0) return {};

    // Ranges of each key column that prunes, and the keys' own; a range that is not known is null.
    std::string ranges = "SELECT fi";
    std::string outside = "false";
    std::string inside = "true";
    for (std::size_t i = 0; i < in.keys.size(); ++i) {
        const std::string& name = in.keys[i];
        const auto column =
            std::find_if(in.columns.begin(), in.columns.end(), [&](const field& f) { return f.stored_name() == name; });
        if (column == in.columns.end() || !prunes(column->type)) continue;
        const std::string type = duckdb_type(column->type);
        // Writers that cut instants to milliseconds may have cut a maximum down.
        const std::string slack = column->type.name.starts_with("timestamp") ? " + INTERVAL 1 MILLISECOND" : "";
        const auto bound = [&](const char* values) {
            return "TRY_CAST(json_extract_string(stats, " + pointer(values, name) + ") AS " + type + ")";
        };
        const std::string lo = "lo" + number(i), hi = "hi" + number(i), k = "k" + number(i);
        ranges += ", " + bound("minValues") + " AS " + lo + ", " + bound("maxValues") + slack + " AS " + hi;
        outside += " OR " + hi + " < (SELECT min(" + k + ") FROM " + keys + ") OR " + lo + " > (SELECT max(" + k +
                   ") FROM " + keys + ")";
        inside += " AND (r." + lo + " IS NULL OR k." + k + " >= r." + lo + ") AND (r." + hi + " IS NULL OR k." + k +
                  " <= r." + hi + ")";
    }
    const duck::scan stats =
        c.add_scan(stats_rows::schema(), std::make_shared<stats_rows>(in.table, stats_rows::schema()));
    c.run("CREATE OR REPLACE TEMP TABLE lf_range AS SELECT * FROM (" + ranges + " FROM " + stats.sql() +
          ") WHERE NOT coalesce(" + outside + ", false)");

    std::vector<std::int64_t> near;
    for (auto rows = c.query("SELECT fi FROM lf_range ORDER BY fi"); rows.next();) near.push_back(rows[0].integer());
    std::vector<std::string> found;
    auto file = in.table.files.begin();
    std::int64_t at = 0;
    for (const std::int64_t fi : near) {
        std::advance(file, fi - std::exchange(at, fi));
        const std::int64_t any =
            c.integer("SELECT count(*) FROM (SELECT 1 FROM (SELECT * FROM lf_range WHERE fi = " + std::to_string(fi) +
                      ") r, " + keys + " k WHERE " + inside + " LIMIT 1)");
        if (any) found.push_back(file->first);
    }
    return found;
}

std::int64_t count_rows(const merge_input& in) {
    if (in.table.files.empty()) return 0;
    duck::connection& c = in.connection;
    const duck::scan stats =
        c.add_scan(stats_rows::schema(), std::make_shared<stats_rows>(in.table, stats_rows::schema()));
    c.run(
        "CREATE OR REPLACE TEMP TABLE lf_count AS SELECT fi, TRY_CAST(json_extract_string(stats, '/numRecords') AS "
        "BIGINT) AS n FROM " +
        stats.sql());
    std::int64_t rows = c.integer("SELECT coalesce(sum(n), 0)::BIGINT FROM lf_count");
    std::vector<std::int64_t> unknown;
    for (auto row = c.query("SELECT fi FROM lf_count WHERE n IS NULL"); row.next();)
        unknown.push_back(row[0].integer());
    for (const std::int64_t fi : unknown) {
        const std::string path = in.files.path(file_of(std::next(in.table.files.begin(), fi)->first));
        rows += c.integer("SELECT count(*) FROM read_parquet(" + duck::quote_text(path) + ")");
    }
    for (const auto& [path, file] : in.table.files) rows -= file.vector.rows;
    return rows;
}

}  // namespace lakeflow::host::delta
