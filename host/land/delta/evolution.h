// host/land/delta/evolution.h: what a table's columns become when a flow lands in it: new columns are added, narrower ones widened, names
// that Parquet or Delta refuse are mapped. Plain data; any thread.
#pragma once

#include <string>
#include <vector>

#include "host/land/delta/actions.h"
#include "host/land/delta/schema.h"
#include "host/land/destination.h"

namespace lakeflow::host::delta {

struct evolution {
    std::vector<field> columns;  // of the table, in its order, new ones behind
    bool changed = false;        // the table needs a metaData action, and if `proto` differs a protocol action
    bool rewrites = false;       // a type changed: files that hold the old one are made anew
    metadata meta;
    protocol proto;
};

// Throws destination.schema or destination.column_name, naming table and column, if the rows cannot land there. With
// schema_policy::fixed nothing is added or widened. `flow` are the columns that land (from_arrow, and the bounds of scd2).
evolution evolve(const snapshot& table, const std::vector<field>& flow, const flow_spec& spec);

// The columns of a table that exists, with the names that its files use.
std::vector<field> columns_of(const metadata& meta);

// The flow's Arrow schema under the names that the files use.
std::shared_ptr<const arrow_schema> stored_schema(const ArrowSchema& flow, const std::vector<field>& columns);

// Whether each value of one type is exactly a value of the other; text counts for numbers.
bool widens(const type& from, const type& to);

}  // namespace lakeflow::host::delta
