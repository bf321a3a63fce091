// plugins/postgres/position.hpp: how far an incremental read has come, and which rows lie between two positions. Any thread.
//
// Without `lookback` a position is {"xmin": n}: all transactions below n were over when it was taken, so rows that they wrote are all
// there and get no company. A range (s, e] is the rows whose writer lies in [s, e): each version of a row is in just one range, whatever
// order the writers commit in, and one that is still open holds the position back. It costs a walk through the table, without an index.
//
// With `lookback` a position is {"cursor": value}, and a range the rows whose cursor lies above s - lookback, up to e: an index serves. A
// writer that commits later than the lookback after the value that it wrote is lost; with 0, each one that does not commit in order.
#pragma once

#include <string>
#include <vector>

#include "relation.hpp"

namespace lakeflow::postgres {

// Throws where the column cannot be a cursor, or the relation needs a lookback that is not there.
const column_plan& check_cursor(const relation& table, const table_settings& settings);

latest latest_position(session& server, const relation& table, const table_settings& settings, const latest_args& args);

// The conditions of (start, end].
std::vector<std::string> range_conditions(const relation& table, const table_settings& settings, const json& start,
                                          const json& end);

// The condition of rows that were marked as removed, or of all others. With `deleted`, a marked row is a tombstone of its key.
std::string deleted_condition(const relation& table, const table_settings& settings, bool removed);

// The member of an offset by which the host may order it and its form; empty where it may not.
std::pair<std::string, std::string> offset_order(const relation& table, const table_settings& settings);

}  // namespace lakeflow::postgres
