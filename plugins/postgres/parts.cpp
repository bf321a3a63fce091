// plugins/postgres/parts.cpp: see parts.hpp.
#include "parts.hpp"

#include <algorithm>

#include "sql.hpp"
#include "statement.hpp"

namespace lakeflow::postgres {
namespace {

constexpr std::int64_t day_us = 86'400'000'000;
// A megabyte of the table: below it a part costs more than it saves.
constexpr std::int64_t least_pages = 128;

failure wrong_bound(const std::string& text, const column_plan& column) {
    return invalid("'" + text + "' is no bound of column '" + column.name + "', which is " + column.value.type().ddl(),
                   column.temporal ? "write 2024-01-31 or 2024-01-31T12:00:00Z" : "write an integer")
        .with_code("config.invalid");
}

// A bound in the column's own measure.
std::int64_t bound_value(const std::string& text, const column_plan& column) {
    if (!column.temporal) {
        if (auto value = detail::plain_integer(text)) return *value;
        throw wrong_bound(text, column);
    }
    std::string instant = text;
    if (instant.size() > 10 && instant[10] == ' ') instant[10] = 'T';
    if (instant.size() == 10) instant += "T00:00:00";
    auto us = parse_instant(instant);
    if (!us) us = parse_instant(instant + "Z");
    if (!us) throw wrong_bound(text, column);
    if (column.value.form != wire::date) return *us;
    return (*us - ((*us % day_us) + day_us) % day_us) / day_us;
}

std::string point_sql(std::int64_t point, const column_plan& column) {
    switch (column.value.form) {
        case wire::date: return literal(format_instant(point * day_us).substr(0, 10)) + "::date";
        case wire::timestamptz: return literal(format_instant(point)) + "::timestamptz";
        case wire::timestamp: {
            std::string text = format_instant(point);
            return literal(text.substr(0, text.size() - 1)) + "::timestamp";
        }
        default: return "(" + std::to_string(point) + ")";
    }
}

}  // namespace

std::vector<std::int64_t> stride_points(std::int64_t lower, std::int64_t upper, std::int64_t count) {
    using wide = detail::wide_integer;
    const wide range = static_cast<wide>(upper) - lower;
    count = static_cast<std::int64_t>(std::max<wide>(1, std::min<wide>(count, range)));
    std::vector<std::int64_t> out;
    for (std::int64_t i = 1; i < count; ++i) out.push_back(static_cast<std::int64_t>(lower + range * i / count));
    return out;
}

std::vector<std::string> stride_parts(const relation& table, const table_settings& settings, std::int64_t count) {
    const column_plan& column = table.at(settings.partition_column);
    switch (column.value.form) {
        case wire::int2:
        case wire::int4:
        case wire::int8:
        case wire::float4:
        case wire::float8:
        case wire::decimal:
        case wire::numeric_text:
        case wire::date:
        case wire::timestamp:
        case wire::timestamptz: break;
        default:
            throw invalid("partition_column '" + column.name + "' of table " + table.name +
                              " is neither number, date nor timestamp",
                          "choose such a column, or leave partition_column out: the table is then split by its pages")
                .with_code("config.invalid");
    }
    std::int64_t lower = bound_value(settings.lower_bound, column), upper = bound_value(settings.upper_bound, column);
    if (lower > upper) {
        throw invalid("lower_bound " + settings.lower_bound + " lies above upper_bound " + settings.upper_bound)
            .with_code("config.invalid");
    }
    const std::string name = identifier(column.name);
    std::vector<std::int64_t> points = stride_points(lower, upper, count);
    if (points.empty()) return {""};
    std::vector<std::string> out;
    out.push_back(name + " < " + point_sql(points.front(), column) + " OR " + name + " IS NULL");
    for (size_t i = 1; i < points.size(); ++i) {
        out.push_back(name + " >= " + point_sql(points[i - 1], column) + " AND " + name + " < " +
                      point_sql(points[i], column));
    }
    out.push_back(name + " >= " + point_sql(points.back(), column));
    return out;
}

std::vector<std::string> page_parts(std::int64_t pages, std::int64_t count) {
    count = std::clamp<std::int64_t>(pages / least_pages, 1, std::max<std::int64_t>(1, count));
    std::vector<std::string> out;
    for (std::int64_t i = 0; i < count; ++i) {
        std::string from = "ctid >= '(" + std::to_string(pages * i / count) + ",0)'::tid";
        std::string to = "ctid < '(" + std::to_string(pages * (i + 1) / count) + ",0)'::tid";
        if (count == 1) {
            out.emplace_back();
        } else {
            out.push_back(i == 0 ? to : i + 1 == count ? from : from + " AND " + to);
        }
    }
    return out;
}

std::vector<std::string> plan_parts(session& server, const relation& table, const table_settings& settings,
                                    const json& scan, std::int64_t parallelism) {
    std::int64_t count = settings.num_partitions.value_or(std::max<std::int64_t>(1, parallelism));
    if (!settings.partition_column.empty()) return stride_parts(table, settings, count);
    // Before version 14 a condition on ctid reads the whole table.
    if (count == 1 || !table.has_pages() || wants_one_statement(scan) || server.version() < 140000) return {""};
    std::string pages = server.ask_value("SELECT pg_catalog.pg_relation_size(" + table.oid +
                                         "::regclass) / pg_catalog.current_setting('block_size')::int8");
    return page_parts(detail::plain_integer(pages).value_or(0), count);
}

}  // namespace lakeflow::postgres
