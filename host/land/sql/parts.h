// host/land/sql/parts.h: the pieces of SQL text that the modes share. For merge.cpp and history.cpp alone.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "host/land/sql/merge.h"

namespace lakeflow::host::sql {

class parts {
  public:
    explicit parts(const merge_input& in);

    const merge_input& in() const noexcept { return in_; }
    const std::vector<std::size_t>& key_places() const noexcept { return keys_; }
    std::ptrdiff_t sequence() const noexcept { return sequence_; }  // -1: none

    // part(0), part(1), ... with `between` between them.
    static std::string each(std::size_t count, const std::function<std::string(std::size_t)>& part,
                            const std::string& between = ", ");
    std::string temp(const std::string& name) const { return in_.words.temporary + "." + name; }
    void make(const std::string& name, const std::string& select) const;

    // "k0, k1", "c3 AS k0, ...", "t."id" AS k0", "t."id" = r.k0 AND ..."
    std::string keys(const std::string& prefix) const;
    std::string keys_of_stage(const std::string& prefix) const;
    std::string keys_of_target(const std::string& prefix) const;
    std::string keys_equal(const std::string& target, const std::string& other) const;
    std::string columns(const std::string& prefix) const;
    std::string stage_columns(const std::string& prefix) const;
    std::string rows_equal(const std::string& target, const std::string& stage) const;
    std::string row_of_event(const std::string& stage, const std::string& event) const;
    std::string sequence_of_stage(const std::string& prefix) const;
    // SELECT k0.., s, nr, del of all rows and tombstones of the batch.
    std::string events() const;

  private:
    const merge_input& in_;
    std::vector<std::size_t> keys_;
    std::ptrdiff_t sequence_ = -1;
};

// scd2.
merge_outcome change_history(const parts& p);

}  // namespace lakeflow::host::sql
