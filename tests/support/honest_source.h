// tests/support/honest_source.h: a table in memory behind the scripted plugin that serves "lakeflow.scan/1" as its contract says, with an
// evaluator of its own over the conjuncts' JSON: the other opinion on what a predicate means. What it takes over is set per test.
#pragma once

#include <boost/json.hpp>
#include <string>
#include <vector>

#include "host/arrow/arrow.h"
#include "tests/support/scripted_plugin.h"

namespace lakeflow::host::testing {

// How far the source goes. Words are those of lakeflow/scan.h.
struct source_abilities {
    std::string filters =
        "exact";  // "exact"; "partial": it lets through more than it has to; "some": plain comparisons of id, name and amount; "no"
    std::string columns = "exact";
    std::string aggregate = "exact";
    std::string limit = "exact";
    std::string order_by = "exact";
    std::string offset = "exact";
    int partitions = 1;
};

class honest_source {
  public:
    honest_source(scripted_plugin& plugin, std::string ddl, std::vector<cells> rows);

    source_abilities can;

  private:
    std::string plan(const script_call& call) const;
    script_read read(const script_call& call, int part) const;
    std::string answer(const boost::json::value& conjunct) const;

    scripted_plugin& plugin_;
    arrow_schema schema_;
    std::vector<cells> rows_;
};

}  // namespace lakeflow::host::testing
