// host/arrow/arrow.h: owners for the two Arrow structs, and what the host asks of a schema and an array. The structs are those of
// lakeflow/arrow.h. An owner may move between threads; it is used by one thread at a time. A shared schema is immutable.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lakeflow/arrow.h"

namespace lakeflow::host {

class arrow_schema {
  public:
    arrow_schema() = default;
    ~arrow_schema() { reset(); }
    arrow_schema(arrow_schema&& other) noexcept : raw_(std::exchange(other.raw_, ArrowSchema{})) {}
    arrow_schema& operator=(arrow_schema&& other) noexcept {
        if (this != &other) {
            reset();
            raw_ = std::exchange(other.raw_, ArrowSchema{});
        }
        return *this;
    }

    ArrowSchema* out() noexcept { return reset(), &raw_; }  // for a callee to fill
    const ArrowSchema* get() const noexcept { return &raw_; }
    ArrowSchema* get() noexcept { return &raw_; }
    ArrowSchema release() noexcept { return std::exchange(raw_, ArrowSchema{}); }
    explicit operator bool() const noexcept { return raw_.release != nullptr; }
    void reset() noexcept {
        if (raw_.release) raw_.release(&raw_);
        raw_ = {};
    }

    std::int64_t columns() const noexcept { return raw_.n_children; }
    const ArrowSchema& column(std::int64_t i) const noexcept { return *raw_.children[i]; }

  private:
    ArrowSchema raw_{};
};

class arrow_array {
  public:
    arrow_array() = default;
    explicit arrow_array(ArrowArray raw) noexcept : raw_(raw) {}
    ~arrow_array() { reset(); }
    arrow_array(arrow_array&& other) noexcept : raw_(std::exchange(other.raw_, ArrowArray{})) {}
    arrow_array& operator=(arrow_array&& other) noexcept {
        if (this != &other) {
            reset();
            raw_ = std::exchange(other.raw_, ArrowArray{});
        }
        return *this;
    }

    ArrowArray* out() noexcept { return reset(), &raw_; }
    const ArrowArray* get() const noexcept { return &raw_; }
    ArrowArray* get() noexcept { return &raw_; }
    ArrowArray release() noexcept { return std::exchange(raw_, ArrowArray{}); }
    explicit operator bool() const noexcept { return raw_.release != nullptr; }
    void reset() noexcept {
        if (raw_.release) raw_.release(&raw_);
        raw_ = {};
    }
    std::int64_t rows() const noexcept { return raw_.length; }

  private:
    ArrowArray raw_{};
};

// A batch and the schema that it follows.
struct record_batch {
    std::shared_ptr<const arrow_schema> schema;
    arrow_array array;

    std::int64_t rows() const noexcept { return array.rows(); }
};

// The types of the profile (lakeflow/arrow.h).
enum class type_id {
    null_,
    boolean,
    int8,
    int16,
    int32,
    int64,
    float32,
    float64,
    decimal128,
    utf8,
    large_utf8,
    binary,
    large_binary,
    date32,
    timestamp_utc,
    timestamp_local,
    list,
    struct_,
    map,
};

struct column_type {
    type_id id = type_id::null_;
    int precision = 0;  // decimal128
    int scale = 0;
    friend bool operator==(const column_type&, const column_type&) = default;
};

// The type of a schema node. Throws schema.unsupported, naming the format, for what the profile does not have; does not look at
// children.
column_type type_of(const ArrowSchema& node);
// "BIGINT", "STRUCT<a: STRING>": Spark's name of a type, for people and for DDL.
std::string type_name(const ArrowSchema& node);

inline bool is_nullable(const ArrowSchema& node) noexcept { return (node.flags & ARROW_FLAG_NULLABLE) != 0; }
inline std::string_view name_of(const ArrowSchema& node) noexcept { return node.name ? node.name : ""; }

// Checks a whole schema that came from a plugin: a struct at the top, the profile's types, right children, no null pointers, no
// empty or repeated column name. Throws schema.unsupported or records.schema_drift naming the column.
void check_schema(const ArrowSchema& schema, std::string_view what);

// Equal in names, types, children and nullability. `why` says the first difference.
bool same_schema(const ArrowSchema& a, const ArrowSchema& b, std::string* why = nullptr);

// A deep copy that owns its memory.
arrow_schema copy_schema(const ArrowSchema& schema);
// The named columns, in that order. Throws if one is missing.
arrow_schema select_columns(const ArrowSchema& schema, const std::vector<std::string>& names);
// Index of a column, -1 if there is none.
std::int64_t find_column(const ArrowSchema& schema, std::string_view name) noexcept;

// Checks an array that came from a plugin against its schema before anything reads it: counts of children and buffers, null
// pointers, lengths and offsets that fit each other and never decrease, null counts that are true, UTF-8, no null where the
// schema forbids it. Throws records.invalid_array, records.schema_drift or records.null_in_required, naming the column.
void check_array(const ArrowSchema& schema, const ArrowArray& array, std::string_view what);

// Bytes that the buffers hold, for budgets.
std::size_t memory_size(const ArrowSchema& schema, const ArrowArray& array);

// The rows whose bit in `keep` is set (one byte a row, 0 or 1), as a new array that owns its memory. The array was checked.
arrow_array filter_rows(const ArrowSchema& schema, const ArrowArray& array, const std::vector<std::uint8_t>& keep);

// A value as text for messages and keys; "null" for a null. The array was checked.
std::string value_text(const ArrowSchema& column, const ArrowArray& array, std::int64_t row);
// A value as JSON: integers and decimals with all their digits, instants as RFC 3339, binary as base64, NaN and infinities as text.
std::string value_json(const ArrowSchema& column, const ArrowArray& array, std::int64_t row);

// A schema built from Spark DDL: "id BIGINT NOT NULL, name STRING, tags ARRAY<STRING>, user STRUCT<login: STRING>". Types: BOOLEAN
// TINYINT SMALLINT INT BIGINT FLOAT DOUBLE DECIMAL(p,s) STRING BINARY DATE TIMESTAMP TIMESTAMP_NTZ ARRAY MAP STRUCT. Names may be
// in back-ticks. Throws config.schema with the place.
arrow_schema parse_ddl(std::string_view ddl);
std::string to_ddl(const ArrowSchema& schema);

}  // namespace lakeflow::host
