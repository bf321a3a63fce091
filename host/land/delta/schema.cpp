// host/land/delta/schema.cpp: see schema.h.
#include "host/land/delta/schema.h"

#include <algorithm>
#include <boost/json.hpp>
#include <map>
#include <set>

#include "host/base/error.h"
#include "host/base/json.h"
#include "host/base/text.h"
#include "host/duck/duck.h"

namespace lakeflow::host::delta {
namespace {

namespace json = boost::json;

struct type_names {
    std::string_view delta, duckdb, spark;
};
constexpr type_names primitive[] = {
    {"boolean", "BOOLEAN", "BOOLEAN"},
    {"byte", "TINYINT", "TINYINT"},
    {"short", "SMALLINT", "SMALLINT"},
    {"integer", "INTEGER", "INT"},
    {"long", "BIGINT", "BIGINT"},
    {"float", "FLOAT", "FLOAT"},
    {"double", "DOUBLE", "DOUBLE"},
    {"string", "VARCHAR", "STRING"},
    {"binary", "BLOB", "BINARY"},
    {"date", "DATE", "DATE"},
    {"timestamp", "TIMESTAMPTZ", "TIMESTAMP"},
    {"timestamp_ntz", "TIMESTAMP", "TIMESTAMP_NTZ"},
};

field field_from_arrow(const ArrowSchema& node, const std::string& path);

type type_from_arrow(const ArrowSchema& node, const std::string& path) {
    const column_type t = type_of(node);
    switch (t.id) {
        case type_id::boolean: return {"boolean", {}};
        case type_id::int8: return {"byte", {}};
        case type_id::int16: return {"short", {}};
        case type_id::int32: return {"integer", {}};
        case type_id::int64: return {"long", {}};
        case type_id::float32: return {"float", {}};
        case type_id::float64: return {"double", {}};
        case type_id::decimal128:
            return {"decimal(" + std::to_string(t.precision) + "," + std::to_string(t.scale) + ")", {}};
        case type_id::utf8:
        case type_id::large_utf8: return {"string", {}};
        case type_id::binary:
        case type_id::large_binary: return {"binary", {}};
        case type_id::date32: return {"date", {}};
        case type_id::timestamp_utc: return {"timestamp", {}};
        case type_id::timestamp_local: return {"timestamp_ntz", {}};
        // The parts of lists and maps have fixed names, whatever Arrow calls them.
        case type_id::list: {
            field element = field_from_arrow(*node.children[0], path + ".element");
            element.name = "element";
            return {"array", {std::move(element)}};
        }
        case type_id::map: {
            const ArrowSchema& entries = *node.children[0];
            field key = field_from_arrow(*entries.children[0], path + ".key");
            field value = field_from_arrow(*entries.children[1], path + ".value");
            key.name = "key";
            value.name = "value";
            return {"map", {std::move(key), std::move(value)}};
        }
        case type_id::struct_: {
            type made{"struct", {}};
            for (std::int64_t i = 0; i < node.n_children; ++i) {
                const ArrowSchema& child = *node.children[i];
                made.fields.push_back(field_from_arrow(child, path + "." + std::string(name_of(child))));
            }
            return made;
        }
        case type_id::null_: break;
    }
    throw failure("schema.unsupported",
                  "column " + path + " has no type but null, which a Delta table cannot hold there",
                  "leave the column out with `columns`, or declare its type");
}

field field_from_arrow(const ArrowSchema& node, const std::string& path) {
    return {std::string(name_of(node)), type_from_arrow(node, path), is_nullable(node), "{}"};
}

[[noreturn]] void bad_schema(const std::string& why) {
    throw failure("destination.corrupt", "the table's schemaString is not readable: " + why);
}

field parse_field(const json::object& from);

type parse_type(const json::value& from) {
    if (from.is_string()) return {std::string(from.get_string()), {}};
    if (!from.is_object()) bad_schema("a type is neither a name nor an object");
    const json::object& o = from.get_object();
    const json::value* kind = o.if_contains("type");
    if (!kind || !kind->is_string()) bad_schema("a nested type has no name");
    const auto member = [&](const char* name) -> const json::value& {
        const json::value* found = o.if_contains(name);
        if (!found) bad_schema(std::string("a nested type has no ") + name);
        return *found;
    };
    const auto flag = [&](const char* name) { return !member(name).is_bool() || member(name).get_bool(); };
    type made{std::string(kind->get_string()), {}};
    if (made.name == "struct") {
        if (!member("fields").is_array()) bad_schema("the fields of a struct are no list");
        for (const json::value& f : member("fields").get_array()) {
            if (!f.is_object()) bad_schema("a field is no object");
            made.fields.push_back(parse_field(f.get_object()));
        }
    } else if (made.name == "array") {
        made.fields.push_back({"element", parse_type(member("elementType")), flag("containsNull"), "{}"});
    } else if (made.name == "map") {
        made.fields.push_back({"key", parse_type(member("keyType")), false, "{}"});
        made.fields.push_back({"value", parse_type(member("valueType")), flag("valueContainsNull"), "{}"});
    }
    return made;
}

field parse_field(const json::object& from) {
    field made;
    const json::value* name = from.if_contains("name");
    const json::value* kind = from.if_contains("type");
    if (!name || !name->is_string() || !kind) bad_schema("a field has no name or no type");
    made.name = std::string(name->get_string());
    made.type = parse_type(*kind);
    if (const json::value* nullable = from.if_contains("nullable"))
        made.nullable = !nullable->is_bool() || nullable->get_bool();
    if (const json::value* metadata = from.if_contains("metadata")) made.metadata = json::serialize(*metadata);
    return made;
}

std::string fields_json(const std::vector<field>& fields);

std::string type_json(const type& t) {
    const auto flag = [](bool on) { return on ? "true" : "false"; };
    if (t.name == "struct") return fields_json(t.fields);
    if (t.name == "array") {
        return "{\"type\":\"array\",\"elementType\":" + type_json(t.fields[0].type) +
               ",\"containsNull\":" + flag(t.fields[0].nullable) + "}";
    }
    if (t.name == "map") {
        return "{\"type\":\"map\",\"keyType\":" + type_json(t.fields[0].type) +
               ",\"valueType\":" + type_json(t.fields[1].type) +
               ",\"valueContainsNull\":" + flag(t.fields[1].nullable) + "}";
    }
    return quote_json(t.name);
}

std::string fields_json(const std::vector<field>& fields) {
    std::string out = "{\"type\":\"struct\",\"fields\":[";
    bool first = true;
    for (const field& f : fields) {
        if (!std::exchange(first, false)) out += ',';
        out += "{\"name\":" + quote_json(f.name) + ",\"type\":" + type_json(f.type) +
               ",\"nullable\":" + (f.nullable ? "true" : "false") + ",\"metadata\":" + f.metadata + "}";
    }
    return out + "]}";
}

// Letters that a reader may take for each other: ASCII, Latin-1, Greek and Cyrillic, as far as their cases lie at fixed distances.
std::string fold_case(std::string_view name) {
    std::string out;
    for (std::size_t i = 0; i < name.size(); ++i) {
        const auto c = static_cast<unsigned char>(name[i]);
        const unsigned next = i + 1 < name.size() ? static_cast<unsigned char>(name[i + 1]) : 0;
        if (c < 0x80) {
            out += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
            continue;
        }
        unsigned point = (c & 0x1fu) << 6 | (next & 0x3fu);
        if ((c & 0xe0) == 0xc0 && next) {
            if ((point >= 0xc0 && point <= 0xde && point != 0xd7) || (point >= 0x391 && point <= 0x3a9) ||
                (point >= 0x410 && point <= 0x42f)) {
                point += 32;
            } else if (point >= 0x400 && point <= 0x40f) {
                point += 80;
            } else if (point >= 0x100 && point <= 0x17f && point != 0x130 && point != 0x131) {
                // Latin Extended-A: pairs, the capital first, even in some runs and odd in others.
                const bool odd_first = (point >= 0x139 && point <= 0x148) || (point >= 0x179 && point <= 0x17e);
                if ((point % 2 == 1) == odd_first) point += 1;
            }
            out += static_cast<char>(0xc0 | point >> 6);
            out += static_cast<char>(0x80 | (point & 0x3f));
            ++i;
            continue;
        }
        out += name[i];
    }
    return out;
}

// Names of one level, and those of the structs below it, below lists and maps too.
void check_level(const std::vector<field>& fields, const std::string& table, const std::string& path) {
    std::map<std::string, std::string> seen;
    for (const field& f : fields) {
        const std::string where = path.empty() ? f.name : path + "." + f.name;
        if (f.name.empty()) {
            throw failure("destination.column_name",
                          "table " + table + " has a column without a name" + (path.empty() ? "" : " inside " + path),
                          "leave it out with `columns`");
        }
        const auto [other, fresh] = seen.emplace(fold_case(f.name), where);
        if (!fresh) {
            throw failure("destination.column_name",
                          "columns " + other->second + " and " + where + " of table " + table + " differ only by case",
                          "leave one of them out with `columns`: Spark and DuckDB could not open the table");
        }
        const field* inner = &f;
        // The elements of lists and the keys of maps have no names of their own.
        while (inner->type.name == "array") inner = &inner->type.fields[0];
        if (inner->type.name == "struct") check_level(inner->type.fields, table, where);
        if (inner->type.name == "map") {
            for (const field& side : inner->type.fields) check_level({side}, table, where);
        }
    }
}

bool has_type(const std::vector<field>& fields, std::string_view name) {
    return std::any_of(fields.begin(), fields.end(),
                       [&](const field& f) { return f.type.name == name || has_type(f.type.fields, name); });
}

// A column or a field of a struct that may not be null.
bool has_required(const std::vector<field>& fields) {
    return std::any_of(fields.begin(), fields.end(), [](const field& f) {
        return !f.nullable || (f.type.name == "struct" && has_required(f.type.fields));
    });
}

[[noreturn]] void refuse(const std::string& table, const std::string& feature, const std::string& hint = {}) {
    throw failure("destination.unsupported_table",
                  "table " + table + " uses " + feature + ", which this host does not write",
                  hint.empty() ? "turn it off for this table, or land into another one" : hint);
}

void check_columns(const std::vector<field>& fields, const std::string& table, const std::string& path) {
    for (const field& f : fields) {
        const std::string where = path.empty() ? f.name : path + "." + f.name;
        for (const auto& [key, value] : string_members(f.metadata)) {
            if (key == "delta.generationExpression") refuse(table, "a generated column (" + where + ")");
            if (key.starts_with("delta.identity.")) refuse(table, "an identity column (" + where + ")");
            if (key == "delta.invariants") refuse(table, "an invariant on column " + where);
            if (key == "CURRENT_DEFAULT") refuse(table, "a default value for column " + where);
        }
        check_columns(f.type.fields, table, where);
    }
}

bool is_on(const metadata& meta, const char* key) {
    const auto found = meta.configuration.find(key);
    return found != meta.configuration.end() && equal_no_case(found->second, "true");
}

}  // namespace

std::vector<field> from_arrow(const ArrowSchema& schema) {
    std::vector<field> columns;
    for (std::int64_t i = 0; i < schema.n_children; ++i) {
        const ArrowSchema& child = *schema.children[i];
        if (type_of(child).id == type_id::null_) continue;
        columns.push_back(field_from_arrow(child, std::string(name_of(child))));
    }
    return columns;
}

std::vector<field> parse_schema(std::string_view schema_string) {
    boost::system::error_code failed;
    json::parse_options options;
    options.max_depth = 512;
    const json::value value = json::parse(schema_string, failed, {}, options);
    if (failed) bad_schema(failed.message());
    type top = parse_type(value);
    if (top.name != "struct") bad_schema("it is no struct");
    return std::move(top.fields);
}

std::string to_schema_string(const std::vector<field>& columns) { return fields_json(columns); }

std::string duckdb_type(const type& t) {
    for (const type_names& names : primitive) {
        if (names.delta == t.name) return std::string(names.duckdb);
    }
    if (t.name.starts_with("decimal")) return "DECIMAL" + t.name.substr(7);
    if (t.name == "array") return duckdb_type(t.fields[0].type) + "[]";
    if (t.name == "map") return "MAP(" + duckdb_type(t.fields[0].type) + ", " + duckdb_type(t.fields[1].type) + ")";
    if (t.name == "struct") {
        std::string out = "STRUCT(";
        for (const field& f : t.fields) {
            if (out.size() > 7) out += ", ";
            out += duck::quote_name(f.stored_name()) + " " + duckdb_type(f.type);
        }
        return out + ")";
    }
    throw failure("destination.unsupported_table",
                  "the table has a column of type " + t.name + ", which this host does not write");
}

std::string spark_type(const type& t) {
    for (const type_names& names : primitive) {
        if (names.delta == t.name) return std::string(names.spark);
    }
    if (t.name == "array") return "ARRAY<" + spark_type(t.fields[0].type) + ">";
    if (t.name == "map") return "MAP<" + spark_type(t.fields[0].type) + ", " + spark_type(t.fields[1].type) + ">";
    if (t.name == "struct") {
        std::string out = "STRUCT<";
        for (const field& f : t.fields) {
            if (out.size() > 7) out += ", ";
            out += f.name + ": " + spark_type(f.type);
        }
        return out + ">";
    }
    std::string out = t.name;
    std::transform(out.begin(), out.end(), out.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
    return out;
}

void check_names(const std::vector<field>& columns, const std::string& table) { check_level(columns, table, {}); }

void check_case(const std::vector<field>& columns, const std::string& table) { check_level(columns, table, {}); }

bool needs_mapping(std::string_view name) { return name.find_first_of(" ,;{}()\n\t=") != std::string_view::npos; }

bool need_mapping(const std::vector<field>& columns) {
    return std::any_of(columns.begin(), columns.end(),
                       [](const field& f) { return needs_mapping(f.name) || need_mapping(f.type.fields); });
}

protocol protocol_for(const std::vector<field>& columns) {
    protocol made;
    if (has_type(columns, "timestamp_ntz")) {
        made.min_reader = 3;
        made.min_writer = 7;
        made.has_reader_features = made.has_writer_features = true;
        made.reader_features = {"timestampNtz"};
        made.writer_features = {"timestampNtz"};
        // Where features are named, a column that may not be null is one: Spark refuses the table otherwise.
        if (has_required(columns)) made.writer_features.emplace_back("invariants");
    }
    return made;
}

void check_table(const snapshot& table, intent what, const std::string& name) {
    static const std::set<std::string, std::less<>> known = {
        "appendOnly",      "invariants",          "checkConstraints", "changeDataFeed",       "generatedColumns",
        "columnMapping",   "identityColumns",     "typeWidening",     "typeWidening-preview", "timestampNtz",
        "deletionVectors", "vacuumProtocolCheck", "v2Checkpoint",
    };
    const protocol& p = table.proto;
    if (p.min_reader > 3) refuse(name, "Delta reader version " + std::to_string(p.min_reader));
    if (p.min_writer > 7) refuse(name, "Delta writer version " + std::to_string(p.min_writer));
    std::set<std::string> foreign;
    for (const auto* features : {&p.writer_features, &p.reader_features}) {
        for (const std::string& feature : *features) {
            if (!known.contains(feature)) foreign.insert(feature);
        }
    }
    if (!foreign.empty()) {
        std::string names;
        for (const std::string& feature : foreign) names += (names.empty() ? "" : ", ") + feature;
        refuse(name, (foreign.size() == 1 ? "the table feature " : "the table features ") + names);
    }
    if (!table.meta.partition_columns.empty())
        refuse(name, "partition columns (" + table.meta.partition_columns.front() + ", ...)");
    for (const auto& [key, value] : table.meta.configuration) {
        if (key.starts_with("delta.constraints.")) refuse(name, "a CHECK constraint (" + key.substr(18) + ")");
        if (key == "delta.columnMapping.mode" && value != "none" && value != "name")
            refuse(name, "column mapping by " + value);
    }
    if (is_on(table.meta, "delta.enableRowTracking")) refuse(name, "row tracking");
    if (what == intent::rewrite) {
        if (is_on(table.meta, "delta.appendOnly")) {
            refuse(name, "delta.appendOnly", "use mode = \"append\", or unset delta.appendOnly");
        }
        if (is_on(table.meta, "delta.enableChangeDataFeed"))
            refuse(name, "a change data feed (delta.enableChangeDataFeed)");
    }
    check_columns(parse_schema(table.meta.schema_string), name, {});
}

}  // namespace lakeflow::host::delta
