// host/scan/filter.h: predicates over Arrow batches: rows that the source did not leave out are left out here, and rows that it said it
// would leave out are looked for. Immutable once made; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/arrow/arrow.h"
#include "host/scan/predicate.h"

namespace lakeflow::host {

class row_filter {
  public:
    // `residual` is applied. `exact` was promised by the source: of it, what lies on columns that come anyway is checked (contract 23).
    // `schema` is that of the batches. Throws config.where if a column of `residual` does not come.
    row_filter(const arrow_schema& schema, const std::vector<predicate>& residual, const std::vector<predicate>& exact,
               std::string what);
    ~row_filter();
    row_filter(const row_filter&) = delete;
    row_filter& operator=(const row_filter&) = delete;

    bool does_nothing() const noexcept { return residual_.empty() && exact_.empty(); }
    // Clears the bytes of `keep` (one a row, 0 or 1) whose row does not pass, and says how many it cleared. The array was checked. Throws
    // source.filter_ignored for a row that the source had promised to leave out.
    std::int64_t apply(const ArrowArray& table, std::vector<std::uint8_t>& keep) const;

  private:
    struct node;
    static std::unique_ptr<node> compile(const arrow_schema& schema, const predicate& p);

    std::string what_;
    std::shared_ptr<const arrow_schema> schema_;
    std::vector<std::unique_ptr<node>> residual_;
    std::vector<std::unique_ptr<node>> exact_;
};

}  // namespace lakeflow::host
