// host/scan/sql_tree.cpp: see sql_tree.h. The words in capitals are those of DuckDB's json_serialize_sql.
#include "host/scan/sql_tree.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <charconv>

#include "host/arrow/decimal.h"
#include "host/arrow/schema.h"
#include "host/base/error.h"
#include "host/base/text.h"
#include "host/scan/literals.h"

namespace lakeflow::host {
namespace {

namespace json = boost::json;

// An expression that is more than a predicate can say; the text names it.
struct untold {
    std::string why;
};

std::string_view text_of(const json::value& node, std::string_view member) {
    const auto* object = node.if_object();
    const auto* found = object ? object->if_contains(json::string_view(member.data(), member.size())) : nullptr;
    const auto* text = found ? found->if_string() : nullptr;
    return text ? std::string_view(text->data(), text->size()) : std::string_view();
}

// A member that is not null, or nothing.
const json::value* find(const json::value& node, std::string_view member) {
    const auto* object = node.if_object();
    const auto* found = object ? object->if_contains(json::string_view(member.data(), member.size())) : nullptr;
    return found && !found->is_null() ? found : nullptr;
}

const json::array& list_of(const json::value& node, std::string_view member) {
    static const json::array none;
    const auto* found = find(node, member);
    return found && found->is_array() ? found->get_array() : none;
}

const json::value& member_of(const json::value& node, std::string_view member) {
    static const json::value none;
    const auto* found = find(node, member);
    return found ? *found : none;
}

// How a message names an expression.
std::string name_of_node(const json::value& node) {
    const auto kind = text_of(node, "class");
    if (kind == "FUNCTION") return "the function " + std::string(text_of(node, "function_name"));
    if (kind == "SUBQUERY") return "a subquery";
    if (kind == "WINDOW") return "a window function";
    if (kind == "CAST") return "a cast";
    if (kind == "COLUMN_REF") {
        std::string name;
        for (const auto& part : list_of(node, "column_names")) {
            if (part.is_string()) name += (name.empty() ? "" : ".") + std::string(part.get_string());
        }
        return "\"" + name + "\", which is no column";
    }
    if (kind == "OPERATOR" || kind == "COMPARISON") return lower_ascii(text_of(node, "type")) + " of such operands";
    return "an expression of the kind " + lower_ascii(kind.empty() ? "unknown" : kind);
}

std::optional<int128> whole_number(const json::value& value) {
    if (const auto* small = value.if_int64()) return *small;
    if (const auto* large = value.if_uint64()) return static_cast<int128>(*large);
    const auto* upper = find(value, "upper");
    const auto* lower = find(value, "lower");
    if (!upper || !lower) return std::nullopt;
    const auto high = whole_number(*upper);
    const auto low = whole_number(*lower);
    if (!high || !low) return std::nullopt;
    return *high * (static_cast<int128>(1) << 64) + *low;
}

// '\xAA' is one byte.
std::string unescaped(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        unsigned byte = 0;
        const bool escape = text.substr(i, 2) == "\\x" && i + 3 < text.size();
        if (escape && std::from_chars(text.data() + i + 2, text.data() + i + 4, byte, 16).ec == std::errc()) {
            out += static_cast<char>(byte);
            i += 3;
        } else {
            out += text[i];
        }
    }
    return out;
}

std::optional<sql_constant> constant_of(const json::value& node) {
    using kind = sql_constant::kind;
    const auto type = text_of(node, "type");
    if (type == "OPERATOR_CAST") {
        auto inner = constant_of(member_of(node, "child"));
        if (!inner || !inner->cast_to.empty()) return std::nullopt;
        inner->cast_to = text_of(member_of(node, "cast_type"), "id");
        if (inner->cast_to == "BOOLEAN" && inner->what == kind::text && (inner->text == "t" || inner->text == "f")) {
            return sql_constant{kind::boolean, inner->text == "t" ? "true" : "false"};
        }
        return inner;
    }
    if (type != "VALUE_CONSTANT") return std::nullopt;
    const auto& value = member_of(node, "value");
    const auto* null = find(value, "is_null");
    if (null && null->is_bool() && null->get_bool()) return sql_constant{};
    const auto id = text_of(member_of(value, "type"), "id");
    const auto& held = member_of(value, "value");
    if (id == "VARCHAR") return sql_constant{kind::text, std::string(text_of(value, "value"))};
    if (id == "BLOB") return sql_constant{kind::binary, unescaped(text_of(value, "value"))};
    if (id == "BOOLEAN" && held.is_bool()) return sql_constant{kind::boolean, held.get_bool() ? "true" : "false"};
    if (id == "DOUBLE") {
        if (!held.is_number()) return std::nullopt;
        std::array<char, 64> digits{};
        const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), held.to_number<double>()).ptr;
        return sql_constant{kind::number, std::string(digits.data(), end)};
    }
    const auto number = whole_number(held);
    if (!number) return std::nullopt;
    if (id == "DECIMAL") {
        const auto* scale = find(member_of(member_of(value, "type"), "type_info"), "scale");
        if (!scale || !scale->is_int64()) return std::nullopt;
        return sql_constant{kind::number, decimal_text(*number, static_cast<int>(scale->get_int64()))};
    }
    return sql_constant{kind::number, decimal_text(*number, 0), true};
}

// The path's parts by the schema's own names, from the column down.
std::optional<column_path> resolve(const std::vector<std::string>& parts, std::size_t first, const ArrowSchema& top) {
    column_path out;
    const ArrowSchema* node = &top;
    for (std::size_t i = first; i < parts.size(); ++i) {
        if (std::string_view(node->format) != "+s") return std::nullopt;
        const auto at = find_named(*node, parts[i]);
        if (at < 0) return std::nullopt;
        node = node->children[at];
        out.emplace_back(name_of(*node));
    }
    if (out.empty()) return std::nullopt;
    return out;
}

const ArrowSchema& node_at(const ArrowSchema& top, const column_path& path) {
    const ArrowSchema* node = &top;
    for (const auto& part : path) node = node->children[find_column(*node, part)];
    return *node;
}

class reader {
  public:
    explicit reader(const sql_scope& scope) : scope_(scope) {}

    predicate read(const json::value& node) const {
        const auto kind = text_of(node, "class");
        if (kind == "CONJUNCTION") {
            const auto op = text_of(node, "type") == "CONJUNCTION_AND" ? predicate_op::and_ : predicate_op::or_;
            std::vector<predicate> args;
            for (const auto& child : list_of(node, "children")) args.push_back(read(child));
            return make_list(op, std::move(args));
        }
        if (kind == "COMPARISON") return comparison(node);
        if (kind == "BETWEEN") return between(node);
        if (kind == "OPERATOR") return operation(node);
        if (kind == "FUNCTION") return function(node);
        if (kind == "COLUMN_REF") {
            auto p = on(node);
            if (p.type.id != type_id::boolean) throw untold{"a column that is no condition"};
            p.op = predicate_op::equal;
            p.values.emplace_back(true);
            return p;
        }
        if (const auto c = constant_of(node); c && c->what == sql_constant::kind::boolean) {
            return constant(c->text == "true");
        }
        throw untold{name_of_node(node)};
    }

  private:
    // A predicate about a column, not yet saying what.
    predicate on(const json::value& node) const {
        const auto path = column_of(node, scope_);
        if (!path) throw untold{name_of_node(node)};
        predicate p;
        p.column = *path;
        const auto& found = node_at(*scope_.schema.get(), *path);
        p.format = found.format;
        p.type = type_of(found);
        return p;
    }

    typed_constant constant_for(const json::value& node, const predicate& p) const {
        const auto c = constant_of(node);
        if (!c && column_of(node, scope_)) throw untold{"a comparison of two columns"};
        if (!c) throw untold{name_of_node(node)};
        auto typed = in_type(*c, p.type);
        if (!typed) {
            throw untold{"the constant " + (c->what == sql_constant::kind::text ? "'" + c->text + "'" : c->text) +
                         " for the column " + p.column.back()};
        }
        return *std::move(typed);
    }

    static predicate_op op_of(const json::value& node) {
        const auto type = text_of(node, "type");
        if (type == "COMPARE_EQUAL" || type == "COMPARE_NOTEQUAL") return predicate_op::equal;
        if (type == "COMPARE_LESSTHAN") return predicate_op::less;
        if (type == "COMPARE_LESSTHANOREQUALTO") return predicate_op::less_or_equal;
        if (type == "COMPARE_GREATERTHAN") return predicate_op::greater;
        if (type == "COMPARE_GREATERTHANOREQUALTO") return predicate_op::greater_or_equal;
        if (type == "COMPARE_DISTINCT_FROM" || type == "COMPARE_NOT_DISTINCT_FROM")
            return predicate_op::equal_null_safe;
        throw untold{name_of_node(node)};
    }

    static predicate_op turned(predicate_op op) {
        switch (op) {
            case predicate_op::less: return predicate_op::greater;
            case predicate_op::less_or_equal: return predicate_op::greater_or_equal;
            case predicate_op::greater: return predicate_op::less;
            case predicate_op::greater_or_equal: return predicate_op::less_or_equal;
            default: return op;
        }
    }

    // id > 1.5 is id > 1 where id is an integer, and so is id >= 1.5; an equality has no such form.
    predicate compared(predicate p, predicate_op op, const json::value& with) const {
        auto typed = constant_for(with, p);
        if (typed.rounded) {
            const bool above = op == predicate_op::greater || op == predicate_op::greater_or_equal;
            const bool below = op == predicate_op::less || op == predicate_op::less_or_equal;
            if (!above && !below) throw untold{"a constant that the type of " + p.column.back() + " cannot hold"};
            op = above ? predicate_op::greater : predicate_op::less_or_equal;
        }
        p.op = op;
        p.values.push_back(std::move(typed.value));
        return p;
    }

    predicate comparison(const json::value& node) const {
        const auto op = op_of(node);
        const auto& left = member_of(node, "left");
        const auto& right = member_of(node, "right");
        const bool turn = constant_of(left).has_value();
        auto p = compared(on(turn ? right : left), turn ? turned(op) : op, turn ? left : right);
        const auto type = text_of(node, "type");
        return type == "COMPARE_NOTEQUAL" || type == "COMPARE_DISTINCT_FROM" ? make_not(std::move(p)) : p;
    }

    predicate between(const json::value& node) const {
        const auto p = on(member_of(node, "input"));
        std::vector<predicate> both;
        both.push_back(compared(p, predicate_op::greater_or_equal, member_of(node, "lower")));
        both.push_back(compared(p, predicate_op::less_or_equal, member_of(node, "upper")));
        return make_list(predicate_op::and_, std::move(both));
    }

    predicate operation(const json::value& node) const {
        const auto type = text_of(node, "type");
        const auto& children = list_of(node, "children");
        if (children.empty()) throw untold{name_of_node(node)};
        if (type == "OPERATOR_NOT") return make_not(read(children[0]));
        if (type == "OPERATOR_IS_NULL" || type == "OPERATOR_IS_NOT_NULL") {
            auto p = on(children[0]);
            p.op = type == "OPERATOR_IS_NULL" ? predicate_op::is_null : predicate_op::is_not_null;
            return p;
        }
        if (type != "COMPARE_IN" && type != "COMPARE_NOT_IN") throw untold{name_of_node(node)};
        auto p = on(children[0]);
        p.op = predicate_op::in;
        for (std::size_t i = 1; i < children.size(); ++i) {
            auto typed = constant_for(children[i], p);
            // No value of the column equals it, so the list says the same without it.
            if (!typed.rounded) p.values.push_back(std::move(typed.value));
        }
        if (p.values.empty()) throw untold{"a list that the type of " + p.column.back() + " cannot hold"};
        return type == "COMPARE_IN" ? p : make_not(std::move(p));
    }

    predicate function(const json::value& node) const {
        const auto name = text_of(node, "function_name");
        const auto& children = list_of(node, "children");
        const bool like = name == "~~" || name == "!~~";
        auto op = predicate_op::like;
        if (name == "starts_with" || name == "prefix" || name == "^@")
            op = predicate_op::starts_with;
        else if (name == "ends_with" || name == "suffix")
            op = predicate_op::ends_with;
        else if (name == "contains")
            op = predicate_op::contains;
        else if (!like)
            throw untold{name_of_node(node)};
        if (children.size() != 2) throw untold{name_of_node(node)};
        auto p = on(children[0]);
        if (p.type.id != type_id::utf8 && p.type.id != type_id::large_utf8) throw untold{name_of_node(node)};
        const auto c = constant_of(children[1]);
        if (!c || (c->what != sql_constant::kind::text && c->what != sql_constant::kind::null))
            throw untold{name_of_node(node)};
        p.op = op;
        p.values.push_back(constant_for(children[1], p).value);
        if (like) simplify(p);
        return name == "!~~" ? make_not(std::move(p)) : p;
    }

    // 'a%', '%a', '%a%' and patterns without a wildcard have words of their own.
    static void simplify(predicate& p) {
        auto* pattern = std::get_if<std::string>(&p.values.front());
        if (!pattern || pattern->find('_') != std::string::npos) return;
        const bool open_end = pattern->ends_with('%');
        const bool open_start = pattern->size() > 1 && pattern->starts_with('%');
        const auto inner =
            pattern->substr(open_start ? 1 : 0, pattern->size() - (open_start ? 1 : 0) - (open_end ? 1 : 0));
        if (inner.find('%') != std::string::npos) return;
        p.op = open_start && open_end ? predicate_op::contains
               : open_end             ? predicate_op::starts_with
               : open_start           ? predicate_op::ends_with
                                      : predicate_op::equal;
        *pattern = inner;
    }

    const sql_scope& scope_;
};

}  // namespace

std::int64_t find_named(const ArrowSchema& node, std::string_view name) noexcept {
    std::int64_t found = -1;
    for (std::int64_t i = 0; i < node.n_children; ++i) {
        if (name_of(*node.children[i]) == name) return i;
        if (equal_no_case(name_of(*node.children[i]), name)) found = found == -1 ? i : -2;
    }
    return found;
}

std::optional<column_path> column_of(const json::value& node, const sql_scope& scope) {
    const auto type = text_of(node, "type");
    if (type == "STRUCT_EXTRACT") {
        const auto& children = list_of(node, "children");
        if (children.size() != 2) return std::nullopt;
        const auto parent = column_of(children[0], scope);
        const auto part = constant_of(children[1]);
        if (!parent || !part || part->what != sql_constant::kind::text) return std::nullopt;
        auto parts = *parent;
        parts.push_back(part->text);
        return resolve(parts, 0, *scope.schema.get());
    }
    if (type != "COLUMN_REF") return std::nullopt;
    std::vector<std::string> parts;
    for (const auto& part : list_of(node, "column_names")) {
        if (!part.is_string()) return std::nullopt;
        parts.emplace_back(part.get_string());
    }
    if (parts.empty()) return std::nullopt;
    // As in SQL, a table's name before a column is looked for first. More names may stand before it: "schema"."table"."column".
    for (std::size_t first = std::min<std::size_t>(parts.size() - 1, 3); first > 0; --first) {
        const auto known = std::any_of(scope.qualifiers.begin(), scope.qualifiers.end(),
                                       [&](const std::string& q) { return equal_no_case(q, parts[first - 1]); });
        if (!known) continue;
        if (auto path = resolve(parts, first, *scope.schema.get())) return path;
    }
    return resolve(parts, 0, *scope.schema.get());
}

std::vector<const json::value*> conjunct_nodes(const json::value& where) {
    if (text_of(where, "type") != "CONJUNCTION_AND") return {&where};
    std::vector<const json::value*> out;
    for (const auto& child : list_of(where, "children")) {
        const auto inner = conjunct_nodes(child);
        out.insert(out.end(), inner.begin(), inner.end());
    }
    return out;
}

std::optional<predicate> predicate_of(const json::value& node, const sql_scope& scope, std::string& why) {
    try {
        return reader(scope).read(node);
    } catch (const untold& u) {
        why = u.why;
        return std::nullopt;
    }
}

std::vector<predicate> where_of(const json::value& statements, const arrow_schema& schema, std::string_view text) {
    const auto refuse = [&](const std::string& what, const std::string& hint = {}) {
        throw failure(error{"config.where", "where = \"" + std::string(cut_utf8(text, 200)) + "\": " + what,
                            hint.empty() ? "a where is comparisons of columns with constants, IN, LIKE, IS NULL, "
                                           "joined by AND, OR and NOT"
                                         : hint,
                            retry_class::invalid});
    };
    const auto& list = list_of(statements, "statements");
    if (list.size() != 1)
        refuse("it must be one condition, and there are " + std::to_string(list.size()) + " statements");
    const auto& node = member_of(list[0], "node");
    if (text_of(node, "type") != "SELECT_NODE") refuse("a " + lower_ascii(text_of(node, "type")) + " is no condition");
    for (const auto& modifier : list_of(node, "modifiers")) {
        const auto name = text_of(modifier, "type");
        refuse("there is " +
               std::string(name == "ORDER_MODIFIER"      ? "an ORDER BY"
                           : name == "DISTINCT_MODIFIER" ? "a DISTINCT"
                                                         : "a LIMIT or OFFSET") +
               " behind the condition");
    }
    if (!list_of(node, "group_expressions").empty() || !list_of(node, "group_sets").empty() ||
        text_of(node, "aggregate_handling") != "STANDARD_HANDLING")
        refuse("there is a GROUP BY behind the condition");
    if (find(node, "having")) refuse("there is a HAVING behind the condition");
    if (find(node, "qualify")) refuse("there is a QUALIFY behind the condition");
    if (find(node, "sample")) refuse("there is a SAMPLE behind the condition");
    if (!list_of(member_of(node, "cte_map"), "map").empty()) refuse("there is a WITH before the condition");
    const auto& table = member_of(node, "from_table");
    if (text_of(table, "type") != "BASE_TABLE" || !text_of(table, "alias").empty()) refuse("it names other tables");
    const auto* where = find(node, "where_clause");
    if (!where) refuse("there is no condition");
    const sql_scope scope{schema, {}};
    std::string why;
    auto whole = predicate_of(*where, scope, why);
    if (!whole) {
        std::vector<std::string> known;
        for (std::int64_t i = 0; i < schema.columns(); ++i) known.emplace_back(name_of(schema.column(i)));
        std::string hint;
        if (const auto end = why.find("\", which is no column"); end != std::string::npos) {
            const auto near = nearest(why.substr(1, end - 1), known);
            hint = near ? "Did you mean \"" + *near + "\"?" : std::string();
        }
        refuse("it holds " + why, hint);
    }
    return conjuncts_of(*std::move(whole));
}

}  // namespace lakeflow::host
