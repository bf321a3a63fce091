// host/arrow/schema.cpp: reading, checking, comparing and copying schemas. Any thread.
#include "host/arrow/schema.h"

#include <cstring>
#include <unordered_set>

#include "host/base/error.h"
#include "host/base/text.h"

namespace lakeflow::host {
namespace {

constexpr int max_depth = 64;
constexpr std::int64_t max_children = 100'000;

// What a node made here owns. The children are owners too, so that a consumer may move one out.
struct schema_owner {
    std::string format;
    std::string name;
    std::vector<arrow_schema> children;
    std::vector<ArrowSchema*> pointers;
};

void release_schema(ArrowSchema* schema) {
    std::unique_ptr<schema_owner> owner(static_cast<schema_owner*>(schema->private_data));
    schema->release = nullptr;
    schema->private_data = nullptr;
}

[[noreturn]] void unsupported(std::string_view what, const std::string& path, std::string why) {
    std::string place = path.empty() ? std::string("the schema") : "column " + path;
    throw failure("schema.unsupported", std::string(what) + ": " + place + ": " + std::move(why));
}

std::string join(const std::string& path, std::string_view name) {
    return path.empty() ? std::string(name) : path + "." + std::string(name);
}

void check_node(const ArrowSchema& node, std::string_view what, const std::string& path, int depth);

void check_children(const ArrowSchema& node, std::int64_t expected, std::string_view what, const std::string& path) {
    if (node.n_children < 0 || node.n_children > max_children)
        unsupported(what, path, "it says that it has " + std::to_string(node.n_children) + " children");
    if (expected >= 0 && node.n_children != expected)
        unsupported(what, path,
                    "it has " + std::to_string(node.n_children) + " children, not " + std::to_string(expected));
    if (node.n_children == 0) return;
    if (!node.children) unsupported(what, path, "the pointer to its children is null");
    for (std::int64_t i = 0; i < node.n_children; ++i)
        if (!node.children[i]) unsupported(what, path, "child " + std::to_string(i) + " is a null pointer");
}

void check_struct(const ArrowSchema& node, std::string_view what, const std::string& path, int depth) {
    check_children(node, -1, what, path);
    std::unordered_set<std::string_view> names;
    for (std::int64_t i = 0; i < node.n_children; ++i) {
        const ArrowSchema& child = *node.children[i];
        const std::string_view name = name_of(child);
        if (name.empty()) unsupported(what, path, "child " + std::to_string(i) + " has no name");
        if (!is_utf8(name)) unsupported(what, path, "the name of child " + std::to_string(i) + " is not UTF-8");
        if (!names.insert(name).second) unsupported(what, path, "the name " + std::string(name) + " is there twice");
        check_node(child, what, join(path, name), depth + 1);
    }
}

void check_node(const ArrowSchema& node, std::string_view what, const std::string& path, int depth) {
    if (depth > max_depth) unsupported(what, path, "nested deeper than " + std::to_string(max_depth));
    if (!node.format) unsupported(what, path, "its format is a null pointer");
    if (node.dictionary) unsupported(what, path, "dictionaries are not in the profile (lakeflow/arrow.h)");
    column_type type;
    try {
        type = type_of(node);
    } catch (const failure& f) {
        unsupported(what, path, f.get().message);
    }
    switch (type.id) {
        case type_id::struct_: check_struct(node, what, path, depth); break;
        case type_id::list:
            check_children(node, 1, what, path);
            check_node(*node.children[0], what, join(path, "element"), depth + 1);
            break;
        case type_id::map: {
            check_children(node, 1, what, path);
            const ArrowSchema& entries = *node.children[0];
            if (!entries.format || std::strcmp(entries.format, "+s") != 0)
                unsupported(what, path, "the entries of a map must be a struct");
            check_children(entries, 2, what, path);
            if (is_nullable(*entries.children[0])) unsupported(what, path, "the keys of a map must not be nullable");
            check_node(*entries.children[0], what, join(path, "key"), depth + 1);
            check_node(*entries.children[1], what, join(path, "value"), depth + 1);
            break;
        }
        default: check_children(node, 0, what, path);
    }
}

bool differ(std::string* why, const std::string& path, const std::string& text) {
    if (why) *why = (path.empty() ? std::string("the table") : path) + ": " + text;
    return false;
}

bool same_node(const ArrowSchema& a, const ArrowSchema& b, const std::string& path, bool by_name, std::string* why) {
    const column_type type = type_of(a);
    if (!(type == type_of(b)) || a.n_children != b.n_children) {
        if (type.id == type_id::struct_ && type_of(b).id == type_id::struct_)
            return differ(why, path,
                          std::to_string(a.n_children) + " columns and " + std::to_string(b.n_children) + " columns");
        return differ(why, path, type_name(a) + " and " + type_name(b));
    }
    if (by_name && is_nullable(a) != is_nullable(b))
        return differ(why, path, is_nullable(a) ? "nullable and NOT NULL" : "NOT NULL and nullable");
    const bool named = type.id == type_id::struct_;
    for (std::int64_t i = 0; i < a.n_children; ++i) {
        const ArrowSchema& x = *a.children[i];
        const ArrowSchema& y = *b.children[i];
        if (named && name_of(x) != name_of(y))
            return differ(
                why, path,
                "column " + std::to_string(i) + " is " + std::string(name_of(x)) + " and " + std::string(name_of(y)));
        // The struct of a map's entries: its own nullability means nothing, and its children are known by place.
        if (type.id == type_id::map) {
            if (!same_node(map_key(a), map_key(b), join(path, "key"), true, why) ||
                !same_node(map_value(a), map_value(b), join(path, "value"), true, why))
                return false;
            continue;
        }
        if (!same_node(x, y, join(path, named ? name_of(x) : "element"), true, why)) return false;
    }
    return true;
}

}  // namespace

arrow_schema make_schema(std::string format, std::string name, bool nullable, std::vector<arrow_schema> children) {
    auto owner = std::make_unique<schema_owner>();
    owner->format = std::move(format);
    owner->name = std::move(name);
    owner->children = std::move(children);
    owner->pointers.reserve(owner->children.size());
    for (arrow_schema& child : owner->children) owner->pointers.push_back(child.get());

    arrow_schema result;
    ArrowSchema& raw = *result.out();
    raw.format = owner->format.c_str();
    raw.name = owner->name.c_str();
    raw.flags = nullable ? ARROW_FLAG_NULLABLE : 0;
    raw.n_children = static_cast<std::int64_t>(owner->pointers.size());
    raw.children = owner->pointers.empty() ? nullptr : owner->pointers.data();
    raw.release = release_schema;
    raw.private_data = owner.release();
    return result;
}

std::string format_of(const column_type& type) {
    switch (type.id) {
        case type_id::null_: return "n";
        case type_id::boolean: return "b";
        case type_id::int8: return "c";
        case type_id::int16: return "s";
        case type_id::int32: return "i";
        case type_id::int64: return "l";
        case type_id::float32: return "f";
        case type_id::float64: return "g";
        case type_id::decimal128: return "d:" + std::to_string(type.precision) + "," + std::to_string(type.scale);
        case type_id::utf8: return "u";
        case type_id::large_utf8: return "U";
        case type_id::binary: return "z";
        case type_id::large_binary: return "Z";
        case type_id::date32: return "tdD";
        case type_id::timestamp_utc: return "tsu:UTC";
        case type_id::timestamp_local: return "tsu:";
        case type_id::list: return "+l";
        case type_id::struct_: return "+s";
        case type_id::map: return "+m";
    }
    return {};
}

column_type type_of(const ArrowSchema& node) {
    const std::string_view format = node.format ? node.format : "";
    if (format.size() == 1) {
        switch (format[0]) {
            case 'n': return {type_id::null_};
            case 'b': return {type_id::boolean};
            case 'c': return {type_id::int8};
            case 's': return {type_id::int16};
            case 'i': return {type_id::int32};
            case 'l': return {type_id::int64};
            case 'f': return {type_id::float32};
            case 'g': return {type_id::float64};
            case 'u': return {type_id::utf8};
            case 'U': return {type_id::large_utf8};
            case 'z': return {type_id::binary};
            case 'Z': return {type_id::large_binary};
            default: break;
        }
    } else if (format == "+s") {
        return {type_id::struct_};
    } else if (format == "+l") {
        return {type_id::list};
    } else if (format == "+m") {
        return {type_id::map};
    } else if (format == "tdD") {
        return {type_id::date32};
    } else if (format == "tsu:UTC") {
        return {type_id::timestamp_utc};
    } else if (format == "tsu:") {
        return {type_id::timestamp_local};
    } else if (format.starts_with("d:")) {
        const std::vector<std::string> parts = split(format.substr(2), ',');
        if (parts.size() == 2 || (parts.size() == 3 && parts[2] == "128")) {
            const auto precision = parse_int(parts[0]);
            const auto scale = parse_int(parts[1]);
            if (precision && scale && *precision >= 1 && *precision <= 38 && *scale >= 0 && *scale <= *precision)
                return {type_id::decimal128, static_cast<int>(*precision), static_cast<int>(*scale)};
        }
    }
    throw failure("schema.unsupported",
                  "the Arrow format \"" + std::string(cut_utf8(format, 40)) + "\" is not in the profile",
                  "lakeflow/arrow.h lists the types that may cross.");
}

void check_schema(const ArrowSchema& schema, std::string_view what) {
    if (!schema.release) unsupported(what, {}, "it was released before it was given");
    if (!schema.format || std::strcmp(schema.format, "+s") != 0)
        unsupported(what, {}, "the top must be a struct (\"+s\"), one child a column");
    check_node(schema, what, {}, 0);
}

bool same_schema(const ArrowSchema& a, const ArrowSchema& b, std::string* why) {
    return same_node(a, b, {}, false, why);
}

// Metadata are left out: nothing in the host reads them, and their length stands only inside foreign bytes.
arrow_schema copy_schema(const ArrowSchema& schema) {
    std::vector<arrow_schema> children;
    children.reserve(static_cast<std::size_t>(schema.n_children));
    for (std::int64_t i = 0; i < schema.n_children; ++i) children.push_back(copy_schema(*schema.children[i]));
    arrow_schema result =
        make_schema(schema.format, std::string(name_of(schema)), is_nullable(schema), std::move(children));
    result.get()->flags = schema.flags;
    return result;
}

arrow_schema select_columns(const ArrowSchema& schema, const std::vector<std::string>& names) {
    std::vector<arrow_schema> columns;
    columns.reserve(names.size());
    for (const std::string& name : names) {
        const std::int64_t i = find_column(schema, name);
        if (i < 0) {
            std::vector<std::string> known;
            for (std::int64_t c = 0; c < schema.n_children; ++c) known.emplace_back(name_of(*schema.children[c]));
            const auto near = nearest(name, known);
            throw failure("config.unknown_column", "there is no column \"" + name + "\"",
                          near ? "Did you mean \"" + *near + "\"?" : std::string());
        }
        columns.push_back(copy_schema(*schema.children[i]));
    }
    arrow_schema result = make_schema("+s", std::string(name_of(schema)), is_nullable(schema), std::move(columns));
    result.get()->flags = schema.flags;
    return result;
}

std::int64_t find_column(const ArrowSchema& schema, std::string_view name) noexcept {
    for (std::int64_t i = 0; i < schema.n_children; ++i)
        if (name_of(*schema.children[i]) == name) return i;
    return -1;
}

}  // namespace lakeflow::host
