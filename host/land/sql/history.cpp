// host/land/sql/history.cpp: scd2. What a key's versions and the batch's events say is laid out as points on its line of time: a version begins,
// an event comes, a version is confirmed, a version ends. A point that is a row holds until the next point; a run of points that
// agree in the tracked columns is one version. Only versions that reach past a key's first event are looked at, and only those that
// come out otherwise are written.
#include <algorithm>

#include "host/base/error.h"
#include "host/duck/duck.h"
#include "host/land/sql/parts.h"

namespace lakeflow::host::sql {
namespace {

// Which of two points at one instant counts: the lower.
constexpr const char* is_event = "0";
constexpr const char* is_start = "1";
constexpr const char* is_confirmed = "2";
constexpr const char* is_end = "3";

struct history {
    const parts& p;
    const merge_input& in;
    std::string start = duck::quote_name(start_column);
    std::string end = duck::quote_name(end_column);
    std::vector<std::size_t> tracked;

    explicit history(const parts& with) : p(with), in(with.in()) {
        for (const std::string& name : in.flow.track) tracked.push_back(place_of(in.flow, name));
    }

    std::string sequence(const std::string& prefix) const {
        return prefix + in.columns[static_cast<std::size_t>(p.sequence())];
    }
    std::string values(const std::string& prefix) const {
        return parts::each(in.columns.size(), [&](std::size_t i) { return prefix + "c" + std::to_string(i); });
    }
    // The target's columns under the stage's names.
    std::string target_values(const std::string& prefix) const {
        return parts::each(in.columns.size(),
                           [&](std::size_t i) { return prefix + in.columns[i] + " AS c" + std::to_string(i); });
    }

    void check_sequences() const {
        const auto refuse = [&](const std::string& relation, const std::string& column, const std::string& what) {
            if (in.to.integer("SELECT count(*) FROM " + relation + " WHERE " + column + " IS NULL") == 0) return;
            throw failure("value.null_cursor",
                          "table " + in.flow.table + ": " + what + " has no value in column " + in.flow.sequence_by +
                              ", which says since when it holds",
                          "name another column with `sequence_by`, or mend the row at its source");
        };
        refuse(staged(in), p.sequence_of_stage(""), "a row");
        if (in.has_deletes) refuse(dead(in), "s", "a tombstone");
    }

    // One event an instant of a key, as lf_ev (k0.., s, nr, del), and the versions that it can touch, as lf_old.
    void look() const {
        p.make("lf_ev", "SELECT " + p.keys("") + ", s, nr, del FROM (SELECT e.*, row_number() OVER (PARTITION BY " +
                            p.keys("") + ", s ORDER BY del DESC, nr DESC) AS nth FROM (" + p.events() +
                            ") e) r WHERE nth = 1");
        p.make("lf_low", "SELECT " + p.keys("") + ", min(s) AS s FROM " + p.temp("lf_ev") + " GROUP BY " + p.keys(""));
        const std::string confirmed = sequence("t.");
        p.make("lf_old", "SELECT t." + in.words.row_id + " AS rid, " + p.keys_of_target("t.") + ", t." + start +
                             " AS start_at, t." + end + " AS end_at, CASE WHEN " + confirmed + " > t." + start +
                             " AND (t." + end + " IS NULL OR " + confirmed + " < t." + end + ") THEN " + confirmed +
                             " END AS confirmed, " + target_values("t.") + " FROM " + in.target + " t JOIN " +
                             p.temp("lf_low") + " l ON " + p.keys_equal("t.", "l.") + " WHERE t." + end +
                             " IS NULL OR t." + end + " > l.s");
    }

    std::string keys_same(const std::string& a, const std::string& b) const {
        return parts::each(
            p.key_places().size(),
            [&](std::size_t i) { return a + "k" + std::to_string(i) + " = " + b + "k" + std::to_string(i); }, " AND ");
    }
    std::string same(const std::vector<std::size_t>& places, const std::string& a, const std::string& b) const {
        return parts::each(
            places.size(),
            [&](std::size_t i) {
                const std::string column = "c" + std::to_string(places[i]);
                return a + column + " IS NOT DISTINCT FROM " + b + column;
            },
            " AND ");
    }

    // Events that say what the version that begins at their instant says already.
    std::int64_t drop_known() const {
        std::vector<std::size_t> all;
        for (std::size_t i = 0; i < in.columns.size(); ++i) all.push_back(i);
        std::string known = "(" + same(all, "o.", "f.") + ")";
        if (!tracked.empty()) known += " OR (o.confirmed IS NOT NULL AND " + same(tracked, "o.", "f.") + ")";
        return in.to.run("DELETE FROM " + p.temp("lf_ev") + " AS e WHERE NOT e.del AND EXISTS (SELECT 1 FROM " +
                         p.temp("lf_old") + " o JOIN " + staged(in) + " f ON " + keys_of_stage_same("o.", "f.") +
                         " AND o.start_at = " + p.sequence_of_stage("f.") + " WHERE f." + in.words.arrival +
                         " = e.nr AND (" + known + "))");
    }
    std::string keys_of_stage_same(const std::string& a, const std::string& stage) const {
        return parts::each(
            p.key_places().size(),
            [&](std::size_t i) {
                return a + "k" + std::to_string(i) + " = " + stage + "c" + std::to_string(p.key_places()[i]);
            },
            " AND ");
    }

    // lf_split (rid): the versions that were confirmed after an event of the batch which says otherwise. Such a one holds again from
    // the instant of its confirmation on, as a version of its own, whatever else comes before that.
    void find_split() const {
        if (tracked.empty()) return;
        p.make("lf_split",
               "SELECT DISTINCT o.rid FROM " + p.temp("lf_old") + " o JOIN " + p.temp("lf_ev") + " e ON " +
                   keys_same("o.", "e.") + " LEFT JOIN " + staged(in) + " f ON " + p.row_of_event("f.", "e.") +
                   " WHERE o.confirmed IS NOT NULL AND e.s >= o.start_at AND e.s < o.confirmed AND (e.del OR NOT (" +
                   same(tracked, "o.", "f.") + "))");
    }

    // lf_pt (k0.., moment, kind, begins, rid, confirmed, gone, c0.., began): one point an instant of a key.
    void make_points() const {
        const std::string no_confirmed = "NULLIF(e.s, e.s)";  // a null of the sequence's type
        const std::string old = p.temp("lf_old");
        std::string all = "SELECT " + p.keys("e.") + ", e.s AS moment, " + is_event + " AS kind, 0 AS begins, o.rid, " +
                          no_confirmed + " AS confirmed, e.del AS gone, " + values("f.") + " FROM " + p.temp("lf_ev") +
                          " e LEFT JOIN " + staged(in) + " f ON " + p.row_of_event("f.", "e.") + " LEFT JOIN " + old +
                          " o ON false";
        const auto of_old = [&](const std::string& at, const char* kind, const std::string& begins, bool gone,
                                const std::string& which) {
            all += " UNION ALL SELECT " + p.keys("o.") + ", o." + at + ", " + kind + ", " + begins +
                   ", o.rid, o.confirmed, " + (gone ? "true" : "false") + ", " + values("o.") + " FROM " + old +
                   " o WHERE " + which;
        };
        of_old("start_at", is_start, "1", false, "true");
        const std::string split =
            tracked.empty() ? "0" : "CASE WHEN o.rid IN (SELECT rid FROM " + p.temp("lf_split") + ") THEN 1 ELSE 0 END";
        of_old("confirmed", is_confirmed, split, false, "o.confirmed IS NOT NULL");
        of_old("end_at", is_end, "0", true, "o.end_at IS NOT NULL");
        // Where a version began before, one begins still.
        p.make("lf_pt", "SELECT * FROM (SELECT a.*, max(begins) OVER (PARTITION BY " + p.keys("") +
                            ", moment) AS began, row_number() OVER (PARTITION BY " + p.keys("") +
                            ", moment ORDER BY kind) AS nth FROM (" + all + ") a) r WHERE nth = 1");
    }

    // lf_new (k0.., start_at, end_at, rid, c0..): the versions that follow. `rid` is the row of the table that goes on as this one.
    void make_versions() const {
        const std::string window = " OVER (PARTITION BY " + p.keys("") + " ORDER BY moment)";
        std::string agrees = "false";
        if (!tracked.empty()) {
            agrees = "kind IN (" + std::string(is_event) + ", " + is_confirmed +
                     ") AND began = 0 AND NOT gone AND COALESCE(NOT lag(gone)" + window + ", false) AND " +
                     parts::each(
                         tracked.size(),
                         [&](std::size_t i) {
                             const std::string column = "c" + std::to_string(tracked[i]);
                             return column + " IS NOT DISTINCT FROM lag(" + column + ")" + window;
                         },
                         " AND ");
        }
        p.make("lf_run", "SELECT q.*, sum(CASE WHEN agrees THEN 0 ELSE 1 END)" + window +
                             " AS run FROM (SELECT a.*, (" + agrees + ") AS agrees FROM " + p.temp("lf_pt") + " a) q");
        // A run's values are its last point's; but a version that was confirmed after it keeps its own.
        const std::string run = p.temp("lf_run");
        p.make("lf_head", "SELECT h.*, lead(moment) OVER (PARTITION BY " + p.keys("") +
                              " ORDER BY moment) AS end_at FROM " + run + " h WHERE NOT agrees");
        p.make("lf_last", "SELECT * FROM (SELECT r.*, row_number() OVER (PARTITION BY " + p.keys("") +
                              ", run ORDER BY moment DESC) AS back FROM " + run + " r) b WHERE back = 1");
        const std::string keep = "(h.kind = " + std::string(is_start) + " AND COALESCE(h.confirmed > l.moment, false))";
        const std::string chosen = parts::each(in.columns.size(), [&](std::size_t i) {
            const std::string column = "c" + std::to_string(i);
            return "CASE WHEN " + keep + " THEN h." + column + " ELSE l." + column + " END AS " + column;
        });
        p.make("lf_new", "SELECT " + p.keys("h.") +
                             ", h.moment AS start_at, h.end_at, CASE WHEN h.kind = " + std::string(is_start) +
                             " THEN h.rid END AS rid, (NOT " + keep + " AND l.moment > h.moment) AS moved, " + chosen +
                             " FROM " + p.temp("lf_head") + " h JOIN " + p.temp("lf_last") + " l ON " +
                             keys_same("h.", "l.") + " AND h.run = l.run WHERE NOT h.gone");
    }

    void write(land_result& result) const {
        const std::string fresh = p.temp("lf_new");
        const std::string old = p.temp("lf_old");
        in.to.run("DELETE FROM " + in.target + " WHERE " + in.words.row_id + " IN (SELECT o.rid FROM " + old +
                  " o WHERE NOT EXISTS (SELECT 1 FROM " + fresh + " n WHERE n.rid = o.rid))");
        std::string sets = end + " = n.end_at";
        for (std::size_t i = 0; i < in.columns.size(); ++i) {
            const auto& keys = p.key_places();
            if (std::find(keys.begin(), keys.end(), i) != keys.end()) continue;
            if (!tracked.empty()) sets += ", " + in.columns[i] + " = n.c" + std::to_string(i);
        }
        in.to.run("UPDATE " + in.target + " AS t SET " + sets + " FROM " + fresh + " n, " + old + " o WHERE t." +
                  in.words.row_id + " = n.rid AND o.rid = n.rid AND (n.moved OR n.end_at IS DISTINCT FROM o.end_at)");
        in.to.run("INSERT INTO " + in.target + " (" + p.columns("") + ", " + start + ", " + end + ") SELECT " +
                  values("n.") + ", n.start_at, n.end_at FROM " + fresh + " n WHERE n.rid IS NULL");
        result.rows_landed = in.to.integer("SELECT count(*) FROM " + p.temp("lf_ev") + " WHERE NOT del");
        result.rows_deleted =
            in.to.integer("SELECT count(*) FROM (SELECT kind, gone, lag(gone) OVER (PARTITION BY " + p.keys("") +
                          " ORDER BY moment) AS was_gone FROM " + p.temp("lf_pt") + ") x WHERE kind = " + is_event +
                          " AND gone AND was_gone IS NOT DISTINCT FROM false");
    }
};

}  // namespace

merge_outcome change_history(const parts& p) {
    const history h(p);
    merge_outcome out;
    h.check_sequences();
    h.look();
    out.result.rows_again = h.drop_known();
    h.find_split();
    h.make_points();
    h.make_versions();
    h.write(out.result);
    return out;
}

}  // namespace lakeflow::host::sql
