// host/query/aggregate.cpp: which aggregation a statement is, and the statement over groups that a source gave. See
// statement.h. Groups are combined whether the source said that they are complete or not: of one group that changes nothing.
#include <algorithm>
#include <functional>

#include "host/arrow/schema.h"
#include "host/base/text.h"
#include "host/base/time.h"
#include "host/query/statement.h"

namespace lakeflow::host {
namespace {

namespace json = boost::json;

std::string_view text_of(const json::object& object, const char* name) {
    const auto* found = object.if_contains(name);
    const auto* text = found ? found->if_string() : nullptr;
    return text ? std::string_view(text->data(), text->size()) : std::string_view();
}

bool is_set(const json::object& object, const char* name) {
    const auto* found = object.if_contains(name);
    return found && !found->is_null() && !(found->is_bool() && !found->get_bool());
}

const json::array& list_in(const json::object& object, const char* name) {
    static const json::array none;
    const auto* found = object.if_contains(name);
    const auto* list = found ? found->if_array() : nullptr;
    return list ? *list : none;
}

bool is_number(const column_type& type) {
    switch (type.id) {
        case type_id::int8:
        case type_id::int16:
        case type_id::int32:
        case type_id::int64:
        case type_id::float32:
        case type_id::float64:
        case type_id::decimal128: return true;
        default: return false;
    }
}

bool is_plain(const column_type& type) {
    return type.id != type_id::list && type.id != type_id::map && type.id != type_id::struct_ &&
           type.id != type_id::null_ && type.id != type_id::binary && type.id != type_id::large_binary;
}

column_type type_at(const arrow_schema& schema, const column_path& path) {
    const ArrowSchema* node = schema.get();
    for (const auto& part : path) node = node->children[find_column(*node, part)];
    return type_of(*node);
}

// What a call of an aggregate needs of the source: nothing for what is none, or none that may be pushed.
std::optional<std::vector<aggregate_function>> needs(const json::object& call, const sql_scope& scope) {
    if (text_of(call, "class") != "FUNCTION") return std::nullopt;
    const auto name = text_of(call, "function_name");
    const auto& children = list_in(call, "children");
    const auto* order = call.if_contains("order_bys");
    const auto* ordered = order ? order->if_object() : nullptr;
    const bool plain = !is_set(call, "filter") && !is_set(call, "distinct") && !is_set(call, "export_state") &&
                       (!ordered || list_in(*ordered, "orders").empty());
    if (!plain) return std::nullopt;
    if (name == "count_star" || (name == "count" && children.empty()))
        return std::vector<aggregate_function>{{aggregate_op::count_star, {}}};
    if (children.size() != 1) return std::nullopt;
    const auto path = column_of(children[0], scope);
    if (!path) return std::nullopt;
    const auto type = type_at(scope.schema, *path);
    using list = std::vector<aggregate_function>;
    if (name == "count" && is_plain(type)) return list{{aggregate_op::count, *path}};
    if (name == "sum" && is_number(type)) return list{{aggregate_op::sum, *path}};
    if (name == "min" && is_plain(type)) return list{{aggregate_op::min, *path}};
    if (name == "max" && is_plain(type)) return list{{aggregate_op::max, *path}};
    if ((name == "avg" || name == "mean") && is_number(type))
        return list{{aggregate_op::sum, *path}, {aggregate_op::count, *path}};
    return std::nullopt;
}

bool is_aggregate_name(std::string_view name) {
    for (const std::string_view known : {"count_star", "count", "sum", "min", "max", "avg", "mean"}) {
        if (name == known) return true;
    }
    return false;
}

// What a GROUP BY names: a column, or the number of one of the select list.
std::optional<column_path> group_column(const json::object& node, const json::value& expression,
                                        const sql_scope& scope) {
    if (auto path = column_of(expression, scope)) return path;
    const auto* object = expression.if_object();
    const auto* held = object && text_of(*object, "type") == "VALUE_CONSTANT" ? object->if_contains("value") : nullptr;
    const auto* number = held && held->is_object() ? held->get_object().if_contains("value") : nullptr;
    const auto& select = list_in(node, "select_list");
    if (!number || !number->is_int64() || number->get_int64() < 1 ||
        static_cast<std::size_t>(number->get_int64()) > select.size())
        return std::nullopt;
    return column_of(select[static_cast<std::size_t>(number->get_int64() - 1)], scope);
}

// Goes through the expressions of an aggregated statement: what is an aggregate, a group's column, or made of such.
class walk {
  public:
    walk(const json::object& node, const sql_scope& scope, aggregation& found)
        : node_(node), scope_(scope), found_(found) {}

    bool expression(const json::value& v) {
        if (const auto* list = v.if_array())
            return std::all_of(list->begin(), list->end(), [&](const json::value& e) { return expression(e); });
        const auto* o = v.if_object();
        if (!o) return true;
        const auto kind = text_of(*o, "class");
        if (kind == "STAR" || kind == "WINDOW" || kind == "SUBQUERY" || kind == "LAMBDA") return false;
        if (kind == "COLUMN_REF") return column(v, *o);
        if (kind == "FUNCTION") {
            if (const auto functions = needs(*o, scope_)) {
                for (const auto& f : *functions) {
                    if (std::find(found_.functions.begin(), found_.functions.end(), f) == found_.functions.end())
                        found_.functions.push_back(f);
                }
                return true;
            }
            // Any other may be an aggregate that is not known here.
            if (is_aggregate_name(text_of(*o, "function_name")) || !is_set(*o, "is_operator")) return false;
        }
        return std::all_of(o->begin(), o->end(), [&](const auto& member) { return expression(member.value()); });
    }

  private:
    bool column(const json::value& v, const json::object& o) const {
        const auto& names = list_in(o, "column_names");
        const auto* name = names.size() == 1 ? names[0].if_string() : nullptr;
        const json::value* aliased = nullptr;
        for (const auto& item : list_in(node_, "select_list")) {
            const auto* object = item.if_object();
            if (name && object && equal_no_case(text_of(*object, "alias"), std::string_view(*name))) aliased = &item;
        }
        const auto path = column_of(v, scope_);
        // The alias of something in the select list, which is looked at by itself.
        if (!path) return aliased != nullptr;
        // A name that is both an alias and a column means one here and the other there.
        if (aliased && column_of(*aliased, scope_) != path) return false;
        return std::find(found_.group_by.begin(), found_.group_by.end(), *path) != found_.group_by.end();
    }

    const json::object& node_;
    const sql_scope& scope_;
    aggregation& found_;
};

bool is_one_group_set(const json::object& node, std::size_t groups) {
    const auto& sets = list_in(node, "group_sets");
    if (groups == 0) return sets.empty();
    if (sets.size() != 1 || !sets[0].is_array() || sets[0].get_array().size() != groups) return false;
    for (std::size_t i = 0; i < groups; ++i) {
        const auto& place = sets[0].get_array()[i];
        const auto n = place.is_uint64()  ? place.get_uint64()
                       : place.is_int64() ? static_cast<std::uint64_t>(place.get_int64())
                                          : groups;
        if (n != i) return false;
    }
    return true;
}

}  // namespace

std::optional<aggregation> aggregation_of(const json::object& node, const sql_scope& scope) {
    aggregation out;
    const auto& groups = list_in(node, "group_expressions");
    if (text_of(node, "aggregate_handling") != "STANDARD_HANDLING" || is_set(node, "qualify") ||
        !is_one_group_set(node, groups.size()))
        return std::nullopt;
    for (const auto& expression : groups) {
        const auto path = group_column(node, expression, scope);
        if (!path || !is_plain(type_at(scope.schema, *path))) return std::nullopt;
        if (std::find(out.group_by.begin(), out.group_by.end(), *path) != out.group_by.end()) return std::nullopt;
        out.group_by.push_back(*path);
    }
    walk w(node, scope, out);
    for (const char* part : {"select_list", "having", "modifiers"}) {
        const auto* found = node.if_contains(part);
        if (found && !w.expression(*found)) return std::nullopt;
    }
    if (out.functions.empty() && out.group_by.empty()) return std::nullopt;
    return out;
}

namespace {

// Puts other expressions in the place of aggregates and group columns.
class replacement {
  public:
    replacement(const sql_scope& scope, const aggregation& a) : scope_(scope), a_(a) {}

    // First round: how many expressions are needed, as SQL. Second round: they are put in.
    std::string collect(const json::value& v) {
        std::string out;
        visit(const_cast<json::value&>(v),
              [&](json::value&, const std::string& sql) { out += (out.empty() ? "" : ", ") + sql; });
        return out;
    }
    void put(json::value& v, const json::array& expressions, std::size_t& next) {
        visit(v, [&](json::value& place, const std::string&) {
            const std::string alias(text_of(place.get_object(), "alias"));
            place = expressions.at(next++);
            place.as_object()["alias"] = alias;
        });
    }

  private:
    using action = std::function<void(json::value&, const std::string&)>;

    void visit(json::value& v, const action& act) {
        if (auto* list = v.if_array()) {
            for (auto& element : *list) visit(element, act);
            return;
        }
        auto* o = v.if_object();
        if (!o) return;
        if (text_of(*o, "class") == "COLUMN_REF") {
            const auto path = column_of(v, scope_);
            if (!path) return;
            const auto at = std::find(a_.group_by.begin(), a_.group_by.end(), *path);
            if (at != a_.group_by.end()) act(v, "k" + std::to_string(at - a_.group_by.begin()));
            return;
        }
        if (const auto functions = needs(*o, scope_)) return act(v, combined(*o, *functions));
        for (auto& member : *o) visit(member.value(), act);
    }

    std::string column(const aggregate_function& f) const {
        const auto at = std::find(a_.functions.begin(), a_.functions.end(), f);
        return "f" + std::to_string(at - a_.functions.begin());
    }

    // In the types that DuckDB's own aggregates have.
    std::string combined(const json::object& call, const std::vector<aggregate_function>& functions) const {
        const auto f = column(functions.front());
        if (functions.size() == 2) return "(CAST(sum(" + f + ") AS DOUBLE) / sum(" + column(functions.back()) + "))";
        const auto name = text_of(call, "function_name");
        switch (functions.front().op) {
            case aggregate_op::count_star:
            case aggregate_op::count: return "CAST(coalesce(sum(" + f + "), 0) AS BIGINT)";
            case aggregate_op::sum: {
                const auto type = type_at(scope_.schema, functions.front().column);
                if (type.id == type_id::float32 || type.id == type_id::float64) return "sum(" + f + ")";
                if (type.id == type_id::decimal128)
                    return "CAST(sum(" + f + ") AS DECIMAL(38," + std::to_string(type.scale) + "))";
                return "CAST(sum(" + f + ") AS HUGEINT)";
            }
            default: return std::string(name) + "(" + f + ")";
        }
    }

    const sql_scope& scope_;
    const aggregation& a_;
};

}  // namespace

void combine_groups(json::object& node, const sql_scope& scope, const aggregation& a,
                    const std::function<json::value(const std::string&)>& expressions,
                    const std::vector<std::string>& output) {
    auto& select = node.at("select_list").as_array();
    for (std::size_t i = 0; i < select.size() && i < output.size(); ++i) {
        if (text_of(select[i].as_object(), "alias").empty()) select[i].as_object()["alias"] = output[i];
    }
    for (const char* part : {"select_list", "group_expressions", "having", "modifiers"}) {
        auto* found = node.if_contains(part);
        if (!found || found->is_null()) continue;
        replacement r(scope, a);
        const auto sql = r.collect(*found);
        if (sql.empty()) continue;
        const auto parsed = expressions(sql);
        std::size_t next = 0;
        r.put(*found, parsed.as_array(), next);
    }
}

}  // namespace lakeflow::host
