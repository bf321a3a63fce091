// plugins/http_api/table.hpp: one resource as a table: its columns, how a read of it is split, and the readers. Immutable but for the
// columns, which are inferred once; one thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cursor.hpp"
#include "service.hpp"
#include "walk.hpp"

namespace lakeflow::http_api {

class table {
  public:
    table(std::shared_ptr<const service> source, resource of);

    const resource& of() const { return of_; }
    // The table's columns: declared, or inferred from a sample of the source.
    const schema& columns() const;
    lakeflow::table_metadata metadata() const;

    // Whether micro-batches can be planned before they are read.
    bool plans_ahead() const;
    latest newest(const latest_args& args) const;
    // The parts of a read, as descriptors.
    std::vector<json> split(const plan_args& args) const;
    // One part, or with an empty descriptor the whole.
    std::unique_ptr<reader> read(const read_args& args) const;
    std::unique_ptr<reader> read_deletes(const read_args& args) const;
    // The requests of a read: of each part all, where their number is known, else the first. Asks for the total.
    std::vector<std::string> requests(const json& scan) const;

  private:
    walk_plan plan(const json& scan) const;
    walk_plan aggregate_plan(const json& scan) const;
    std::vector<json> split_by_total(walk_plan whole, const json& base) const;
    std::vector<json> split_by_values(const walk_plan& whole) const;
    std::vector<json> split_by_parents() const;
    json parents(const std::vector<std::string>& names) const;
    std::vector<std::string> parent_columns() const;
    void set_range(walk_plan& into, const cursor_range& range) const;
    void set_part(walk_plan& into, const json& descriptor) const;
    cursor_range range_of(const read_args& args) const;
    cursor_range read_range(const json& descriptor) const;
    cursor_kind cursor_of() const;
    bool reads_again() const { return !of_.primary_keys.empty(); }
    schema inferred() const;
    std::string where() const { return of_.path; }

    std::shared_ptr<const service> source_;
    resource of_;
    mutable std::optional<schema> columns_;
};

}  // namespace lakeflow::http_api
