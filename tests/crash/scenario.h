// tests/crash/scenario.h: the cells of the matrix: what a source holds at each of its ages, what a table must then hold, a run of the
// real engine into a real destination, and the table read back by something that shares no code with the destination.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "host/stream/engine.h"

namespace lakeflow::crash {

// Append on both paths, with a plugin that reads rows above the end of its batch (contract 8); and a table whose log gets a
// checkpoint while it is watched; and one that puts every fourth row aside.
enum class mode { append_simple, append_partitions, append_checkpoint, scd1, scd2, snapshot, deletes, quarantine };
// connector: a service that keeps what it is sent in files, so that its own effects are among those at which a process dies.
enum class lake { delta, duckdb, jsonl, postgres, connector };
std::string_view name(mode m);
std::string_view name(lake l);

// id, cursor, text; of a version in scd2 the text says until when it holds.
using row = std::tuple<std::int64_t, std::int64_t, std::string>;
using rows = std::multiset<row>;

// A source grows: it is as old as it has events (incremental tables) or versions (snapshots). A run lands what there is at its age.
struct ages {
    int before = 0;  // of a run before anything strikes; 0: there is none
    int first = 0;   // of the first run of the process that dies
    int second = 0;  // of its second run
    int last = 0;    // of the run after its death
};
ages ages_of(mode m);

// What a table may hold between two commits of a run, the empty table included; and what it must hold at the end of a run.
std::vector<rows> lawful(mode m, int age);
rows oracle(mode m, int age);

enum class lost { nothing, for_good, transient };  // the answer of a destination's commit

// Where the tables of lake::postgres lie: a server that the children reach by its dsn, in a schema named after the last part of
// `root`. Set before the first child.
void use_postgres(std::string dsn);

// One run of the job below `root`, in this process.
host::run_result run(const std::string& root, mode m, lake l, int age, lost how = lost::nothing, int at_commit = 0);

// The table below `root` as it stands: nothing if there is none. Throws what a reader of damaged files throws.
std::optional<rows> read_back(const std::string& root, lake l);
// Its side table: the texts of the rows that were put aside, with nothing before them; and what it must hold at the end of a run.
rows read_aside(const std::string& root, lake l);
rows aside(mode m, int age);

}  // namespace lakeflow::crash
