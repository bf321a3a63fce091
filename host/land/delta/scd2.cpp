// host/land/delta/scd2.cpp: history. A version of a key holds from its sequence (__START_AT) to that of the next event of its key
// (__END_AT, null while it is the newest). The events of a batch and the versions of the same keys in the table are points on a line;
// what lies between two neighbours is a version, or a gap that a tombstone left. Threads: see merge.h.
#include <algorithm>
#include <iterator>
#include <map>

#include "host/base/error.h"
#include "host/land/delta/key_files.h"

namespace lakeflow::host::delta {
namespace {

// The events of the batch as lf_src (k0.., s, fi, rn, del, known): of those of one key and sequence the last that arrived.
void make_events(const merge_input& in) {
    std::string sql = "SELECT * FROM (" + staged_events(in, true) + ")";
    if (!in.unique || !in.deletes.empty()) {
        sql += " QUALIFY row_number() OVER (PARTITION BY " + key_names(in) +
               ", s ORDER BY del DESC, fi DESC, rn DESC) = 1";
    }
    sql = "CREATE OR REPLACE TEMP TABLE lf_src AS SELECT *, false AS known FROM (" + sql + ")";
    in.connection.run(sql);
    if (in.connection.integer("SELECT count(*) FROM lf_src WHERE s IS NULL") > 0) {
        throw failure("value.null_cursor",
                      "table " + in.flow.table + ": a row has no value in " + in.sequence +
                          ", which says since when its version holds",
                      "name another `sequence_by`, or use mode = \"scd1\"");
    }
}

// The versions of the keys of lf_src in the table as lf_old (k0.., st, en, cf, cfi, crn). With `track`, a version may have been
// confirmed by events that opened none; its sequence column, `cf`, tells of the last. Returns the files that can hold one.
std::vector<std::string> make_versions(const merge_input& in) {
    const std::vector<std::string> candidates = files_with_keys(in, "lf_src");
    const std::string sequence = duck::quote_name(in.sequence);
    const std::string confirmed = in.track.empty() ? "CASE WHEN false THEN \"__START_AT\" END"
                                                   : "CASE WHEN " + sequence + " > \"__START_AT\" AND coalesce(" +
                                                         sequence + " < \"__END_AT\", true) THEN " + sequence + " END";
    in.connection.run("CREATE OR REPLACE TEMP TABLE lf_old AS SELECT c.* FROM (SELECT " + keys_as(in) +
                      ", \"__START_AT\" AS st, \"__END_AT\" AS en, " + confirmed +
                      " AS cf, lf_fi::BIGINT AS cfi, lf_rn AS crn FROM " + table_relation(in, candidates) +
                      ") c SEMI JOIN lf_src s ON " + keys_equal(in, "c", "s"));
    return candidates;
}

bool is_tracked(const merge_input& in, const std::string& column) {
    return in.track.empty() || std::find(in.track.begin(), in.track.end(), column) != in.track.end();
}

std::string equal_columns(const merge_input& in, bool tracked_only, const std::string& a, const std::string& b) {
    std::string out = "true";
    for (const field& column : in.columns) {
        if (column.name == start_column || column.name == end_column) continue;
        if (tracked_only && !is_tracked(in, column.stored_name())) continue;
        const std::string name = duck::quote_name(column.stored_name());
        out += " AND " + a + "." + name + " IS NOT DISTINCT FROM " + b + "." + name;
    }
    return out;
}

// Those of the table's rows that `pairs` names by (cfi, crn), with all their columns; empty text if it names none.
std::string versions_of(const merge_input& in, const std::vector<std::string>& candidates, const std::string& pairs) {
    std::vector<std::string> paths;
    std::string numbers;
    for (auto rows = in.connection.query("SELECT DISTINCT cfi FROM " + pairs + " WHERE cfi IS NOT NULL ORDER BY cfi");
         rows.next();) {
        numbers += (paths.empty() ? "" : ", ") + std::to_string(rows[0].integer());
        paths.push_back(candidates[static_cast<std::size_t>(rows[0].integer())]);
    }
    if (paths.empty()) return {};
    return "(SELECT *, list_extract([" + numbers + "], lf_fi::BIGINT + 1) AS lf_cfi FROM " + table_relation(in, paths) +
           ")";
}

// Finds events that the table holds just so, as a replay brings them. One at the start of its version leaves lf_src; one that
// confirmed a version is marked `known`, as what comes between may cut that version.
std::int64_t drop_known(const merge_input& in, const std::vector<std::string>& candidates) {
    duck::connection& c = in.connection;
    c.run(
        "CREATE OR REPLACE TEMP TABLE lf_pair AS SELECT s.fi, s.rn, o.cfi, o.crn, s.s = o.st AS starts "
        "FROM lf_src s JOIN "
        "lf_old o ON NOT s.del AND (s.s = o.st OR s.s = o.cf) AND " +
        keys_equal(in, "s", "o"));
    const std::string versions = versions_of(in, candidates, "lf_pair");
    if (versions.empty()) return 0;
    c.run("CREATE OR REPLACE TEMP TABLE lf_same AS SELECT DISTINCT p.fi, p.rn, p.starts FROM lf_pair p JOIN " +
          versions + " t ON p.cfi = t.lf_cfi AND p.crn = t.lf_rn JOIN " + staged_relation(in, all(in.staged)) +
          " r ON p.fi = r.lf_fi::BIGINT AND p.rn = r.lf_rn WHERE " + equal_columns(in, false, "t", "r"));
    const std::string same = " EXISTS (SELECT 1 FROM lf_same e WHERE e.fi = s.fi AND e.rn = s.rn";
    c.run("DELETE FROM lf_src s WHERE" + same + " AND e.starts)");
    c.run("UPDATE lf_src s SET known = true WHERE" + same + ")");
    return c.integer("SELECT count(*) FROM lf_same WHERE starts");
}

// Everything that is known of the touched keys, in order, as lf_point (k0.., s, ord, kind, del, cf, known, fi, rn, cfi, crn): of the table the
// starts, confirmations and ends of versions (kinds 0, 1, 2), and after them, at one instant, the batch's events (3), which arrived
// later. An end is no point of its own where the next version starts.
void make_points(const merge_input& in) {
    const std::string keys = key_names(in, "o.");
    const std::string old = ", false AS known, NULL::BIGINT AS fi, NULL::BIGINT AS rn, o.cfi, o.crn FROM lf_old o";
    in.connection.run("CREATE OR REPLACE TEMP TABLE lf_point AS SELECT " + keys +
                      ", o.st AS s, 0 AS ord, 0 AS kind, false AS del, o.cf" + old + " UNION ALL SELECT " + keys +
                      ", o.cf, 0, 1, false, NULL" + old + " WHERE o.cf IS NOT NULL UNION ALL SELECT " + keys +
                      ", o.en, 0, 2, true, NULL" + old +
                      " WHERE o.en IS NOT NULL AND NOT EXISTS (SELECT 1 FROM lf_old n WHERE n.st = o.en AND " +
                      keys_equal(in, "n", "o") + ") UNION ALL SELECT " + key_names(in) +
                      ", s, 1, 3, del, NULL, known, fi, rn, NULL, NULL FROM lf_src");
}

// With `track`, an event of the batch that differs from the point before it in no tracked column opens no version: lf_equal (fi, rn).
void find_untracked(const merge_input& in, const std::vector<std::string>& candidates) {
    duck::connection& c = in.connection;
    c.run("CREATE OR REPLACE TEMP TABLE lf_equal (fi BIGINT, rn BIGINT)");
    if (in.track.empty() || in.staged.empty()) return;
    c.run(
        "CREATE OR REPLACE TEMP TABLE lf_before AS SELECT fi, rn, bfi, brn, cfi, crn FROM (SELECT del, fi, rn, "
        "lag(del) OVER w AS bdel, lag(fi) OVER w AS bfi, lag(rn) OVER w AS brn, lag(cfi) OVER w AS cfi, lag(crn) OVER "
        "w AS crn FROM lf_point WINDOW w AS (PARTITION BY " +
        key_names(in) + " ORDER BY s, ord)) WHERE fi IS NOT NULL AND NOT del AND NOT bdel");
    const std::string staged = staged_relation(in, all(in.staged));
    const std::string rest =
        staged + " r ON p.fi = r.lf_fi::BIGINT AND p.rn = r.lf_rn WHERE " + equal_columns(in, true, "t", "r");
    c.run("INSERT INTO lf_equal SELECT p.fi, p.rn FROM lf_before p JOIN " + staged +
          " t ON p.bfi = t.lf_fi::BIGINT AND p.brn = t.lf_rn JOIN " + rest);
    const std::string versions = versions_of(in, candidates, "lf_before");
    if (versions.empty()) return;
    c.run("INSERT INTO lf_equal SELECT p.fi, p.rn FROM lf_before p JOIN " + versions +
          " t ON p.cfi = t.lf_cfi AND p.crn = t.lf_rn JOIN " + rest);
}

// The points, of which each begins something or goes on with what the one before it began, as lf_run (k0.., st, del, kind, fi, rn, cfi,
// crn, nxt): what begins at `st` and lasts to `nxt`, with the columns of the event (fi, rn), or where that is null of the version.
void make_runs(const merge_input& in) {
    duck::connection& c = in.connection;
    const std::string keys = key_names(in);
    const std::string ordered = " OVER (PARTITION BY " + keys + " ORDER BY s, ord)";
    c.run("CREATE OR REPLACE TEMP TABLE lf_seq AS SELECT *, row_number()" + ordered +
          " AS o FROM (SELECT p.*, e.fi IS NOT NULL AS same FROM lf_point p LEFT JOIN lf_equal e ON p.fi = e.fi AND "
          "p.rn = e.rn)");
    // A confirmation goes on with its version if nothing broke it; else the version holds again from there on.
    if (!in.track.empty()) {
        c.run(
            "CREATE OR REPLACE TEMP TABLE lf_broken AS SELECT f.cfi, f.crn FROM lf_seq f JOIN lf_seq v ON f.kind = 1 "
            "AND "
            "v.kind = 0 AND f.cfi = v.cfi AND f.crn = v.crn WHERE (SELECT count(*) FROM lf_seq b WHERE b.kind = 3 AND "
            "NOT b.same AND b.o > v.o AND b.o < f.o AND " +
            keys_equal(in, "b", "f") + ") > 0");
    }
    const std::string broken =
        in.track.empty() ? "false" : "EXISTS (SELECT 1 FROM lf_broken b WHERE b.cfi = s.cfi AND b.crn = s.crn)";
    c.run("CREATE OR REPLACE TEMP TABLE lf_head AS SELECT *, sum(CASE WHEN head THEN 1 ELSE 0 END)" + ordered +
          " AS run FROM (SELECT *, CASE kind WHEN 1 THEN " + broken +
          " WHEN 3 THEN NOT same ELSE true END AS head FROM "
          "lf_seq s)");
    c.run(
        "CREATE OR REPLACE TEMP TABLE lf_run AS SELECT h.* EXCLUDE (fi, rn), CASE WHEN h.kind < 2 AND (l.known OR "
        "coalesce(l.s < h.cf, false)) THEN NULL "
        "ELSE l.fi END AS fi, l.rn AS rn, l.s AS own, lead(h.s) OVER (PARTITION BY " +
        key_names(in, "h.") + " ORDER BY h.o) AS nxt FROM (SELECT " + keys +
        ", run, s, s AS st, o, del, kind, cf, fi, rn, cfi, crn FROM lf_head "
        "WHERE head) h JOIN (SELECT " +
        keys + ", run, s, fi, rn, known FROM lf_head QUALIFY row_number() OVER (PARTITION BY " + keys +
        ", run ORDER BY o DESC) = 1) l ON h.run = l.run AND " + keys_equal(in, "h", "l"));
}

// What becomes of the versions: lf_new (k0.., fi, rn, cfi, crn, st, en, kind, own), those that the batch opens, and lf_chg (cfi, crn, gone, en, fi, rn),
// those of the table that end elsewhere now, that have other columns, or whose place another takes.
void make_changes(const merge_input& in) {
    duck::connection& c = in.connection;
    const std::string lasts = "r.nxt IS DISTINCT FROM r.st";
    c.run(
        "CREATE OR REPLACE TEMP TABLE lf_new AS SELECT " + key_names(in, "r.") +
        ", r.fi, r.rn, r.cfi, r.crn, r.st, r.nxt AS en, kind, own FROM lf_run r WHERE kind IN (1, 3) AND NOT del AND " +
        lasts);
    c.run("CREATE OR REPLACE TEMP TABLE lf_chg AS SELECT o.cfi, o.crn, NOT (" + lasts +
          ") AS gone, r.nxt AS en, r.fi, r.rn FROM lf_old o JOIN lf_run r ON r.kind = 0 AND o.cfi = r.cfi AND o.crn = "
          "r.crn WHERE r.nxt IS DISTINCT FROM o.en OR r.fi IS NOT NULL OR NOT (" +
          lasts + ")");
}

// Tombstones that closed a version or took one away.
std::int64_t count_closed(const merge_input& in) {
    if (in.deletes.empty()) return 0;
    return in.connection.integer("SELECT count(*) FROM (SELECT kind, del, lag(del) OVER (PARTITION BY " +
                                 key_names(in) +
                                 " ORDER BY o) AS before FROM lf_seq) WHERE kind = 3 AND del AND NOT before");
}

// The table's columns, those of a version from `values`, its bounds from the two expressions.
std::string version_columns(const merge_input& in, const std::string& values, const std::string& start,
                            const std::string& end) {
    std::string out;
    for (const field& column : in.columns) {
        out += out.empty() ? "" : ", ";
        const std::string name = duck::quote_name(column.stored_name());
        if (column.name == start_column)
            out += start + " AS " + name;
        else if (column.name == end_column)
            out += end + " AS " + name;
        else
            out += values + "." + name;
    }
    return out;
}

void rewrite_changed(const merge_input& in, const std::vector<std::string>& candidates, plan& made) {
    std::vector<std::int64_t> touched;
    for (auto rows = in.connection.query("SELECT DISTINCT cfi FROM lf_chg ORDER BY cfi"); rows.next();)
        touched.push_back(rows[0].integer());
    for (const std::int64_t cfi : touched) {
        const std::string& path = candidates[static_cast<std::size_t>(cfi)];
        const std::string file = std::to_string(cfi);
        const std::string table = table_relation(in, {path});
        const std::string changes = "(SELECT * FROM lf_chg WHERE NOT gone AND cfi = " + file + ")";
        std::string sql = "SELECT " + in.writer.column_list("t.") + " FROM " + table +
                          " t ANTI JOIN (SELECT crn FROM lf_chg WHERE cfi = " + file +
                          ") c ON t.lf_rn = c.crn UNION ALL SELECT " +
                          version_columns(in, "t", "t.\"__START_AT\"", "c.en") + " FROM " + table + " t JOIN " +
                          changes + " c ON t.lf_rn = c.crn AND c.fi IS NULL";
        if (!in.staged.empty()) {
            sql += " UNION ALL SELECT " + version_columns(in, "s", "t.\"__START_AT\"", "c.en") + " FROM " + changes +
                   " c JOIN " + table + " t ON t.lf_rn = c.crn JOIN " + staged_relation(in, all(in.staged)) +
                   " s ON c.fi = s.lf_fi::BIGINT AND c.rn = s.lf_rn";
        }
        data_file written = in.writer.write_query(sql, in.row_bytes);
        made.removes.push_back(path);
        ++made.result.files_rewritten;
        if (written.rows > 0)
            made.adds.push_back(std::move(written));
        else
            in.files.remove(written.name);
    }
}

// The versions that the batch opens: staged files of which each row is one that is open are added as they are, the rest is written
// anew with its bounds, in files whose key ranges do not overlap. Only keys are sorted.
void add_versions(const merge_input& in, const std::vector<std::string>& candidates, plan& made) {
    std::map<std::int64_t, std::int64_t> open;
    for (auto rows = in.connection.query(
             "SELECT fi, count(*) FROM lf_new WHERE en IS NULL AND kind = 3 AND st = own GROUP BY fi");
         rows.next();) {
        open[rows[0].integer()] = rows[1].integer();
    }
    std::vector<const data_file*> partial;
    std::string numbers;
    for (std::size_t i = 0; i < in.staged.size(); ++i) {
        if (open[static_cast<std::int64_t>(i)] == in.staged[i].rows && (in.disjoint || !in.table.files.empty())) {
            made.adds.push_back(in.staged[i]);
            ++made.result.files_written;
        } else {
            numbers += (partial.empty() ? "" : ", ") + std::to_string(i);
            partial.push_back(&in.staged[i]);
        }
    }
    duck::connection& c = in.connection;
    c.run("CREATE OR REPLACE TEMP TABLE lf_again AS SELECT * FROM lf_new WHERE fi IS NULL");
    const std::string written = partial.empty() ? "fi IS NULL" : "fi IS NULL OR fi IN (" + numbers + ")";
    const std::int64_t count = c.integer("SELECT count(*) FROM lf_new WHERE " + written);
    if (count == 0) return;
    const std::int64_t files = (count + in.file_rows() - 1) / in.file_rows();
    c.run("CREATE OR REPLACE TEMP TABLE lf_dest AS SELECT fi, rn, cfi, crn, st, en, (ntile(" + std::to_string(files) +
          ") OVER (ORDER BY " + key_names(in) + ", st) - 1)::INTEGER AS b FROM lf_new WHERE " + written);
    const std::string number = files > 1 ? ", n.b AS lf_b" : "";
    std::string sql;
    if (!partial.empty()) {
        sql = "SELECT " + version_columns(in, "s", "n.st", "n.en") + number + " FROM " + staged_relation(in, partial) +
              " s JOIN lf_dest n ON list_extract([" + numbers + "], s.lf_fi::BIGINT + 1) = n.fi AND s.lf_rn = n.rn";
    }
    if (const std::string versions = versions_of(in, candidates, "lf_again"); !versions.empty()) {
        sql += (sql.empty() ? "SELECT " : " UNION ALL SELECT ") + version_columns(in, "t", "n.st", "n.en") + number +
               " FROM " + versions + " t JOIN lf_dest n ON n.fi IS NULL AND n.cfi = t.lf_cfi AND n.crn = t.lf_rn";
    }
    std::vector<data_file> made_files;
    if (files > 1)
        made_files = in.writer.write_parts(sql, in.row_bytes, files);
    else
        made_files.push_back(in.writer.write_query(sql, in.row_bytes));
    made.result.files_written += static_cast<std::int64_t>(made_files.size());
    std::move(made_files.begin(), made_files.end(), std::back_inserter(made.adds));
    c.run("DROP TABLE lf_dest");
}

}  // namespace

plan plan_scd2(const merge_input& in) {
    plan made;
    if (in.staged.empty() && in.deletes.empty()) return made;
    make_events(in);
    const std::vector<std::string> candidates = make_versions(in);
    made.result.rows_again = drop_known(in, candidates);
    make_points(in);
    find_untracked(in, candidates);
    make_runs(in);
    made.result.rows_deleted = count_closed(in);
    make_changes(in);
    rewrite_changed(in, candidates, made);
    duck::connection& c = in.connection;
    made.result.rows_landed = c.integer("SELECT count(*) FROM lf_new");
    if (made.result.rows_landed > 0) add_versions(in, candidates, made);
    const std::int64_t updated = c.integer("SELECT count(*) FROM lf_chg WHERE NOT gone AND fi IS NOT NULL");
    made.result.rows_landed += updated;
    made.result.rows_again += c.integer("SELECT count(*) FROM lf_equal") - updated;
    return made;
}

}  // namespace lakeflow::host::delta
