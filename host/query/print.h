// host/query/print.h: rows of a query for people and programs. Memory is bounded: a table's widths come from its first rows. Used by the
// thread of the query.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/duck/duck.h"

namespace lakeflow::host {

enum class row_format { jsonl, csv, table };

class row_printer {
  public:
    virtual ~row_printer() = default;
    virtual void begin(const std::vector<std::string>& names, const std::vector<duck::value_type>& types) = 0;
    virtual void row(const duck::result& rows) = 0;
    virtual void end() = 0;
};

// `out` takes text in pieces, and says false once nobody reads any more.
std::unique_ptr<row_printer> make_printer(row_format format, std::function<bool(std::string_view)> out);

}  // namespace lakeflow::host
