// host/stream/resolve.cpp: see resolve.h.
#include "host/stream/resolve.h"

#include <algorithm>
#include <boost/json.hpp>
#include <span>

#include "host/base/error.h"
#include "host/base/text.h"
#include "host/duck/sql.h"
#include "host/rows/rescue.h"
#include "host/scan/negotiate.h"
#include "host/scan/sql_tree.h"
#include "host/stream/gate.h"

namespace lakeflow::host {
namespace {

[[noreturn]] void refuse(std::string_view code, const table_plan& table, const std::string& message, std::string hint) {
    throw failure(
        error{std::string(code), "table '" + table.flow + "': " + message, std::move(hint), retry_class::invalid});
}

land_mode default_mode(ingestion_type type) {
    switch (type) {
        case ingestion_type::append: return land_mode::append;
        case ingestion_type::snapshot: return land_mode::snapshot;
        default: return land_mode::scd1;
    }
}

std::vector<std::string> names_of(const arrow_schema& schema) {
    std::vector<std::string> out;
    for (std::int64_t i = 0; i < schema.columns(); ++i) out.emplace_back(name_of(schema.column(i)));
    return out;
}

// The place of a column that a person named: exactly, or without regard to case where that is clear (contract 22).
std::int64_t place_of(const table_plan& table, const std::vector<std::string>& names, const std::string& wanted,
                      std::string_view key) {
    std::int64_t found = -1;
    bool ambiguous = false;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i] == wanted) return static_cast<std::int64_t>(i);
        if (!equal_no_case(names[i], wanted)) continue;
        ambiguous = found >= 0;
        found = static_cast<std::int64_t>(i);
    }
    if (found >= 0 && !ambiguous) return found;
    const auto near = ambiguous ? std::optional<std::string>() : nearest(wanted, std::span<const std::string>(names));
    refuse("config." + std::string(key), table,
           ambiguous ? "'" + wanted + "' in " + std::string(key) + " could be one of several columns of '" +
                           table.source + "' that differ only by case"
                     : "'" + table.source + "' has no column '" + wanted + "', which " + std::string(key) + " names",
           near ? "did you mean '" + *near + "'?" : "`lakeflow-host schema " + table.source + "` shows the columns");
}

void check_mode(const table_plan& table, const flow_settings& s) {
    const auto& spec = s.spec;
    const std::string mode(to_string(spec.mode));
    if (spec.mode == land_mode::snapshot && !s.snapshot) {
        refuse("config.mode", table,
               "mode = \"snapshot\" would replace the whole table with what changed: '" + table.source +
                   "' is read incrementally (" + std::string(to_string(s.metadata.ingestion)) + ")",
               "use scd1, scd2 or append");
    }
    if (s.metadata.ingestion == ingestion_type::cdc_with_deletes && spec.mode == land_mode::append) {
        refuse("config.mode", table, "'" + table.source + "' tells deletes, and mode = \"append\" cannot land them",
               "use scd1 or scd2");
    }
    if (!spec.track.empty() && spec.mode != land_mode::scd2) {
        refuse("config.mode", table, "track says which columns open a version, and mode = \"" + mode + "\" has none",
               "use mode = \"scd2\", or leave track out");
    }
    if (spec.mode == land_mode::scd2 && spec.sequence_by.empty()) {
        refuse("config.sequence_by", table,
               "mode = \"scd2\" needs a column that says since when a row holds, and '" + table.source +
                   "' states no cursor",
               "name it with sequence_by");
    }
    if (spec.max_delete_ratio < 1 && spec.mode != land_mode::snapshot) {
        refuse("config.mode", table, "max_delete_ratio guards snapshots, and the mode is \"" + mode + "\"",
               "leave it out");
    }
    if (!spec.primary_keys.empty()) return;
    if (spec.mode == land_mode::scd1 || spec.mode == land_mode::scd2) {
        refuse("config.primary_keys", table,
               "mode = \"" + mode + "\" needs primary_keys, and '" + table.source + "' states none",
               "name the columns that tell its rows apart");
    }
    if (spec.mode == land_mode::append && spec.rereads) {
        refuse("config.primary_keys", table,
               "'" + table.source +
                   "' brings rows that were read before, and append can only tell them by primary_keys; it has none",
               "name the columns that tell its rows apart");
    }
}

void choose_columns(const table_plan& table, flow_settings& s, const std::vector<std::string>& names) {
    std::vector<bool> landed(names.size(), table.columns.empty());
    const auto land = [&](const std::string& name, std::string_view key) {
        landed[static_cast<std::size_t>(place_of(table, names, name, key))] = true;
    };
    for (const auto& name : table.columns) land(name, "columns");
    for (const auto& name : s.spec.primary_keys) land(name, "primary_keys");
    const bool sequenced = s.spec.mode == land_mode::scd1 || s.spec.mode == land_mode::scd2;
    if (sequenced && !s.spec.sequence_by.empty()) land(s.spec.sequence_by, "sequence_by");
    for (const auto& name : s.spec.track) land(name, "track");
    if (table.schema_changes == schema_policy::rescue) landed.back() = true;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (landed[i]) s.columns.push_back(static_cast<std::int64_t>(i));
    }
}

// The plugin takes over what it can; the rest is applied to each batch before it is landed.
void settle_where(const run_plan& plan, const table_plan& table, plugin_connector& connector, flow_settings& s) {
    if (table.where.empty()) return;
    scan_wish wish;
    wish.filters = where_of(duck::parse_where(plan.duckdb_library, table.where), *s.plugin_schema, table.where);
    for (std::int64_t i = 0; i < s.plugin_schema->columns(); ++i) wish.columns.push_back(i);
    const std::string what = plan.plugin->id + "/" + table.source;
    const auto choice = negotiate(
        wish, s.plugin_schema,
        [&](const std::string& request) { return connector.plan_scan(table.source, table.options, request); }, what);
    s.scan = choice.scan;
    s.filter = std::make_shared<const row_filter>(*s.source_schema, choice.residual, choice.exact, what);
    if (s.spec.mode != land_mode::snapshot || wish.filters.empty()) return;
    // The snapshot of a part: what lies outside stays, so the destination has to tell it by the columns that it holds.
    auto whole = wish.filters.size() == 1 ? wish.filters.front() : make_list(predicate_op::and_, wish.filters);
    std::vector<column_path> named;
    add_columns(whole, named);
    for (const auto& path : named) {
        const auto at = find_column(*s.source_schema->get(), path.front());
        if (std::find(s.columns.begin(), s.columns.end(), at) != s.columns.end()) continue;
        refuse("config.columns", table,
               "where asks for column '" + path.front() +
                   "', which `columns` leaves out: a snapshot deletes only rows that pass, and the table could not "
                   "tell them",
               "land that column too");
    }
    s.spec.filter = std::make_shared<const predicate>(std::move(whole));
}

read_path choose_path(const plugin& p, bool partitioned, bool snapshot) {
    if (!partitioned) return read_path::simple;
    if (snapshot) return read_path::snapshot_batch;
    return p.has_stream_partitions() ? read_path::partitions : read_path::simple;
}

}  // namespace

void check_read_schema(const table_plan& table, const table_metadata& metadata) {
    if (table.read_schema.empty() || metadata.external_schema) return;
    refuse("config.read_schema", table,
           "'" + table.source + "' has a schema of its own, and takes none from read_schema",
           "leave read_schema out; `columns` chooses among the table's columns");
}

flow_settings settle(const run_plan& plan, const table_plan& table, plugin_connector& connector) {
    flow_settings s;
    s.metadata = connector.metadata(table.source, table.options);
    check_read_schema(table, s.metadata);
    s.source_schema = std::make_shared<const arrow_schema>(connector.table_schema(table.source, table.options));
    s.plugin_schema = s.source_schema;
    if (table.schema_changes == schema_policy::rescue)
        s.source_schema = std::make_shared<const arrow_schema>(with_rescued(*s.plugin_schema->get()));
    s.snapshot = s.metadata.ingestion == ingestion_type::snapshot;
    if (s.metadata.ingestion == ingestion_type::cdc_with_deletes) {
        if (!plan.plugin->has_deletes()) {
            throw failure("plugin.missing_slot",
                          plan.plugin->id + "/" + table.source +
                              " is of ingestion type cdc_with_deletes, and the plugin has no read_table_deletes",
                          "the plugin is incomplete; its vendor has to add the slot or call the table cdc");
        }
        s.deletes = true;
    }
    const auto names = names_of(*s.source_schema);
    const auto canonical = [&](const std::string& name, std::string_view key) {
        return names[static_cast<std::size_t>(place_of(table, names, name, key))];
    };
    auto& spec = s.spec;
    spec.job = plan.job;
    spec.allow_empty = table.allow_empty;
    spec.flow = table.flow;
    spec.table = table.destination;
    spec.mode = table.mode.value_or(default_mode(s.metadata.ingestion));
    for (const auto& key : table.primary_keys.value_or(s.metadata.primary_keys))
        spec.primary_keys.push_back(canonical(key, "primary_keys"));
    spec.cursor = s.metadata.cursor_field;
    if (!spec.cursor.empty() && find_column(*s.source_schema->get(), spec.cursor) < 0) {
        throw failure("plugin.contract",
                      plan.plugin->id + "/" + table.source + ": the metadata name the cursor field '" + spec.cursor +
                          "', which the schema does not have",
                      "the plugin breaks the contract; ask its vendor");
    }
    const auto sequence = table.sequence_by.value_or(spec.cursor);
    if (!sequence.empty()) spec.sequence_by = canonical(sequence, "sequence_by");
    spec.deletes = s.deletes;
    spec.rereads = s.metadata.rereads || (s.snapshot && spec.mode == land_mode::append);
    spec.max_delete_ratio = table.max_delete_ratio;
    spec.schema_changes = table.schema_changes;
    for (const auto& name : table.track) spec.track.push_back(canonical(name, "track"));
    check_mode(table, s);
    choose_columns(table, s, names);
    settle_where(plan, table, connector, s);
    s.path = choose_path(*plan.plugin, connector.is_partitioned(table.source, table.options), s.snapshot);
    s.validator = s.path == read_path::snapshot_batch && plan.plugin->has_stream_partitions();
    const gate names_only(plan.plugin->id + "/" + table.source, s.source_schema, s.columns, spec.primary_keys);
    spec.schema = names_only.landed();
    // The destination is told of columns that land, and of no others.
    for (auto* name : {&spec.cursor, &spec.sequence_by}) {
        if (!name->empty() && find_column(*spec.schema->get(), *name) < 0) name->clear();
    }
    return s;
}

}  // namespace lakeflow::host
