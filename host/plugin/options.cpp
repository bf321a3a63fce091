// host/plugin/options.cpp: see options.h.
#include "host/plugin/options.h"

#include <algorithm>
#include <boost/json.hpp>

#include "host/base/error.h"
#include "host/base/json.h"
#include "host/base/text.h"

namespace lakeflow::host {
namespace {

namespace json = boost::json;

std::string_view view(json::string_view s) { return {s.data(), s.size()}; }

const json::object& half_of(const json::value& schema, std::string_view half) {
    return schema.as_object().at(json::string_view(half.data(), half.size())).as_object();
}

const json::object& properties_of(const json::object& schema) {
    static const json::object none;
    const auto* found = schema.if_contains("properties");
    return found ? found->as_object() : none;
}

bool flag(const json::object& property, std::string_view name) {
    const auto* found = property.if_contains(json::string_view(name.data(), name.size()));
    return found && found->is_bool() && found->get_bool();
}

std::string text_member(const json::object& property, std::string_view name) {
    const auto* found = property.if_contains(json::string_view(name.data(), name.size()));
    return found && found->is_string() ? std::string(view(found->get_string())) : std::string();
}

bool is_required(const json::object& schema, std::string_view name) {
    const auto* required = schema.if_contains("required");
    if (!required) return false;
    return std::any_of(required->as_array().begin(), required->as_array().end(),
                       [&](const json::value& v) { return v.is_string() && view(v.get_string()) == name; });
}

bool has_type(const json::value& value, std::string_view type) {
    if (type == "string") return value.is_string();
    if (type == "integer") return value.is_int64();
    if (type == "number") return value.is_number();
    if (type == "boolean") return value.is_bool();
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    return true;
}

void check_value(const json::object& property, const json::value& value, const std::string& where, bool secret) {
    const std::string type = text_member(property, "type");
    const std::string shown = secret ? "***" : json::serialize(value).substr(0, 100);
    if (!type.empty() && !has_type(value, type)) {
        throw failure("config.invalid_option", where + " must be of type " + type + ", not " + shown,
                      text_member(property, "description"));
    }
    if (const auto* choices = property.if_contains("enum")) {
        const auto& list = choices->as_array();
        if (std::find(list.begin(), list.end(), value) == list.end()) {
            throw failure("config.invalid_option",
                          where + " is " + shown + "; it must be one of " + json::serialize(*choices));
        }
    }
    if (!value.is_int64()) return;
    const auto bound = [&](const char* name, bool too_far) {
        if (too_far) {
            throw failure("config.invalid_option",
                          where + " is " + shown + "; its " + name + " is " + json::serialize(property.at(name)));
        }
    };
    const auto* least = property.if_contains("minimum");
    if (least && least->is_int64()) bound("minimum", value.get_int64() < least->get_int64());
    const auto* most = property.if_contains("maximum");
    if (most && most->is_int64()) bound("maximum", value.get_int64() > most->get_int64());
}

// The secret texts of a value, those inside a table too: {"auth": {"properties": {"token": {"secret": true}}}}.
void collect_secrets(const json::object& property, const json::value& value, std::vector<std::string>& out) {
    if (flag(property, "secret") && value.is_string()) out.emplace_back(view(value.get_string()));
    if (!value.is_object()) return;
    for (const auto& inner : properties_of(property)) {
        if (!inner.value().is_object()) continue;
        const std::string wanted = fold_option(view(inner.key()));
        for (const auto& member : value.get_object()) {
            if (fold_option(view(member.key())) == wanted)
                collect_secrets(inner.value().get_object(), member.value(), out);
        }
    }
}

}  // namespace

void check_options_schema(std::string_view schema, std::string_view plugin) {
    const auto broken = [&](const std::string& why) {
        throw failure("plugin.contract", "plugin " + std::string(plugin) + ": its options schema " + why);
    };
    boost::system::error_code ec;
    const json::value value = json::parse(json::string_view(schema.data(), schema.size()), ec);
    if (ec) broken("is not JSON: " + ec.message());
    if (!value.is_object()) broken("is not an object");
    for (const char* half : {"connection", "table"}) {
        const auto* part = value.get_object().if_contains(half);
        if (!part || !part->is_object()) broken(std::string("has no object \"") + half + "\"");
        const auto* required = part->get_object().if_contains("required");
        if (required && !required->is_array())
            broken(std::string("has a \"required\" in \"") + half + "\" that is no array");
        const auto* properties = part->get_object().if_contains("properties");
        if (!properties) continue;
        if (!properties->is_object()) broken(std::string("has \"properties\" in \"") + half + "\" that are no object");
        for (const auto& property : properties->get_object()) {
            const auto where = std::string(half) + "." + std::string(view(property.key()));
            if (!property.value().is_object()) broken("has " + where + " that is no object");
            const auto* choices = property.value().get_object().if_contains("enum");
            if (choices && !choices->is_array()) broken("has an \"enum\" of " + where + " that is no array");
        }
    }
}

std::vector<option_info> list_options(std::string_view schema, std::string_view half) {
    const json::value value = json::parse(json::string_view(schema.data(), schema.size()));
    const json::object& part = half_of(value, half);
    std::vector<option_info> options;
    for (const auto& entry : properties_of(part)) {
        const json::object& property = entry.value().as_object();
        option_info info;
        info.name = std::string(view(entry.key()));
        info.type = text_member(property, "type");
        info.description = text_member(property, "description");
        if (const auto* given = property.if_contains("default")) info.default_json = json::serialize(*given);
        if (const auto* choices = property.if_contains("enum")) {
            for (const auto& choice : choices->as_array()) {
                info.choices.push_back(choice.is_string() ? std::string(view(choice.get_string()))
                                                          : json::serialize(choice));
            }
        }
        info.required = is_required(part, info.name);
        info.secret = flag(property, "secret");
        info.deprecated = flag(property, "deprecated");
        options.push_back(std::move(info));
    }
    return options;
}

checked_options check_options(std::string_view schema, std::string_view half, std::string_view given,
                              std::string_view where) {
    const json::value schema_value = json::parse(json::string_view(schema.data(), schema.size()));
    const json::object& part = half_of(schema_value, half);
    const json::object& properties = properties_of(part);
    const json::value given_value = json::parse(json::string_view(given.data(), given.size()));

    std::vector<std::string> names;
    names.reserve(properties.size());
    for (const auto& property : properties) names.emplace_back(view(property.key()));

    checked_options out;
    json::object result;
    for (const auto& member : given_value.as_object()) {
        const std::string name(view(member.key()));
        const std::string folded = fold_option(name);
        const auto known =
            std::find_if(names.begin(), names.end(), [&](const auto& n) { return fold_option(n) == folded; });
        const std::string place = std::string(where) + "." + name;
        if (known == names.end()) {
            if (flag(part, "additionalProperties")) {
                result[name] = member.value();
                continue;
            }
            const auto near = nearest(name, names);
            std::string all;
            for (const auto& n : names) all += (all.empty() ? "" : ", ") + n;
            throw failure(
                "config.unknown_option", place + " is not an option",
                near ? "Did you mean \"" + *near + "\"?" : "The options are: " + (all.empty() ? "none" : all) + ".");
        }
        if (result.contains(*known)) {
            throw failure("config.duplicate_option",
                          place + " is given twice: option names match without regard to case, '_' and '-'");
        }
        const json::object& property = properties.at(*known).as_object();
        const bool secret = flag(property, "secret");
        check_value(property, member.value(), place, secret);
        collect_secrets(property, member.value(), out.secrets);
        result[*known] = member.value();
    }
    for (const auto& name : names) {
        if (result.contains(name)) continue;
        const json::object& property = properties.at(name).as_object();
        if (const auto* value = property.if_contains("default")) {
            result[name] = *value;
        } else if (is_required(part, name)) {
            throw failure("config.missing_option", std::string(where) + "." + name + " is required",
                          text_member(property, "description"));
        }
    }
    out.json = json::serialize(result);
    return out;
}

}  // namespace lakeflow::host
