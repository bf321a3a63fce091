// host/job/keys.cpp: see keys.h.
#include "host/job/keys.h"

#include <algorithm>

#include "host/base/error.h"
#include "host/base/text.h"

namespace lakeflow::host {
namespace {

namespace json = boost::json;

std::string_view view(json::string_view s) { return {s.data(), s.size()}; }

const char* name_of(key_type type) {
    switch (type) {
        case key_type::text: return "text";
        case key_type::integer: return "a whole number";
        case key_type::boolean: return "true or false";
        case key_type::number: return "a number";
        case key_type::texts: return "a list of texts";
        case key_type::table: return "a table";
        case key_type::size: return "a size such as \"256MiB\"";
        case key_type::duration: return "a duration such as \"30s\"";
        case key_type::any: return "any value";
    }
    return "";
}

bool fits(const json::value& value, key_type type) {
    switch (type) {
        case key_type::text: return value.is_string();
        case key_type::integer: return value.is_int64();
        case key_type::boolean: return value.is_bool();
        case key_type::number: return value.is_number();
        case key_type::texts:
            return value.is_array() && std::all_of(value.get_array().begin(), value.get_array().end(),
                                                   [](const json::value& v) { return v.is_string(); });
        case key_type::table: return value.is_object();
        case key_type::size:
            return (value.is_int64() && value.get_int64() >= 0) ||
                   (value.is_string() && parse_bytes(view(value.get_string())));
        case key_type::duration: return value.is_string() && parse_duration_us(view(value.get_string()));
        case key_type::any: return true;
    }
    return false;
}

}  // namespace

checked_table::checked_table(const document& doc, const json::object& table, std::string path, std::string title,
                             const std::vector<key>& keys, bool others_allowed)
    : doc_(doc), path_(std::move(path)), title_(std::move(title)) {
    for (const auto& member : table) {
        const std::string name(view(member.key()));
        const std::string folded = fold_option(name);
        const auto known =
            std::find_if(keys.begin(), keys.end(), [&](const key& k) { return fold_option(k.name) == folded; });
        if (known == keys.end()) {
            if (others_allowed) {
                rest_[name] = member.value();
                continue;
            }
            std::vector<std::string> names;
            names.reserve(keys.size());
            for (const auto& k : keys) names.emplace_back(k.name);
            const auto near = nearest(name, names);
            std::string all;
            for (const auto& n : names) all += (all.empty() ? "" : ", ") + n;
            throw failure("config.unknown_key", place(name) + ": " + title_ + " has no key \"" + name + "\"",
                          near ? "Did you mean \"" + *near + "\"?" : "Its keys are: " + all + ".");
        }
        if (values_.contains(known->name)) {
            throw failure("config.duplicate_key", place(name) + ": \"" + name + "\" is given twice in " + title_ +
                                                      ": keys match without regard to case, '_' and '-'");
        }
        if (!fits(member.value(), known->type)) {
            throw failure("config.invalid_value",
                          place(name) + ": \"" + name + "\" in " + title_ + " must be " + name_of(known->type));
        }
        values_[known->name] = member.value();
    }
}

const json::value* checked_table::find(std::string_view name) const {
    return values_.if_contains(json::string_view(name.data(), name.size()));
}

std::optional<std::string> checked_table::text(std::string_view name) const {
    const json::value* v = find(name);
    if (!v) return std::nullopt;
    return std::string(view(v->get_string()));
}

std::optional<std::int64_t> checked_table::integer(std::string_view name) const {
    const json::value* v = find(name);
    if (!v) return std::nullopt;
    return v->get_int64();
}

std::optional<bool> checked_table::boolean(std::string_view name) const {
    const json::value* v = find(name);
    if (!v) return std::nullopt;
    return v->get_bool();
}

std::optional<std::vector<std::string>> checked_table::texts(std::string_view name) const {
    const json::value* v = find(name);
    if (!v) return std::nullopt;
    std::vector<std::string> out;
    for (const auto& element : v->get_array()) out.emplace_back(view(element.get_string()));
    return out;
}

std::optional<std::uint64_t> checked_table::size(std::string_view name) const {
    const json::value* v = find(name);
    if (!v) return std::nullopt;
    return v->is_int64() ? static_cast<std::uint64_t>(v->get_int64()) : parse_bytes(view(v->get_string()));
}

std::optional<std::int64_t> checked_table::duration_us(std::string_view name) const {
    const json::value* v = find(name);
    if (!v) return std::nullopt;
    return parse_duration_us(view(v->get_string()));
}

std::string checked_table::required_text(std::string_view name, const std::string& hint) const {
    auto value = text(name);
    if (!value)
        throw failure("config.missing_key", doc_.file + ": " + title_ + " needs the key \"" + std::string(name) + "\"",
                      hint);
    if (value->empty()) refuse(name, "is empty", hint);
    return std::move(*value);
}

std::optional<std::int64_t> checked_table::integer_in(std::string_view name, std::int64_t least,
                                                      std::int64_t most) const {
    const auto value = integer(name);
    if (value && (*value < least || *value > most)) {
        refuse(name, "is " + std::to_string(*value) + "; it must lie between " + std::to_string(least) + " and " +
                         std::to_string(most));
    }
    return value;
}

void checked_table::refuse(std::string_view name, const std::string& why, const std::string& hint) const {
    throw failure("config.invalid_value", place(name) + ": \"" + std::string(name) + "\" in " + title_ + " " + why,
                  hint);
}

std::string checked_table::place(std::string_view name) const {
    return doc_.place(path_.empty() ? std::string(name) : path_ + "." + std::string(name));
}

}  // namespace lakeflow::host
