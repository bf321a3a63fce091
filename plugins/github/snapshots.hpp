// plugins/github/snapshots.hpp: tables that are read whole, or not at all if nothing changed. One thread at a time.
//
// Offset: {"as_of": the run's init time, "etags": the validators of all pages, with spaces between}. Within one run it says
// "done" without a request; in a later one each page is asked for with its validator, and only if all answer 304 is the table
// unchanged.
#pragma once

#include <memory>

#include "client.hpp"
#include "lakeflow/lakeflow.hpp"

namespace lakeflow::github {

std::unique_ptr<reader> read_snapshot(std::shared_ptr<const client> source, const read_args& args);

}  // namespace lakeflow::github
