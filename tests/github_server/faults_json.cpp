// Reads the JSON of a fault script; see faults.h.
#include <boost/json.hpp>
#include <stdexcept>

#include "tests/github_server/faults.h"
#include "tests/github_server/text.h"

namespace lakeflow::github_server {
namespace {

namespace json = boost::json;

[[noreturn]] void refuse(std::string_view key, std::string_view why) {
    throw std::invalid_argument("fault script: " + std::string(key) + ": " + std::string(why));
}
std::int64_t integer(std::string_view key, const json::value& value) {
    if (!value.is_int64()) refuse(key, "a whole number is expected");
    return value.get_int64();
}
std::uint32_t count(std::string_view key, const json::value& value) {
    const std::int64_t number = integer(key, value);
    if (number < 0 || number > 0x7fffffff) refuse(key, "out of range");
    return static_cast<std::uint32_t>(number);
}
std::string text(std::string_view key, const json::value& value) {
    if (!value.is_string()) refuse(key, "a text is expected");
    return std::string(std::string_view(value.get_string()));
}
bool flag(std::string_view key, const json::value& value) {
    if (!value.is_bool()) refuse(key, "true or false is expected");
    return value.get_bool();
}
std::string one_of(std::string_view key, const json::value& value, std::initializer_list<std::string_view> allowed) {
    const std::string out = text(key, value);
    for (const std::string_view a : allowed)
        if (out == a) return out;
    refuse(key, "unknown value \"" + out + "\"");
}

template <class Rule>
bool read_when(std::string_view key, const json::value& value, Rule& rule) {
    if (key == "path")
        rule.path = text(key, value);
    else if (key == "from")
        rule.from = count(key, value);
    else if (key == "times")
        rule.times = integer(key, value);
    else
        return false;
    return true;
}

void read_drip(const json::value& value, delivery& how) {
    if (!value.is_object()) refuse("drip", "{\"bytes\":..,\"every_ms\":..} is expected");
    for (const auto& [key, member] : value.get_object()) {
        if (key == "bytes")
            how.drip_bytes = count(key, member);
        else if (key == "every_ms")
            how.drip_ms = count(key, member);
        else
            refuse(key, "unknown key of drip");
    }
}

fault read_fault(const json::value& value) {
    if (!value.is_object()) refuse("faults", "a list of objects is expected");
    fault rule;
    for (const auto& [name, member] : value.get_object()) {
        const std::string_view key = name;
        if (read_when(key, member, rule)) continue;
        if (key == "per_page_over")
            rule.per_page_over = count(key, member);
        else if (key == "conditional")
            rule.conditional = flag(key, member);
        else if (key == "status")
            rule.status = static_cast<int>(integer(key, member));
        else if (key == "body")
            rule.body = member.is_string() ? text(key, member) : json::serialize(member);
        else if (key == "kind")
            rule.kind = one_of(key, member,
                               {"html", "empty", "null", "secondary_limit", "primary_limit", "bad_credentials",
                                "redirect", "cut", "reset", "hang", "close"});
        else if (key == "retry_after")
            rule.retry_after = integer(key, member);
        else if (key == "retry_after_form")
            rule.retry_after_form = one_of(key, member, {"seconds", "imf", "rfc850", "asctime"});
        else if (key == "to")
            rule.to = text(key, member);
        else if (key == "link")
            rule.link = text(key, member);
        else if (key == "mode")
            rule.mode = one_of(key, member, {"length", "chunked", "gzip", "element", "array"});
        else if (key == "at")
            rule.at = count(key, member);
        else if (key == "delay_ms")
            rule.how.delay_ms = count(key, member);
        else if (key == "drip")
            read_drip(member, rule.how);
        else if (key == "chunked")
            rule.how.chunked = flag(key, member);
        else if (key == "close")
            rule.how.close = flag(key, member);
        else if (key == "ignore_query") {
            if (!member.is_array()) refuse(key, "a list of names is expected");
            for (const json::value& item : member.get_array()) rule.ignore_query.push_back(text(key, item));
        } else if (key == "headers") {
            if (!member.is_object()) refuse(key, "an object is expected");
            for (const auto& [header, content] : member.get_object())
                rule.headers.emplace_back(std::string(std::string_view(header)), text(header, content));
        } else {
            refuse(key, "unknown key of a fault");
        }
    }
    if (rule.kind == "redirect" && rule.to.empty()) refuse("to", "a redirect needs it");
    return rule;
}

trigger read_trigger(const json::value& value) {
    if (!value.is_object()) refuse("triggers", "a list of objects is expected");
    trigger rule;
    for (const auto& [name, member] : value.get_object()) {
        const std::string_view key = name;
        if (read_when(key, member, rule)) continue;
        if (key == "when")
            rule.before = one_of(key, member, {"before", "after"}) == "before";
        else if (key == "do" && member.is_array())
            rule.actions = json::serialize(member);
        else
            refuse(key, "unknown key of a trigger");
    }
    if (rule.actions.empty()) refuse("do", "a trigger needs it");
    return rule;
}

}  // namespace

void fault_script::add(std::string_view script) {
    const json::value value = json::parse(json::string_view(script.data(), script.size()));
    if (!value.is_object()) refuse("script", "an object is expected");
    std::vector<fault> faults;
    std::vector<trigger> triggers;
    for (const auto& [key, list] : value.get_object()) {
        if (key != "faults" && key != "triggers") refuse(key, "unknown key");
        if (!list.is_array()) refuse(key, "a list is expected");
        for (const json::value& item : list.get_array()) {
            if (key == "faults")
                faults.push_back(read_fault(item));
            else
                triggers.push_back(read_trigger(item));
        }
    }
    for (fault& rule : faults) add(std::move(rule));
    for (trigger& rule : triggers) add(std::move(rule));
}

}  // namespace lakeflow::github_server
