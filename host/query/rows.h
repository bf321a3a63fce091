// host/query/rows.h: the rows of a table for one query: its partitions, read on the arena, as a batch source for DuckDB. Made and read by
// the query's thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/duck/duck.h"
#include "host/scan/negotiate.h"
#include "host/stream/batch_read.h"

namespace lakeflow::host {

// What the partitions' batches look like, and what DuckDB sees of them.
struct rows_shape {
    std::shared_ptr<const arrow_schema> expected;  // of the batches: names and types have to agree
    std::shared_ptr<const arrow_schema>
        renamed;       // the same under DuckDB's names; of batches without columns: one that counts them
    std::string what;  // for messages
};

// `names` as statement::names gives them.
rows_shape shape_of(const scan_choice& choice, const std::vector<std::string>& names, std::string what);

class partition_rows final : public duck::batch_source {
  public:
    // `source` may have no parts at all: then no row comes.
    partition_rows(read_source source, bool nothing, rows_shape shape, std::shared_ptr<worker_arena> arena,
                   std::shared_ptr<byte_budget> budget, std::shared_ptr<cancel_token> stop);

    bool next(record_batch& out) override;
    // Ends what is still being read; false if a task could not be ended: it sits in the plugin's own code.
    bool stop();

  private:
    void check(const arrow_schema& schema) const;
    record_batch counted();

    rows_shape shape_;
    live_counts live_;
    std::unique_ptr<batch_read> read_;
    std::shared_ptr<const arrow_schema> checked_;
    budget_share held_;           // of the batch that was handed on last, until the next is asked for
    std::int64_t uncounted_ = 0;  // rows without columns that have not been handed on
};

}  // namespace lakeflow::host
