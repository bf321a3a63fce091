// plugins/http_api/infer.cpp: see infer.hpp.
#include "infer.hpp"

#include <algorithm>
#include <optional>

namespace lakeflow::http_api {
namespace {

// What the values of one place have been so far. `json` is STRING holding JSON text: mixed values, empty objects.
enum class shape { unknown, boolean, integer, wide, real, text, list, object, json };

struct named_guess;
struct guess {
    shape is = shape::unknown;
    std::vector<named_guess> members;  // of an object
    std::vector<guess> element;        // of a list: none or one

    guess& member(const std::string& name);
};
struct named_guess {
    std::string name;
    guess value;
};

guess& guess::member(const std::string& name) {
    for (auto& [known, value] : members)
        if (known == name) return value;
    members.push_back({name, guess()});
    return members.back().value;
}

std::vector<std::string> tokens(std::string_view pointer) {
    std::vector<std::string> out;
    while (!pointer.empty()) {
        pointer.remove_prefix(1);
        const std::size_t end = std::min(pointer.find('/'), pointer.size());
        std::string token;
        for (std::size_t i = 0; i < end; ++i) {
            if (pointer[i] == '~' && i + 1 < end) {
                token.push_back(pointer[++i] == '1' ? '/' : '~');
            } else {
                token.push_back(pointer[i]);
            }
        }
        out.push_back(std::move(token));
        pointer.remove_prefix(end);
    }
    return out;
}

shape shape_of(const json& value) {
    switch (value.type()) {
        case json::kind::null: return shape::unknown;
        case json::kind::boolean: return shape::boolean;
        case json::kind::integer: return shape::integer;
        case json::kind::number: {
            const std::string text = value.dump();
            if (text.find_first_of(".eE") != std::string::npos) return shape::real;
            return text.size() - (text.front() == '-' ? 1 : 0) <= 38 ? shape::wide : shape::text;
        }
        case json::kind::text: return shape::text;
        case json::kind::array: return shape::list;
        case json::kind::object: return value.empty() ? shape::json : shape::object;
    }
    return shape::json;
}

// What holds both.
shape join(shape a, shape b) {
    if (a == b || b == shape::unknown) return a;
    if (a == shape::unknown) return b;
    const auto number = [](shape s) { return s == shape::integer || s == shape::wide || s == shape::real; };
    if (number(a) && number(b)) {
        if (a == shape::real || b == shape::real) {
            // A double does not hold every wide number.
            return a == shape::wide || b == shape::wide ? shape::text : shape::real;
        }
        return shape::wide;
    }
    const auto scalar = [&](shape s) { return number(s) || s == shape::text || s == shape::boolean; };
    return scalar(a) && scalar(b) ? shape::text : shape::json;
}

void see(guess& known, const json& value) {
    const shape now = shape_of(value);
    known.is = join(known.is, now);
    if (value.is_object()) {
        for (const json::member& one : value.members()) see(known.member(one.name), one.value);
    }
    if (value.is_array()) {
        if (known.element.empty()) known.element.emplace_back();
        for (const json& one : value.items()) see(known.element.front(), one);
    }
}

std::optional<type> type_from(const guess& known) {
    switch (known.is) {
        case shape::unknown: return std::nullopt;
        case shape::boolean: return type::boolean();
        case shape::integer: return type::int64();
        case shape::wide: return type::decimal(38, 0);
        case shape::real: return type::float64();
        case shape::text:
        case shape::json: return type::text();
        case shape::list: {
            const auto element = known.element.empty() ? std::nullopt : type_from(known.element.front());
            return element ? type::list(*element) : type::text();
        }
        case shape::object: {
            std::vector<field> members;
            for (const auto& [name, value] : known.members) {
                if (auto inner = type_from(value)) members.push_back({name, std::move(*inner), true});
            }
            return members.empty() ? type::text() : type::structure(std::move(members));
        }
    }
    return std::nullopt;
}

}  // namespace

row_cutter::row_cutter(std::string_view records, std::size_t most) : wanted_(tokens(records)), most_(most) {}

bool row_cutter::at_records() const {
    if (levels_.size() != wanted_.size()) return false;
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
        const std::string here = levels_[i].array ? std::to_string(levels_[i].index) : levels_[i].key;
        if (here != wanted_[i]) return false;
    }
    return true;
}

void row_cutter::open(bool array) {
    if (row_depth_ == 0 && !array) {
        // A row is an object in the array of rows, or the one object in its place.
        bool row = at_records();
        if (!row && !levels_.empty() && levels_.back().array) {
            const level inner = levels_.back();
            levels_.pop_back();
            row = at_records();
            levels_.push_back(inner);
        }
        if (row) row_depth_ = levels_.size() + 1;
    }
    level one;
    one.array = array;
    levels_.push_back(std::move(one));
}

void row_cutter::close() {
    if (levels_.empty()) return;
    levels_.pop_back();
    if (row_depth_ == levels_.size() + 1) {
        rows_.push_back(std::move(row_));
        row_.clear();
        row_depth_ = 0;
    }
}

bool row_cutter::feed(std::string_view piece) {
    for (char c : piece) {
        if (rows_.size() >= most_) return false;
        if (in_text_) {
            if (row_depth_ != 0) row_.push_back(c);
            if (escaped_) {
                escaped_ = false;
                text_.push_back(c);
            } else if (c == '\\') {
                escaped_ = true;
            } else if (c == '"') {
                in_text_ = false;
                if (!levels_.empty() && !levels_.back().array && levels_.back().expects_key) levels_.back().key = text_;
            } else {
                text_.push_back(c);
            }
            continue;
        }
        if (c == '{' || c == '[') open(c == '[');
        if (row_depth_ != 0) row_.push_back(c);
        switch (c) {
            case '"': in_text_ = true, text_.clear(); break;
            case '}':
            case ']': close(); break;
            case ':':
                if (!levels_.empty()) levels_.back().expects_key = false;
                break;
            case ',':
                if (!levels_.empty()) levels_.back().expects_key = true, ++levels_.back().index;
                break;
            default: break;
        }
    }
    return rows_.size() < most_;
}

schema infer(const resource& of, const std::vector<json>& rows) {
    guess all;
    for (const json& row : rows) {
        if (row.is_object()) see(all, row);
    }
    schema out;
    const auto add = [&](const std::string& name, std::optional<type> found) {
        const column_rule* rule = of.rule_of(name);
        if (rule != nullptr && !rule->type.empty()) {
            found = schema::ddl("c " + rule->type).fields().front().type;
        } else if (rule != nullptr && rule->json) {
            found = type::text();
        } else if (rule != nullptr && !rule->format.empty()) {
            found = rule->format == "date" ? type::date() : type::timestamp();
        }
        if (found && !name.empty()) out.add(name, std::move(*found));
    };
    for (const auto& [name, value] : all.members) add(name, type_from(value));
    for (const column_rule& rule : of.columns) {
        if (out.find(rule.name) != nullptr) continue;
        std::optional<type> found;
        if (!rule.path.empty()) {
            guess inner;
            for (const json& row : rows) {
                if (const json* value = row.pointer(rule.path)) see(inner, *value);
            }
            found = type_from(inner);
        }
        if (!rule.parent.empty() && rule.type.empty()) found = type::text();
        add(rule.name, std::move(found));
    }
    // A key is never null.
    schema named;
    for (const field& one : out.fields()) {
        const bool key = std::find(of.primary_keys.begin(), of.primary_keys.end(), one.name) != of.primary_keys.end();
        named.add(one.name, one.type, !key);
    }
    return named;
}

}  // namespace lakeflow::http_api
