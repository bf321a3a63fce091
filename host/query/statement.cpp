// host/query/statement.cpp: see statement.h. The words in capitals are those of DuckDB's json_serialize_sql.
#include "host/query/statement.h"

#include <algorithm>
#include <functional>
#include <set>

#include "host/arrow/schema.h"
#include "host/base/error.h"
#include "host/base/text.h"
#include "host/duck/condition.h"
#include "host/duck/sql.h"

namespace lakeflow::host {
namespace {

namespace json = boost::json;

[[noreturn]] void refuse(const std::string& what) {
    throw failure(error{"config.query", "the query holds " + what,
                        "a query is one SELECT over one table of the plugin; land the tables and join them there",
                        retry_class::invalid});
}

std::string_view text_of(const json::object& object, const char* name) {
    const auto* found = object.if_contains(name);
    const auto* text = found ? found->if_string() : nullptr;
    return text ? std::string_view(text->data(), text->size()) : std::string_view();
}

const json::object* object_in(const json::object& object, const char* name) {
    const auto* found = object.if_contains(name);
    return found ? found->if_object() : nullptr;
}

const json::array& list_in(const json::object& object, const char* name) {
    static const json::array none;
    const auto* found = object.if_contains(name);
    const auto* list = found ? found->if_array() : nullptr;
    return list ? *list : none;
}

// Every object below a value, itself first, until `visit` says true.
bool any_object(const json::value& part, const std::function<bool(const json::object&)>& visit) {
    if (const auto* object = part.if_object()) {
        if (visit(*object)) return true;
        return std::any_of(object->begin(), object->end(),
                           [&](const auto& member) { return any_object(member.value(), visit); });
    }
    const auto* list = part.if_array();
    return list && std::any_of(list->begin(), list->end(), [&](const json::value& v) { return any_object(v, visit); });
}

// Functions of which it is known that they make one value of each row.
bool is_scalar(const json::object& function) {
    static const std::set<std::string_view> known{
        "lower", "upper",      "length",    "substr",   "substring", "trim",   "ltrim",  "rtrim",       "concat",
        "abs",   "round",      "floor",     "ceil",     "replace",   "left",   "right",  "year",        "month",
        "day",   "date_trunc", "date_part", "strftime", "contains",  "prefix", "suffix", "starts_with", "ends_with"};
    const auto* is_operator = function.if_contains("is_operator");
    return (is_operator && is_operator->is_bool() && is_operator->get_bool()) ||
           known.contains(text_of(function, "function_name"));
}

std::optional<std::int64_t> whole(const json::value& expression) {
    const auto* object = expression.if_object();
    if (!object || text_of(*object, "type") != "VALUE_CONSTANT") return std::nullopt;
    const auto* held = object_in(*object, "value");
    const auto* number = held ? held->if_contains("value") : nullptr;
    if (!number || !number->is_int64()) return std::nullopt;
    const auto* type = object_in(*held, "type");
    const auto id = type ? text_of(*type, "id") : std::string_view();
    if (id != "INTEGER" && id != "BIGINT") return std::nullopt;
    return number->get_int64();
}

bool is_nested(const predicate& p) {
    return p.type.id == type_id::list || p.type.id == type_id::map || p.type.id == type_id::struct_;
}

const ArrowSchema& node_at(const ArrowSchema& top, const column_path& path) {
    const ArrowSchema* node = &top;
    for (const auto& part : path) node = node->children[find_column(*node, part)];
    return *node;
}

}  // namespace

statement::statement(duck::connection& c, const std::string& sql)
    : c_(c), tree_(duck::parse_sql(c, sql, "config.query")) {
    check_shape();
    const auto& from = *object_in(node(), "from_table");
    for (const char* part : {"catalog_name", "schema_name", "table_name"}) {
        if (const auto name = text_of(from, part); !name.empty()) table_.emplace_back(name);
    }
    const auto alias = text_of(from, "alias");
    qualifiers_.push_back(alias.empty() ? table_.back() : std::string(alias));
}

void statement::check_shape() const {
    const auto& statements = list_in(tree_.get_object(), "statements");
    if (statements.size() != 1) refuse(std::to_string(statements.size()) + " statements");
    if (text_of(node(), "type") != "SELECT_NODE") {
        refuse("a " + lower_ascii(text_of(node(), "type")) + " (UNION, EXCEPT, INTERSECT, a recursive WITH)");
    }
    const auto* with = object_in(node(), "cte_map");
    if (with && !list_in(*with, "map").empty()) refuse("a WITH");
    const auto* from = object_in(node(), "from_table");
    const auto kind = from ? text_of(*from, "type") : std::string_view();
    if (kind == "JOIN") refuse("a join");
    if (kind == "EMPTY" || kind.empty()) refuse("no table to read from");
    if (kind == "TABLE_FUNCTION") refuse("a table function");
    if (kind != "BASE_TABLE") refuse("a " + lower_ascii(kind) + " in the place of a table");
    if (!list_in(*from, "column_name_alias").empty()) refuse("names for the table's columns");
    any_object(tree_, [](const json::object& o) {
        const auto kind_of = text_of(o, "class");
        if (kind_of == "SUBQUERY") refuse("a subquery");
        if (kind_of == "PARAMETER") refuse("a parameter");
        return false;
    });
}

void statement::bind(std::shared_ptr<const arrow_schema> schema) {
    schema_ = std::move(schema);
    wish_ = {};
    further_.clear();
    std::set<std::string> taken;
    duck_names_.clear();
    for (std::int64_t i = 0; i < schema_->columns(); ++i) {
        std::string name(name_of(schema_->column(i)));
        while (!taken.insert(lower_ascii(name)).second) name += "#";
        duck_names_.push_back(name);
    }
    bind_sample();
    bind_where();
    bind_columns();
    if (!where_after_sample_) wish_.aggregate = aggregation_of(node(), scope());
    bind_limit();
}

// A sample of so many rows is drawn before any row is left out, so then the source does nothing but columns.
void statement::bind_sample() {
    where_after_sample_ = false;
    const auto* here = object_in(*object_in(node(), "from_table"), "sample");
    const auto* behind = object_in(node(), "sample");
    if (!here && !behind) return;
    const auto& sample = here ? *here : *behind;
    const auto method = lower_ascii(text_of(sample, "method"));
    const auto* percent = sample.if_contains("is_percentage");
    const auto* size = object_in(sample, "sample_size");
    const auto* number = size ? size->if_contains("value") : nullptr;
    const bool by_rows = (method == "bernoulli" || method == "system") && percent && percent->is_bool() &&
                         percent->get_bool() && number && number->is_number();
    if (!by_rows || (here && behind)) {
        where_after_sample_ = true;
        return;
    }
    sample_wish out;
    out.method = method;
    predicate fraction;
    out.fraction = to_text(literal(number->to_number<double>() / 100), column_type{type_id::float64});
    const auto* seed = sample.if_contains("seed");
    if (seed && seed->is_int64() && seed->get_int64() >= 0) out.seed = seed->get_int64();
    wish_.sample = std::move(out);
}

void statement::bind_where() {
    const auto* where = node().if_contains("where_clause");
    if (!where || where->is_null()) return;
    std::vector<predicate> known;
    for (const auto* part : conjunct_nodes(*where)) {
        std::string why;
        auto p = where_after_sample_ ? std::nullopt : predicate_of(*part, scope(), why);
        if (p)
            known.push_back(*std::move(p));
        else
            further_.push_back(*part);
    }
    wish_.filters = conjuncts_of(make_list(predicate_op::and_, std::move(known)));
    wish_.further_filters = !further_.empty() || where_after_sample_;
}

void statement::add_places(const value& part, std::vector<bool>& used) const {
    any_object(part, [&](const json::object& o) {
        const auto kind = text_of(o, "class");
        if (kind == "STAR") used.assign(used.size(), true);
        if (kind != "COLUMN_REF") return false;
        if (const auto path = column_of(json::value(o), scope())) {
            used[static_cast<std::size_t>(find_column(*schema_->get(), path->front()))] = true;
            return false;
        }
        // The table's own name is a struct of all its columns.
        const auto& names = list_in(o, "column_names");
        const auto* only = names.size() == 1 ? names[0].if_string() : nullptr;
        if (only && equal_no_case(std::string_view(*only), qualifiers_.front())) used.assign(used.size(), true);
        return false;
    });
}

void statement::bind_columns() {
    std::vector<bool> used(static_cast<std::size_t>(schema_->columns()), false);
    for (const char* part : {"select_list", "group_expressions", "having", "qualify", "modifiers"}) {
        if (const auto* found = node().if_contains(part)) add_places(*found, used);
    }
    for (const auto& part : further_) add_places(part, used);
    for (std::size_t i = 0; i < used.size(); ++i) {
        if (used[i]) wish_.columns.push_back(static_cast<std::int64_t>(i));
    }
}

// What an ORDER BY means: a column of the result by name or number, or the expression itself.
const json::value* statement::selected(const value& expression) const {
    const auto& select = list_in(node(), "select_list");
    if (const auto place = whole(expression)) {
        const bool there = *place >= 1 && static_cast<std::size_t>(*place) <= select.size();
        return there ? &select[static_cast<std::size_t>(*place - 1)] : nullptr;
    }
    const auto* object = expression.if_object();
    const auto& names = object ? list_in(*object, "column_names") : list_in({}, "");
    if (names.size() == 1 && names[0].is_string()) {
        for (const auto& item : select) {
            const auto* o = item.if_object();
            if (o && equal_no_case(text_of(*o, "alias"), std::string_view(names[0].get_string()))) return &item;
        }
    }
    return &expression;
}

std::optional<std::vector<order_key>> statement::order_keys() const {
    std::vector<order_key> out;
    for (const auto& modifier : list_in(node(), "modifiers")) {
        const auto& m = modifier.as_object();
        if (text_of(m, "type") != "ORDER_MODIFIER") continue;
        for (const auto& order : list_in(m, "orders")) {
            const auto& o = order.as_object();
            const auto* expression = o.if_contains("expression");
            const auto* meant = expression ? selected(*expression) : nullptr;
            const auto path = meant ? column_of(*meant, scope()) : std::nullopt;
            if (!path) return std::nullopt;
            predicate p;
            p.type = type_of(node_at(*schema_->get(), *path));
            if (is_nested(p)) return std::nullopt;
            out.push_back({*path, text_of(o, "type") == "DESCENDING", text_of(o, "null_order") == "NULLS FIRST"});
        }
    }
    return out;
}

std::optional<std::int64_t> statement::limit_constant(const char* name) const {
    for (const auto& modifier : list_in(node(), "modifiers")) {
        const auto& m = modifier.as_object();
        if (text_of(m, "type") != "LIMIT_MODIFIER") continue;
        const auto* found = m.if_contains(name);
        if (!found || found->is_null()) return 0;
        const auto n = whole(*found);
        return n && *n >= 0 ? n : std::nullopt;
    }
    return std::nullopt;
}

// A limit cuts what the source gives only where each row of the source is one row of the result.
void statement::bind_limit() {
    if (where_after_sample_ || !list_in(node(), "group_expressions").empty() || !list_in(node(), "group_sets").empty())
        return;
    if (text_of(node(), "aggregate_handling") != "STANDARD_HANDLING") return;
    for (const char* part : {"having", "qualify"}) {
        const auto* found = node().if_contains(part);
        if (found && !found->is_null()) return;
    }
    bool limited = false;
    for (const auto& modifier : list_in(node(), "modifiers")) {
        const auto type = text_of(modifier.as_object(), "type");
        const auto* limit = modifier.as_object().if_contains("limit");
        if (type == "LIMIT_MODIFIER" && limit && !limit->is_null()) limited = true;
        if (type != "LIMIT_MODIFIER" && type != "ORDER_MODIFIER") return;
    }
    if (!limited) return;
    for (const char* part : {"select_list", "modifiers"}) {
        const bool unsafe = any_object(*node().if_contains(part), [](const json::object& o) {
            const auto kind = text_of(o, "class");
            return kind == "WINDOW" || (kind == "FUNCTION" && !is_scalar(o));
        });
        if (unsafe) return;
    }
    const auto rows = limit_constant("limit");
    const auto skipped = limit_constant("offset");
    const auto keys = order_keys();
    if (!rows || !skipped || !keys) return;
    wish_.limit = rows;
    wish_.offset = *skipped;
    wish_.order_by = *keys;
}

std::vector<std::string> statement::names(const scan_choice& choice) const {
    std::vector<std::string> out;
    const auto groups = choice.aggregate == answer::no ? 0 : wish_.aggregate->group_by.size();
    for (std::int64_t i = 0; i < choice.schema->columns(); ++i) {
        const auto place = static_cast<std::size_t>(i);
        if (choice.aggregate != answer::no) {
            out.push_back(place < groups ? "k" + std::to_string(place) : "f" + std::to_string(place - groups));
        } else {
            const auto at = find_column(*schema_->get(), name_of(choice.schema->column(i)));
            out.push_back(duck_names_[static_cast<std::size_t>(at)]);
        }
    }
    return out;
}

std::string statement::shown(const std::string& name) const {
    for (std::size_t i = 0; i < duck_names_.size(); ++i) {
        if (duck_names_[i] == name) return std::string(name_of(schema_->column(static_cast<std::int64_t>(i))));
    }
    return name;
}

// Columns that differ only by case have other names inside DuckDB.
void statement::rename_twins(value& part) const {
    if (auto* object = part.if_object()) {
        if (text_of(*object, "class") == "COLUMN_REF") {
            const auto path = column_of(part, scope());
            if (!path) return;
            const auto& name = duck_names_[static_cast<std::size_t>(find_column(*schema_->get(), path->front()))];
            if (name == path->front()) return;
            for (auto& written : object->at("column_names").as_array()) {
                if (std::string_view(written.as_string()) != path->front()) continue;
                written = name;
                return;
            }
            return;
        }
        for (auto& member : *object) rename_twins(member.value());
    } else if (auto* list = part.if_array()) {
        for (auto& element : *list) rename_twins(element);
    }
}

json::value statement::parsed_expressions(const std::string& list) {
    const auto tree = duck::parse_sql(c_, "SELECT " + list, "host.internal");
    return tree.at("statements").at(0).at("node").at("select_list");
}

std::string statement::write(object changed, const std::string& source) {
    auto tree = tree_;
    const auto* sample = object_in(changed, "from_table")->if_contains("sample");
    const auto with =
        duck::parse_sql(c_, "FROM " + source + " AS " + duck::quote_name(qualifiers_.front()), "host.internal");
    auto table = with.at("statements").at(0).at("node").at("from_table").as_object();
    table["sample"] = sample ? *sample : value();
    changed["from_table"] = std::move(table);
    tree.as_object()["statements"].at(0).as_object()["node"] = std::move(changed);
    return duck::write_sql(c_, tree);
}

namespace {

// The conditions that are left, joined by AND.
json::value joined(const std::vector<json::value>& parts) {
    if (parts.empty()) return nullptr;
    if (parts.size() == 1) return parts.front();
    json::array children(parts.begin(), parts.end());
    return json::object{{"class", "CONJUNCTION"},
                        {"type", "CONJUNCTION_AND"},
                        {"alias", ""},
                        {"query_location", 0},
                        {"children", std::move(children)}};
}

}  // namespace

std::string statement::dry(const std::string& source) {
    value changed = node();
    changed.as_object()["where_clause"] = joined(further_);
    rename_twins(changed);
    return write(std::move(changed.as_object()), source);
}

std::string statement::over(const std::string& source, const scan_choice& choice) {
    value changed = node();
    auto& object = changed.as_object();
    object["where_clause"] = joined(further_);
    if (choice.sample) {
        object["sample"] = nullptr;
        object["from_table"].as_object()["sample"] = nullptr;
    }
    if (choice.offset) {
        for (auto& modifier : object["modifiers"].as_array()) {
            if (text_of(modifier.as_object(), "type") == "LIMIT_MODIFIER") modifier.as_object()["offset"] = nullptr;
        }
    }
    std::string condition;
    for (const auto& p : choice.residual) {
        condition += (condition.empty() ? " WHERE " : " AND ") + duck::to_sql(p, [&](const std::string& name) {
                         return duck_names_[static_cast<std::size_t>(find_column(*schema_->get(), name))];
                     });
    }
    if (choice.aggregate != answer::no) {
        combine_groups(
            object, scope(), *wish_.aggregate, [this](const std::string& list) { return parsed_expressions(list); },
            output_);
    } else {
        rename_twins(changed);
    }
    return write(std::move(changed.as_object()), "(SELECT * FROM " + source + condition + ")");
}

std::vector<std::string> statement::further_filters() {
    std::vector<std::string> out;
    for (const auto& part : further_) {
        auto tree = duck::parse_sql(c_, "SELECT 1", "host.internal");
        tree.at("statements").at(0).at("node").at("select_list").as_array()[0] = part;
        auto text = duck::write_sql(c_, tree);
        constexpr std::string_view select = "SELECT ";
        out.push_back(text.starts_with(select) ? text.substr(select.size()) : text);
    }
    return out;
}

}  // namespace lakeflow::host
