// host/land/delta/actions.cpp: see actions.h.
#include "host/land/delta/actions.h"

#include <boost/json.hpp>
#include <charconv>

#include "host/base/error.h"
#include "host/base/json.h"

namespace lakeflow::host::delta {
namespace {

namespace json = boost::json;

std::string text_of(const json::object& from, std::string_view name) {
    const json::value* found = from.if_contains(name);
    if (!found || !found->is_string()) return {};
    return std::string(found->get_string());
}

std::int64_t number_of(const json::object& from, std::string_view name) {
    const json::value* found = from.if_contains(name);
    if (!found) return 0;
    if (found->is_int64()) return found->get_int64();
    if (found->is_uint64()) return static_cast<std::int64_t>(found->get_uint64());
    if (found->is_double()) return static_cast<std::int64_t>(found->get_double());
    return 0;
}

std::vector<std::string> texts_of(const json::object& from, std::string_view name, bool* present = nullptr) {
    std::vector<std::string> texts;
    const json::value* found = from.if_contains(name);
    const bool is_list = found && found->is_array();
    if (present) *present = is_list;
    if (is_list) {
        for (const json::value& item : found->get_array()) {
            if (item.is_string()) texts.emplace_back(item.get_string());
        }
    }
    return texts;
}

std::map<std::string, std::string> members_of(const json::value& from) {
    std::map<std::string, std::string> members;
    if (!from.is_object()) return members;
    for (const auto& [key, value] : from.get_object()) {
        if (value.is_null()) continue;
        members[std::string(key)] = value.is_string() ? std::string(value.get_string()) : json::serialize(value);
    }
    return members;
}

std::string object_text(const json::object& from, std::string_view name) {
    const json::value* found = from.if_contains(name);
    return found && found->is_object() ? json::serialize(*found) : std::string();
}

deletion_vector vector_of(const json::object& from) {
    deletion_vector made;
    const json::value* found = from.if_contains("deletionVector");
    if (!found || !found->is_object()) return made;
    const json::object& o = found->get_object();
    made.storage = text_of(o, "storageType");
    made.place = text_of(o, "pathOrInlineDv");
    if (const json::value* offset = o.if_contains("offset"); offset && !offset->is_null())
        made.offset = number_of(o, "offset");
    made.size = number_of(o, "sizeInBytes");
    made.rows = number_of(o, "cardinality");
    return made;
}

void read_action(const json::object& line, actions& into) {
    for (const auto& [key, value] : line) {
        if (!value.is_object()) continue;
        const json::object& o = value.get_object();
        if (key == "add") {
            add_file add;
            add.path = text_of(o, "path");
            add.size = number_of(o, "size");
            add.modification_time = number_of(o, "modificationTime");
            add.stats = text_of(o, "stats");
            add.tags = object_text(o, "tags");
            if (std::string values = object_text(o, "partitionValues"); !values.empty())
                add.partition_values = std::move(values);
            add.vector = vector_of(o);
            into.adds.push_back(std::move(add));
        } else if (key == "remove") {
            into.removes.push_back(
                {text_of(o, "path"), number_of(o, "deletionTimestamp"), number_of(o, "size"), true, vector_of(o)});
        } else if (key == "txn") {
            into.txns.push_back({text_of(o, "appId"), number_of(o, "version"), number_of(o, "lastUpdated")});
        } else if (key == "metaData") {
            metadata meta;
            meta.id = text_of(o, "id");
            meta.name = text_of(o, "name");
            meta.description = text_of(o, "description");
            meta.schema_string = text_of(o, "schemaString");
            meta.partition_columns = texts_of(o, "partitionColumns");
            if (const json::value* configuration = o.if_contains("configuration"))
                meta.configuration = members_of(*configuration);
            meta.created_time = number_of(o, "createdTime");
            into.meta = std::move(meta);
        } else if (key == "protocol") {
            protocol proto;
            proto.min_reader = static_cast<int>(number_of(o, "minReaderVersion"));
            proto.min_writer = static_cast<int>(number_of(o, "minWriterVersion"));
            proto.reader_features = texts_of(o, "readerFeatures", &proto.has_reader_features);
            proto.writer_features = texts_of(o, "writerFeatures", &proto.has_writer_features);
            into.proto = std::move(proto);
        } else if (key == "commitInfo") {
            into.commit_id = text_of(o, "txnId");
        } else if (key == "sidecar") {
            into.sidecars.push_back(text_of(o, "path"));
        }
    }
}

std::string vector_json(const deletion_vector& vector) {
    if (!vector) return {};
    std::string out = ",\"deletionVector\":{\"storageType\":" + quote_json(vector.storage) +
                      ",\"pathOrInlineDv\":" + quote_json(vector.place);
    if (vector.offset >= 0) out += ",\"offset\":" + std::to_string(vector.offset);
    return out + ",\"sizeInBytes\":" + std::to_string(vector.size) + ",\"cardinality\":" + std::to_string(vector.rows) +
           "}";
}

std::string list_json(const std::vector<std::string>& texts) {
    std::string out = "[";
    for (const std::string& text : texts) {
        if (out.size() > 1) out += ',';
        out += quote_json(text);
    }
    return out + "]";
}

}  // namespace

actions parse_commit(std::string_view text, std::string_view file, bool files_wanted) {
    actions read;
    std::size_t number = 0;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        std::string_view line = text.substr(0, end);
        text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
        ++number;
        if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
        if (line.empty()) continue;
        if (!files_wanted && (line.starts_with("{\"add\"") || line.starts_with("{\"remove\""))) continue;
        boost::system::error_code failed;
        json::parse_options options;
        options.max_depth = 256;
        const json::value value = json::parse(line, failed, {}, options);
        if (failed || !value.is_object()) {
            throw failure(
                "destination.corrupt",
                "line " + std::to_string(number) + " of " + std::string(file) + " is no action of a Delta log",
                "the table was damaged by another program; restore the file or the table");
        }
        read_action(value.get_object(), read);
    }
    return read;
}

std::map<std::string, std::string> string_members(std::string_view text) {
    boost::system::error_code failed;
    const json::value value = json::parse(text, failed);
    return failed ? std::map<std::string, std::string>() : members_of(value);
}

std::string to_json(const add_file& add) {
    std::string out = "{\"add\":{\"path\":" + quote_json(add.path) + ",\"partitionValues\":" + add.partition_values +
                      ",\"size\":" + std::to_string(add.size) +
                      ",\"modificationTime\":" + std::to_string(add.modification_time) +
                      ",\"dataChange\":" + (add.data_change ? "true" : "false");
    if (!add.stats.empty()) out += ",\"stats\":" + quote_json(add.stats);
    if (!add.tags.empty()) out += ",\"tags\":" + add.tags;
    return out + vector_json(add.vector) + "}}\n";
}

std::string to_json(const remove_file& remove) {
    return "{\"remove\":{\"path\":" + quote_json(remove.path) +
           ",\"deletionTimestamp\":" + std::to_string(remove.deletion_timestamp) +
           ",\"dataChange\":" + (remove.data_change ? "true" : "false") +
           ",\"extendedFileMetadata\":true,\"partitionValues\":{},\"size\":" + std::to_string(remove.size) +
           vector_json(remove.vector) + "}}\n";
}

std::string to_json(const txn& t) {
    return "{\"txn\":{\"appId\":" + quote_json(t.app_id) + ",\"version\":" + std::to_string(t.version) +
           ",\"lastUpdated\":" + std::to_string(t.last_updated) + "}}\n";
}

std::string to_json(const metadata& meta) {
    std::string out = "{\"metaData\":{\"id\":" + quote_json(meta.id);
    if (!meta.name.empty()) out += ",\"name\":" + quote_json(meta.name);
    if (!meta.description.empty()) out += ",\"description\":" + quote_json(meta.description);
    out += ",\"format\":{\"provider\":\"parquet\",\"options\":{}},\"schemaString\":" + quote_json(meta.schema_string) +
           ",\"partitionColumns\":" + list_json(meta.partition_columns) + ",\"configuration\":{";
    bool first = true;
    for (const auto& [key, value] : meta.configuration) {
        if (!std::exchange(first, false)) out += ',';
        out += quote_json(key) + ":" + quote_json(value);
    }
    return out + "},\"createdTime\":" + std::to_string(meta.created_time) + "}}\n";
}

std::string to_json(const protocol& proto) {
    std::string out = "{\"protocol\":{\"minReaderVersion\":" + std::to_string(proto.min_reader) +
                      ",\"minWriterVersion\":" + std::to_string(proto.min_writer);
    if (proto.has_reader_features) out += ",\"readerFeatures\":" + list_json(proto.reader_features);
    if (proto.has_writer_features) out += ",\"writerFeatures\":" + list_json(proto.writer_features);
    return out + "}}\n";
}

std::string commit_info(std::int64_t now_ms, std::string_view operation, std::string_view mode, bool blind,
                        std::string_view commit_id) {
    return "{\"commitInfo\":{\"timestamp\":" + std::to_string(now_ms) + ",\"operation\":" + quote_json(operation) +
           ",\"operationParameters\":{\"mode\":" + quote_json(mode) +
           "},\"isBlindAppend\":" + (blind ? "true" : "false") +
           ",\"engineInfo\":\"lakeflow-host\",\"txnId\":" + quote_json(commit_id) + "}}\n";
}

void snapshot::apply(actions commit, std::int64_t commit_version) {
    if (commit.proto) proto = std::move(*commit.proto);
    if (commit.meta) meta = std::move(*commit.meta);
    for (txn& t : commit.txns) {
        const std::string id = t.app_id;
        txns[id] = std::move(t);
    }
    // A file whose vector changes is removed with the old one and added with the new.
    const auto logical = [](const std::string& path, const deletion_vector& vector) {
        return vector ? path + "\n" + vector.id() : path;
    };
    for (remove_file& r : commit.removes) {
        files.erase(r.path);
        const std::string name = logical(r.path, r.vector);
        tombstones[name] = std::move(r);
    }
    for (add_file& a : commit.adds) {
        tombstones.erase(logical(a.path, a.vector));
        const std::string path = a.path;
        files[path] = std::move(a);
    }
    version = commit_version;
}

std::string deletion_vector::id() const { return storage + place + (offset < 0 ? "" : "@" + std::to_string(offset)); }

std::int64_t snapshot::txn_version(const std::string& app_id) const {
    const auto found = txns.find(app_id);
    return found == txns.end() ? -1 : found->second.version;
}

std::string file_of(const std::string& encoded) {
    if (encoded.find("://") != std::string::npos || encoded.starts_with("/") || encoded.starts_with("file:")) {
        throw failure("destination.unsupported_table", "the table has a data file outside its folder: " + encoded,
                      "a shallow clone cannot be merged into; copy the table in full");
    }
    std::string out;
    for (std::size_t i = 0; i < encoded.size(); ++i) {
        unsigned byte = 0;
        if (encoded[i] == '%' && i + 2 < encoded.size() &&
            std::from_chars(encoded.data() + i + 1, encoded.data() + i + 3, byte, 16).ptr == encoded.data() + i + 3) {
            out += static_cast<char>(byte);
            i += 2;
        } else {
            out += encoded[i];
        }
    }
    return out;
}

}  // namespace lakeflow::host::delta
