// tests/support/honest_source.cpp: see honest_source.h.
#include "tests/support/honest_source.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "host/arrow/decimal.h"

namespace lakeflow::host::testing {
namespace {

namespace json = boost::json;
using truth = std::optional<bool>;

std::string text(const json::value& v) { return std::string(v.as_string()); }

int place(const arrow_schema& schema, const json::value& path) {
    return static_cast<int>(find_column(*schema.get(), text(path.as_array().at(0))));
}

// A conjunct's value as the cells of that column are.
cell cell_of(const json::value& v, const column_type& type) {
    if (v.is_null()) return {};
    if (v.is_bool()) return std::int64_t{v.get_bool() ? 1 : 0};
    if (v.is_int64()) return v.get_int64();
    if (type.id == type_id::float64) {
        if (text(v) == "NaN") return std::nan("");
        if (text(v) == "Infinity") return INFINITY;
        return std::stod(text(v));
    }
    if (type.id == type_id::decimal128) {
        int128 out = 0;
        parse_decimal(text(v), type.precision, type.scale, out);
        return static_cast<std::int64_t>(out);
    }
    return text(v);
}

int order(const cell& a, const cell& b) {
    if (const auto* x = std::get_if<double>(&a)) {
        const double y = std::get<double>(b);
        if (std::isnan(*x) || std::isnan(y)) return static_cast<int>(std::isnan(*x)) - static_cast<int>(std::isnan(y));
        return *x < y ? -1 : *x > y ? 1 : 0;
    }
    return a < b ? -1 : b < a ? 1 : 0;
}

bool is_null(const cell& c) { return std::holds_alternative<std::monostate>(c); }

bool matches(const std::string& s, const std::string& pattern, std::size_t i = 0, std::size_t j = 0) {
    if (j == pattern.size()) return i == s.size();
    if (pattern[j] == '%') {
        for (std::size_t k = i; k <= s.size(); ++k) {
            if (matches(s, pattern, k, j + 1)) return true;
        }
        return false;
    }
    if (i == s.size()) return false;
    if (pattern[j] != '_') return s[i] == pattern[j] && matches(s, pattern, i + 1, j + 1);
    std::size_t next = i + 1;
    while (next < s.size() && (static_cast<unsigned char>(s[next]) & 0xc0U) == 0x80U) ++next;
    return matches(s, pattern, next, j + 1);
}

truth compare(const std::string& op, const cell& value, const cell& wanted) {
    if (op == "<=>")
        return is_null(value) || is_null(wanted) ? is_null(value) == is_null(wanted) : order(value, wanted) == 0;
    if (is_null(value) || is_null(wanted)) return std::nullopt;
    if (op == "starts_with") return std::get<std::string>(value).starts_with(std::get<std::string>(wanted));
    if (op == "ends_with") return std::get<std::string>(value).ends_with(std::get<std::string>(wanted));
    if (op == "contains") return std::get<std::string>(value).find(std::get<std::string>(wanted)) != std::string::npos;
    if (op == "like") return matches(std::get<std::string>(value), std::get<std::string>(wanted));
    const int o = order(value, wanted);
    if (op == "=") return o == 0;
    if (op == "<") return o < 0;
    if (op == "<=") return o <= 0;
    if (op == ">") return o > 0;
    return o >= 0;
}

truth holds(const arrow_schema& schema, const json::value& p, const cells& row) {
    const auto& o = p.as_object();
    const auto op = text(o.at("op"));
    if (op == "true" || op == "false") return op == "true";
    if (op == "not") {
        const auto inner = holds(schema, o.at("arg"), row);
        return inner ? truth(!*inner) : inner;
    }
    if (op == "and" || op == "or") {
        truth out = op == "and";
        for (const auto& arg : o.at("args").as_array()) {
            const auto t = holds(schema, arg, row);
            if (t && *t == (op == "or")) return t;
            if (!t) out = t;
        }
        return out;
    }
    const auto at = place(schema, o.at("column"));
    const auto type = type_of(schema.column(at));
    const auto& value = row[static_cast<std::size_t>(at)];
    if (op == "is_null" || op == "is_not_null") return is_null(value) == (op == "is_null");
    if (op != "in") return compare(op, value, cell_of(o.at("value"), type));
    truth out = false;
    for (const auto& wanted : o.at("values").as_array()) {
        const auto t = compare("=", value, cell_of(wanted, type));
        if (t && *t) return true;
        if (!t) out = t;
    }
    return out;
}

const json::array& list(const json::object& o, const char* name) {
    static const json::array none;
    const auto* found = o.if_contains(name);
    return found && found->is_array() ? found->get_array() : none;
}

std::string ddl_of(const arrow_schema& schema, const std::vector<int>& places) {
    std::vector<std::string> names;
    for (const auto at : places) names.emplace_back(name_of(schema.column(at)));
    return to_ddl(*select_columns(*schema.get(), names).get());
}

cell aggregate(const json::object& f, const arrow_schema& schema, const std::vector<const cells*>& rows) {
    const auto op = text(f.at("op"));
    if (op == "count_star") return static_cast<std::int64_t>(rows.size());
    const auto at = static_cast<std::size_t>(place(schema, f.at("column")));
    std::int64_t count = 0;
    cell out;
    for (const auto* row : rows) {
        const auto& value = (*row)[at];
        if (is_null(value)) continue;
        ++count;
        if (is_null(out)) {
            out = value;
        } else if (op == "sum") {
            if (auto* real = std::get_if<double>(&out))
                *real += std::get<double>(value);
            else
                std::get<std::int64_t>(out) += std::get<std::int64_t>(value);
        } else if ((order(value, out) < 0) == (op == "min") && order(value, out) != 0) {
            out = value;
        }
    }
    return op == "count" ? cell(count) : out;
}

struct by_cells {
    bool operator()(const cells& a, const cells& b) const {
        for (std::size_t i = 0; i < a.size(); ++i) {
            if (a[i].index() != b[i].index()) return a[i].index() < b[i].index();
            if (const auto o = is_null(a[i]) ? 0 : order(a[i], b[i])) return o < 0;
        }
        return false;
    }
};

}  // namespace

honest_source::honest_source(scripted_plugin& plugin, std::string ddl, std::vector<cells> rows)
    : plugin_(plugin), schema_(parse_ddl(ddl)), rows_(std::move(rows)) {
    plugin_.ddl = std::move(ddl);
    plugin_.metadata = R"({"ingestion_type":"snapshot","primary_keys":["id"]})";
    plugin_.plan_scan = [this](const script_call& call) { return plan(call); };
    plugin_.read_table = [this](const script_call& call) { return read(call, -1); };
    plugin_.get_partitions = [this](const script_call&) {
        std::string out;
        for (int i = 0; i < can.partitions; ++i) out += (i ? ",{\"part\":" : "{\"part\":") + std::to_string(i) + "}";
        return "[" + out + "]";
    };
    plugin_.read_partition = [this](const script_call& call) {
        return read(call, static_cast<int>(json::parse(call.descriptor).at("part").as_int64()));
    };
}

std::string honest_source::answer(const json::value& conjunct) const {
    if (can.filters != "some") return can.filters;
    const auto& o = conjunct.as_object();
    const auto* column = o.if_contains("column");
    const auto name = column ? text(column->as_array().at(0)) : std::string();
    const auto op = text(o.at("op"));
    const bool plain = op == "=" || op == "<" || op == "<=" || op == ">" || op == ">=" || op == "in";
    return plain && (name == "id" || name == "name" || name == "amount") ? "exact" : "no";
}

std::string honest_source::plan(const script_call& call) const {
    const auto request = json::parse(call.request).as_object();
    json::object reply;
    json::object scan;
    json::array answers;
    json::array taken;
    bool exact = true;
    for (const auto& p : list(request, "filters")) {
        const auto a = answer(p);
        answers.push_back(json::string(a));
        exact = exact && a == "exact";
        if (a != "no") taken.push_back(p);
    }
    if (!answers.empty()) reply["filters"] = answers;
    scan["filters"] = taken;
    std::vector<int> places;
    for (std::int64_t i = 0; i < schema_.columns(); ++i) places.push_back(static_cast<int>(i));
    const auto take = [&](const char* name, const std::string& a) {
        const auto* wanted = request.if_contains(name);
        if (!wanted) return;
        reply[name] = a;
        if (a != "no") scan[name] = *wanted;
    };
    if (exact) {
        take("aggregate", can.partitions > 1 && can.aggregate == "exact" ? "partial" : can.aggregate);
        const bool ordered = !request.contains("order_by") || can.order_by != "no";
        take("order_by", can.limit == "no" ? "no" : can.order_by);
        take("limit", ordered ? can.partitions > 1 && can.limit == "exact" ? "partial" : can.limit : "no");
        take("offset", ordered && can.limit != "no" && can.partitions == 1 ? can.offset : "no");
    }
    take("columns", can.columns);
    json::array schema;
    if (const auto* a = scan.if_contains("aggregate")) {
        for (const auto& path : a->at("group_by").as_array()) {
            const auto& column = schema_.column(place(schema_, path));
            schema.push_back({{"name", std::string(name_of(column))}, {"type", column.format}});
        }
        int n = 0;
        for (const auto& f : a->at("functions").as_array()) {
            const auto op = text(f.at("op"));
            std::string type = "l";
            if (op != "count_star" && op != "count") {
                const auto& column = schema_.column(place(schema_, f.at("column")));
                const auto t = type_of(column);
                type = column.format;
                if (op == "sum" && t.id == type_id::int32) type = "l";
                if (op == "sum" && t.id == type_id::decimal128) type = "d:38," + std::to_string(t.scale);
            }
            schema.push_back({{"name", "a" + std::to_string(n++)}, {"type", type}});
        }
        reply["schema"] = schema;
    } else if (scan.contains("columns")) {
        for (const auto& path : scan["columns"].as_array()) {
            const auto& column = schema_.column(place(schema_, path));
            schema.push_back({{"name", std::string(name_of(column))}, {"type", column.format}});
        }
        reply["schema"] = schema;
    }
    reply["scan"] = scan;
    return json::serialize(reply);
}

script_read honest_source::read(const script_call& call, int part) const {
    const auto scan = json::parse(call.scan).as_object();
    std::vector<const cells*> rows;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        if (part >= 0 && static_cast<int>(i) % can.partitions != part) continue;
        const auto& filters = list(scan, "filters");
        // A partial filter lets every third row through whatever it says.
        const bool spared = can.filters == "partial" && i % 3 == 0;
        const bool passes = spared || std::all_of(filters.begin(), filters.end(), [&](const json::value& p) {
                                return holds(schema_, p, rows_[i]).value_or(false);
                            });
        if (passes) rows.push_back(&rows_[i]);
    }
    script_read out;
    std::vector<cells> result;
    if (const auto* a = scan.if_contains("aggregate")) {
        std::map<cells, std::vector<const cells*>, by_cells> groups;
        for (const auto* row : rows) {
            cells key;
            for (const auto& path : a->at("group_by").as_array())
                key.push_back((*row)[static_cast<std::size_t>(place(schema_, path))]);
            groups[key].push_back(row);
        }
        // Without keys there is one group, of no rows too; a partial source may leave that out.
        if (a->at("group_by").as_array().empty() && part <= 0) groups[{}];
        for (const auto& [key, members] : groups) {
            auto line = key;
            for (const auto& f : a->at("functions").as_array())
                line.push_back(aggregate(f.as_object(), schema_, members));
            result.push_back(std::move(line));
        }
        std::string ddl;
        for (const auto& path : a->at("group_by").as_array()) {
            const auto& column = schema_.column(place(schema_, path));
            ddl += (ddl.empty() ? "" : ", ") + std::string(name_of(column)) + " " + type_name(column);
        }
        int n = 0;
        for (const auto& f : a->at("functions").as_array()) {
            const auto op = text(f.at("op"));
            std::string type = "BIGINT";
            if (op != "count_star" && op != "count") {
                const auto& column = schema_.column(place(schema_, f.at("column")));
                const auto t = type_of(column);
                type = type_name(column);
                if (op == "sum" && t.id == type_id::int32) type = "BIGINT";
                if (op == "sum" && t.id == type_id::decimal128) type = "DECIMAL(38," + std::to_string(t.scale) + ")";
            }
            ddl += (ddl.empty() ? "a" : ", a") + std::to_string(n++) + " " + type;
        }
        out.ddl = ddl;
    } else {
        const auto& keys = list(scan, "order_by");
        std::stable_sort(rows.begin(), rows.end(), [&](const cells* a, const cells* b) {
            for (const auto& key : keys) {
                const auto at = static_cast<std::size_t>(place(schema_, key.at("column")));
                const auto& x = (*a)[at];
                const auto& y = (*b)[at];
                if (is_null(x) != is_null(y)) return is_null(x) == key.at("nulls_first").as_bool();
                const int o = is_null(x) ? 0 : order(x, y);
                if (o != 0) return (o < 0) != key.at("descending").as_bool();
            }
            return false;
        });
        const auto* offset = scan.if_contains("offset");
        const auto* limit = scan.if_contains("limit");
        const auto skip = std::min(rows.size(), offset ? static_cast<std::size_t>(offset->as_int64()) : 0);
        rows.erase(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(skip));
        if (limit && rows.size() > static_cast<std::size_t>(limit->as_int64()))
            rows.resize(static_cast<std::size_t>(limit->as_int64()));
        std::vector<int> places;
        if (scan.contains("columns")) {
            for (const auto& path : scan.at("columns").as_array()) places.push_back(place(schema_, path));
        } else {
            for (std::int64_t i = 0; i < schema_.columns(); ++i) places.push_back(static_cast<int>(i));
        }
        for (const auto* row : rows) {
            cells line;
            for (const auto at : places) line.push_back((*row)[static_cast<std::size_t>(at)]);
            result.push_back(std::move(line));
        }
        out.ddl = places.empty() ? "-" : ddl_of(schema_, places);
    }
    const auto half = static_cast<std::ptrdiff_t>(result.size() / 2);
    if (half) out.batches.emplace_back(result.begin(), result.begin() + half);
    if (!result.empty()) out.batches.emplace_back(result.begin() + half, result.end());
    return out;
}

}  // namespace lakeflow::host::testing
