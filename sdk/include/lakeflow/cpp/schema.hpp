// lakeflow/cpp/schema.hpp: the columns of a table, and their way to and from ArrowSchema (the closed profile of arrow.h).
//   schema::ddl("id BIGINT NOT NULL, user STRUCT<login: STRING, id: BIGINT>, labels ARRAY<STRING>, at TIMESTAMP")
//   schema().add("id", type::int64(), not_null).add("at", type::timestamp())
// Values; a schema may be used by many threads if none changes it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lakeflow/arrow.h"
#include "lakeflow/cpp/batch.hpp"
#include "lakeflow/cpp/error.hpp"

namespace lakeflow {

struct field;

enum class type_kind : uint8_t {
    null,
    boolean,
    int8,
    int16,
    int32,
    int64,
    float32,
    float64,
    decimal,
    text,
    large_text,
    binary,
    large_binary,
    date,
    timestamp,      // an instant, microseconds UTC
    timestamp_ntz,  // date and time of day without a zone, microseconds
    list,           // children: the element
    structure,      // children: the members
    map,            // children: the key, the value
};

class type {
  public:
    static type null() { return type(type_kind::null); }
    static type boolean() { return type(type_kind::boolean); }
    static type int8() { return type(type_kind::int8); }
    static type int16() { return type(type_kind::int16); }
    static type int32() { return type(type_kind::int32); }
    static type int64() { return type(type_kind::int64); }
    static type float32() { return type(type_kind::float32); }
    static type float64() { return type(type_kind::float64); }
    static type text() { return type(type_kind::text); }
    static type large_text() { return type(type_kind::large_text); }
    static type binary() { return type(type_kind::binary); }
    static type large_binary() { return type(type_kind::large_binary); }
    static type date() { return type(type_kind::date); }
    static type timestamp() { return type(type_kind::timestamp); }
    static type timestamp_ntz() { return type(type_kind::timestamp_ntz); }
    static type decimal(int precision, int scale);  // 1 <= precision <= 38, 0 <= scale <= precision
    static type list(type element, bool nullable_elements = true);
    static type structure(std::vector<field> members);
    static type map(type key, type value, bool nullable_values = true);

    type(const type& other);
    type(type&& other) noexcept;
    type& operator=(const type& other);
    type& operator=(type&& other) noexcept;
    ~type();

    type_kind kind() const { return kind_; }
    int precision() const { return precision_; }
    int scale() const { return scale_; }
    const std::vector<field>& children() const { return children_; }

    // Arrow's format text ("l", "tsu:UTC", "d:10,2") and Spark's name ("BIGINT", "DECIMAL(10,2)").
    std::string format() const;
    std::string ddl() const;

    friend bool operator==(const type& a, const type& b);

  private:
    explicit type(type_kind kind);
    type_kind kind_;
    int precision_ = 0, scale_ = 0;
    std::vector<field> children_;
};

// For schema::add: a column that is never null.
inline constexpr bool not_null = false;

struct field {
    std::string name;
    lakeflow::type type;
    bool nullable = true;

    friend bool operator==(const field&, const field&) = default;
};

class schema {
  public:
    schema() = default;
    explicit schema(std::vector<field> fields) : fields_(std::move(fields)) {}

    // Reads Spark's DDL text. Throws invalid(), naming the place.
    static schema ddl(std::string_view text);
    // Reads an Arrow schema; throws failure "schema.unsupported" for a type outside the profile.
    static schema from_arrow(const ArrowSchema& arrow);
    // Makes an Arrow schema that owns itself.
    arrow_schema to_arrow() const;
    // Spark's DDL text of the columns.
    std::string ddl() const;

    schema& add(std::string name, lakeflow::type type, bool nullable = true) {
        return fields_.push_back({std::move(name), std::move(type), nullable}), *this;
    }

    const std::vector<field>& fields() const { return fields_; }
    size_t size() const { return fields_.size(); }
    const field* find(std::string_view name) const;
    // The named columns, in the order of `names`; throws invalid() for one that does not exist.
    schema select(const std::vector<std::string>& names) const;

    friend bool operator==(const schema&, const schema&) = default;

  private:
    std::vector<field> fields_;
};

inline type::type(type_kind kind) : kind_(kind) {}
inline type::type(const type& other) = default;
inline type::type(type&& other) noexcept = default;
inline type& type::operator=(const type& other) = default;
inline type& type::operator=(type&& other) noexcept = default;
inline type::~type() = default;

inline bool operator==(const type& a, const type& b) {
    return a.kind_ == b.kind_ && a.precision_ == b.precision_ && a.scale_ == b.scale_ && a.children_ == b.children_;
}

inline type type::decimal(int precision, int scale) {
    if (precision < 1 || precision > 38 || scale < 0 || scale > precision) {
        throw invalid("DECIMAL(" + std::to_string(precision) + "," + std::to_string(scale) + ") does not exist");
    }
    type out(type_kind::decimal);
    out.precision_ = precision, out.scale_ = scale;
    return out;
}

inline type type::list(type element, bool nullable_elements) {
    type out(type_kind::list);
    out.children_.push_back({"element", std::move(element), nullable_elements});
    return out;
}

inline type type::structure(std::vector<field> members) {
    type out(type_kind::structure);
    out.children_ = std::move(members);
    return out;
}

inline type type::map(type key, type value, bool nullable_values) {
    type out(type_kind::map);
    out.children_.push_back({"key", std::move(key), false});
    out.children_.push_back({"value", std::move(value), nullable_values});
    return out;
}

inline std::string type::format() const {
    switch (kind_) {
        case type_kind::null: return "n";
        case type_kind::boolean: return "b";
        case type_kind::int8: return "c";
        case type_kind::int16: return "s";
        case type_kind::int32: return "i";
        case type_kind::int64: return "l";
        case type_kind::float32: return "f";
        case type_kind::float64: return "g";
        case type_kind::decimal: return "d:" + std::to_string(precision_) + "," + std::to_string(scale_);
        case type_kind::text: return "u";
        case type_kind::large_text: return "U";
        case type_kind::binary: return "z";
        case type_kind::large_binary: return "Z";
        case type_kind::date: return "tdD";
        case type_kind::timestamp: return "tsu:UTC";
        case type_kind::timestamp_ntz: return "tsu:";
        case type_kind::list: return "+l";
        case type_kind::structure: return "+s";
        case type_kind::map: return "+m";
    }
    throw permanent("a type of no kind");
}

inline const field* schema::find(std::string_view name) const {
    for (const field& f : fields_)
        if (f.name == name) return &f;
    return nullptr;
}

inline schema schema::select(const std::vector<std::string>& names) const {
    schema out;
    for (const std::string& name : names) {
        const field* found = find(name);
        if (found == nullptr) throw invalid("there is no column '" + name + "'");
        out.fields_.push_back(*found);
    }
    return out;
}

}  // namespace lakeflow

#include "lakeflow/cpp/detail/schema_arrow.hpp"
#include "lakeflow/cpp/detail/schema_ddl.hpp"
