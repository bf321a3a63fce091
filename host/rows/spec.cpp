// host/rows/spec.cpp: see spec.h.
#include "host/rows/spec.h"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <initializer_list>
#include <span>

#include "host/base/error.h"
#include "host/base/text.h"

namespace lakeflow::host {
namespace {

namespace json = boost::json;

std::string_view sv(json::string_view s) { return {s.data(), s.size()}; }

void known_members(const json::object& object, std::string_view where, std::initializer_list<std::string_view> names) {
    for (const auto& member : object) {
        bool known = false;
        for (const std::string_view name : names) known = known || sv(member.key()) == name;
        if (known) continue;
        const std::vector<std::string> all(names.begin(), names.end());
        const auto near = nearest(sv(member.key()), all);
        bad_spec("unknown member " + std::string(where) + std::string(sv(member.key())),
                 near ? "Did you mean \"" + *near + "\"?" : std::string());
    }
}

std::string text_of(const json::value& value, std::string_view member) {
    if (!value.is_string()) bad_spec(std::string(member) + " must be a text");
    return std::string(sv(value.get_string()));
}

const json::object& object_of(const json::value& value, std::string_view member) {
    if (!value.is_object()) bad_spec(std::string(member) + " must be an object");
    return value.get_object();
}

const json::array& array_of(const json::value& value, std::string_view member) {
    if (!value.is_array()) bad_spec(std::string(member) + " must be an array");
    return value.get_array();
}

spec_value scalar_of(const json::value& value, std::string_view member) {
    spec_value result;
    char text[64];
    const auto number = [&](auto v) {
        result.type = spec_value::kind::number;
        result.text.assign(text, std::to_chars(text, text + sizeof text, v).ptr);
    };
    switch (value.kind()) {
        case json::kind::null: break;
        case json::kind::bool_:
            result.type = spec_value::kind::boolean;
            result.flag = value.get_bool();
            break;
        case json::kind::int64: number(value.get_int64()); break;
        case json::kind::uint64: number(value.get_uint64()); break;
        case json::kind::double_: number(value.get_double()); break;
        case json::kind::string:
            result.type = spec_value::kind::text;
            result.text = std::string(sv(value.get_string()));
            break;
        default: bad_spec(std::string(member) + " must be a text, a number, true, false or null");
    }
    return result;
}

template <class T>
struct word {
    std::string_view text;
    T value;
};

template <class T>
T one_of(const json::value& value, const std::string& member, std::span<const word<T>> words) {
    const std::string text = text_of(value, member);
    std::vector<std::string> all;
    for (const auto& w : words) {
        if (w.text == text) return w.value;
        all.emplace_back(w.text);
    }
    const auto near = nearest(text, all);
    std::string list;
    for (const std::string& a : all) list += (list.empty() ? "" : ", ") + a;
    bad_spec(member + " is \"" + text + "\"", near ? "Did you mean \"" + *near + "\"?" : "It is one of " + list + ".");
}

constexpr word<rows_format> formats[] = {
    {"json", rows_format::json}, {"jsonl", rows_format::jsonl}, {"csv", rows_format::csv}};
constexpr word<time_form> forms[] = {{"epoch_s", time_form::epoch_s},
                                     {"epoch_ms", time_form::epoch_ms},
                                     {"epoch_us", time_form::epoch_us},
                                     {"rfc3339", time_form::rfc3339},
                                     {"date", time_form::date}};
constexpr word<compare_op> ops[] = {{"<", compare_op::less},          {"<=", compare_op::less_equal},
                                    {">", compare_op::greater},       {">=", compare_op::greater_equal},
                                    {"=", compare_op::equal},         {"<>", compare_op::not_equal},
                                    {"is_null", compare_op::is_null}, {"is_not_null", compare_op::is_not_null}};

column_rule rule_of(std::string_view name, const json::value& value) {
    column_rule rule;
    rule.column = std::string(name);
    const std::string where = "columns." + rule.column;
    const json::object& object = object_of(value, where);
    known_members(object, where + ".", {"path", "value", "format", "json", "scalar"});
    for (const auto& member : object) {
        const std::string_view key = sv(member.key());
        const json::value& v = member.value();
        if (key == "path") {
            rule.path = pointer_tokens(text_of(v, where + ".path"), where + ".path");
            if (rule.path->empty()) bad_spec(where + ".path must point inside the row");
        } else if (key == "value") {
            rule.value = scalar_of(v, where + ".value");
        } else if (key == "format") {
            rule.format = one_of<time_form>(v, where + ".format", forms);
        } else if (key == "json") {
            if (!v.is_bool()) bad_spec(where + ".json must be true or false");
            rule.json = v.get_bool();
        } else {
            rule.scalar = text_of(v, where + ".scalar");
        }
    }
    if (rule.value && object.size() > 1) bad_spec(where + ": a constant has no other member beside \"value\"");
    return rule;
}

void read_keep(const json::array& array, rows_spec& spec) {
    for (const json::value& value : array) {
        const json::object& object = object_of(value, "an element of keep");
        known_members(object, "keep.", {"column", "op", "value", "or_null"});
        const json::value* column = object.if_contains("column");
        const json::value* op = object.if_contains("op");
        if (!column || !op) bad_spec("an element of keep needs \"column\" and \"op\"");
        keep_rule rule;
        rule.column = text_of(*column, "keep.column");
        rule.op = one_of<compare_op>(*op, "keep.op", ops);
        const json::value* operand = object.if_contains("value");
        const bool test = rule.op == compare_op::is_null || rule.op == compare_op::is_not_null;
        if (!operand && !test) bad_spec("keep on " + rule.column + " needs a \"value\"");
        if (operand) rule.value = scalar_of(*operand, "keep.value");
        if (const json::value* undated = object.if_contains("or_null")) {
            if (!undated->is_bool()) bad_spec("keep.or_null must be true or false");
            rule.or_null = undated->get_bool();
        }
        spec.keep.push_back(std::move(rule));
    }
}

void read_drop_keys(const json::object& object, rows_spec& spec) {
    known_members(object, "drop_keys.", {"columns", "values"});
    const json::value* columns = object.if_contains("columns");
    const json::value* values = object.if_contains("values");
    if (!columns || !values) bad_spec("drop_keys needs \"columns\" and \"values\"");
    for (const json::value& c : array_of(*columns, "drop_keys.columns"))
        spec.drop_columns.push_back(text_of(c, "drop_keys.columns"));
    if (spec.drop_columns.empty()) bad_spec("drop_keys.columns is empty");
    for (const json::value& key : array_of(*values, "drop_keys.values")) {
        const json::array& parts = array_of(key, "an element of drop_keys.values");
        if (parts.size() != spec.drop_columns.size())
            bad_spec("an element of drop_keys.values has " + std::to_string(parts.size()) + " values for " +
                     std::to_string(spec.drop_columns.size()) + " columns");
        std::vector<spec_value> one;
        one.reserve(parts.size());
        for (const json::value& part : parts) one.push_back(scalar_of(part, "drop_keys.values"));
        spec.drop_values.push_back(std::move(one));
    }
}

}  // namespace

void bad_spec(const std::string& why, const std::string& hint) {
    throw failure("config.rows_spec", "the spec of a decoder (lakeflow/rows.h): " + why, hint, retry_class::invalid);
}

std::vector<std::string> pointer_tokens(std::string_view pointer, std::string_view member) {
    std::vector<std::string> tokens;
    if (pointer.empty()) return tokens;
    if (pointer[0] != '/')
        bad_spec(std::string(member) + ": a JSON pointer begins with \"/\": \"" + std::string(pointer) + "\"");
    for (const std::string& raw : split(pointer.substr(1), '/')) {
        std::string token;
        for (std::size_t i = 0; i < raw.size(); ++i) {
            if (raw[i] != '~') {
                token += raw[i];
                continue;
            }
            if (i + 1 >= raw.size() || (raw[i + 1] != '0' && raw[i + 1] != '1'))
                bad_spec(std::string(member) + ": in a JSON pointer \"~\" is written \"~0\": \"" +
                         std::string(pointer) + "\"");
            token += raw[++i] == '0' ? '~' : '/';
        }
        tokens.push_back(std::move(token));
    }
    return tokens;
}

rows_spec parse_rows_spec(std::string_view text) {
    rows_spec spec;
    json::error_code ec;
    json::parse_options options;
    options.max_depth = 64;
    const json::value document = json::parse(json::string_view(text.data(), text.size()), ec, {}, options);
    if (ec) bad_spec("it is not JSON: " + ec.message());
    const json::object& object = object_of(document, "the spec");
    known_members(object, "", {"format", "records", "columns", "captures", "watch", "keep", "drop_keys", "context"});
    for (const auto& member : object) {
        const std::string_view key = sv(member.key());
        const json::value& value = member.value();
        if (key == "format") {
            spec.format = one_of<rows_format>(value, "format", formats);
        } else if (key == "records") {
            spec.records_text = text_of(value, "records");
            spec.records = pointer_tokens(spec.records_text, "records");
        } else if (key == "columns") {
            for (const auto& column : object_of(value, "columns"))
                spec.columns.push_back(rule_of(sv(column.key()), column.value()));
        } else if (key == "captures") {
            for (const json::value& pointer : array_of(value, "captures"))
                spec.captures.push_back(pointer_tokens(text_of(pointer, "captures"), "captures"));
        } else if (key == "watch") {
            for (const json::value& column : array_of(value, "watch")) spec.watch.push_back(text_of(column, "watch"));
        } else if (key == "keep") {
            read_keep(array_of(value, "keep"), spec);
        } else if (key == "drop_keys") {
            read_drop_keys(object_of(value, "drop_keys"), spec);
        } else {
            const json::object& context = object_of(value, "context");
            if (!context.empty()) spec.context = json::serialize(context);
        }
    }
    if (spec.format != rows_format::json && !spec.records.empty())
        bad_spec("\"records\" belongs to format json: in jsonl and csv each line is a row");
    if (spec.format != rows_format::json && !spec.captures.empty()) bad_spec("\"captures\" belongs to format json");
    if (spec.format == rows_format::csv)
        for (const column_rule& rule : spec.columns)
            if (rule.path && rule.path->size() != 1)
                bad_spec("columns." + rule.column + ".path: in csv a path is \"/\" and a name of the header");
    const auto prefix = [](const auto& a, const auto& b) {
        return a.size() <= b.size() && std::equal(a.begin(), a.end(), b.begin());
    };
    for (const auto& capture : spec.captures)
        if (prefix(spec.records, capture) || prefix(capture, spec.records))
            bad_spec("a capture lies outside the rows; \"records\" is \"" + spec.records_text + "\"");
    return spec;
}

}  // namespace lakeflow::host
