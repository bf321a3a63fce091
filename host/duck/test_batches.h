// host/duck/test_batches.h: batches for tests: a schema from DDL, values from a function of the test or from a seed.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "host/arrow/arrow.h"
#include "host/arrow/builder.h"
#include "host/duck/duck.h"

namespace lakeflow::host::test {

inline std::shared_ptr<const arrow_schema> schema_of(std::string_view ddl) {
    return std::make_shared<const arrow_schema>(parse_ddl(ddl));
}

// Writes one row: the columns of the table, by number.
using row_writer = std::function<void(struct_column& table, std::int64_t row)>;

inline record_batch make_batch(const std::shared_ptr<const arrow_schema>& schema, std::int64_t rows,
                               const row_writer& write) {
    auto table = make_table(*schema->get());
    for (std::int64_t row = 0; row < rows; ++row) {
        write(*table, row);
        table->end_value();
    }
    record_batch batch;
    batch.schema = schema;
    batch.array = table->finish();
    return batch;
}

template <class Column>
Column& at(struct_column& table, std::size_t i) {
    return static_cast<Column&>(table.child(i));
}
using i64 = fixed_column<std::int64_t>;

// Any value that the type can hold, nulls where they are allowed.
inline void random_value(column& to, std::mt19937_64& random, int depth = 0) {
    if (to.nullable() && random() % 5 == 0) return to.append_null();
    const auto text = [&] {
        std::string made;
        for (std::uint64_t n = random() % 24; n > 0; --n) made += std::array{"a", "\xc3\xa9", "\"", " "}[random() % 4];
        return made;
    };
    switch (to.id()) {
        case type_id::null_: return to.append_null();
        case type_id::boolean: return static_cast<bool_column&>(to).append(random() % 2 == 0);
        case type_id::int8:
            return static_cast<fixed_column<std::int8_t>&>(to).append(static_cast<std::int8_t>(random()));
        case type_id::int16:
            return static_cast<fixed_column<std::int16_t>&>(to).append(static_cast<std::int16_t>(random()));
        case type_id::int32:
            return static_cast<fixed_column<std::int32_t>&>(to).append(static_cast<std::int32_t>(random()));
        case type_id::int64: return static_cast<i64&>(to).append(static_cast<std::int64_t>(random()));
        case type_id::float32:
            return static_cast<fixed_column<float>&>(to).append(static_cast<float>(random() % 1000) / 8);
        case type_id::float64:
            return static_cast<fixed_column<double>&>(to).append(static_cast<double>(random() % 100000) / 16);
        case type_id::decimal128:
            return static_cast<fixed_column<int128>&>(to).append(static_cast<int128>(random() % 10000));
        case type_id::date32:
            return static_cast<fixed_column<std::int32_t>&>(to).append(static_cast<std::int32_t>(random() % 20000));
        case type_id::timestamp_utc:
        case type_id::timestamp_local:
            return static_cast<i64&>(to).append(static_cast<std::int64_t>(random() % 2'000'000'000'000'000));
        case type_id::utf8:
        case type_id::large_utf8:
        case type_id::binary:
        case type_id::large_binary: return static_cast<text_column&>(to).append(text());
        case type_id::struct_: {
            auto& s = static_cast<struct_column&>(to);
            for (std::size_t i = 0; i < s.size(); ++i) random_value(s.child(i), random, depth + 1);
            return s.end_value();
        }
        case type_id::list: {
            auto& l = static_cast<list_column&>(to);
            for (std::uint64_t n = random() % 4; n > 0; --n) random_value(l.child(), random, depth + 1);
            return l.end_value();
        }
        case type_id::map: {
            // Keys of one map differ: DuckDB refuses a repeated one, and so does the decoder.
            auto& m = static_cast<list_column&>(to);
            auto& entries = static_cast<struct_column&>(m.child());
            const std::uint64_t n = random() % 4;
            for (std::uint64_t k = 0; k < n; ++k) {
                static_cast<text_column&>(entries.child(0)).append("k" + std::to_string(k));
                random_value(entries.child(1), random, depth + 1);
                entries.end_value();
            }
            return m.end_value();
        }
    }
}

inline record_batch random_batch(const std::shared_ptr<const arrow_schema>& schema, std::int64_t rows,
                                 std::uint64_t seed) {
    std::mt19937_64 random(seed);
    return make_batch(schema, rows, [&](struct_column& table, std::int64_t) {
        for (std::size_t i = 0; i < table.size(); ++i) random_value(table.child(i), random);
    });
}

// Gives out batches that were made before.
class batch_list final : public duck::batch_source {
  public:
    explicit batch_list(std::vector<record_batch> batches) : batches_(std::move(batches)) {}
    bool next(record_batch& out) override {
        if (at_ == batches_.size()) return false;
        out = std::move(batches_[at_++]);
        return true;
    }

  private:
    std::vector<record_batch> batches_;
    std::size_t at_ = 0;
};

}  // namespace lakeflow::host::test
