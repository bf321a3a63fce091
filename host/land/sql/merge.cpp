// host/land/sql/merge.cpp: append, scd1 and snapshot; scd2 is in history.cpp. See merge.h.
#include "host/land/sql/merge.h"

#include <algorithm>

#include "host/base/error.h"
#include "host/base/text.h"
#include "host/land/sql/parts.h"

namespace lakeflow::host::sql {

parts::parts(const merge_input& in) : in_(in) {
    for (const std::string& key : in.flow.primary_keys) keys_.push_back(place_of(in.flow, key));
    if (!in.flow.sequence_by.empty()) sequence_ = static_cast<std::ptrdiff_t>(place_of(in.flow, in.flow.sequence_by));
}

std::string parts::each(std::size_t count, const std::function<std::string(std::size_t)>& part,
                        const std::string& between) {
    std::string out;
    for (std::size_t i = 0; i < count; ++i) out += (i ? between : std::string()) + part(i);
    return out;
}

std::string parts::keys(const std::string& prefix) const {
    return each(keys_.size(), [&](std::size_t i) { return prefix + "k" + std::to_string(i); });
}
std::string parts::keys_of_stage(const std::string& prefix) const {
    return each(keys_.size(),
                [&](std::size_t i) { return prefix + "c" + std::to_string(keys_[i]) + " AS k" + std::to_string(i); });
}
std::string parts::keys_of_target(const std::string& prefix) const {
    return each(keys_.size(),
                [&](std::size_t i) { return prefix + in_.columns[keys_[i]] + " AS k" + std::to_string(i); });
}
std::string parts::keys_equal(const std::string& target, const std::string& other) const {
    return each(
        keys_.size(),
        [&](std::size_t i) { return target + in_.columns[keys_[i]] + " = " + other + "k" + std::to_string(i); },
        " AND ");
}
std::string parts::columns(const std::string& prefix) const {
    return each(in_.columns.size(), [&](std::size_t i) { return prefix + in_.columns[i]; });
}
std::string parts::stage_columns(const std::string& prefix) const {
    return each(in_.columns.size(), [&](std::size_t i) { return prefix + "c" + std::to_string(i); });
}
std::string parts::rows_equal(const std::string& target, const std::string& stage) const {
    return each(
        in_.columns.size(),
        [&](std::size_t i) {
            return target + in_.columns[i] + " IS NOT DISTINCT FROM " + stage + "c" + std::to_string(i);
        },
        " AND ");
}
// The staged row of an event, none of a tombstone. One equality: beside a second condition DuckDB compares every row with every other.
std::string parts::row_of_event(const std::string& stage, const std::string& event) const {
    return stage + in_.words.arrival + " = CASE WHEN " + event + "del THEN -1 ELSE " + event + "nr END";
}
std::string parts::sequence_of_stage(const std::string& prefix) const {
    return sequence_ < 0 ? "CAST(NULL AS BIGINT)" : prefix + "c" + std::to_string(sequence_);
}

void parts::make(const std::string& name, const std::string& select) const {
    in_.to.run("CREATE TEMP TABLE " + name + in_.words.drop + " AS " + select);
    if (in_.words.analyze) in_.to.run("ANALYZE " + temp(name));
}

// Every event of the batch: keys, sequence, arrival, and whether it is a tombstone.
std::string parts::events() const {
    std::string sql = "SELECT " + keys_of_stage("f.") + ", " + sequence_of_stage("f.") + " AS s, f." +
                      in_.words.arrival + " AS nr, false AS del FROM " + staged(in_) + " f";
    if (in_.has_deletes) {
        sql += " UNION ALL SELECT " + keys("d.") + ", d.s, d." + in_.words.arrival + " AS nr, true AS del FROM " +
               dead(in_) + " d";
    }
    return sql;
}

namespace {

std::string order_of_events(bool last) { return last ? "s DESC NULLS LAST, del DESC, nr DESC" : "nr"; }

// One event a key as lf_src (k0.., s, nr, del): the last by (sequence, arrival), or the first that came.
void make_source(const parts& p, bool last) {
    p.make("lf_src", "SELECT " + p.keys("") + ", s, nr, del FROM (SELECT e.*, row_number() OVER (PARTITION BY " +
                         p.keys("") + " ORDER BY " + order_of_events(last) + ") AS nth FROM (" + p.events() +
                         ") e) r WHERE nth = 1");
}

merge_outcome append(const parts& p) {
    const merge_input& in = p.in();
    merge_outcome out;
    const std::string insert = "INSERT INTO " + in.target + " (" + p.columns("") + ") SELECT " + p.stage_columns("f.") +
                               " FROM " + staged(in) + " f";
    if (!in.flow.rereads || in.flow.primary_keys.empty()) {
        out.result.rows_landed = in.to.run(insert + " ORDER BY f." + in.words.arrival);
        return out;
    }
    make_source(p, false);
    out.result.rows_landed = in.to.run(insert + " JOIN " + p.temp("lf_src") + " r ON f." + in.words.arrival +
                                       " = r.nr WHERE NOT EXISTS (SELECT 1 FROM " + in.target + " t WHERE " +
                                       p.keys_equal("t.", "r.") + ") ORDER BY f." + in.words.arrival);
    return out;
}

// The target's rows that have a key of lf_src as lf_hit (rid, nr, del, older, same).
void make_hits(const parts& p, bool sequenced) {
    const merge_input& in = p.in();
    std::string is_older = "false";
    if (sequenced && p.sequence() >= 0) {
        // A row without a sequence is older than any with one; a tombstone without one removes what is there.
        const std::string held = "t." + in.columns[static_cast<std::size_t>(p.sequence())];
        is_older = "COALESCE(" + held + " > r.s, r.s IS NULL AND NOT r.del AND " + held + " IS NOT NULL)";
    }
    p.make("lf_hit", "SELECT t." + in.words.row_id + " AS rid, r.nr, r.del, " + is_older +
                         " AS older, (NOT r.del AND " + p.rows_equal("t.", "f.") + ") AS same FROM " + in.target +
                         " t JOIN " + p.temp("lf_src") + " r ON " + p.keys_equal("t.", "r.") + " LEFT JOIN " +
                         staged(in) + " f ON " + p.row_of_event("f.", "r."));
}

merge_outcome upsert(const parts& p) {
    const merge_input& in = p.in();
    merge_outcome out;
    make_source(p, true);
    make_hits(p, true);
    const std::string hit = p.temp("lf_hit");
    out.result.rows_again = in.to.integer("SELECT count(DISTINCT nr) FROM " + hit + " WHERE same");
    out.result.rows_deleted =
        in.to.integer("SELECT count(*) FROM " + hit + " h WHERE del AND NOT older AND NOT EXISTS (SELECT 1 FROM " +
                      hit + " o WHERE o.older AND o.del AND o.nr = h.nr)");
    in.to.run("DELETE FROM " + in.target + " WHERE " + in.words.row_id + " IN (SELECT h.rid FROM " + hit +
              " h WHERE NOT h.same AND NOT EXISTS (SELECT 1 FROM " + hit +
              " o WHERE o.older AND o.nr = h.nr AND o.del = h.del))");
    out.result.rows_landed =
        in.to.run("INSERT INTO " + in.target + " (" + p.columns("") + ") SELECT " + p.stage_columns("f.") + " FROM " +
                  staged(in) + " f JOIN " + p.temp("lf_src") + " r ON f." + in.words.arrival +
                  " = r.nr AND NOT r.del WHERE NOT EXISTS (SELECT 1 FROM " + hit +
                  " h WHERE h.nr = r.nr AND NOT h.del AND (h.older OR h.same)) ORDER BY f." + in.words.arrival);
    return out;
}

void guard_deletes(const merge_input& in, std::int64_t gone, std::int64_t before) {
    if (static_cast<double>(gone) <= in.flow.max_delete_ratio * static_cast<double>(before)) return;
    throw failure("destination.too_many_deletes",
                  "table " + in.flow.table + ": the snapshot would remove " + std::to_string(gone) + " of its " +
                      std::to_string(before) + " rows, and max_delete_ratio is " +
                      std::to_string(in.flow.max_delete_ratio).substr(0, 5),
                  "check the source; raise max_delete_ratio on the table if the rows are gone indeed");
}

// The target's rows that a snapshot replaces; those that its filter does not let through are none of its business.
std::string replaced(const merge_input& in) {
    return in.within.empty() ? in.target : "(SELECT * FROM " + in.target + " WHERE " + in.within + ")";
}
std::string and_within(const merge_input& in) {
    return in.within.empty() ? "" : " AND COALESCE(" + in.within + ", FALSE)";
}

// Without keys nobody can tell which row became which: all go and all come, unless they are the same.
void replace_all(const parts& p, std::int64_t before, std::int64_t rows, merge_outcome& out) {
    const merge_input& in = p.in();
    const std::string table = "SELECT " + p.columns("") + " FROM " + replaced(in) + " t";
    const std::string stage = "SELECT " + p.stage_columns("") + " FROM " + staged(in);
    const std::int64_t gone = in.to.integer("SELECT count(*) FROM (" + table + " EXCEPT ALL " + stage + ") x");
    if (gone == 0 && before == rows) {
        out.unchanged = true;
        return;
    }
    guard_deletes(in, gone, before);
    in.to.run("DELETE FROM " + in.target + " WHERE TRUE" + and_within(in));
    in.to.run("INSERT INTO " + in.target + " (" + p.columns("") + ") " + stage + " ORDER BY " + in.words.arrival);
    out.result.rows_deleted = gone;
}

void replace_by_key(const parts& p, std::int64_t before, merge_outcome& out) {
    const merge_input& in = p.in();
    make_source(p, true);
    make_hits(p, false);
    // One row of the table stays for a row of the snapshot, if it is the same.
    p.make("lf_stay", "SELECT min(rid) AS rid, nr FROM " + p.temp("lf_hit") + " WHERE same GROUP BY nr");
    // A row whose key came is replaced, wherever it lay.
    const std::string hit = p.temp("lf_hit");
    const std::int64_t held =
        in.to.integer("SELECT count(DISTINCT h.nr) FROM " + hit + " h JOIN (SELECT " + in.words.row_id +
                      " AS rid FROM " + in.target + " WHERE TRUE" + and_within(in) + ") t ON t.rid = h.rid");
    out.result.rows_deleted = std::max<std::int64_t>(0, before - held);
    guard_deletes(in, out.result.rows_deleted, before);
    const std::string gone = in.within.empty() ? std::string("TRUE")
                                               : "(COALESCE(" + in.within + ", FALSE) OR " + in.words.row_id +
                                                     " IN (SELECT rid FROM " + hit + "))";
    const std::int64_t removed = in.to.run("DELETE FROM " + in.target + " WHERE " + in.words.row_id +
                                           " NOT IN (SELECT rid FROM " + p.temp("lf_stay") + ") AND " + gone);
    const std::int64_t inserted =
        in.to.run("INSERT INTO " + in.target + " (" + p.columns("") + ") SELECT " + p.stage_columns("f.") + " FROM " +
                  staged(in) + " f JOIN " + p.temp("lf_src") + " r ON f." + in.words.arrival +
                  " = r.nr WHERE NOT EXISTS (SELECT 1 FROM " + p.temp("lf_stay") + " s WHERE s.nr = r.nr) ORDER BY f." +
                  in.words.arrival);
    out.unchanged = removed == 0 && inserted == 0;
}

merge_outcome replace(const parts& p) {
    const merge_input& in = p.in();
    merge_outcome out;
    const std::int64_t before = in.to.integer("SELECT count(*) FROM " + replaced(in) + " t");
    const std::int64_t rows = in.to.integer("SELECT count(*) FROM " + staged(in));
    if (rows == 0 && before > 0 && !in.flow.allow_empty) {
        throw failure("destination.would_empty",
                      "the source has no rows for table " + in.flow.table + ", which holds " + std::to_string(before),
                      "check the source; set allow_empty = true on the table if it is empty indeed");
    }
    if (in.flow.primary_keys.empty()) {
        replace_all(p, before, rows, out);
    } else {
        replace_by_key(p, before, out);
    }
    if (out.unchanged) {
        out.result.rows_again = rows;
    } else {
        out.result.rows_landed = in.to.integer("SELECT count(*) FROM " + replaced(in) + " t");
    }
    return out;
}

std::string list_of_types(const merge_input& in, const std::string& more) {
    std::string out;
    for (std::size_t i = 0; i < in.types.size(); ++i) out += (i ? ", c" : "c") + std::to_string(i) + " " + in.types[i];
    return out + more;
}

}  // namespace

std::string staged(const merge_input& in) { return in.words.temporary + ".lf_stage"; }
std::string dead(const merge_input& in) { return in.words.temporary + ".lf_dead"; }

std::string create_stage(const merge_input& in, const std::string& more_columns) {
    return "CREATE TEMP TABLE lf_stage (" + list_of_types(in, more_columns) + ")";
}

std::string create_dead(const merge_input& in, const std::string& more_columns) {
    std::string columns;
    for (std::size_t i = 0; i < in.flow.primary_keys.size(); ++i) {
        columns += "k" + std::to_string(i) + " " + in.types[place_of(in.flow, in.flow.primary_keys[i])] + ", ";
    }
    const std::string sequence =
        in.flow.sequence_by.empty() ? "BIGINT" : in.types[place_of(in.flow, in.flow.sequence_by)];
    return "CREATE TEMP TABLE lf_dead (" + columns + "s " + sequence + more_columns + ")";
}

merge_outcome merge(const merge_input& in) {
    const parts p(in);
    switch (in.flow.mode) {
        case land_mode::append: return append(p);
        case land_mode::scd1: return upsert(p);
        case land_mode::scd2: return change_history(p);
        case land_mode::snapshot: return replace(p);
    }
    return {};
}

std::size_t place_of(const flow_spec& flow, const std::string& column) {
    return static_cast<std::size_t>(find_column(*flow.schema->get(), column));
}

void check_flow(const flow_spec& flow) {
    const ArrowSchema& schema = *flow.schema->get();
    const auto refuse = [&](const char* code, const std::string& why, const std::string& hint) {
        throw failure(code, "table " + flow.table + why, hint, retry_class::invalid);
    };
    if (schema.n_children == 0)
        refuse("schema.unsupported", " has no column that could land", "name columns with `columns`");
    for (std::int64_t i = 0; i < schema.n_children; ++i) {
        const std::string name(name_of(*schema.children[i]));
        const bool own =
            flow.mode == land_mode::scd2 && (equal_no_case(name, start_column) || equal_no_case(name, end_column));
        if (own)
            refuse("destination.column_name", ": column " + name + " has the name of a column that scd2 adds",
                   "leave it out with `columns`");
    }
    for (const std::string& key : flow.primary_keys) {
        if (find_column(schema, key) < 0)
            refuse("config.primary_keys", " has no column " + key + ", which is to be a key", "");
    }
    const bool merges = flow.mode == land_mode::scd1 || flow.mode == land_mode::scd2;
    if (flow.primary_keys.empty() && (merges || (flow.mode == land_mode::append && flow.rereads))) {
        refuse("config.primary_keys", ": mode " + std::string(to_string(flow.mode)) + " needs primary keys here",
               "name them with `primary_keys`");
    }
    if (!flow.sequence_by.empty() && find_column(schema, flow.sequence_by) < 0)
        refuse("config.sequence_by", " has no column " + flow.sequence_by + ", which is to be the sequence", "");
    if (flow.mode == land_mode::scd2 && flow.sequence_by.empty())
        refuse("config.sequence_by", ": mode scd2 needs a column that says since when a row holds",
               "name it with `sequence_by`");
    for (const std::string& name : flow.track) {
        if (find_column(schema, name) < 0) refuse("config.track", " has no column " + name + ", which track names", "");
    }
}

}  // namespace lakeflow::host::sql
