// plugins/postgres/relation.cpp: see relation.hpp. All that is known of a table comes from the catalog, in few questions.
#include "relation.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "sql.hpp"

namespace lakeflow::postgres {
namespace {

// Of pg_type.h, fixed for ever.
enum type_id : std::uint32_t {
    bool_id = 16,
    bytea_id = 17,
    name_id = 19,
    int8_id = 20,
    int2_id = 21,
    int4_id = 23,
    text_id = 25,
    oid_id = 26,
    json_id = 114,
    float4_id = 700,
    float8_id = 701,
    bpchar_id = 1042,
    varchar_id = 1043,
    date_id = 1082,
    time_id = 1083,
    timestamp_id = 1114,
    timestamptz_id = 1184,
    numeric_id = 1700,
    uuid_id = 2950,
    jsonb_id = 3802,
};

struct type_row {
    char kind = 'b';  // pg_type.typtype
    Oid element = 0;  // of a true array
    Oid base = 0;     // of a domain
    int base_modifier = -1;
};

struct raw_column {
    std::string name;
    Oid type = 0;
    int modifier = -1;
    bool required = false;
    int dimensions = 0;
    bool deterministic = true;
};

Oid to_oid(const std::optional<std::string>& text) {
    return static_cast<Oid>(detail::plain_integer(text.value_or("0")).value_or(0));
}
int to_int(const std::optional<std::string>& text) {
    return static_cast<int>(detail::plain_integer(text.value_or("-1")).value_or(-1));
}

class type_catalog {
  public:
    // Asks for the types, and for those that they are made of.
    type_catalog(session& server, const std::vector<raw_column>& columns) {
        std::set<Oid> wanted;
        for (const raw_column& one : columns) wanted.insert(one.type);
        while (!wanted.empty()) {
            std::string list;
            for (Oid id : wanted) list += (list.empty() ? "" : ",") + std::to_string(id);
            auto rows = server.ask(
                "SELECT oid, typtype, CASE WHEN typcategory = 'A' AND typlen = -1 THEN typelem ELSE 0 END, "
                "typbasetype, typtypmod "
                "FROM pg_catalog.pg_type WHERE oid IN (" +
                list + ")");
            wanted.clear();
            for (const answer_row& row : rows) {
                type_row& here = known_[to_oid(row.at(0))];
                here.kind = row.at(1).value_or("b").at(0);
                here.element = to_oid(row.at(2));
                here.base = to_oid(row.at(3));
                here.base_modifier = to_int(row.at(4));
                for (Oid id : {here.element, here.base}) {
                    if (id != 0 && known_.count(id) == 0) wanted.insert(id);
                }
            }
        }
    }
    // The type below all domains; a modifier is the domain's own.
    const type_row& resolve(Oid& id, int& modifier) const {
        static const type_row unknown;
        auto found = known_.find(id);
        while (found != known_.end() && found->second.kind == 'd') {
            if (found->second.base_modifier >= 0) modifier = found->second.base_modifier;
            id = found->second.base;
            found = known_.find(id);
        }
        return found == known_.end() ? unknown : found->second;
    }

  private:
    std::map<Oid, type_row> known_;
};

// numeric(p,s): s is a signed number of 11 bits, so that numeric(3,-2) and numeric(2,5) exist.
value_plan numeric_plan(int modifier) {
    value_plan out;
    out.form = wire::numeric_text;
    if (modifier < 4) return out;
    int precision = ((modifier - 4) >> 16) & 0xffff;
    int scale = (((modifier - 4) & 0x7ff) ^ 1024) - 1024;
    if (scale < 0) precision -= scale, scale = 0;
    precision = std::max(precision, scale);
    if (precision > 38) return out;
    out.form = wire::decimal;
    out.precision = precision;
    out.scale = scale;
    return out;
}

// How a type that is no array travels; `as_text`: the server writes it as text.
value_plan plan_scalar(Oid id, int modifier, char kind, bool& as_text) {
    as_text = false;
    value_plan out;
    auto is = [&](wire form) {
        out.form = form;
        return out;
    };
    if (kind == 'e') return is(wire::text);
    switch (id) {
        case bool_id: return is(wire::boolean);
        case int2_id: return is(wire::int2);
        case int4_id: return is(wire::int4);
        case int8_id: return is(wire::int8);
        case float4_id: return is(wire::float4);
        case float8_id: return is(wire::float8);
        case numeric_id: return numeric_plan(modifier);
        case text_id:
        case varchar_id:
        case name_id:
        case json_id: return is(wire::text);
        case bpchar_id: return is(wire::padded_text);
        case jsonb_id: return is(wire::jsonb);
        case bytea_id: return is(wire::bytea);
        case uuid_id: return is(wire::uuid);
        case date_id: return is(wire::date);
        case time_id: return is(wire::time);
        case timestamp_id: return is(wire::timestamp);
        case timestamptz_id: return is(wire::timestamptz);
        default: break;
    }
    as_text = true;
    return is(wire::text);
}

bool is_text(wire form) {
    return form == wire::text || form == wire::padded_text || form == wire::jsonb || form == wire::uuid ||
           form == wire::time || form == wire::numeric_text;
}

column_plan plan_column(const raw_column& raw, const type_catalog& types, const table_settings& settings) {
    column_plan out;
    out.name = raw.name;
    out.nullable = !raw.required;
    const std::string column = identifier(raw.name);
    out.select = column;
    Oid id = raw.type;
    int modifier = raw.modifier;
    const type_row& found = types.resolve(id, modifier);
    bool as_text = false;
    if (found.element != 0) {
        if (settings.arrays_as_json || raw.dimensions > 1) {
            out.select = "pg_catalog.to_json(" + column + ")::text";
            out.compare = out.equal = "(" + out.select + " COLLATE \"C\")";
            return out;
        }
        Oid inside = found.element;
        char kind = types.resolve(inside, modifier).kind;
        out.value.form = wire::array;
        // An array of arrays through a domain, or of what has no form of its own: its elements as text.
        out.value.element.push_back(plan_scalar(inside, modifier, kind, as_text));
        if (as_text) out.select = column + "::text[]";
        return out;
    }
    if (id == oid_id) {
        out.value.form = wire::int8;
        out.select = out.compare = out.equal = "(" + column + "::int8)";
        return out;
    }
    out.value = plan_scalar(id, modifier, found.kind, as_text);
    if (as_text) out.select = column + "::text";
    out.temporal =
        out.value.form == wire::date || out.value.form == wire::timestamp || out.value.form == wire::timestamptz;
    if (settings.null_non_finite && (out.temporal || out.value.form == wire::decimal)) {
        // What DECIMAL and dates cannot say becomes null on the server, so that conditions there see null as well.
        out.nullable = true;
        out.select = out.temporal ? "(CASE WHEN pg_catalog.isfinite(" + column + ") THEN " + column + " END)"
                                  : "(nullif(" + column + ", 'NaN'::numeric))";
    }
    if (is_text(out.value.form)) {
        bool plain = (id == text_id || id == varchar_id) && raw.type == id;
        out.compare = "(" + column + (plain ? "" : "::text") + " COLLATE \"C\")";
        out.equal = plain && raw.deterministic ? column : out.compare;
    } else {
        out.compare = out.equal = out.select;
    }
    return out;
}

// The parts of a table's name, found by the server: its oid, schema, name and kind.
answer_row find_class(session& server, std::string_view name) {
    std::vector<std::string> parts = split_name(name);
    // "database.schema.table": the database is the connection's.
    if (parts.size() == 3) parts.erase(parts.begin());
    if (parts.size() > 2 || parts.back().empty()) throw not_found("'" + std::string(name) + "' is no name of a table");
    auto look = [&](const std::vector<std::string>& which) {
        std::string where = "c.relname = " + literal(which.back());
        where += which.size() == 2 ? " AND n.nspname = " + literal(which.front())
                                   : " AND pg_catalog.pg_table_is_visible(c.oid)";
        return server.ask(
            "SELECT c.oid, n.nspname, c.relname, c.relkind FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n "
            "ON n.oid = "
            "c.relnamespace WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f', 't') AND " +
            where);
    };
    auto rows = look(parts);
    if (rows.empty()) {
        // SQL folds what is not quoted.
        std::vector<std::string> folded = parts;
        for (std::string& part : folded) {
            for (char& c : part) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        }
        if (folded != parts) rows = look(folded);
    }
    if (rows.empty()) {
        throw not_found("table '" + std::string(name) + "' does not exist in " + server.place(),
                        "lakeflow-host tables lists what is there; a name with a dot is written public.\"a.b\"")
            .with_code("source.not_found");
    }
    return rows[0];
}

}  // namespace

lakeflow::type value_plan::type() const {
    switch (form) {
        case wire::boolean: return type::boolean();
        case wire::int2: return type::int16();
        case wire::int4: return type::int32();
        case wire::int8: return type::int64();
        case wire::float4: return type::float32();
        case wire::float8: return type::float64();
        case wire::decimal: return type::decimal(precision, scale);
        case wire::bytea: return type::binary();
        case wire::date: return type::date();
        case wire::timestamp: return type::timestamp_ntz();
        case wire::timestamptz: return type::timestamp();
        case wire::array: return type::list(element.at(0).type());
        default: return type::text();
    }
}

const column_plan* relation::find(std::string_view column) const {
    for (const column_plan& one : columns) {
        if (one.name == column) return &one;
    }
    return nullptr;
}

const column_plan& relation::at(std::string_view column) const {
    if (const column_plan* found = find(column)) return *found;
    throw not_found("table " + name + " has no column '" + std::string(column) + "'", "see lakeflow-host schema")
        .with_code("source.not_found");
}

schema relation::all_columns() const {
    schema out;
    for (const column_plan& one : columns) out.add(one.name, one.value.type(), one.nullable);
    return out;
}

relation find_relation(session& server, std::string_view name, const table_settings& settings) {
    relation out;
    std::vector<raw_column> raw;
    if (!settings.query.empty()) {
        out.name = std::string(name);
        out.from = "(" + settings.query + "\n) AS \"source\"";
        for (described_column& one : server.describe("SELECT * FROM " + out.from)) {
            raw.push_back({std::move(one.name), one.type, one.modifier});
        }
    } else {
        answer_row found = find_class(server, settings.table.empty() ? name : std::string_view(settings.table));
        out.oid = found.at(0).value();
        out.name = show_name({found.at(1).value(), found.at(2).value()});
        out.from = identifier(found.at(1).value()) + "." + identifier(found.at(2).value());
        out.kind = found.at(3).value().at(0);
        auto rows = server.ask(
            "SELECT a.attname, a.atttypid, a.atttypmod, a.attnotnull, a.attndims, coalesce(l.collisdeterministic, "
            "true), "
            "(SELECT array_position(i.indkey::int2[], a.attnum) FROM pg_catalog.pg_index i WHERE i.indrelid = "
            "a.attrelid AND i.indisprimary) "
            "FROM pg_catalog.pg_attribute a LEFT JOIN pg_catalog.pg_collation l ON l.oid = a.attcollation WHERE "
            "a.attrelid = " +
            out.oid + " AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum");
        std::map<int, std::string> keys;
        for (const answer_row& row : rows) {
            raw_column& here = raw.emplace_back();
            here.name = row.at(0).value();
            here.type = to_oid(row.at(1));
            here.modifier = to_int(row.at(2));
            here.required = row.at(3) == "t";
            here.dimensions = to_int(row.at(4));
            here.deterministic = row.at(5) == "t";
            if (row.at(6)) keys[to_int(row.at(6))] = here.name;
        }
        for (auto& [place, key] : keys) out.keys.push_back(key);
    }
    type_catalog types(server, raw);
    for (const raw_column& one : raw) {
        column_plan planned = plan_column(one, types, settings);
        if (out.find(planned.name) != nullptr) {
            throw invalid("query: two columns are called '" + planned.name + "'", "give one of them an alias")
                .with_code("config.invalid");
        }
        out.columns.push_back(std::move(planned));
    }
    if (!settings.primary_keys.empty()) out.keys = settings.primary_keys;
    for (const std::string& key : out.keys) out.at(key);
    return out;
}

std::vector<std::string> list_schemas(session& server) {
    std::vector<std::string> out;
    for (answer_row& row : server.ask("SELECT nspname FROM pg_catalog.pg_namespace WHERE nspname !~ '^pg_' AND nspname "
                                      "<> 'information_schema' AND "
                                      "pg_catalog.has_schema_privilege(oid, 'USAGE') ORDER BY nspname COLLATE \"C\"")) {
        out.push_back(row.at(0).value());
    }
    return out;
}

namespace {

std::vector<std::string> tables_where(session& server, const std::string& where) {
    std::vector<std::string> out;
    for (answer_row& row : server.ask("SELECT n.nspname, c.relname FROM pg_catalog.pg_class c JOIN "
                                      "pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN "
                                      "('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition AND "
                                      "pg_catalog.has_table_privilege(c.oid, 'SELECT') AND " +
                                      where + " ORDER BY n.nspname COLLATE \"C\", c.relname COLLATE \"C\"")) {
        out.push_back(show_name({row.at(0).value(), row.at(1).value()}));
    }
    return out;
}

}  // namespace

std::vector<std::string> list_default_tables(session& server) {
    return tables_where(server, "n.nspname = ANY (pg_catalog.current_schemas(false))");
}

std::vector<std::string> list_tables_of(session& server, const std::string& which) {
    return tables_where(server, "n.nspname = " + literal(which));
}

}  // namespace lakeflow::postgres
