// plugins/postgres/decode.hpp: PostgreSQL's binary form of values, straight into Arrow columns. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lakeflow/lakeflow.hpp"
#include "relation.hpp"

namespace lakeflow::postgres {

// Appends one value. Throws "value.mismatch" for one that the column's type cannot hold, source.protocol for bytes that are no value.
void decode_value(const value_plan& plan, std::string_view bytes, column_builder& out);

// The value as people read it, for messages; "?" for what has no short form.
std::string show_value(const value_plan& plan, std::string_view bytes);

// Reads the messages of COPY .. (FORMAT binary): a header, rows, a trailer. The server sends each row as a message of its own, the header
// with or before the first.
class copy_decoder {
  public:
    copy_decoder(const relation& table, std::vector<column_plan> columns);

    // Appends the row of a message, if it holds one.
    void take(std::string_view message, batch_builder& out);

  private:
    void row(std::string_view bytes, batch_builder& out);
    [[noreturn]] void refuse(failure& error, size_t column);

    std::string table_;
    std::vector<std::string> keys_;
    std::vector<column_plan> columns_;
    std::vector<std::string_view> fields_;  // of the row at hand; null ones have no data
    bool begun_ = false, ended_ = false;
};

}  // namespace lakeflow::postgres
