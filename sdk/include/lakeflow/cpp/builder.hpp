// lakeflow/cpp/builder.hpp: record batches from typed values, for sources that are no JSON over HTTP. No Arrow library needed.
//   batch_builder rows(schema::ddl("id BIGINT NOT NULL, user STRUCT<login: STRING>, tags ARRAY<STRING>"));
//   rows["id"].append(7);
//   rows["user"]["login"].append("ann"), rows["user"].end();
//   rows["tags"].item().append("a"), rows["tags"].item().append("b"), rows["tags"].end();
//   rows.end_row();             // a column without a value gets null; where it may not be null, an error that names it
//   batch out = rows.finish();  // the builder is empty again
// One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lakeflow/cpp/batch.hpp"
#include "lakeflow/cpp/detail/column.hpp"
#include "lakeflow/cpp/json.hpp"
#include "lakeflow/cpp/schema.hpp"

namespace lakeflow {

class batch_builder {
  public:
    explicit batch_builder(schema columns) : columns_(std::move(columns)) { reset(); }

    const schema& columns() const { return columns_; }

    // A column by its name or place.
    column_builder& operator[](std::string_view name) {
        for (size_t i = 0; i < columns_.size(); ++i)
            if (columns_.fields()[i].name == name) return *builders_[i];
        throw invalid("there is no column '" + std::string(name) + "'");
    }
    column_builder& at(size_t place) { return *builders_.at(place); }

    // Ends a row. A failure names the column; the row is then gone.
    void end_row() {
        for (size_t i = 0; i < builders_.size(); ++i) {
            try {
                builders_[i]->end_slot(rows_ + 1);
            } catch (failure& error) {
                abandon_row();
                throw error.in("column '" + columns_.fields()[i].name + "'");
            }
        }
        ++rows_;
    }
    // A whole row from a JSON object; members that no column asks for are dropped.
    void append(const json& row) {
        try {
            for (size_t i = 0; i < builders_.size(); ++i) {
                const json* value = row.find(columns_.fields()[i].name);
                try {
                    if (value != nullptr) builders_[i]->append(*value);
                } catch (failure& error) {
                    throw error.in("column '" + columns_.fields()[i].name + "'");
                }
            }
        } catch (...) {
            abandon_row();
            throw;
        }
        end_row();
    }
    // Forgets the values of the row that was not ended.
    void abandon_row() {
        for (auto& builder : builders_) builder->cut(rows_);
    }

    int64_t rows() const { return rows_; }
    // About how much memory the rows take, for readers that bound their batches.
    size_t bytes() const {
        size_t out = 0;
        for (const auto& builder : builders_) out += builder->bytes();
        return out;
    }

    // The rows as a batch, which owns its memory; may be empty.
    batch finish() {
        abandon_row();
        batch out;
        detail::export_batch(builders_, rows_, out.receive());
        reset();
        return out;
    }

  private:
    void reset() {
        builders_.clear();
        for (const field& f : columns_.fields()) builders_.push_back(std::make_unique<column_builder>(f));
        rows_ = 0;
    }

    schema columns_;
    std::vector<std::unique_ptr<column_builder>> builders_;
    int64_t rows_ = 0;
};

}  // namespace lakeflow
