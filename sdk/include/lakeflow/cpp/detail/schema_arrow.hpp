// lakeflow/cpp/detail/schema_arrow.hpp: schemas to and from ArrowSchema. Included by schema.hpp.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lakeflow/cpp/detail/number.hpp"
#include "lakeflow/cpp/schema.hpp"

namespace lakeflow {
namespace detail {

// What an exported ArrowSchema points at. Children are owned here and released by release() unless they were moved out.
struct schema_node {
    std::string format, name;
    std::vector<ArrowSchema> children;
    std::vector<ArrowSchema*> pointers;

    static void release(ArrowSchema* schema) {
        auto* node = static_cast<schema_node*>(schema->private_data);
        for (ArrowSchema* child : node->pointers)
            if (child->release != nullptr) child->release(child);
        delete node;
        schema->release = nullptr;
    }

    static void fill(ArrowSchema* out, std::string format, std::string name, bool nullable,
                     const std::vector<field>& fields) {
        arrow_schema guarded;
        auto node = std::make_unique<schema_node>();
        node->format = std::move(format);
        node->name = std::move(name);
        node->children.resize(fields.size());
        node->pointers.reserve(fields.size());
        for (ArrowSchema& child : node->children) {
            std::memset(&child, 0, sizeof child);
            node->pointers.push_back(&child);
        }
        ArrowSchema* raw = guarded.receive();
        raw->format = node->format.c_str();
        raw->name = node->name.c_str();
        raw->flags = nullable ? ARROW_FLAG_NULLABLE : 0;
        raw->n_children = static_cast<int64_t>(fields.size());
        raw->children = fields.empty() ? nullptr : node->pointers.data();
        raw->release = &schema_node::release;
        std::vector<ArrowSchema>& children = node->children;
        raw->private_data = node.release();
        for (size_t i = 0; i < fields.size(); ++i) {
            const field& f = fields[i];
            if (f.name.find('\0') != std::string::npos) throw invalid("a column's name holds NUL: '" + f.name + "'");
            if (f.type.kind() == type_kind::map) {
                std::vector<field> entries{{"entries", type::structure(f.type.children()), false}};
                fill(&children[i], f.type.format(), f.name, f.nullable, entries);
            } else {
                fill(&children[i], f.type.format(), f.name, f.nullable, f.type.children());
            }
        }
        guarded.move_to(out);
    }
};

inline type type_from_arrow(const ArrowSchema& arrow);

inline std::vector<field> fields_from_arrow(const ArrowSchema& arrow) {
    std::vector<field> out;
    for (int64_t i = 0; i < arrow.n_children; ++i) {
        const ArrowSchema& child = *arrow.children[i];
        std::string name = child.name == nullptr ? "" : child.name;
        out.push_back({std::move(name), type_from_arrow(child), (child.flags & ARROW_FLAG_NULLABLE) != 0});
    }
    return out;
}

inline type type_from_arrow(const ArrowSchema& arrow) {
    std::string_view format = arrow.format == nullptr ? "" : arrow.format;
    auto outside = [&](std::string_view why) {
        return failure(retry::invalid,
                       "column '" + std::string(arrow.name == nullptr ? "" : arrow.name) + "' has the Arrow type '" +
                           std::string(format) + "'" + std::string(why),
                       "", "schema.unsupported");
    };
    if (arrow.dictionary != nullptr) throw outside(" with a dictionary");
    static const type plain[] = {type::null(),      type::boolean(), type::int8(),         type::int16(),
                                 type::int32(),     type::int64(),   type::float32(),      type::float64(),
                                 type::text(),      type::binary(),  type::large_text(),   type::large_binary(),
                                 type::timestamp(), type::date(),    type::timestamp_ntz()};
    for (const type& one : plain)
        if (format == one.format()) return one;
    if (format.substr(0, 2) == "d:") {
        std::string_view rest = format.substr(2);
        size_t comma = std::min(rest.find(','), rest.size());
        auto precision = plain_integer(rest.substr(0, comma));
        auto scale = plain_integer(rest.substr(std::min(comma + 1, rest.size())));
        if (!precision || !scale) throw outside("");
        return type::decimal(static_cast<int>(*precision), static_cast<int>(*scale));
    }
    if (format == "+s") return type::structure(fields_from_arrow(arrow));
    if (format == "+l" && arrow.n_children == 1) {
        field element = fields_from_arrow(arrow)[0];
        return type::list(element.type, element.nullable);
    }
    if (format == "+m" && arrow.n_children == 1) {
        std::vector<field> entry = fields_from_arrow(*arrow.children[0]);
        if (entry.size() == 2) return type::map(entry[0].type, entry[1].type, entry[1].nullable);
    }
    throw outside("");
}

}  // namespace detail

inline schema schema::from_arrow(const ArrowSchema& arrow) { return schema(detail::fields_from_arrow(arrow)); }

inline arrow_schema schema::to_arrow() const {
    arrow_schema out;
    detail::schema_node::fill(out.receive(), "+s", "", false, fields_);
    return out;
}

}  // namespace lakeflow
