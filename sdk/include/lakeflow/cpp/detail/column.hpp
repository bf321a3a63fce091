// lakeflow/cpp/detail/column.hpp: the builder of one column, nested ones included. Used through batch_builder.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lakeflow/cpp/detail/number.hpp"
#include "lakeflow/cpp/error.hpp"
#include "lakeflow/cpp/json.hpp"
#include "lakeflow/cpp/schema.hpp"
#include "lakeflow/cpp/time.hpp"

namespace lakeflow {

namespace detail {
struct exported_column;
__extension__ typedef __int128 wide_integer;
}  // namespace detail

// Values of one column, appended in order. Each append is one value; one that does not fit the type throws "value.mismatch".
class column_builder {
  public:
    explicit column_builder(const field& which) : name_(which.name), type_(which.type), nullable_(which.nullable) {
        for (const field& child : type_.children()) children_.push_back(std::make_unique<column_builder>(child));
        offsets_.push_back(0);
    }

    void append_null() {
        if (!nullable_) throw failure(retry::permanent, "null where no null may be", "", "records.null_in_required");
        if (type_.kind() == type_kind::structure) {
            for (auto& child : children_) child->append_blank();
        }
        append_blank_here();
    }
    void append(std::nullptr_t) { append_null(); }
    template <std::same_as<bool> B>
    void append(B value) {
        if (type_.kind() != type_kind::boolean) throw mismatch(value ? "true" : "false");
        put_fixed(static_cast<uint8_t>(value));
    }
    // Integers; dates in days and instants in microseconds since 1970; into a float or decimal only if exact.
    template <detail::whole_number I>
    void append(I value) {
        if (!std::in_range<int64_t>(value)) throw mismatch("an integer past 64 bits");
        append_integer(static_cast<int64_t>(value));
    }
    void append(double value) {
        if (type_.kind() == type_kind::float64) return put_fixed(value);
        if (type_.kind() != type_kind::float32) throw mismatch("a floating number");
        if (std::isfinite(value) && std::abs(value) > std::numeric_limits<float>::max())
            throw mismatch("a number past FLOAT");
        put_fixed(static_cast<float>(value));
    }
    // A decimal as an integer of 10^-scale, in the scale of the column.
    void append_unscaled(detail::wide_integer value) {
        if (type_.kind() != type_kind::decimal) throw mismatch("a decimal");
        put_fixed(value);
    }
    // Text and bytes; decimals by their digits; instants by RFC 3339.
    void append(std::string_view value);
    void append(const char* value) { append(std::string_view(value)); }
    void append(const std::string& value) { append(std::string_view(value)); }
    // A value of JSON, nested ones included.
    void append(const json& value);

    // A struct's member; end() ends the struct's value, and gives null to the members that got none.
    column_builder& operator[](std::string_view name) {
        if (type_.kind() == type_kind::structure) {
            for (auto& child : children_)
                if (child->name_ == name) return *child;
        }
        throw invalid("'" + name_ + "' has no member '" + std::string(name) + "'");
    }
    // A list's next element; end() ends the list. A list without an item is empty.
    column_builder& item() {
        if (type_.kind() != type_kind::list) throw mismatch("an element");
        return *children_[0];
    }
    // A map's next entry: key().append(..), value().append(..); end() ends the map.
    column_builder& key() { return child_of_map(0); }
    column_builder& value() { return child_of_map(1); }
    void end();

    int64_t length() const { return length_; }
    size_t bytes() const {
        size_t out = data_.size() + offsets_.size() * sizeof(int64_t) + valid_.size() / 8;
        for (const auto& child : children_) out += child->bytes();
        return out;
    }

    // For the owner: brings the column to `wanted` values, the last one null if it is missing; more than one is a mistake.
    void end_slot(int64_t wanted) {
        if (length_ == wanted - 1) append_null();
        if (length_ != wanted) throw invalid("'" + name_ + "' got two values in one row");
    }
    // For the owner: forgets what lies past `wanted` values.
    void cut(int64_t wanted);

  private:
    friend struct detail::exported_column;

    failure mismatch(std::string_view value) const {
        std::string shown(value.substr(0, 200));
        return {retry::permanent, "'" + shown + "' is no " + type_.ddl(), "", "value.mismatch"};
    }
    column_builder& child_of_map(size_t which) {
        if (type_.kind() != type_kind::map) throw mismatch("an entry");
        return *children_[which];
    }
    size_t width() const;
    bool is_text() const { return type_.kind() == type_kind::text || type_.kind() == type_kind::binary || is_large(); }
    bool is_large() const { return type_.kind() == type_kind::large_text || type_.kind() == type_kind::large_binary; }

    template <class T>
    void put_fixed(T value) {
        size_t at = data_.size();
        data_.resize(at + sizeof value);
        std::memcpy(data_.data() + at, &value, sizeof value);
        done(true);
    }
    void done(bool valid) {
        valid_.push_back(valid);
        nulls_ += !valid;
        ++length_;
    }
    // A place without a value below a null struct, whatever the column allows.
    void append_blank() {
        if (type_.kind() == type_kind::structure) {
            for (auto& child : children_) child->append_blank();
        }
        append_blank_here();
    }
    void append_blank_here() {
        data_.resize(data_.size() + width());
        if (type_.kind() == type_kind::list || type_.kind() == type_kind::map || is_text())
            offsets_.push_back(offsets_.back());
        done(false);
    }
    void end_variable(int64_t end) {
        if (!is_large() && end > std::numeric_limits<int32_t>::max())
            throw invalid("a batch holds more than 2 GiB of one column");
        offsets_.push_back(end);
        done(true);
    }
    void append_integer(int64_t value);
    void append_decimal(std::string_view text);

    std::string name_;
    lakeflow::type type_;
    bool nullable_;
    std::vector<std::unique_ptr<column_builder>> children_;
    std::vector<uint8_t> data_;     // fixed values (a byte for a boolean), or the bytes of texts
    std::vector<int64_t> offsets_;  // of texts, lists and maps
    std::vector<bool> valid_;
    int64_t length_ = 0, nulls_ = 0;
};

namespace detail {
// Hands the columns over as one struct array of so many rows.
void export_batch(std::vector<std::unique_ptr<column_builder>>& columns, int64_t rows, ArrowArray* out);
}  // namespace detail

}  // namespace lakeflow

#include "lakeflow/cpp/detail/column_export.hpp"
#include "lakeflow/cpp/detail/column_values.hpp"
