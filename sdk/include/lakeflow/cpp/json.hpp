// lakeflow/cpp/json.hpp: a small JSON value for options, offsets, descriptors and metadata. Not for rows: those go through
// rows/1. Integers are exact; a number with a fraction, an exponent or more digits keeps its text. A value may be used by one
// thread at a time, or by many if none changes it.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "lakeflow/cpp/detail/number.hpp"
#include "lakeflow/cpp/error.hpp"

namespace lakeflow {

namespace detail {
template <class I>
concept whole_number = std::integral<I> && !std::same_as<I, bool> && !std::same_as<I, char>;
}

class json {
  public:
    struct member;
    enum class kind : uint8_t { null, boolean, integer, number, text, array, object };

    // null; true and false; an integer that fits 64 bits; text.
    json();
    json(std::nullptr_t);
    template <std::same_as<bool> B>
    json(B value);
    template <detail::whole_number I>
    json(I value);
    json(const char* value);
    json(std::string_view value);
    json(std::string value);
    json(const json& other);
    json(json&& other) noexcept;
    json& operator=(const json& other);
    json& operator=(json&& other) noexcept;
    ~json();

    // json::array({1, "two"}) and json::object({{"id", 7}, {"name", "x"}}); members keep their order.
    static json array(std::initializer_list<json> items = {});
    static json array(std::vector<json> items);
    template <class T>
    static json array_of(const std::vector<T>& items);
    static json object(std::initializer_list<member> members = {});
    // A number by its JSON text, kept as it stands: json::number("1.50").
    static json number(std::string_view text);

    // Parses one JSON document (RFC 8259, UTF-8, depth at most 256). Throws invalid() with the byte offset.
    static json parse(std::string_view text);
    // Compact text, members in their order.
    std::string dump() const;
    // Compact text with sorted keys and one number form: equal values give equal bytes.
    std::string canonical() const;

    kind type() const { return static_cast<kind>(data_.index()); }
    bool is_null() const { return type() == kind::null; }
    bool is_text() const { return type() == kind::text; }
    bool is_number() const { return type() == kind::integer || type() == kind::number; }
    bool is_integer() const { return type() == kind::integer; }
    bool is_object() const { return type() == kind::object; }
    bool is_array() const { return type() == kind::array; }

    // Each throws invalid() if the value is of another kind. as_int takes 7.0 and 7E0 too, exactly.
    bool as_bool() const;
    int64_t as_int() const;
    double as_double() const;
    const std::string& as_text() const;
    const std::vector<json>& items() const;      // of an array
    const std::vector<member>& members() const;  // of an object

    size_t size() const;  // elements or members; 0 for others
    bool empty() const { return size() == 0; }

    // Objects. find: nullptr if absent (or not an object). at: throws invalid(), naming the key.
    const json* find(std::string_view key) const;
    const json& at(std::string_view key) const;
    bool contains(std::string_view key) const { return find(key) != nullptr; }
    // The member's value, or the fallback where it is absent or null; another kind throws invalid(), naming the key.
    std::string text(std::string_view key, std::string_view fallback = {}) const;
    int64_t integer(std::string_view key, int64_t fallback = 0) const;
    bool boolean(std::string_view key, bool fallback = false) const;
    // Sets a member (null becomes {}); adds an element (null becomes []).
    json& set(std::string_view key, json value);
    json& push(json value);
    // RFC 6901: pointer("/meta/next"); nullptr if there is no such value.
    const json* pointer(std::string_view path) const;

    // Replaces the value by an object of these members, whose names differ.
    void adopt(std::vector<member> members);

    // Values, not texts: 1.0 equals 1, members in any order.
    friend bool operator==(const json& a, const json& b) { return a.canonical() == b.canonical(); }

  private:
    struct number_text {
        std::string text;
    };
    template <class I>
    static int64_t narrow(I value) {
        if (!std::in_range<int64_t>(value)) throw invalid("an integer is past 64 bits");
        return static_cast<int64_t>(value);
    }
    failure mismatch(const char* wanted) const;
    void write(std::string& out, bool sorted) const;

    std::variant<std::monostate, bool, int64_t, number_text, std::string, std::vector<json>, std::vector<member>> data_;
};

struct json::member {
    std::string name;
    json value;
};

inline json::json() = default;
inline json::json(std::nullptr_t) {}
template <std::same_as<bool> B>
json::json(B value) : data_(value) {}
template <detail::whole_number I>
json::json(I value) : data_(narrow(value)) {}
inline json::json(const char* value) : data_(std::string(value)) {}
inline json::json(std::string_view value) : data_(std::string(value)) {}
inline json::json(std::string value) : data_(std::move(value)) {}
inline json::json(const json& other) = default;
inline json::json(json&& other) noexcept = default;
inline json& json::operator=(const json& other) = default;
inline json& json::operator=(json&& other) noexcept = default;
inline json::~json() = default;

inline json json::array(std::initializer_list<json> items) { return array(std::vector<json>(items)); }
inline json json::array(std::vector<json> items) {
    json out;
    out.data_ = std::move(items);
    return out;
}
inline void json::adopt(std::vector<member> members) { data_ = std::move(members); }

inline json json::object(std::initializer_list<member> members) {
    json out;
    out.data_.emplace<std::vector<member>>();
    for (const member& m : members) out.set(m.name, m.value);
    return out;
}

template <class T>
json json::array_of(const std::vector<T>& items) {
    json out = array();
    for (const T& item : items) out.push(json(item));
    return out;
}

inline json json::number(std::string_view text) {
    if (!detail::is_json_number(text)) throw invalid("not a JSON number: '" + std::string(text) + "'");
    json out;
    if (auto value = detail::plain_integer(text)) {
        out.data_ = *value;
    } else {
        out.data_ = number_text{std::string(text)};
    }
    return out;
}

inline failure json::mismatch(const char* wanted) const {
    static constexpr const char* names[] = {"null", "a boolean", "an integer", "a number",
                                            "text", "an array",  "an object"};
    return invalid(std::string("expected ") + wanted + ", found " + names[data_.index()]);
}

inline bool json::as_bool() const {
    if (auto value = std::get_if<bool>(&data_)) return *value;
    throw mismatch("a boolean");
}

inline int64_t json::as_int() const {
    if (auto value = std::get_if<int64_t>(&data_)) return *value;
    if (auto value = std::get_if<number_text>(&data_)) {
        if (auto exact = detail::exact_integer(value->text)) return *exact;
        throw invalid("expected an integer, found " + value->text);
    }
    throw mismatch("an integer");
}

inline double json::as_double() const {
    if (auto value = std::get_if<int64_t>(&data_)) return static_cast<double>(*value);
    if (auto value = std::get_if<number_text>(&data_)) return detail::to_double(value->text);
    throw mismatch("a number");
}

inline const std::string& json::as_text() const {
    if (auto value = std::get_if<std::string>(&data_)) return *value;
    throw mismatch("text");
}

inline const std::vector<json>& json::items() const {
    if (auto value = std::get_if<std::vector<json>>(&data_)) return *value;
    throw mismatch("an array");
}

inline const std::vector<json::member>& json::members() const {
    if (auto value = std::get_if<std::vector<member>>(&data_)) return *value;
    throw mismatch("an object");
}

inline size_t json::size() const {
    if (auto array = std::get_if<std::vector<json>>(&data_)) return array->size();
    if (auto object = std::get_if<std::vector<member>>(&data_)) return object->size();
    return 0;
}

inline const json* json::find(std::string_view key) const {
    if (auto object = std::get_if<std::vector<member>>(&data_)) {
        for (const member& m : *object)
            if (m.name == key) return &m.value;
    }
    return nullptr;
}

inline const json& json::at(std::string_view key) const {
    if (auto value = find(key)) return *value;
    throw invalid("'" + std::string(key) + "' is missing");
}

inline std::string json::text(std::string_view key, std::string_view fallback) const {
    auto value = find(key);
    if (value == nullptr || value->is_null()) return std::string(fallback);
    try {
        return value->as_text();
    } catch (failure& error) {
        throw error.in(key);
    }
}

inline int64_t json::integer(std::string_view key, int64_t fallback) const {
    auto value = find(key);
    if (value == nullptr || value->is_null()) return fallback;
    try {
        return value->as_int();
    } catch (failure& error) {
        throw error.in(key);
    }
}

inline bool json::boolean(std::string_view key, bool fallback) const {
    auto value = find(key);
    if (value == nullptr || value->is_null()) return fallback;
    try {
        return value->as_bool();
    } catch (failure& error) {
        throw error.in(key);
    }
}

inline json& json::set(std::string_view key, json value) {
    if (is_null()) data_.emplace<std::vector<member>>();
    auto object = std::get_if<std::vector<member>>(&data_);
    if (object == nullptr) throw mismatch("an object");
    for (member& m : *object) {
        if (m.name == key) {
            m.value = std::move(value);
            return *this;
        }
    }
    object->push_back({std::string(key), std::move(value)});
    return *this;
}

inline json& json::push(json value) {
    if (is_null()) data_.emplace<std::vector<json>>();
    auto array = std::get_if<std::vector<json>>(&data_);
    if (array == nullptr) throw mismatch("an array");
    array->push_back(std::move(value));
    return *this;
}

}  // namespace lakeflow

#include "lakeflow/cpp/detail/json_text.hpp"
