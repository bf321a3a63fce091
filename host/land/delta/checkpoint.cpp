// host/land/delta/checkpoint.cpp: classic checkpoints, read and written with DuckDB: single-file ones written, multi-part ones read
// too. `_last_checkpoint` is a hint for other readers: it is written, never trusted. Threads: see log.h.
#include <algorithm>
#include <set>

#include "host/arrow/builder.h"
#include "host/base/error.h"
#include "host/base/json.h"
#include "host/base/text.h"
#include "host/land/delta/log.h"

namespace lakeflow::host::delta {
namespace {

constexpr std::int64_t default_interval = 10;
constexpr std::int64_t default_retention_ms = 7ll * 24 * 3600 * 1000;  // of removed files; Delta's own default
constexpr std::int64_t batch_rows = 2048;

std::string checkpoint_name(std::int64_t version) {
    std::string name = commit_name(version);
    name.resize(name.size() - 4);
    return name + "checkpoint.parquet";
}

std::string text_list(const std::vector<std::string>& texts) {
    std::string out = "[";
    for (const std::string& text : texts) {
        if (out.size() > 1) out += ", ";
        out += duck::quote_text(text);
    }
    return "CAST(" + out + "] AS VARCHAR[])";
}

constexpr const char* empty_map = "CAST(MAP {} AS MAP(VARCHAR, VARCHAR))";

std::string text_map(const std::map<std::string, std::string>& members) {
    if (members.empty()) return empty_map;
    std::string out = "MAP {";
    for (const auto& [key, value] : members) {
        if (out.size() > 5) out += ", ";
        out += duck::quote_text(key) + ": " + duck::quote_text(value);
    }
    return out + "}";
}

std::string optional_text(const std::string& text) { return text.empty() ? "NULL::VARCHAR" : duck::quote_text(text); }

enum kind : std::int64_t { is_txn = 1, is_add = 2, is_remove = 3, is_meta = 4, is_protocol = 5 };

// The actions of a table as flat rows, a batch at a time.
class action_rows final : public duck::batch_source {
  public:
    action_rows(const snapshot& table, std::shared_ptr<const arrow_schema> schema, std::int64_t oldest_tombstone)
        : table_(table),
          schema_(std::move(schema)),
          oldest_tombstone_(oldest_tombstone),
          next_txn_(table.txns.begin()),
          next_file_(table.files.begin()),
          next_tombstone_(table.tombstones.begin()) {}

    static std::shared_ptr<const arrow_schema> schema() {
        return std::make_shared<const arrow_schema>(
            parse_ddl("kind BIGINT, path STRING, a BIGINT, b BIGINT, stats STRING, tags STRING"));
    }
    std::int64_t count() const noexcept { return count_; }

    bool next(record_batch& out) override {
        auto rows = make_table(*schema_->get());
        if (!heads_written_) {
            heads_written_ = true;
            append(*rows, is_protocol, {}, 0, 0);
            append(*rows, is_meta, {}, 0, 0);
        }
        while (rows->length() < batch_rows && next_txn_ != table_.txns.end()) {
            const txn& t = (next_txn_++)->second;
            append(*rows, is_txn, t.app_id, t.version, t.last_updated);
        }
        while (rows->length() < batch_rows && next_file_ != table_.files.end()) {
            const add_file& f = (next_file_++)->second;
            append(*rows, is_add, f.path, f.size, f.modification_time, f.stats, f.tags);
        }
        while (rows->length() < batch_rows && next_tombstone_ != table_.tombstones.end()) {
            const remove_file& r = (next_tombstone_++)->second;
            if (r.deletion_timestamp >= oldest_tombstone_)
                append(*rows, is_remove, r.path, r.size, r.deletion_timestamp);
        }
        if (rows->length() == 0) return false;
        count_ += rows->length();
        out.schema = schema_;
        out.array = rows->finish();
        return true;
    }

  private:
    static void append(struct_column& rows, std::int64_t which, const std::string& path, std::int64_t a, std::int64_t b,
                       const std::string& stats = {}, const std::string& tags = {}) {
        const auto integer = [&](std::size_t i) -> auto& {
            return static_cast<fixed_column<std::int64_t>&>(rows.child(i));
        };
        const auto text = [&](std::size_t i, const std::string& value) {
            value.empty() ? rows.child(i).append_null() : static_cast<text_column&>(rows.child(i)).append(value);
        };
        integer(0).append(which);
        text(1, path);
        integer(2).append(a);
        integer(3).append(b);
        text(4, stats);
        text(5, tags);
        rows.end_value();
    }

    const snapshot& table_;
    std::shared_ptr<const arrow_schema> schema_;
    std::int64_t oldest_tombstone_;
    bool heads_written_ = false;
    std::int64_t count_ = 0;
    std::map<std::string, txn>::const_iterator next_txn_;
    std::map<std::string, add_file>::const_iterator next_file_;
    std::map<std::string, remove_file>::const_iterator next_tombstone_;
};

std::string checkpoint_query(const snapshot& table, const std::string& source) {
    const protocol& p = table.proto;
    const metadata& m = table.meta;
    const auto features = [](bool has, const std::vector<std::string>& names) {
        return has ? text_list(names) : std::string("NULL::VARCHAR[]");
    };
    const auto only = [](kind which, const std::string& value, const char* name) {
        return "CASE WHEN kind = " + std::to_string(which) + " THEN " + value + " END AS " + duck::quote_name(name);
    };
    const std::string no_values = empty_map;
    return "SELECT " + only(is_txn, "{'appId': path, 'version': a, 'lastUpdated': nullif(b, 0)}", "txn") + ", " +
           only(is_add,
                "{'path': path, 'partitionValues': " + no_values +
                    ", 'size': a, 'modificationTime': b, 'dataChange': false, 'stats': stats, "
                    "'tags': CAST(CAST(tags AS JSON) AS MAP(VARCHAR, VARCHAR))}",
                "add") +
           ", " +
           only(is_remove,
                "{'path': path, 'deletionTimestamp': b, 'dataChange': false, 'extendedFileMetadata': true, "
                "'partitionValues': " +
                    no_values + ", 'size': a}",
                "remove") +
           ", " +
           only(is_meta,
                "{'id': " + duck::quote_text(m.id) + ", 'name': " + optional_text(m.name) + ", 'description': " +
                    optional_text(m.description) + ", 'format': {'provider': 'parquet', 'options': " + no_values +
                    "}, 'schemaString': " + duck::quote_text(m.schema_string) + ", 'partitionColumns': " +
                    text_list(m.partition_columns) + ", 'configuration': " + text_map(m.configuration) +
                    ", 'createdTime': " + std::to_string(m.created_time) + "::BIGINT}",
                "metaData") +
           ", " +
           only(is_protocol,
                "{'minReaderVersion': " + std::to_string(p.min_reader) +
                    "::INTEGER, 'minWriterVersion': " + std::to_string(p.min_writer) +
                    "::INTEGER, 'readerFeatures': " + features(p.has_reader_features, p.reader_features) +
                    ", 'writerFeatures': " + features(p.has_writer_features, p.writer_features) + "}",
                "protocol") +
           " FROM " + source;
}

// The members of a struct column of a checkpoint, which differ from writer to writer; empty if there is no such column.
std::set<std::string> members(duck::connection& c, const std::string& files, const std::string& column) {
    std::set<std::string> names;
    bool there = false;
    for (auto rows = c.query("SELECT column_name FROM (DESCRIBE SELECT * FROM " + files + ")"); rows.next();) {
        there = there || rows[0].text() == column;
    }
    if (!there) return names;
    for (auto rows =
             c.query("SELECT column_name FROM (DESCRIBE SELECT " + duck::quote_name(column) + ".* FROM " + files + ")");
         rows.next();) {
        names.emplace(rows[0].text());
    }
    return names;
}

std::string text_or_empty(const duck::value& v) { return v.is_null() ? std::string() : std::string(v.text()); }
std::int64_t integer_or_zero(const duck::value& v) { return v.is_null() ? 0 : v.integer(); }

std::vector<std::string> texts_of(const duck::value& v) {
    std::vector<std::string> texts;
    for (std::uint64_t i = 0; !v.is_null() && i < v.size(); ++i) texts.push_back(text_or_empty(v.element(i)));
    return texts;
}

// SQL for a member that may be absent.
std::string member(const std::set<std::string>& has, const char* column, const char* name, const char* otherwise) {
    return has.contains(name) ? duck::quote_name(column) + "." + duck::quote_name(name) : std::string(otherwise);
}

}  // namespace

snapshot delta_log::read_checkpoint(std::int64_t version, const std::vector<std::string>& parts) {
    auto database = duck_();
    duck::connection c = database->connect();
    std::vector<std::string> paths;
    paths.reserve(parts.size());
    for (const std::string& part : parts) paths.push_back(files_->path("_delta_log/" + part));
    const std::string files = "read_parquet(" + text_list(paths) + ", union_by_name = true)";
    snapshot table;
    table.version = version;

    const auto proto = members(c, files, "protocol");
    const auto meta = members(c, files, "metaData");
    if (proto.empty() || meta.empty())
        throw failure("destination.corrupt", "a checkpoint without protocol or metaData");
    auto protocols = c.query("SELECT protocol.minReaderVersion, protocol.minWriterVersion, " +
                             member(proto, "protocol", "readerFeatures", "NULL::VARCHAR[]") + ", " +
                             member(proto, "protocol", "writerFeatures", "NULL::VARCHAR[]") + " FROM " + files +
                             " WHERE protocol.minReaderVersion IS NOT NULL");
    if (!protocols.next()) throw failure("destination.corrupt", "a checkpoint without protocol");
    table.proto.min_reader = static_cast<int>(integer_or_zero(protocols[0]));
    table.proto.min_writer = static_cast<int>(integer_or_zero(protocols[1]));
    table.proto.has_reader_features = !protocols[2].is_null();
    table.proto.has_writer_features = !protocols[3].is_null();
    table.proto.reader_features = texts_of(protocols[2]);
    table.proto.writer_features = texts_of(protocols[3]);

    auto metas = c.query("SELECT metaData.id, " + member(meta, "metaData", "name", "NULL::VARCHAR") + ", " +
                         member(meta, "metaData", "description", "NULL::VARCHAR") + ", metaData.schemaString, " +
                         "metaData.partitionColumns, to_json(metaData.configuration)::VARCHAR, " +
                         member(meta, "metaData", "createdTime", "0::BIGINT") + " FROM " + files +
                         " WHERE metaData.id IS NOT NULL");
    if (!metas.next()) throw failure("destination.corrupt", "a checkpoint without metaData");
    table.meta.id = text_or_empty(metas[0]);
    table.meta.name = text_or_empty(metas[1]);
    table.meta.description = text_or_empty(metas[2]);
    table.meta.schema_string = text_or_empty(metas[3]);
    table.meta.partition_columns = texts_of(metas[4]);
    table.meta.configuration = string_members(text_or_empty(metas[5]));
    table.meta.created_time = integer_or_zero(metas[6]);

    if (const auto has = members(c, files, "txn"); !has.empty()) {
        for (auto rows = c.stream("SELECT txn.appId, txn.version, " + member(has, "txn", "lastUpdated", "0::BIGINT") +
                                  " FROM " + files + " WHERE txn.appId IS NOT NULL");
             rows.next();) {
            txn t{text_or_empty(rows[0]), integer_or_zero(rows[1]), integer_or_zero(rows[2])};
            table.txns[t.app_id] = t;
        }
    }
    if (const auto has = members(c, files, "add"); !has.empty()) {
        const std::string deletion_vector =
            has.contains("deletionVector") ? "add.deletionVector.storageType IS NOT NULL" : "false";
        for (auto rows = c.stream("SELECT add.path, add.size, " + member(has, "add", "modificationTime", "0::BIGINT") +
                                  ", " + member(has, "add", "stats", "NULL::VARCHAR") + ", " + deletion_vector + ", " +
                                  (has.contains("tags") ? "to_json(add.tags)::VARCHAR" : "NULL::VARCHAR") + " FROM " +
                                  files + " WHERE add.path IS NOT NULL");
             rows.next();) {
            add_file f;
            f.path = text_or_empty(rows[0]);
            f.size = integer_or_zero(rows[1]);
            f.modification_time = integer_or_zero(rows[2]);
            f.stats = text_or_empty(rows[3]);
            f.has_deletion_vector = integer_or_zero(rows[4]) != 0;
            f.tags = text_or_empty(rows[5]);
            if (f.tags == "null" || f.tags == "{}") f.tags.clear();
            const std::string path = f.path;
            table.files[path] = std::move(f);
        }
    }
    if (const auto has = members(c, files, "remove"); !has.empty()) {
        for (auto rows = c.stream("SELECT remove.path, " + member(has, "remove", "deletionTimestamp", "0::BIGINT") +
                                  ", " + member(has, "remove", "size", "0::BIGINT") + " FROM " + files +
                                  " WHERE remove.path IS NOT NULL");
             rows.next();) {
            remove_file r{text_or_empty(rows[0]), integer_or_zero(rows[1]), integer_or_zero(rows[2])};
            const std::string path = r.path;
            table.tombstones[path] = std::move(r);
        }
    }
    return table;
}

void delta_log::write_checkpoint(const snapshot& table) {
    std::int64_t oldest = now_ms() - default_retention_ms;
    // A retention of the table's own is an interval in Spark's words; every tombstone is kept then.
    if (table.meta.configuration.contains("delta.deletedFileRetentionDuration")) oldest = 0;
    const std::string name = checkpoint_name(table.version);
    const std::string temporary = "_delta_log/." + name.substr(11) + "." + random_id() + ".tmp";
    auto rows = std::make_shared<action_rows>(table, action_rows::schema(), oldest);
    {
        duck::connection c = duck_()->connect();
        const duck::scan scan = c.add_scan(action_rows::schema(), rows);
        c.run("COPY (" + checkpoint_query(table, scan.sql()) + ") TO " + duck::quote_text(files_->path(temporary)) +
              " (FORMAT parquet, COMPRESSION snappy, ROW_GROUP_SIZE 20480)");
    }
    files_->rename(temporary, name);
    files_->sync(name);
    files_->put("_delta_log/_last_checkpoint",
                "{\"version\":" + std::to_string(table.version) + ",\"size\":" + std::to_string(rows->count()) + "}");
}

bool delta_log::last_checkpoint_is_broken(const listing& log) {
    const std::optional<std::string> text = files_->get("_delta_log/_last_checkpoint");
    if (!text) return !log.checkpoints.empty();
    const std::optional<std::int64_t> version = [&]() -> std::optional<std::int64_t> {
        const auto members = string_members(*text);
        const auto found = members.find("version");
        return found == members.end() ? std::nullopt : parse_int(found->second);
    }();
    return !version || std::none_of(log.checkpoints.begin(), log.checkpoints.end(),
                                    [&](const auto& known) { return known.first == *version; });
}

void delta_log::checkpoint_if_due(const snapshot& table, bool force) {
    try {
        std::int64_t interval = default_interval;
        if (const auto own = table.meta.configuration.find("delta.checkpointInterval");
            own != table.meta.configuration.end()) {
            if (const auto n = parse_int(own->second); n && *n > 0) interval = *n;
        }
        const listing log = list();
        const std::int64_t last = log.checkpoints.empty() ? 0 : log.checkpoints.back().first;
        if (force || table.version - last >= interval) {
            write_checkpoint(table);
        } else if (last_checkpoint_is_broken(log) && !log.has_v2) {
            if (log.checkpoints.empty())
                files_->remove("_delta_log/_last_checkpoint");
            else
                write_checkpoint(table);
        }
    } catch (const failure& f) {
        if (f.get().retry == retry_class::cancelled) throw;
        log_.write(log_level::warn, "delta",
                   "table " + table_ + ": no checkpoint at version " + std::to_string(table.version) +
                       " (the next commit tries again): " + f.get().message);
    }
}

}  // namespace lakeflow::host::delta
