// host/query/statement.h: one SELECT over one table of the plugin, taken apart: what the source might do, and the SQL that does the rest
// over what it sends. Parsing and writing are DuckDB's (duck/sql.h). Used by one thread.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/arrow/arrow.h"
#include "host/duck/duck.h"
#include "host/scan/negotiate.h"
#include "host/scan/sql_tree.h"

namespace lakeflow::host {

class statement {
  public:
    // Throws config.query for what is no SELECT over one table, naming what else it is.
    statement(duck::connection& c, const std::string& sql);

    // The table as the statement names it: {"orders"}, {"public", "orders"}.
    const std::vector<std::string>& table() const noexcept { return table_; }

    // Finds the statement's columns in the table's schema. Throws config.query.
    void bind(std::shared_ptr<const arrow_schema> schema);
    const scan_wish& wish() const noexcept { return wish_; }
    // The conditions that no predicate can say, as SQL.
    std::vector<std::string> further_filters();

    // The statement over `source`, a table expression of DuckDB whose columns are those of `choice`, named by `names`; what the source
    // does is left out.
    std::string over(const std::string& source, const scan_choice& choice);
    // The names of the stream's columns for DuckDB: the choice's own, but where two differ only by case; those of an aggregate are k0, f1.
    std::vector<std::string> names(const scan_choice& choice) const;
    // The column that such a name stands for, in a result.
    std::string shown(const std::string& name) const;
    // The statement over a table of the schema without its rows, to have it checked and its columns named. `source` as for over().
    std::string dry(const std::string& source);
    // The names of the result's columns, once the dry run has told them: an unnamed aggregate keeps its name when it is rewritten.
    void set_output_names(std::vector<std::string> names) { output_ = std::move(names); }

  private:
    friend class aggregate_rewriter;
    using value = boost::json::value;
    using object = boost::json::object;

    object& node() { return tree_.at("statements").at(0).at("node").as_object(); }
    const object& node() const { return tree_.at("statements").at(0).at("node").as_object(); }
    sql_scope scope() const { return {*schema_, qualifiers_}; }
    void check_shape() const;
    void bind_where();
    void bind_columns();
    void bind_limit();
    void bind_sample();
    std::optional<std::int64_t> limit_constant(const char* name) const;
    std::optional<std::vector<order_key>> order_keys() const;
    const value* selected(const value& expression) const;
    void add_places(const value& part, std::vector<bool>& used) const;
    std::string write(object changed, const std::string& source);
    value parsed_expressions(const std::string& list);
    void rename_twins(value& part) const;

    duck::connection& c_;
    value tree_;
    std::vector<std::string> table_;
    std::vector<std::string> qualifiers_;
    std::shared_ptr<const arrow_schema> schema_;
    std::vector<std::string> duck_names_;  // of the schema's columns
    scan_wish wish_;
    std::vector<value> further_;
    bool where_after_sample_ = false;
    std::vector<std::string> output_;
};

// The aggregation of a statement, where it is one that a source may be asked for; else nothing.
std::optional<aggregation> aggregation_of(const boost::json::object& node, const sql_scope& scope);
// Rewrites a statement so that it combines the groups that a source gives in columns k0.. and f0..: sums of counts, and so on. `expressions`
// parses a list of SQL expressions. `output` names the result's columns.
void combine_groups(boost::json::object& node, const sql_scope& scope, const aggregation& a,
                    const std::function<boost::json::value(const std::string&)>& expressions,
                    const std::vector<std::string>& output);

}  // namespace lakeflow::host
