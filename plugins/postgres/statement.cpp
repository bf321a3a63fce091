// plugins/postgres/statement.cpp: see statement.hpp.
#include "statement.hpp"

#include <set>

#include "sql.hpp"

namespace lakeflow::postgres {
namespace {

const column_plan* column_of(const relation& table, const json& path) {
    return path.size() == 1 ? table.find(path.items()[0].as_text()) : nullptr;
}

bool orders(const column_plan& column) { return !column.compare.empty(); }

// Columns of a result are named by the host's eyes; two that would be called the same get a number.
std::string unique_name(std::set<std::string>& taken, const std::string& wanted) {
    std::string name = wanted;
    for (int i = 2; !taken.insert(name).second; ++i) name = wanted + "_" + std::to_string(i);
    return name;
}

// One function of an aggregate; nothing if the server's answer is not of the type that the host counts on.
std::optional<column_plan> function_of(const relation& table, const json& function) {
    const std::string op = function.text("op");
    column_plan out;
    if (op == "count_star") {
        out.name = "count(*)";
        out.value.form = wire::int8;
        out.select = "count(*)";
        return out;
    }
    const json* path = function.find("column");
    const column_plan* column = path == nullptr ? nullptr : column_of(table, *path);
    if (column == nullptr) return std::nullopt;
    out.name = op + "(" + column->name + ")";
    if (op == "count") {
        out.value.form = wire::int8;
        out.select = "count(" + column->select + ")";
        return out;
    }
    if (op == "sum") {
        switch (column->value.form) {
            case wire::int2:
            case wire::int4:
                out.value.form = wire::int8;
                out.select = "sum(" + column->select + ")";
                return out;
            case wire::int8:
                out.value = {wire::decimal, 38, 0, {}};
                out.select = "sum(" + column->select + ")";
                return out;
            case wire::decimal:
                out.value = {wire::decimal, 38, column->value.scale, {}};
                out.select = "sum(" + column->select + ")";
                return out;
            case wire::float4:
            case wire::float8:
                out.value.form = wire::float8;
                out.select = "sum(" + column->select + "::float8)";
                return out;
            default: return std::nullopt;
        }
    }
    bool comparable = orders(*column) && column->value.form != wire::boolean && column->value.form != wire::bytea;
    if ((op != "min" && op != "max") || !comparable) return std::nullopt;
    out.value = column->value;
    if (out.value.type() == type::text()) out.value.form = wire::text;
    out.select = op + "(" + column->compare + ")";
    return out;
}

// A column as a group's key: text by its bytes.
std::optional<column_plan> key_of(const relation& table, const json& path) {
    const column_plan* column = column_of(table, path);
    if (column == nullptr || !orders(*column)) return std::nullopt;
    column_plan out = *column;
    if (out.value.type() == type::text()) out.value.form = wire::text;
    out.select = column->compare;
    return out;
}

std::optional<std::string> order_sql(const relation& table, const json& keys) {
    std::vector<std::string> out;
    for (const json& key : keys.items()) {
        const column_plan* column = column_of(table, key.at("column"));
        if (column == nullptr || !orders(*column)) return std::nullopt;
        out.push_back(column->compare + (key.boolean("descending") ? " DESC" : " ASC") +
                      (key.boolean("nulls_first") ? " NULLS FIRST" : " NULLS LAST"));
    }
    return join(out, ", ");
}

// "0.1" of the rows as TABLESAMPLE's percentage; nothing for what is no fraction.
std::optional<std::string> sample_sql(const relation& table, const json& sample) {
    if (!table.has_pages() && table.kind != 'p') return std::nullopt;
    const std::string method = sample.text("method"), fraction = sample.text("fraction");
    if ((method != "bernoulli" && method != "system") || fraction.empty()) return std::nullopt;
    for (char c : fraction) {
        if (!detail::is_digit(c) && c != '.') return std::nullopt;
    }
    std::string out = " TABLESAMPLE " + method + " (100.0 * " + fraction + ")";
    if (const json* seed = sample.find("seed"); seed != nullptr && !seed->is_null()) {
        out += " REPEATABLE (" + std::to_string(seed->as_int()) + ")";
    }
    return out;
}

json out_schema(const std::vector<column_plan>& columns) {
    json out = json::array();
    for (const column_plan& one : columns)
        out.push(json::object({{"name", one.name}, {"type", one.value.type().format()}}));
    return out;
}

// The columns of an aggregate, keys first; nothing if one of them is not the server's to make.
std::optional<std::vector<column_plan>> aggregate_columns(const relation& table, const json& aggregate) {
    std::vector<column_plan> out;
    std::set<std::string> taken;
    for (const json& path : aggregate.at("group_by").items()) {
        auto key = key_of(table, path);
        if (!key) return std::nullopt;
        out.push_back(std::move(*key));
    }
    for (const json& one : aggregate.at("functions").items()) {
        auto function = function_of(table, one);
        if (!function) return std::nullopt;
        out.push_back(std::move(*function));
    }
    for (column_plan& one : out) one.name = unique_name(taken, one.name);
    return out;
}

}  // namespace

std::string statement::select() const {
    std::vector<std::string> expressions;
    for (const column_plan& one : columns) expressions.push_back(one.select);
    std::string out = "SELECT " + join(expressions, ", ") + (expressions.empty() ? "FROM " : " FROM ") + from;
    std::vector<std::string> conjuncts;
    for (const std::string& one : where) conjuncts.push_back("(" + one + ")");
    if (!conjuncts.empty()) out += " WHERE " + join(conjuncts, " AND ");
    if (!group_by.empty()) out += " GROUP BY " + join(group_by, ", ");
    if (!order_by.empty()) out += " ORDER BY " + order_by;
    if (limit) out += " LIMIT " + std::to_string(*limit);
    if (offset > 0) out += " OFFSET " + std::to_string(offset);
    return out;
}

std::string statement::copy() const { return "COPY (" + select() + ") TO STDOUT (FORMAT binary)"; }

schema statement::columns_out() const {
    schema out;
    for (const column_plan& one : columns) out.add(one.name, one.value.type(), one.nullable);
    return out;
}

bool wants_one_statement(const json& scan) {
    for (const char* piece : {"aggregate", "limit", "offset", "sample"}) {
        if (scan.contains(piece)) return true;
    }
    return false;
}

json answer_scan(const relation& table, const table_settings& settings, const json& request) {
    // With a column to split by, each part answers for itself, and the host puts the answers together.
    const bool split = !settings.partition_column.empty() && settings.num_partitions.value_or(2) > 1;
    const char* whole = split ? "partial" : "exact";
    json reply = json::object(), scan = json::object(), filters = json::array(), where = json::array();
    bool all_exact = true;
    if (const json* asked = request.find("filters")) {
        for (const json& conjunct : asked->items()) {
            auto sql = condition(table, conjunct);
            filters.push(sql ? "exact" : "no");
            all_exact = all_exact && sql.has_value();
            if (sql) where.push(*sql);
        }
        reply.set("filters", filters);
        if (!where.empty()) scan.set("where", where);
    }
    if (const json* sample = request.find("sample")) {
        auto sql = sample_sql(table, *sample);
        reply.set("sample", sql ? "exact" : "no");
        if (sql) scan.set("sample", *sql);
    }
    const json* aggregate = request.find("aggregate");
    if (aggregate != nullptr) {
        auto columns = all_exact ? aggregate_columns(table, *aggregate) : std::nullopt;
        reply.set("aggregate", columns ? whole : "no");
        if (columns) {
            scan.set("aggregate", *aggregate);
            reply.set("schema", out_schema(*columns));
        }
    }
    const json* limit = request.find("limit");
    const json* order = request.find("order_by");
    const json* offset = request.find("offset");
    if (limit != nullptr) {
        auto sorted = order != nullptr ? order_sql(table, *order) : std::optional<std::string>("");
        bool taken = all_exact && sorted.has_value() && aggregate == nullptr;
        bool skips = taken && offset != nullptr && !split;
        reply.set("limit", taken ? whole : "no");
        if (order != nullptr) reply.set("order_by", taken ? whole : "no");
        if (offset != nullptr) reply.set("offset", skips ? "exact" : "no");
        // Without the skipping, the limit that was asked for is not the one that counts.
        if (taken && offset != nullptr && !skips) taken = false, reply.set("limit", "no");
        if (order != nullptr && !taken) reply.set("order_by", "no");
        if (taken) {
            scan.set("limit", *limit);
            if (!sorted->empty()) scan.set("order_by", *sorted);
            if (skips) scan.set("offset", *offset);
        }
    } else {
        if (order != nullptr) reply.set("order_by", "no");
        if (offset != nullptr) reply.set("offset", "no");
    }
    if (const json* columns = request.find("columns")) {
        json names = json::array();
        std::vector<column_plan> plans;
        for (const json& path : columns->items()) {
            const column_plan* column = column_of(table, path);
            if (column == nullptr) return reply.set("columns", "no").set("scan", scan);
            names.push(column->name);
            plans.push_back(*column);
        }
        reply.set("columns", "exact").set("schema", out_schema(plans));
        scan.set("columns", names);
    }
    return reply.set("scan", scan);
}

statement make_statement(const relation& table, const json& scan) {
    statement out;
    out.from = table.from + scan.text("sample");
    if (const json* where = scan.find("where")) {
        for (const json& one : where->items()) out.where.push_back(one.as_text());
    }
    if (const json* aggregate = scan.find("aggregate")) {
        auto columns = aggregate_columns(table, *aggregate);
        if (!columns)
            throw not_found("table " + table.name + " has changed since the read was planned")
                .with_code("source.not_found");
        out.columns = std::move(*columns);
        out.aggregates = true;
        for (size_t i = 0; i < aggregate->at("group_by").size(); ++i) out.group_by.push_back(out.columns[i].select);
    } else if (const json* names = scan.find("columns")) {
        for (const json& name : names->items()) out.columns.push_back(table.at(name.as_text()));
    } else {
        out.columns = table.columns;
    }
    out.order_by = scan.text("order_by");
    if (const json* limit = scan.find("limit")) out.limit = limit->as_int();
    out.offset = scan.integer("offset");
    return out;
}

}  // namespace lakeflow::postgres
