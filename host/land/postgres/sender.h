// host/land/postgres/sender.h: rows on their way to the server by COPY, and what of them it cannot hold. One thread.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "host/base/error.h"
#include "host/land/destination.h"
#include "host/land/postgres/connection.h"
#include "host/land/quarantine.h"

namespace lakeflow::host::postgres {

// What of a batch's rows the database cannot hold, where the policy is not to fail.
struct misfits {
    std::set<std::int64_t> out;                              // rows
    std::set<std::pair<std::int64_t, std::int64_t>> nulled;  // rows and places of columns
    std::vector<bad_row> bad;
};

class row_sender {
  public:
    // `types` are those of the flow's columns in the table.
    row_sender(connection& to, const flow_spec& flow, const std::vector<std::string>& types)
        : to_(to), flow_(flow), types_(types) {}

    // Sends the rows into a temporary table, with a number behind their columns that grows from `number`; again without what the database
    // refuses, as the flow's policy has it. `places` are the columns, -1 for one that is null. Without `misfit` a refusal is a failure.
    // Throws value.mismatch, naming table, column and key.
    void copy(const std::string& into, const record_batch& rows, const std::vector<std::int64_t>& places,
              std::int64_t number, misfits* misfit);

  private:
    struct refusal {
        error why;
        std::int64_t row = -1;
        std::int64_t place = -1;
    };
    void send(const std::string& into, const record_batch& rows, const std::vector<std::int64_t>& places,
              std::int64_t number, misfits* misfit, std::vector<std::int64_t>& sent);
    bool bear(const record_batch& rows, std::int64_t row, std::int64_t place, const error& why, misfits& misfit) const;
    refusal explain(const failure& f, const record_batch& rows, const std::vector<std::int64_t>& places,
                    const std::vector<std::int64_t>& sent) const;
    std::string key_text(const record_batch& rows, std::int64_t row) const;

    connection& to_;
    const flow_spec& flow_;
    const std::vector<std::string>& types_;
};

}  // namespace lakeflow::host::postgres
