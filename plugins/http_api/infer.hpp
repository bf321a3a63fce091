// plugins/http_api/infer.hpp: the columns of a resource that declares none, from a bounded sample of its rows (contract 36). Pure but
// for `sample`; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "declaration.hpp"

namespace lakeflow::http_api {

inline constexpr std::size_t sample_rows = 1'000;

// Cuts the rows out of a document that arrives in pieces, and stops when it has enough.
class row_cutter {
  public:
    explicit row_cutter(std::string_view records, std::size_t most = sample_rows);

    // False: enough.
    bool feed(std::string_view piece);
    const std::vector<std::string>& rows() const { return rows_; }

  private:
    struct level {
        bool array = false;
        bool expects_key = true;
        std::int64_t index = 0;
        std::string key;
    };

    void open(bool array);
    void close();
    bool at_records() const;

    std::vector<std::string> wanted_;
    std::size_t most_;
    std::vector<level> levels_;
    std::vector<std::string> rows_;
    std::string row_, text_;
    std::size_t row_depth_ = 0;  // of the row that is being cut; 0: none
    bool in_text_ = false, escaped_ = false;
};

// The columns of the sample, in the order in which they first come. Those that are declared keep their types; a column that is null
// in every row is left out.
schema infer(const resource& of, const std::vector<json>& rows);

}  // namespace lakeflow::http_api
