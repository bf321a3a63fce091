// host/land/delta/checkpoint.cpp: checkpoints, read and written with DuckDB. Written are single files, or where the table asks for v2
// (delta.checkpointPolicy) a file with a sidecar; read are multi-part ones too. `_last_checkpoint` is a hint for other readers: it is
// written, never trusted. Threads: see log.h.
#include <algorithm>
#include <iterator>
#include <set>

#include "host/arrow/builder.h"
#include "host/base/error.h"
#include "host/base/json.h"
#include "host/base/text.h"
#include "host/land/delta/log.h"
#include "host/land/delta/retention.h"

namespace lakeflow::host::delta {
namespace {

constexpr std::int64_t default_interval = 10;
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

enum kind : std::int64_t {
    is_txn = 1,
    is_add = 2,
    is_remove = 3,
    is_meta = 4,
    is_protocol = 5,
    is_checkpoint = 6,
    is_sidecar = 7
};

// A sidecar that a v2 checkpoint points to.
struct sidecar {
    std::string name;
    std::int64_t size = 0;
    std::int64_t written_ms = 0;
};

// Which of a table's actions a file of a checkpoint holds.
enum class part { all, files, rest };

// The actions of a table as flat rows, a batch at a time.
class action_rows final : public duck::batch_source {
  public:
    action_rows(const snapshot& table, part which, std::int64_t oldest_tombstone)
        : table_(table), oldest_tombstone_(oldest_tombstone), heads_written_(which == part::files) {
        next_txn_ = which == part::files ? table.txns.end() : table.txns.begin();
        next_file_ = which == part::rest ? table.files.end() : table.files.begin();
        next_tombstone_ = which == part::rest ? table.tombstones.end() : table.tombstones.begin();
    }

    static std::shared_ptr<const arrow_schema> schema() {
        static const auto made = std::make_shared<const arrow_schema>(parse_ddl(
            "kind BIGINT, path STRING, a BIGINT, b BIGINT, stats STRING, tags STRING, dv_kind STRING, dv_place "
            "STRING, dv_offset BIGINT, dv_size BIGINT, dv_rows BIGINT"));
        return made;
    }
    // Of a v2 checkpoint.
    void point_to(sidecar to) { sidecar_ = std::move(to); }
    std::int64_t count() const noexcept { return count_; }

    bool next(record_batch& out) override {
        auto rows = make_table(*schema()->get());
        if (!heads_written_) {
            heads_written_ = true;
            append(*rows, is_protocol, {}, 0, 0);
            append(*rows, is_meta, {}, 0, 0);
            if (sidecar_) {
                append(*rows, is_checkpoint, {}, table_.version, 0);
                append(*rows, is_sidecar, sidecar_->name, sidecar_->size, sidecar_->written_ms);
            }
        }
        while (rows->length() < batch_rows && next_txn_ != table_.txns.end()) {
            const txn& t = (next_txn_++)->second;
            append(*rows, is_txn, t.app_id, t.version, t.last_updated);
        }
        while (rows->length() < batch_rows && next_file_ != table_.files.end()) {
            const add_file& f = (next_file_++)->second;
            append(*rows, is_add, f.path, f.size, f.modification_time, f.stats, f.tags, f.vector);
        }
        while (rows->length() < batch_rows && next_tombstone_ != table_.tombstones.end()) {
            const remove_file& r = (next_tombstone_++)->second;
            if (r.deletion_timestamp >= oldest_tombstone_)
                append(*rows, is_remove, r.path, r.size, r.deletion_timestamp, {}, {}, r.vector);
        }
        if (rows->length() == 0) return false;
        count_ += rows->length();
        out.schema = schema();
        out.array = rows->finish();
        return true;
    }

  private:
    static void append(struct_column& rows, std::int64_t which, const std::string& path, std::int64_t a, std::int64_t b,
                       const std::string& stats = {}, const std::string& tags = {}, const deletion_vector& gone = {}) {
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
        text(6, gone.storage);
        text(7, gone.place);
        gone.offset < 0 ? rows.child(8).append_null() : integer(8).append(gone.offset);
        integer(9).append(gone.size);
        integer(10).append(gone.rows);
        rows.end_value();
    }

    const snapshot& table_;
    std::int64_t oldest_tombstone_;
    bool heads_written_;
    std::optional<sidecar> sidecar_;
    std::int64_t count_ = 0;
    std::map<std::string, txn>::const_iterator next_txn_;
    std::map<std::string, add_file>::const_iterator next_file_;
    std::map<std::string, remove_file>::const_iterator next_tombstone_;
};

bool has_feature(const protocol& p, std::string_view name) {
    return std::find(p.writer_features.begin(), p.writer_features.end(), name) != p.writer_features.end();
}

// Only tables whose policy says so: every reader of such a table knows v2.
bool wants_v2(const snapshot& table) {
    const auto policy = table.meta.configuration.find("delta.checkpointPolicy");
    return has_feature(table.proto, "v2Checkpoint") && policy != table.meta.configuration.end() &&
           policy->second == "v2";
}

std::string only(kind which, const std::string& value, const char* name) {
    return "CASE WHEN kind = " + std::to_string(which) + " THEN " + value + " END AS " + duck::quote_name(name);
}

std::string file_columns(const snapshot& table) {
    const std::string gone =
        has_feature(table.proto, "deletionVectors")
            ? ", 'deletionVector': CASE WHEN dv_kind IS NOT NULL THEN {'storageType': dv_kind, 'pathOrInlineDv': "
              "dv_place, 'offset': dv_offset::INTEGER, 'sizeInBytes': dv_size::INTEGER, 'cardinality': dv_rows} END"
            : "";
    const std::string no_values = empty_map;
    return only(is_add,
                "{'path': path, 'partitionValues': " + no_values +
                    ", 'size': a, 'modificationTime': b, 'dataChange': false, 'stats': stats, "
                    "'tags': CAST(CAST(tags AS JSON) AS MAP(VARCHAR, VARCHAR))" +
                    gone + "}",
                "add") +
           ", " +
           only(is_remove,
                "{'path': path, 'deletionTimestamp': b, 'dataChange': false, 'extendedFileMetadata': true, "
                "'partitionValues': " +
                    no_values + ", 'size': a" + gone + "}",
                "remove");
}

std::string other_columns(const snapshot& table) {
    const protocol& p = table.proto;
    const metadata& m = table.meta;
    const auto features = [](bool has, const std::vector<std::string>& names) {
        return has ? text_list(names) : std::string("NULL::VARCHAR[]");
    };
    return only(is_txn, "{'appId': path, 'version': a, 'lastUpdated': nullif(b, 0)}", "txn") + ", " +
           only(is_meta,
                "{'id': " + duck::quote_text(m.id) + ", 'name': " + optional_text(m.name) + ", 'description': " +
                    optional_text(m.description) + ", 'format': {'provider': 'parquet', 'options': " + empty_map +
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
                "protocol");
}

std::string checkpoint_query(const snapshot& table, part which, const std::string& source) {
    std::string columns;
    if (which != part::files) columns += other_columns(table);
    if (which != part::rest) columns += (columns.empty() ? "" : ", ") + file_columns(table);
    if (which == part::rest) {
        columns +=
            ", " + only(is_checkpoint, std::string("{'version': a, 'tags': ") + empty_map + "}", "checkpointMetadata") +
            ", " +
            only(is_sidecar,
                 std::string("{'path': path, 'sizeInBytes': a, 'modificationTime': b, 'tags': ") + empty_map + "}",
                 "sidecar");
    }
    return "SELECT " + columns + " FROM " + source;
}

constexpr const char* parquet_format = " (FORMAT parquet, COMPRESSION snappy, ROW_GROUP_SIZE 20480)";

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

// A relation of the files of a checkpoint.
std::string relation(store& files, const std::string& folder, const std::vector<std::string>& names) {
    std::vector<std::string> paths;
    paths.reserve(names.size());
    for (const std::string& name : names) paths.push_back(files.path(folder + name));
    return "read_parquet(" + text_list(paths) + ", union_by_name = true)";
}

std::string vector_columns(const std::set<std::string>& has, const std::string& column) {
    if (!has.contains("deletionVector"))
        return "NULL::VARCHAR, NULL::VARCHAR, NULL::BIGINT, NULL::BIGINT, NULL::BIGINT";
    std::string out;
    for (const char* name : {"storageType", "pathOrInlineDv", "offset", "sizeInBytes", "cardinality"})
        out += (out.empty() ? "" : ", ") + column + ".deletionVector." + duck::quote_name(name);
    return out;
}

deletion_vector vector_of(const duck::result& row, std::uint64_t first) {
    deletion_vector made;
    made.storage = text_or_empty(row[first]);
    made.place = text_or_empty(row[first + 1]);
    if (!row[first + 2].is_null()) made.offset = row[first + 2].integer();
    made.size = integer_or_zero(row[first + 3]);
    made.rows = integer_or_zero(row[first + 4]);
    return made;
}

void read_heads(duck::connection& c, const std::string& files, snapshot& table) {
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
}

// Adds and removes, a few thousand at a time.
void read_files(duck::connection& c, const std::string& files, snapshot& table) {
    actions read;
    const auto flush = [&](std::size_t at_least) {
        if (read.adds.size() + read.removes.size() < at_least) return;
        table.apply(std::move(read), table.version);
        read = actions();
    };
    if (const auto has = members(c, files, "add"); !has.empty()) {
        for (auto rows = c.stream("SELECT add.path, add.size, " + member(has, "add", "modificationTime", "0::BIGINT") +
                                  ", " + member(has, "add", "stats", "NULL::VARCHAR") + ", " +
                                  (has.contains("tags") ? "to_json(add.tags)::VARCHAR" : "NULL::VARCHAR") + ", " +
                                  vector_columns(has, "add") + " FROM " + files + " WHERE add.path IS NOT NULL");
             rows.next();) {
            add_file f;
            f.path = text_or_empty(rows[0]);
            f.size = integer_or_zero(rows[1]);
            f.modification_time = integer_or_zero(rows[2]);
            f.stats = text_or_empty(rows[3]);
            f.tags = text_or_empty(rows[4]);
            if (f.tags == "null" || f.tags == "{}") f.tags.clear();
            f.vector = vector_of(rows, 5);
            read.adds.push_back(std::move(f));
            flush(batch_rows);
        }
        flush(1);
    }
    if (const auto has = members(c, files, "remove"); !has.empty()) {
        for (auto rows = c.stream("SELECT remove.path, " + member(has, "remove", "deletionTimestamp", "0::BIGINT") +
                                  ", " + member(has, "remove", "size", "0::BIGINT") + ", " +
                                  vector_columns(has, "remove") + " FROM " + files + " WHERE remove.path IS NOT NULL");
             rows.next();) {
            remove_file r{text_or_empty(rows[0]), integer_or_zero(rows[1]), integer_or_zero(rows[2]), true,
                          vector_of(rows, 3)};
            // A file may be there still, with another vector.
            const std::string name = r.vector ? r.path + "\n" + r.vector.id() : r.path;
            table.tombstones[name] = std::move(r);
        }
    }
}

bool is_json(const std::vector<std::string>& parts) { return parts.size() == 1 && parts.front().ends_with(".json"); }

// The file of a sidecar that a checkpoint names, however it spells the path.
std::string sidecar_name(const std::string& path) { return file_of(path.substr(path.rfind('/') + 1)); }

}  // namespace

std::vector<std::string> delta_log::sidecars_of(duck::connection& c, const std::vector<std::string>& parts) {
    std::vector<std::string> names;
    if (is_json(parts)) {
        const std::string name = "_delta_log/" + parts.front();
        const actions read = parse_commit(files_->get(name).value_or(""), name, false);
        for (const std::string& path : read.sidecars) names.push_back(sidecar_name(path));
        return names;
    }
    const std::string files = relation(*files_, "_delta_log/", parts);
    if (members(c, files, "sidecar").empty()) return names;
    for (auto rows = c.query("SELECT sidecar.path FROM " + files + " WHERE sidecar.path IS NOT NULL"); rows.next();)
        names.push_back(sidecar_name(text_or_empty(rows[0])));
    return names;
}

snapshot delta_log::read_checkpoint(std::int64_t version, const std::vector<std::string>& parts) {
    duck::connection c = duck_()->connect();
    snapshot table;
    table.version = version;
    if (is_json(parts)) {
        const std::string name = "_delta_log/" + parts.front();
        actions read = parse_commit(files_->get(name).value_or(""), name);
        if (!read.proto || !read.meta)
            throw failure("destination.corrupt", "a checkpoint without protocol or metaData");
        table.apply(std::move(read), version);
    } else {
        const std::string files = relation(*files_, "_delta_log/", parts);
        read_heads(c, files, table);
        read_files(c, files, table);
    }
    if (const std::vector<std::string> sidecars = sidecars_of(c, parts); !sidecars.empty())
        read_files(c, relation(*files_, "_delta_log/_sidecars/", sidecars), table);
    return table;
}

void delta_log::write_checkpoint(const snapshot& table) {
    // Where the table's own retention cannot be read, every tombstone is kept.
    const std::optional<std::int64_t> retention = file_retention_ms(table.meta);
    const std::int64_t oldest = retention ? now_ms() - std::max(*retention, keep_removed_ms_) : 0;
    std::int64_t actions_written = 0;
    if (wants_v2(table)) {
        actions_written = write_sidecar_checkpoint(table, oldest);
    } else {
        const std::string name = checkpoint_name(table.version);
        const std::string temporary = "_delta_log/." + name.substr(11) + "." + random_id() + ".tmp";
        const auto rows = std::make_shared<action_rows>(table, part::all, oldest);
        {
            duck::connection c = duck_()->connect();
            const duck::scan scan = c.add_scan(action_rows::schema(), rows);
            c.run("COPY (" + checkpoint_query(table, part::all, scan.sql()) + ") TO " +
                  duck::quote_text(files_->path(temporary)) + parquet_format);
        }
        files_->rename(temporary, name);
        files_->sync(name);
        actions_written = rows->count();
    }
    files_->put("_delta_log/_last_checkpoint",
                "{\"version\":" + std::to_string(table.version) + ",\"size\":" + std::to_string(actions_written) + "}");
}

// The adds and removes in one sidecar, which is durable before the file that names it is there. Returns the number of actions.
std::int64_t delta_log::write_sidecar_checkpoint(const snapshot& table, std::int64_t oldest_tombstone) {
    const auto new_id = [] {
        std::string id = random_id();
        for (const std::size_t at : {8u, 13u, 18u, 23u}) id.insert(at, "-");
        return id;
    };
    files_->make_folder("_delta_log/_sidecars");
    sidecar side;
    side.name = new_id() + ".parquet";
    const std::string side_path = "_delta_log/_sidecars/" + side.name;
    duck::connection c = duck_()->connect();
    std::int64_t count = 0;
    {
        const auto rows = std::make_shared<action_rows>(table, part::files, oldest_tombstone);
        const duck::scan scan = c.add_scan(action_rows::schema(), rows);
        auto written = c.query("COPY (" + checkpoint_query(table, part::files, scan.sql()) + ") TO " +
                               duck::quote_text(files_->path(side_path)) +
                               " (FORMAT parquet, COMPRESSION snappy, ROW_GROUP_SIZE 20480, RETURN_STATS)");
        if (!written.next()) throw failure("destination.duckdb", "COPY gave no statistics");
        side.size = written[2].integer();
        side.written_ms = now_ms();
        count += rows->count();
    }
    files_->sync(side_path);
    const auto rows = std::make_shared<action_rows>(table, part::rest, oldest_tombstone);
    rows->point_to(side);
    std::string name = commit_name(table.version);
    name.resize(name.size() - 4);
    name += "checkpoint." + new_id() + ".parquet";
    const std::string temporary = "_delta_log/." + name.substr(11) + ".tmp";
    {
        const duck::scan scan = c.add_scan(action_rows::schema(), rows);
        c.run("COPY (" + checkpoint_query(table, part::rest, scan.sql()) + ") TO " +
              duck::quote_text(files_->path(temporary)) + parquet_format);
    }
    files_->rename(temporary, name);
    files_->sync(name);
    return count + rows->count();
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

std::int64_t delta_log::checkpoint_if_due(const snapshot& table, bool force) {
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
            return remove_expired(table);
        }
        if (last_checkpoint_is_broken(log)) {
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
    return 0;
}

}  // namespace lakeflow::host::delta
