// lakeflow/cpp/detail/column_values.hpp: how values get into a column: ranges, decimals, JSON. Included by column.hpp.
#pragma once

#include <cmath>

#include "lakeflow/cpp/detail/column.hpp"

namespace lakeflow {

inline size_t column_builder::width() const {
    switch (type_.kind()) {
        case type_kind::boolean:
        case type_kind::int8: return 1;
        case type_kind::int16: return 2;
        case type_kind::int32:
        case type_kind::float32:
        case type_kind::date: return 4;
        case type_kind::int64:
        case type_kind::float64:
        case type_kind::timestamp:
        case type_kind::timestamp_ntz: return 8;
        case type_kind::decimal: return 16;
        default: return 0;
    }
}

inline void column_builder::append_integer(int64_t value) {
    auto fits = [&]<class T>(T) {
        if (!std::in_range<T>(value)) throw mismatch(std::to_string(value));
        put_fixed(static_cast<T>(value));
    };
    switch (type_.kind()) {
        case type_kind::int8: return fits(int8_t{});
        case type_kind::int16: return fits(int16_t{});
        case type_kind::int32:
        case type_kind::date: return fits(int32_t{});
        case type_kind::int64:
        case type_kind::timestamp:
        case type_kind::timestamp_ntz: return put_fixed(value);
        case type_kind::float64:
            if (value < -(int64_t{1} << 53) || value > (int64_t{1} << 53)) throw mismatch(std::to_string(value));
            return put_fixed(static_cast<double>(value));
        case type_kind::float32:
            if (value < -(int64_t{1} << 24) || value > (int64_t{1} << 24)) throw mismatch(std::to_string(value));
            return put_fixed(static_cast<float>(value));
        case type_kind::decimal: return append_decimal(std::to_string(value));
        default: throw mismatch(std::to_string(value));
    }
}

inline void column_builder::append_decimal(std::string_view text) {
    if (!detail::is_json_number(text)) throw mismatch(text);
    detail::decimal_parts parts = detail::split_number(text);
    int64_t zeros = parts.exponent + type_.scale();
    int64_t digits = static_cast<int64_t>(parts.digits.size()) + zeros;
    if (!parts.digits.empty() && (zeros < 0 || digits > type_.precision())) throw mismatch(text);
    __extension__ unsigned __int128 value = 0;
    for (char c : parts.digits) value = value * 10 + static_cast<unsigned>(c - '0');
    for (int64_t i = 0; !parts.digits.empty() && i < zeros; ++i) value *= 10;
    if (parts.negative) value = ~value + 1;
    put_fixed(value);
}

inline void column_builder::append(std::string_view value) {
    if (is_text()) {
        bool text = type_.kind() == type_kind::text || type_.kind() == type_kind::large_text;
        for (size_t i = 0; text && i < value.size();) {
            size_t length = detail::utf8_length(value, i);
            if (length == 0) throw mismatch("text that is not UTF-8");
            i += length;
        }
        data_.insert(data_.end(), value.begin(), value.end());
        return end_variable(static_cast<int64_t>(data_.size()));
    }
    if (type_.kind() == type_kind::decimal) return append_decimal(value);
    if (type_.kind() == type_kind::timestamp) {
        auto instant = parse_instant(value);
        if (!instant) throw mismatch(value);
        return put_fixed(*instant);
    }
    throw mismatch(value);
}

inline void column_builder::append(const json& value) {
    if (value.is_null()) return append_null();
    switch (type_.kind()) {
        case type_kind::null: throw mismatch(value.dump());
        case type_kind::structure:
            if (!value.is_object()) throw mismatch(value.dump());
            for (auto& child : children_) {
                if (const json* member = value.find(child->name_)) child->append(*member);
            }
            return end();
        case type_kind::list:
            if (!value.is_array()) throw mismatch(value.dump());
            for (const json& one : value.items()) children_[0]->append(one);
            return end();
        case type_kind::map:
            if (!value.is_object()) throw mismatch(value.dump());
            for (const json::member& one : value.members()) {
                children_[0]->append(one.name);
                children_[1]->append(one.value);
            }
            return end();
        case type_kind::text:
        case type_kind::large_text: return append(std::string_view(value.is_text() ? value.as_text() : value.dump()));
        case type_kind::boolean:
            if (value.type() != json::kind::boolean) throw mismatch(value.dump());
            return append(value.as_bool());
        case type_kind::decimal: return append_decimal(value.is_text() ? value.as_text() : value.dump());
        case type_kind::float32:
        case type_kind::float64:
            if (!value.is_number() || std::isinf(value.as_double())) throw mismatch(value.dump());
            return append(value.as_double());
        case type_kind::timestamp:
            if (value.is_text()) return append(std::string_view(value.as_text()));
            [[fallthrough]];
        default:
            if (!value.is_number() || !detail::exact_integer(value.dump())) throw mismatch(value.dump());
            return append_integer(value.as_int());
    }
}

inline void column_builder::end() {
    switch (type_.kind()) {
        case type_kind::structure:
            for (auto& child : children_) {
                try {
                    child->end_slot(length_ + 1);
                } catch (failure& error) {
                    throw error.in("'" + child->name_ + "'");
                }
            }
            return done(true);
        case type_kind::map:
            if (children_[0]->length() != children_[1]->length())
                throw invalid("an entry of '" + name_ + "' lacks key or value");
            [[fallthrough]];
        case type_kind::list: return end_variable(children_[0]->length());
        default: throw invalid("'" + name_ + "' is neither struct, list nor map");
    }
}

inline void column_builder::cut(int64_t wanted) {
    bool variable = is_text() || type_.kind() == type_kind::list || type_.kind() == type_kind::map;
    if (length_ > wanted) {
        valid_.resize(static_cast<size_t>(wanted));
        length_ = wanted;
        nulls_ = 0;
        for (bool valid : valid_) nulls_ += !valid;
        if (variable) offsets_.resize(static_cast<size_t>(wanted) + 1);
    }
    // Values of a struct, list or map that was not ended lie in the children already.
    if (is_text()) {
        data_.resize(static_cast<size_t>(offsets_.back()));
    } else {
        data_.resize(static_cast<size_t>(length_) * width());
    }
    for (auto& child : children_) child->cut(variable ? offsets_.back() : length_);
}

}  // namespace lakeflow
