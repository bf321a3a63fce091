// host/land/delta/merge.cpp: see merge.h.
#include "host/land/delta/merge.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>

#include "host/base/error.h"
#include "host/duck/condition.h"
#include "host/land/delta/key_files.h"

namespace lakeflow::host::delta {
namespace {

// Rows of the staged files `from`, by `fi`, that `rows` (fi, rn, more) names.
std::string staged_rows(const merge_input& in, const std::vector<std::int64_t>& from, const std::string& rows,
                        const std::string& more = {}) {
    std::vector<const data_file*> files;
    std::string numbers;
    for (const std::int64_t fi : from) {
        numbers += (files.empty() ? "" : ", ") + std::to_string(fi);
        files.push_back(&in.staged[static_cast<std::size_t>(fi)]);
    }
    return "SELECT " + in.writer.column_list("s.") + more + " FROM " + staged_relation(in, files) + " s JOIN " + rows +
           " n ON list_extract([" + numbers + "], s.lf_fi::BIGINT + 1) = n.fi AND s.lf_rn = n.rn";
}

// The same in new files whose key ranges do not overlap, `count` rows of `keys` (k0.., fi, rn) in all. Only keys are sorted.
void write_apart(const merge_input& in, const std::vector<std::int64_t>& from, const std::string& keys,
                 std::int64_t count, plan& made) {
    const std::int64_t files = (count + in.file_rows() - 1) / in.file_rows();
    std::vector<data_file> written;
    if (files <= 1) {
        written.push_back(in.writer.write_query(staged_rows(in, from, keys), in.row_bytes));
    } else {
        in.connection.run("CREATE OR REPLACE TEMP TABLE lf_dest AS SELECT fi, rn, (ntile(" + std::to_string(files) +
                          ") OVER (ORDER BY " + key_names(in) + ") - 1)::INTEGER AS b FROM " + keys + " n");
        written = in.writer.write_parts(staged_rows(in, from, "lf_dest", ", n.b AS lf_b"), in.row_bytes, files);
        in.connection.run("DROP TABLE lf_dest");
    }
    made.result.files_written += static_cast<std::int64_t>(written.size());
    std::move(written.begin(), written.end(), std::back_inserter(made.adds));
}

// Rows of staged files that are in `keep` (fi, rn): files of which all rows stay are added as they are, the rest is written anew, by
// key if `keep` has keys (k0..), else in the order in which it came.
std::int64_t add_kept(const merge_input& in, const std::string& keep, bool by_key, plan& made) {
    std::map<std::int64_t, std::int64_t> kept;
    for (auto rows = in.connection.query("SELECT fi, count(*) FROM " + keep + " GROUP BY fi"); rows.next();) {
        kept[rows[0].integer()] = rows[1].integer();
    }
    std::vector<std::int64_t> partial;
    std::int64_t rows = 0;
    std::int64_t partial_rows = 0;
    for (std::size_t i = 0; i < in.staged.size(); ++i) {
        const std::int64_t n = kept[static_cast<std::int64_t>(i)];
        rows += n;
        if (n == 0) continue;
        if (n == in.staged[i].rows) {
            made.adds.push_back(in.staged[i]);
            ++made.result.files_written;
        } else {
            partial.push_back(static_cast<std::int64_t>(i));
            partial_rows += n;
        }
    }
    if (partial.empty()) return rows;
    if (by_key) {
        std::string numbers;
        for (const std::int64_t fi : partial) numbers += (numbers.empty() ? "" : ", ") + std::to_string(fi);
        write_apart(in, partial, "(SELECT * FROM " + keep + " WHERE fi IN (" + numbers + "))", partial_rows, made);
        return rows;
    }
    for (data_file& file :
         in.writer.write_run(staged_rows(in, partial, keep), in.row_bytes, in.max_file_rows, in.max_file_bytes)) {
        made.adds.push_back(std::move(file));
        ++made.result.files_written;
    }
    return rows;
}

// The keys of the staged rows as lf_src (k0.., s, fi, rn, del), one row a key: the last by (sequence, arrival), or the first.
void make_source(const merge_input& in, bool last) {
    const bool sequenced = last && !in.sequence.empty();
    std::string sql = "CREATE OR REPLACE TEMP TABLE lf_src AS SELECT * FROM (" + staged_events(in, sequenced) + ")";
    if (!in.unique || !in.deletes.empty()) {
        sql += " QUALIFY row_number() OVER (PARTITION BY " + key_names(in) + " ORDER BY " +
               (last ? "s DESC NULLS LAST, del DESC, fi DESC, rn DESC" : "fi, rn") + ") = 1";
    }
    in.connection.run(sql);
}

// The committed files that can hold a key of lf_src, and the rows that do, as lf_hit (cfi, crn, fi, rn, del, older, same).
std::vector<std::string> make_hits(const merge_input& in) {
    duck::connection& c = in.connection;
    const std::vector<std::string> candidates = files_with_keys(in, "lf_src");
    if (candidates.empty()) {
        c.run(
            "CREATE OR REPLACE TEMP TABLE lf_hit (cfi BIGINT, crn BIGINT, fi BIGINT, rn BIGINT, del BOOLEAN, older "
            "BOOLEAN, "
            "same BOOLEAN)");
        return candidates;
    }
    const bool sequenced = in.flow.mode == land_mode::scd1 && !in.sequence.empty();
    const std::string sequence = sequenced ? duck::quote_name(in.sequence) : std::string("NULL::BIGINT");
    // A row without a sequence is older than any with one.
    c.run("CREATE OR REPLACE TEMP TABLE lf_hit AS SELECT c.fi AS cfi, c.rn AS crn, s.fi, s.rn, s.del, " +
          std::string(sequenced ? "coalesce(c.s > s.s, s.s IS NULL AND c.s IS NOT NULL)" : "false") + " AS older, " +
          (sequenced ? "c.s IS NOT DISTINCT FROM s.s" : "true") + " AS same FROM (SELECT " + keys_as(in) + ", " +
          sequence + " AS s, lf_fi::BIGINT AS fi, lf_rn AS rn FROM " + table_relation(in, candidates) +
          ") c JOIN lf_src s ON " + keys_equal(in, "c", "s"));
    return candidates;
}

// Hits whose staged row equals the table's, as lf_same (cfi, crn). Only rows of equal sequence can: a newer one differs in it.
void make_same(const merge_input& in, const std::vector<std::string>& candidates) {
    duck::connection& c = in.connection;
    std::vector<std::string> paths;
    std::string numbers;
    for (auto rows = c.query("SELECT DISTINCT cfi FROM lf_hit WHERE same AND NOT older AND NOT del ORDER BY cfi");
         rows.next();) {
        numbers += (paths.empty() ? "" : ", ") + std::to_string(rows[0].integer());
        paths.push_back(candidates[static_cast<std::size_t>(rows[0].integer())]);
    }
    if (paths.empty()) {
        c.run("CREATE OR REPLACE TEMP TABLE lf_same (cfi BIGINT, crn BIGINT)");
        return;
    }
    std::string equal;
    for (const field& column : in.columns) {
        const std::string name = duck::quote_name(column.stored_name());
        equal += " AND t." + name + " IS NOT DISTINCT FROM s." + name;
    }
    c.run(
        "CREATE OR REPLACE TEMP TABLE lf_same AS SELECT h.cfi, h.crn FROM (SELECT * FROM lf_hit WHERE same AND NOT "
        "older AND NOT del) "
        "h JOIN " +
        table_relation(in, paths) + " t ON h.cfi = list_extract([" + numbers +
        "], t.lf_fi::BIGINT + 1) AND h.crn = t.lf_rn JOIN " + staged_relation(in, all(in.staged)) +
        " s ON h.fi = s.lf_fi::BIGINT AND h.rn = s.lf_rn WHERE true" + equal);
}

// Rewrites the committed files that hold a row which changes or goes.
void rewrite_touched(const merge_input& in, const std::vector<std::string>& candidates, plan& made) {
    duck::connection& c = in.connection;
    // A staged row that is older than one hit is out of date altogether; a key that the table holds twice is mended on the way.
    c.run(
        "CREATE OR REPLACE TEMP TABLE lf_chg AS SELECT *, row_number() OVER (PARTITION BY fi, rn ORDER BY cfi, crn) AS "
        "nth FROM "
        "lf_hit h WHERE NOT EXISTS (SELECT 1 FROM lf_hit o WHERE o.older AND o.fi = h.fi AND o.rn = h.rn) AND NOT "
        "EXISTS (SELECT 1 "
        "FROM lf_same e WHERE e.cfi = h.cfi AND e.crn = h.crn)");
    std::vector<std::int64_t> touched;
    for (auto rows = c.query("SELECT DISTINCT cfi FROM lf_chg ORDER BY cfi"); rows.next();)
        touched.push_back(rows[0].integer());
    made.result.rows_again = c.integer("SELECT count(*) FROM lf_same");
    made.result.rows_deleted = c.integer("SELECT count(DISTINCT rn) FROM lf_chg WHERE del");
    made.result.rows_landed += c.integer("SELECT count(*) FROM lf_chg WHERE NOT del AND nth = 1");
    if (touched.empty()) return;
    const bool any_staged = !in.staged.empty();
    if (any_staged) {
        c.run(
            "CREATE OR REPLACE TEMP TABLE lf_upd AS SELECT c.cfi AS lf_cfi, " + in.writer.column_list("s.") + " FROM " +
            staged_relation(in, all(in.staged)) +
            " s JOIN (SELECT * FROM lf_chg WHERE NOT del AND nth = 1) c ON c.fi = s.lf_fi::BIGINT AND c.rn = s.lf_rn");
    }
    for (const std::int64_t cfi : touched) {
        const std::string& path = candidates[static_cast<std::size_t>(cfi)];
        const std::string number = std::to_string(cfi);
        std::string sql = "SELECT " + in.writer.column_list("t.") + " FROM " + table_relation(in, {path}) +
                          " t ANTI JOIN (SELECT crn FROM lf_chg WHERE cfi = " + number + ") c ON t.lf_rn = c.crn";
        if (any_staged) sql += " UNION ALL SELECT " + in.writer.column_list() + " FROM lf_upd WHERE lf_cfi = " + number;
        data_file file = in.writer.write_query(sql, in.row_bytes);
        made.removes.push_back(path);
        ++made.result.files_rewritten;
        if (file.rows > 0)
            made.adds.push_back(std::move(file));
        else
            in.files.remove(file.name);
    }
    if (any_staged) c.run("DROP TABLE lf_upd");
}

// The first rows of a table: as they were staged if their files lie apart, else sorted by key and one row a key.
plan first_load(const merge_input& in) {
    plan made;
    if (in.staged.empty()) return made;
    if (in.unique && in.disjoint && in.deletes.empty()) {
        add_all(in.staged, made);
        made.result.rows_landed = total_rows(in.staged);
        return made;
    }
    make_source(in, true);
    const std::int64_t keys = in.connection.integer("SELECT count(*) FROM lf_src WHERE NOT del");
    made.result.rows_landed = keys;
    if (keys == total_rows(in.staged) && in.disjoint) {
        add_all(in.staged, made);
        return made;
    }
    std::vector<std::int64_t> every(in.staged.size());
    std::iota(every.begin(), every.end(), 0);
    write_apart(in, every, "(SELECT * FROM lf_src WHERE NOT del)", keys, made);
    return made;
}

// Rows of the table that a snapshot takes out: those whose key it lacks, or as many as there are fewer where there is no key.
std::int64_t count_gone(const merge_input& in, std::int64_t before, std::int64_t after) {
    if (in.keys.empty() || in.staged.empty() || before == 0) return std::max<std::int64_t>(0, before - after);
    std::vector<std::string> paths;
    for (const auto& [path, file] : in.table.files) paths.push_back(path);
    return in.connection.integer("SELECT count(*) FROM (SELECT " + keys_as(in) + " FROM " + table_relation(in, paths) +
                                 ") c ANTI JOIN (SELECT " + keys_as(in) + " FROM " +
                                 staged_relation(in, all(in.staged)) + ") s ON " + keys_equal(in, "c", "s"));
}

// Equal rows, however often and in whatever order: counts first, then a sum of hashes, then exactly.
bool equals_table(const merge_input& in) {
    if (total_rows(in.staged) != count_rows(in)) return false;
    if (in.staged.empty() || in.table.files.empty()) return true;
    std::vector<std::string> paths;
    for (const auto& [path, file] : in.table.files) paths.push_back(path);
    const std::string columns = in.writer.column_list();
    const std::string staged = staged_relation(in, all(in.staged));
    const std::string table = table_relation(in, paths);
    const auto digest = [&](const std::string& relation) {
        auto rows = in.connection.query("SELECT sum(hash(" + columns + ")::HUGEINT)::VARCHAR FROM " + relation);
        return rows.next() && !rows[0].is_null() ? std::string(rows[0].text()) : std::string();
    };
    if (digest(staged) != digest(table)) return false;
    return in.connection.integer("SELECT count(*) FROM (SELECT " + columns + " FROM " + staged + " EXCEPT ALL SELECT " +
                                 columns + " FROM " + table + ")") == 0;
}

}  // namespace

plan plan_append(const merge_input& in) {
    plan made;
    made.blind = true;
    add_all(in.staged, made);
    made.result.rows_landed = total_rows(in.staged);
    return made;
}

plan plan_keyed_append(const merge_input& in) {
    plan made;
    if (in.staged.empty() || (in.unique && in.table.files.empty())) {
        add_all(in.staged, made);
        made.result.rows_landed = total_rows(in.staged);
        return made;
    }
    make_source(in, false);
    make_hits(in);
    in.connection.run(
        "CREATE OR REPLACE TEMP TABLE lf_keep AS SELECT fi, rn FROM lf_src s WHERE NOT EXISTS (SELECT 1 FROM lf_hit h "
        "WHERE h.fi = "
        "s.fi AND h.rn = s.rn)");
    made.result.rows_landed = add_kept(in, "lf_keep", false, made);
    made.result.rows_again = total_rows(in.staged) - made.result.rows_landed;
    return made;
}

plan plan_scd1(const merge_input& in) {
    if (in.table.files.empty()) return first_load(in);
    plan made;
    if (in.staged.empty() && in.deletes.empty()) return made;
    make_source(in, true);
    const std::vector<std::string> candidates = make_hits(in);
    make_same(in, candidates);
    rewrite_touched(in, candidates, made);
    if (!in.staged.empty()) {
        in.connection.run(
            "CREATE OR REPLACE TEMP TABLE lf_keep AS SELECT * FROM lf_src s WHERE NOT del AND NOT EXISTS (SELECT "
            "1 FROM lf_hit h "
            "WHERE h.fi = s.fi AND h.rn = s.rn)");
        made.result.rows_landed += add_kept(in, "lf_keep", true, made);
    }
    return made;
}

void rewrite_rest(const merge_input& in, plan& made) {
    made.blind = false;
    for (const auto& [path, file] : in.table.files) {
        if (std::find(made.removes.begin(), made.removes.end(), path) != made.removes.end()) continue;
        data_file written = in.writer.write_query(
            "SELECT " + in.writer.column_list("t.") + " FROM " + table_relation(in, {path}) + " t", in.row_bytes);
        written.moves_rows = true;
        made.moved.push_back(path);
        ++made.result.files_rewritten;
        made.adds.push_back(std::move(written));
    }
}

namespace {

// A snapshot of the rows that pass a filter. What lies outside of it stays, but for a row whose key is in the snapshot now; files
// without a row that goes stay as they are.
plan plan_part(const merge_input& in) {
    plan made;
    std::vector<data_file> fresh = in.staged;
    if (!in.keys.empty() && !in.unique && !in.staged.empty()) {
        make_source(in, true);
        in.connection.run("CREATE OR REPLACE TEMP TABLE lf_keep AS SELECT fi, rn FROM lf_src");
        add_kept(in, "lf_keep", false, made);
        fresh = std::exchange(made.adds, {});
        made.result.files_written = 0;
    }
    std::vector<std::string> paths;
    for (const auto& [path, file] : in.table.files) paths.push_back(path);
    const std::string columns = in.writer.column_list();
    const std::string snapshot = fresh.empty() ? std::string() : staged_relation(in, all(fresh));
    made.result.rows_landed = total_rows(fresh);
    if (!paths.empty()) {
        const std::string within = duck::to_sql(*in.flow.filter, [&](const std::string& name) {
            const auto column =
                std::find_if(in.columns.begin(), in.columns.end(), [&](const field& f) { return f.name == name; });
            return column == in.columns.end() ? name : column->stored_name();
        });
        const std::string table = table_relation(in, paths);
        const std::string met = in.keys.empty() || fresh.empty()
                                    ? std::string("false")
                                    : "EXISTS (SELECT 1 FROM (SELECT " + keys_as(in) + " FROM " + snapshot +
                                          ") s WHERE " + keys_equal(in, "c", "s") + ")";
        const std::string keyed = in.keys.empty() ? std::string() : keys_as(in) + ", ";
        in.connection.run("CREATE OR REPLACE TEMP TABLE lf_old AS SELECT fi, rn, within, " + met +
                          " AS met FROM (SELECT " + keyed + "lf_fi::BIGINT AS fi, lf_rn AS rn, coalesce(" + within +
                          ", false) AS within FROM " + table + ") c");
        const std::int64_t before = in.connection.integer("SELECT count(*) FROM lf_old WHERE within");
        if (fresh.empty() && before > 0 && !in.flow.allow_empty) {
            throw failure("destination.would_empty",
                          "the source has no rows that pass `where` for table " + in.flow.table + ", which holds " +
                              std::to_string(before),
                          "check the source; set allow_empty = true on the table if there are none indeed");
        }
        const std::int64_t outside = in.connection.integer("SELECT count(*) FROM lf_old WHERE met AND NOT within");
        made.result.rows_deleted = in.keys.empty()
                                       ? std::max<std::int64_t>(0, before - made.result.rows_landed)
                                       : in.connection.integer("SELECT count(*) FROM lf_old WHERE within AND NOT met");
        const std::string held = "SELECT " + columns + " FROM " + table +
                                 " t JOIN lf_old o ON t.lf_fi::BIGINT = o.fi AND t.lf_rn = o.rn "
                                 "WHERE o.within";
        made.unchanged = outside == 0 && before == made.result.rows_landed &&
                         (before == 0 || in.connection.integer("SELECT count(*) FROM (SELECT " + columns + " FROM " +
                                                               snapshot + " EXCEPT ALL " + held + ")") == 0);
        if (made.unchanged) {
            made.result.rows_again = std::exchange(made.result.rows_landed, 0);
            made.result.rows_deleted = 0;
            return made;
        }
        if (static_cast<double>(made.result.rows_deleted) > in.flow.max_delete_ratio * static_cast<double>(before)) {
            throw failure("destination.too_many_deletes",
                          "the source lacks " + std::to_string(made.result.rows_deleted) + " of the " +
                              std::to_string(before) + " rows of table " + in.flow.table +
                              " that pass `where`, more than max_delete_ratio allows",
                          "check the source; raise max_delete_ratio of the table if they are gone indeed");
        }
        std::vector<std::pair<std::int64_t, bool>> touched;  // file, and whether some of its rows stay
        for (auto rows = in.connection.query(
                 "SELECT fi, count(*) FILTER (NOT within AND NOT met) > 0 FROM lf_old GROUP BY fi HAVING "
                 "count(*) FILTER (within OR met) > 0 ORDER BY fi");
             rows.next();) {
            touched.emplace_back(rows[0].integer(), rows[1].integer() != 0);
        }
        for (const auto& [fi, some_stay] : touched) {
            const std::string& path = paths[static_cast<std::size_t>(fi)];
            made.removes.push_back(path);
            if (!some_stay) continue;
            made.adds.push_back(
                in.writer.write_query("SELECT " + in.writer.column_list("t.") + " FROM " + table_relation(in, {path}) +
                                          " t ANTI JOIN (SELECT rn FROM lf_old WHERE fi = " + std::to_string(fi) +
                                          " AND (within OR met)) o ON t.lf_rn = o.rn",
                                      in.row_bytes));
            ++made.result.files_rewritten;
        }
    }
    add_all(fresh, made);
    return made;
}

}  // namespace

plan plan_snapshot(const merge_input& in) {
    if (in.flow.filter) return plan_part(in);
    plan made;
    const std::int64_t before = count_rows(in);
    if (in.staged.empty() && before > 0 && !in.flow.allow_empty) {
        throw failure("destination.would_empty",
                      "the source has no rows for table " + in.flow.table + ", which holds " + std::to_string(before),
                      "check the source; set allow_empty = true on the table if it is empty indeed");
    }
    if (!in.keys.empty() && !in.unique && !in.staged.empty()) {
        // Pages that shift while they are read bring a row twice; its last form counts.
        make_source(in, true);
        if (in.connection.integer("SELECT count(*) FROM lf_src") != total_rows(in.staged)) {
            in.connection.run("CREATE OR REPLACE TEMP TABLE lf_keep AS SELECT fi, rn FROM lf_src");
            made.result.rows_landed = add_kept(in, "lf_keep", false, made);
            const merge_input distinct{in.connection,     in.files, in.writer,   in.table,     in.flow,
                                       in.columns,        in.keys,  in.sequence, in.track,     made.adds,
                                       in.deletes,        true,     in.disjoint, in.row_bytes, in.max_file_rows,
                                       in.max_file_bytes, in.gone};
            made.unchanged = equals_table(distinct);
        } else {
            made.unchanged = equals_table(in);
            add_all(in.staged, made);
            made.result.rows_landed = total_rows(in.staged);
        }
    } else {
        made.unchanged = (before > 0 || in.staged.empty()) && equals_table(in);
        add_all(in.staged, made);
        made.result.rows_landed = total_rows(in.staged);
    }
    if (made.unchanged) {
        made.result.rows_again = std::exchange(made.result.rows_landed, 0);
        made.result.files_written = 0;
        return made;
    }
    for (const auto& [path, file] : in.table.files) made.removes.push_back(path);
    made.result.rows_deleted = count_gone(in, before, made.result.rows_landed);
    const double share = before > 0 ? static_cast<double>(made.result.rows_deleted) / static_cast<double>(before) : 0;
    if (share > in.flow.max_delete_ratio) {
        throw failure("destination.too_many_deletes",
                      "the source lacks " + std::to_string(made.result.rows_deleted) + " of the " +
                          std::to_string(before) + " rows of table " + in.flow.table +
                          ", more than max_delete_ratio allows",
                      "check the source; raise max_delete_ratio of the table if they are gone indeed");
    }
    return made;
}

}  // namespace lakeflow::host::delta
