// plugins/http_api/scan.cpp: see scan.hpp.
#include "scan.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "predicate.hpp"

namespace lakeflow::http_api {
namespace {

bool is_text(const type& of) { return of.kind() == type_kind::text || of.kind() == type_kind::large_text; }

bool is_nested(const type& of) {
    return of.kind() == type_kind::list || of.kind() == type_kind::structure || of.kind() == type_kind::map;
}

bool contains(const std::vector<std::string>& words, std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

// A column by its path, which has to be one name.
const field* named(const schema& columns, const json& path) {
    return column_of(columns, json::object({{"column", path}}));
}

json schema_json(const schema& columns) {
    json out = json::array();
    for (const field& one : columns.fields()) out.push(json::object({{"name", one.name}, {"type", one.type.format()}}));
    return out;
}

class planner {
  public:
    planner(const table& of, const json& request)
        : of_(of.of()), columns_(of.columns()), request_(request), output_(columns_) {}

    json run() {
        reply_ = json::object();
        scan_ = json::object();
        filters();
        if (request_.find("aggregate") != nullptr) aggregate();
        if (request_.find("limit") != nullptr || request_.find("order_by") != nullptr ||
            request_.find("offset") != nullptr) {
            limit();
        }
        if (request_.find("columns") != nullptr) choose_columns();
        if (request_.find("sample") != nullptr) reply_.set("sample", "no");
        reply_.set("schema", schema_json(output_));
        reply_.set("scan", scan_);
        return reply_;
    }

  private:
    // The first who names a parameter has it: what a service makes of one that comes twice is anyone's guess.
    void filters() {
        const json* asked = request_.find("filters");
        if (asked == nullptr) return;
        const auto& all = asked->items();
        std::vector<std::string> answers(all.size(), "no");
        std::vector<std::optional<bool>> pushed(all.size());
        json sent = json::array(), checks = json::array();
        std::set<std::string> taken;
        for (std::size_t i = 0; i < all.size(); ++i) {
            auto one = push_filter(of_, columns_, all[i]);
            if (!one || !taken.insert(one->sent.name).second) continue;
            pushed[i] = one->exact;
            answers[i] = one->exact ? "exact" : "partial";
            sent.push(json::object({{"name", one->sent.name}, {"value", one->sent.value}}));
            if (one->exact) checks.push(all[i]);
        }
        // A comparison that the service applies leaves no null behind.
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (pushed[i] || all[i].text("op") != "is_not_null") continue;
            const field* column = column_of(columns_, all[i]);
            for (std::size_t j = 0; j < all.size() && column != nullptr; ++j) {
                if (!pushed[j] || !drops_nulls(all[j]) || subject(all[j]) != column) continue;
                if (*pushed[j]) {
                    answers[i] = "exact";
                    checks.push(all[i]);
                    break;
                }
                answers[i] = "partial";
            }
        }
        all_exact_ = std::all_of(answers.begin(), answers.end(), [](const auto& one) { return one == "exact"; });
        reply_.set("filters", json::array_of(answers));
        if (!sent.empty()) scan_.set("filters", std::move(sent));
        if (!checks.empty()) scan_.set("checks", std::move(checks));
    }

    static bool drops_nulls(const json& conjunct) {
        const std::string op = conjunct.text("op");
        return op != "is_null" && op != "is_not_null" && op != "<=>";
    }

    const field* subject(const json& conjunct) const {
        const json* inner = conjunct.find("arg");
        return column_of(columns_, inner == nullptr ? conjunct : *inner);
    }

    void aggregate() {
        reply_.set("aggregate", "no");
        if (!of_.aggregate || !all_exact_) return;
        const json& wanted = request_.at("aggregate");
        schema out;
        json groups = json::array(), functions = json::array();
        if (const json* by = wanted.find("group_by")) {
            for (const json& path : by->items()) {
                const field* column = named(columns_, path);
                if (column == nullptr || is_nested(column->type) || of_.aggregate->group_by.empty()) return;
                if (!groups_by(column->name) || out.find(column->name) != nullptr) return;
                groups.push(column->name);
                out.add(column->name, column->type);
            }
        }
        for (const json& function : wanted.at("functions").items()) {
            const std::string op = function.text("op");
            if (!contains(of_.aggregate->allowed, op == "count_star" ? "count" : op)) return;
            std::string text = "count(*)";
            type result = type::int64();
            if (op != "count_star") {
                const field* column = named(columns_, function.at("column"));
                if (column == nullptr || is_nested(column->type)) return;
                text = op + "(" + column->name + ")";
                const auto found = result_of(op, column->type);
                if (!found) return;
                result = *found;
            }
            if (out.find(text) != nullptr) return;
            functions.push(text);
            out.add(text, result);
        }
        if (functions.empty()) return;
        if (scan_.find("filters") == nullptr) scan_.set("filters", json::array());
        scan_.set("aggregate", json::object({{"group_by", groups}, {"functions", functions}, {"schema", out.ddl()}}));
        reply_.set("aggregate", "exact");
        output_ = out;
    }

    bool groups_by(const std::string& name) const {
        const auto same = [&](const std::string& other) {
            return named(columns_, json::array({other})) == columns_.find(name);
        };
        if (!of_.aggregate->columns.empty()) {
            return std::any_of(of_.aggregate->columns.begin(), of_.aggregate->columns.end(), same);
        }
        return of_.filters.empty() || std::any_of(of_.filters.begin(), of_.filters.end(),
                                                  [&](const filter_rule& one) { return same(one.column); });
    }

    static std::optional<type> result_of(const std::string& op, const type& of) {
        if (op == "count") return type::int64();
        // Text has no one order, and what is no number has no sum.
        if (op == "min" || op == "max") return is_text(of) ? std::nullopt : std::optional(of);
        switch (of.kind()) {
            case type_kind::int8:
            case type_kind::int16:
            case type_kind::int32:
            case type_kind::int64: return type::decimal(38, 0);
            case type_kind::decimal: return type::decimal(38, of.scale());
            case type_kind::float32:
            case type_kind::float64: return type::float64();
            default: return std::nullopt;
        }
    }

    // Top-N and limit: only what leaves out no row that belongs to the answer.
    void limit() {
        const json* order = request_.find("order_by");
        const json* rows = request_.find("limit");
        const json* skip = request_.find("offset");
        const bool can = all_exact_ && rows != nullptr && of_.for_each.empty() && scan_.find("aggregate") == nullptr;
        const auto sorted = can && order != nullptr ? sort_parameters(*order) : std::nullopt;
        const bool ordered = order == nullptr || order->empty() || sorted.has_value();
        const bool skips = skip == nullptr || (of_.paging.kind == paging_kind::offset && can && ordered);
        const bool limits = can && ordered && skips;
        if (order != nullptr) reply_.set("order_by", limits && sorted ? "exact" : "no");
        if (rows != nullptr) reply_.set("limit", limits ? "exact" : "no");
        if (skip != nullptr) reply_.set("offset", limits ? "exact" : "no");
        if (!limits) return;
        scan_.set("limit", *rows);
        if (skip != nullptr) scan_.set("offset", *skip);
        if (sorted && !sorted->empty()) scan_.set("order", *sorted);
    }

    // The request's parameters of an order; nothing where the service may sort otherwise.
    std::optional<json> sort_parameters(const json& order) const {
        if (!of_.sort) return order.empty() ? std::optional(json::array()) : std::nullopt;
        const sort_rule& rule = *of_.sort;
        std::string by, directions, single;
        const auto join = [](std::string& into, const std::string& one) { into += (into.empty() ? "" : ",") + one; };
        for (const json& key : order.items()) {
            const field* column = named(columns_, key.at("column"));
            if (column == nullptr || is_nested(column->type)) return std::nullopt;
            const bool declared = std::any_of(rule.columns.begin(), rule.columns.end(), [&](const std::string& one) {
                return named(columns_, json::array({one})) == column;
            });
            if (!rule.columns.empty() ? !declared : is_text(column->type)) return std::nullopt;
            const bool down = key.boolean("descending");
            if (column->nullable && !nulls_fit(rule.nulls, down, key.boolean("nulls_first", !down)))
                return std::nullopt;
            join(by, column->name);
            join(directions, down ? "desc" : "asc");
            sent_value as;
            as.pattern = down ? rule.descending : rule.ascending;
            join(single, as.fill(column->name));
        }
        json out = json::array();
        if (rule.param.empty()) {
            out.push(json::object({{"name", rule.by}, {"value", by}}));
            out.push(json::object({{"name", rule.order}, {"value", directions}}));
        } else {
            out.push(json::object({{"name", rule.param}, {"value", single}}));
        }
        return out;
    }

    static bool nulls_fit(const std::string& declared, bool down, bool first) {
        if (declared == "first") return first;
        if (declared == "last") return !first;
        if (declared == "smallest") return first == !down;
        if (declared == "largest") return first == down;
        return false;
    }

    void choose_columns() {
        reply_.set("columns", "no");
        if (scan_.find("aggregate") != nullptr) return;
        std::vector<std::string> names;
        for (const json& path : request_.at("columns").items()) {
            const field* column = named(columns_, path);
            if (column == nullptr || contains(names, column->name)) return;
            names.push_back(column->name);
        }
        output_ = columns_.select(names);
        scan_.set("columns", json::array_of(names));
        reply_.set("columns", "exact");
    }

    const resource& of_;
    const schema& columns_;
    const json& request_;
    schema output_;
    json reply_, scan_;
    bool all_exact_ = true;
};

}  // namespace

json plan_scan(const table& of, const json& request) {
    static const std::vector<std::string> known{"columns", "filters", "aggregate", "order_by",
                                                "limit",   "offset",  "sample",    "num_partitions"};
    for (const json::member& one : request.members()) {
        if (!contains(known, one.name)) throw unsupported("a scan with '" + one.name + "' is not known here");
    }
    return planner(of, request).run();
}

json explain_scan(const table& of, const json& scan, const declaration& all) {
    const resource& resource = of.of();
    std::string columns, filters;
    schema output = of.columns();
    if (const json* names = scan.find("columns")) {
        std::vector<std::string> wanted;
        for (const json& one : names->items()) wanted.push_back(one.as_text());
        output = output.select(wanted);
    }
    if (const json* aggregate = scan.find("aggregate")) output = schema::ddl(aggregate->text("schema"));
    for (const field& one : output.fields()) columns += (columns.empty() ? "" : ",") + one.name;
    if (const json* checks = scan.find("checks")) {
        for (const json& one : checks->items()) filters += (filters.empty() ? "" : ", ") + describe(one);
    }
    json lines = json::array();
    static constexpr std::string_view kinds[] = {"none", "page", "offset", "cursor", "last_id", "link", "next_url"};
    lines.push("Paging: " + std::string(kinds[static_cast<std::size_t>(resource.paging.kind)]) + ", " +
               std::to_string(resource.page_size()) + " rows a request");
    url_parts shown = url_parts::split(all.base_url);
    shown.query.reset();
    return json::object(
        {{"table", "http-api:" + shown.join() + " " + resource.name},
         {"description", "http-api." + resource.name + "[schema=" + columns + ", filters=[" + filters + "]]"},
         {"lines", lines},
         {"requests", json::array_of(of.requests(scan))}});
}

}  // namespace lakeflow::http_api
