// host/land/delta/evolution.cpp: see evolution.h.
#include "host/land/delta/evolution.h"

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <optional>

#include "host/arrow/schema.h"
#include "host/base/error.h"
#include "host/base/text.h"

namespace lakeflow::host::delta {
namespace {

namespace json = boost::json;

constexpr const char* mapping_mode = "delta.columnMapping.mode";
constexpr const char* mapping_max = "delta.columnMapping.maxColumnId";
constexpr const char* mapping_id = "delta.columnMapping.id";
constexpr const char* mapping_name = "delta.columnMapping.physicalName";
constexpr const char* type_changes = "delta.typeChanges";

bool is_mapped(const metadata& meta) {
    const auto mode = meta.configuration.find(mapping_mode);
    return mode != meta.configuration.end() && mode->second != "none";
}

json::object members_of(const field& f) {
    json::value value = json::parse(f.metadata);
    return value.is_object() ? std::move(value.get_object()) : json::object();
}

// The names that the files use, from the metadata of the fields, at every depth.
void read_names(std::vector<field>& fields) {
    for (field& f : fields) {
        const json::object members = members_of(f);
        if (const json::value* name = members.if_contains(mapping_name); name && name->is_string())
            f.stored = std::string(name->get_string());
        read_names(f.type.fields);
    }
}

// Gives each field below a struct, at any depth, a number and the name that files use, where it has none yet. A name that files take
// stands for itself; others get one that nothing else has.
void map_names(std::vector<field>& fields, bool named, std::int64_t& last_id) {
    for (field& f : fields) {
        if (named) {
            json::object members = members_of(f);
            if (!members.if_contains(mapping_id) || !members.if_contains(mapping_name)) {
                if (needs_mapping(f.name)) {
                    std::string id = random_id();
                    for (const std::size_t at : {8u, 13u, 18u, 23u}) id.insert(at, "-");
                    f.stored = "col-" + id;
                }
                members[mapping_id] = ++last_id;
                members[mapping_name] = f.stored_name();
                f.metadata = json::serialize(members);
            }
        }
        map_names(f.type.fields, f.type.name == "struct", last_id);
    }
}

int digits_of(const std::string& integer) {
    if (integer == "byte") return 3;
    if (integer == "short") return 5;
    if (integer == "integer") return 10;
    return integer == "long" ? 19 : 0;
}

std::optional<std::pair<int, int>> decimal_of(const std::string& name) {
    if (!name.starts_with("decimal(")) return std::nullopt;
    int precision = 0, scale = 0;
    const char* end = name.data() + name.size();
    const auto first = std::from_chars(name.data() + 8, end, precision);
    if (first.ptr == end || *first.ptr != ',') return std::nullopt;
    std::from_chars(first.ptr + 1, end, scale);
    return std::pair(precision, scale);
}

// Finds what the table's columns become under the flow's.
class grower {
  public:
    grower(const flow_spec& spec, bool records_changes) : spec_(spec), records_(records_changes) {}

    // The columns of one level. `where` is empty at the top.
    void level(const std::vector<field>& flow, std::vector<field>& table, const std::string& where) {
        for (const field& f : flow) {
            const std::string path = where.empty() ? f.name : where + "." + f.name;
            const auto found =
                std::find_if(table.begin(), table.end(), [&](const field& t) { return t.name == f.name; });
            if (found == table.end()) {
                if (spec_.schema_changes == schema_policy::fixed) {
                    fail(where.empty() ? "column " + f.name + " (" + spark_type(f.type) + ") is not in the table"
                                       : "column " + top(where) + ": field " + f.name + " is new",
                         "schema = \"fixed\" adds no column: leave it out with `columns`, or use schema = \"evolve\"");
                }
                table.push_back(f);
                table.back().nullable = true;
                changed_ = true;
                continue;
            }
            if (f.nullable && !found->nullable) {
                fail(where.empty() ? "column " + f.name + " may be null in the source and not in the table"
                                   : "column " + top(where) + ": field " + f.name + " may be null here and not there");
            }
            const bool key = where.empty() && std::find(spec_.primary_keys.begin(), spec_.primary_keys.end(), f.name) !=
                                                  spec_.primary_keys.end();
            grow(f.type, *found, path, key);
        }
        for (const field& t : table) {
            const bool there = std::any_of(flow.begin(), flow.end(), [&](const field& f) { return f.name == t.name; });
            if (!there && !t.nullable) {
                fail(where.empty() ? "column " + t.name + " may not be null, and the source does not have it"
                                   : "column " + top(where) + ": field " + t.name +
                                         " may not be null, and the source has it not");
            }
        }
    }

    bool changed() const noexcept { return changed_; }
    bool rewrites() const noexcept { return rewrites_; }

  private:
    static std::string top(const std::string& path) { return path.substr(0, path.find('.')); }

    [[noreturn]] void fail(
        const std::string& why,
        const char* hint = "land into another table with `destination`, or change the columns of this one") {
        throw failure("destination.schema", "table " + spec_.table + ": " + why, hint);
    }

    void grow(const type& flow, field& table, const std::string& path, bool key) {
        if (flow.name == "struct" && table.type.name == "struct") return level(flow.fields, table.type.fields, path);
        if (flow.name == table.type.name && !flow.fields.empty()) {
            for (std::size_t i = 0; i < flow.fields.size(); ++i) {
                if (flow.fields[i].nullable && !table.type.fields[i].nullable)
                    fail("column " + path + ": its elements may be null here and not there");
                nested_ = true;
                grow(flow.fields[i].type, table.type.fields[i], path, false);
                nested_ = false;
            }
            return;
        }
        if (flow.name == table.type.name || fits(flow, table.type, key)) return;
        if (spec_.schema_changes == schema_policy::fixed || !fits(table.type, flow, key)) {
            fail("column " + path + ": " + spark_type(flow) + " does not fit " + spark_type(table.type));
        }
        changed_ = true;
        json::object members = members_of(table);
        if (records_ && !nested_ && flow.name != "string") {
            json::array changes;
            if (const json::value* known = members.if_contains(type_changes); known && known->is_array())
                changes = known->get_array();
            changes.push_back({{"fromType", table.type.name}, {"toType", flow.name}});
            members[type_changes] = std::move(changes);
        } else {
            rewrites_ = true;
            members.erase(type_changes);
        }
        table.metadata = json::serialize(members);
        table.type = flow;
    }

    // A key keeps what it is: the text of a number is another key.
    static bool fits(const type& from, const type& to, bool key) {
        return widens(from, to) && !(key && to.name == "string");
    }

    const flow_spec& spec_;
    bool records_;
    bool changed_ = false;
    bool rewrites_ = false;
    bool nested_ = false;
};

bool has_feature(const protocol& p, std::string_view name) {
    return std::find(p.writer_features.begin(), p.writer_features.end(), name) != p.writer_features.end();
}

// What a table needs for mapped names: the old numbers where they do, the feature where the table has features.
void add_mapping(protocol& p) {
    if (p.min_writer >= 7) {
        if (!has_feature(p, "columnMapping")) p.writer_features.emplace_back("columnMapping");
    } else {
        p.min_writer = std::max(p.min_writer, 5);
    }
    if (p.min_reader >= 3) {
        const auto& reader = p.reader_features;
        if (std::find(reader.begin(), reader.end(), "columnMapping") == reader.end())
            p.reader_features.emplace_back("columnMapping");
    } else {
        p.min_reader = std::max(p.min_reader, 2);
    }
}

// Features for zone-less timestamps, which a new column may be the first to need, and what then has to be named beside them.
void add_features(protocol& p, const std::vector<field>& columns) {
    const protocol needed = protocol_for(columns);
    const auto is_read = [&](const std::string& feature) {
        return std::find(needed.reader_features.begin(), needed.reader_features.end(), feature) !=
               needed.reader_features.end();
    };
    for (const std::string& feature : needed.writer_features) {
        if (p.min_writer >= 7 && has_feature(p, feature)) continue;
        // Numbers below 7 and 3 stood for features by themselves: from now on they are named.
        if (p.min_writer < 7) {
            p.writer_features = {"appendOnly", "invariants"};
            if (p.min_writer >= 3) p.writer_features.emplace_back("checkConstraints");
            if (p.min_writer >= 4) {
                p.writer_features.emplace_back("changeDataFeed");
                p.writer_features.emplace_back("generatedColumns");
            }
            if (p.min_writer >= 5) p.writer_features.emplace_back("columnMapping");
            if (p.min_writer >= 6) p.writer_features.emplace_back("identityColumns");
        }
        p.min_writer = 7;
        p.has_writer_features = true;
        if (!has_feature(p, feature)) p.writer_features.push_back(feature);
        if (!is_read(feature)) continue;
        if (p.min_reader == 2) p.reader_features = {"columnMapping"};
        p.min_reader = 3;
        p.has_reader_features = true;
        p.reader_features.push_back(feature);
    }
}

// `name` for the node; below it the names of `fields`: of a struct by name, of the parts of a list or map by place.
arrow_schema renamed(const ArrowSchema& node, const std::string& name, const std::vector<field>& fields) {
    const std::string_view format(node.format);
    std::vector<arrow_schema> children;
    for (std::int64_t i = 0; i < node.n_children; ++i) {
        const ArrowSchema& child = *node.children[i];
        const std::string own(name_of(child));
        if (format == "+l" || format == "+L") {
            children.push_back(renamed(child, own, fields.at(0).type.fields));
        } else if (format == "+m") {
            std::vector<arrow_schema> pair;
            for (std::size_t side = 0; side < 2; ++side) {
                const ArrowSchema& part = *child.children[side];
                pair.push_back(renamed(part, std::string(name_of(part)), fields.at(side).type.fields));
            }
            children.push_back(make_schema(child.format, own, is_nullable(child), std::move(pair)));
        } else {
            const auto same = [&](const field& f) { return f.name == own; };
            const auto found = std::find_if(fields.begin(), fields.end(), same);
            children.push_back(found == fields.end() ? renamed(child, "lf_left_out_" + std::to_string(i), {})
                                                     : renamed(child, found->stored_name(), found->type.fields));
        }
    }
    arrow_schema made = make_schema(node.format, name, is_nullable(node), std::move(children));
    made.get()->flags = node.flags;
    return made;
}

}  // namespace

bool widens(const type& from, const type& to) {
    const int digits = digits_of(from.name);
    const auto had = decimal_of(from.name), has = decimal_of(to.name);
    if (digits > 0) {
        if (digits_of(to.name) > 0) return digits <= digits_of(to.name);
        if (has) return has->first - has->second >= digits;
        return to.name == "string" || (to.name == "double" && digits <= 10);
    }
    if (had) {
        if (has) return has->second >= had->second && has->first - has->second >= had->first - had->second;
        return to.name == "string";
    }
    return (from.name == "float" && to.name == "double") || (from.name == "date" && to.name == "timestamp_ntz");
}

std::vector<field> columns_of(const metadata& meta) {
    std::vector<field> columns = parse_schema(meta.schema_string);
    if (is_mapped(meta)) read_names(columns);
    return columns;
}

evolution evolve(const snapshot& table, const std::vector<field>& flow, const flow_spec& spec) {
    evolution made;
    bool mapped = false;
    if (table.version < 0) {
        made.columns = flow;
        made.proto = protocol_for(flow);
        made.meta.name = spec.table;
        made.changed = true;
    } else {
        made.meta = table.meta;
        made.proto = table.proto;
        made.columns = columns_of(table.meta);
        mapped = is_mapped(table.meta);
        const auto widening = table.meta.configuration.find("delta.enableTypeWidening");
        grower grow(spec, widening != table.meta.configuration.end() && equal_no_case(widening->second, "true"));
        grow.level(flow, made.columns, {});
        made.changed = grow.changed();
        made.rewrites = grow.rewrites();
        if (!made.changed) return made;
        add_features(made.proto, made.columns);
    }
    check_names(made.columns, spec.table);
    if (mapped || need_mapping(made.columns)) {
        std::int64_t last_id = 0;
        if (const auto known = made.meta.configuration.find(mapping_max);
            mapped && known != made.meta.configuration.end())
            last_id = parse_int(known->second).value_or(0);
        map_names(made.columns, true, last_id);
        made.meta.configuration[mapping_mode] = "name";
        made.meta.configuration[mapping_max] = std::to_string(last_id);
        add_mapping(made.proto);
    }
    made.meta.schema_string = to_schema_string(made.columns);
    return made;
}

std::shared_ptr<const arrow_schema> stored_schema(const ArrowSchema& flow, const std::vector<field>& columns) {
    return std::make_shared<const arrow_schema>(renamed(flow, {}, columns));
}

}  // namespace lakeflow::host::delta
