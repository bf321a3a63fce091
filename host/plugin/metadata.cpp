// host/plugin/metadata.cpp: see metadata.h.
#include "host/plugin/metadata.h"

#include <algorithm>
#include <boost/json.hpp>
#include <set>

#include "host/base/error.h"
#include "host/base/json.h"
#include "host/base/text.h"

namespace lakeflow::host {
namespace {

namespace json = boost::json;

[[noreturn]] void broken(std::string_view what, const std::string& why) {
    throw failure("plugin.contract", std::string(what) + ": " + why, "The plugin breaks the contract; ask its vendor.");
}

json::value parse(std::string_view text, std::string_view what) {
    boost::system::error_code ec;
    json::value value = json::parse(json::string_view(text.data(), text.size()), ec);
    if (ec) broken(what, "the answer is not JSON: " + std::string(cut_utf8(text, 200)));
    return value;
}

json::object parse_object(std::string_view text, std::string_view what) {
    json::value value = parse(text, what);
    if (!value.is_object()) broken(what, "the answer is not a JSON object: " + std::string(cut_utf8(text, 200)));
    return std::move(value.get_object());
}

// Members of an object by type; an absent or null one gives the default.
class members {
  public:
    members(const json::object& object, std::string_view what) : object_(object), what_(what) {}

    std::string text(const char* name) const {
        const json::value* v = find(name);
        if (!v) return {};
        if (!v->is_string()) broken(what_, std::string("\"") + name + "\" is not a string");
        return std::string(v->get_string());
    }
    bool flag(const char* name, bool fallback) const {
        const json::value* v = find(name);
        if (!v) return fallback;
        if (!v->is_bool()) broken(what_, std::string("\"") + name + "\" is not a boolean");
        return v->get_bool();
    }
    std::vector<std::string> texts(const char* name) const {
        const json::value* v = find(name);
        std::vector<std::string> out;
        if (!v) return out;
        if (!v->is_array()) broken(what_, std::string("\"") + name + "\" is not an array of strings");
        for (const auto& element : v->get_array()) {
            if (!element.is_string()) broken(what_, std::string("\"") + name + "\" is not an array of strings");
            out.emplace_back(element.get_string());
        }
        return out;
    }
    const json::value* find(const char* name) const {
        const json::value* v = object_.if_contains(name);
        return v && !v->is_null() ? v : nullptr;
    }

  private:
    const json::object& object_;
    std::string what_;
};

offset_cursor parse_cursor(const json::value& value, std::string_view what) {
    if (!value.is_object()) broken(what, "\"offset_cursor\" is not an object");
    const members m(value.get_object(), what);
    offset_cursor cursor{m.text("member"), cursor_form::text};
    const std::string form = m.text("form");
    if (cursor.member.empty()) broken(what, "\"offset_cursor\" has no \"member\"");
    if (form == "rfc3339")
        cursor.form = cursor_form::rfc3339;
    else if (form == "epoch_s")
        cursor.form = cursor_form::epoch_s;
    else if (form == "epoch_ms")
        cursor.form = cursor_form::epoch_ms;
    else if (form == "integer")
        cursor.form = cursor_form::integer;
    else if (form != "text")
        broken(what,
               "\"offset_cursor\" has form \"" + form + "\"; it must be rfc3339, epoch_s, epoch_ms, integer or text");
    return cursor;
}

}  // namespace

std::string_view to_string(ingestion_type type) noexcept {
    switch (type) {
        case ingestion_type::snapshot: return "snapshot";
        case ingestion_type::cdc: return "cdc";
        case ingestion_type::cdc_with_deletes: return "cdc_with_deletes";
        case ingestion_type::append: return "append";
    }
    return "unknown";
}

table_metadata parse_metadata(std::string_view text, std::string_view what) {
    const json::object object = parse_object(text, what);
    const members m(object, what);
    table_metadata out;
    const std::string type = m.text("ingestion_type");
    if (type == "snapshot")
        out.ingestion = ingestion_type::snapshot;
    else if (type == "cdc")
        out.ingestion = ingestion_type::cdc;
    else if (type == "cdc_with_deletes")
        out.ingestion = ingestion_type::cdc_with_deletes;
    else if (type == "append")
        out.ingestion = ingestion_type::append;
    else
        broken(what, "\"ingestion_type\" is \"" + type + "\"; it must be snapshot, cdc, cdc_with_deletes or append");
    out.primary_keys = m.texts("primary_keys");
    out.cursor_field = m.text("cursor_field");
    const bool cdc = out.ingestion == ingestion_type::cdc || out.ingestion == ingestion_type::cdc_with_deletes;
    if (cdc && out.cursor_field.empty()) broken(what, "a table of type " + type + " needs a \"cursor_field\"");
    if (cdc && out.primary_keys.empty()) broken(what, "a table of type " + type + " needs \"primary_keys\"");
    if (const json::value* cursor = m.find("offset_cursor")) out.cursor = parse_cursor(*cursor, what);
    out.replayable = m.flag("replayable", true);
    out.windowed = m.flag("windowed", false);
    out.rereads = m.flag("rereads", false);
    out.external_schema = m.flag("external_schema", false);
    out.whole_snapshot = m.flag("whole_snapshot", false);
    out.capabilities =
        m.find("capabilities") ? m.texts("capabilities") : std::vector<std::string>{"batch_read", "stream_read"};
    return out;
}

latest parse_latest(std::string_view text, std::string_view what) {
    const json::object object = parse_object(text, what);
    const members m(object, what);
    const json::value* offset = m.find("offset");
    if (!offset) broken(what, "the answer has no \"offset\": " + std::string(cut_utf8(text, 200)));
    return {canonical_offset(json::serialize(*offset), what), m.texts("honoured")};
}

std::vector<std::string> parse_names(std::string_view text, std::string_view what) {
    const json::value value = parse(text, what);
    if (!value.is_array()) broken(what, "the answer is not a JSON array: " + std::string(cut_utf8(text, 200)));
    std::vector<std::string> names;
    std::set<std::string> seen;
    for (const auto& element : value.get_array()) {
        if (!element.is_string() || element.get_string().empty())
            broken(what, "the list has an element that is no name: " + json::serialize(element).substr(0, 100));
        names.emplace_back(element.get_string());
        if (!seen.insert(names.back()).second) broken(what, "the list names \"" + names.back() + "\" twice");
    }
    return names;
}

std::vector<std::string> namespaces_of(std::string_view text, std::string_view what) {
    const json::value value = parse(text, what);
    if (!value.is_array()) broken(what, "the answer is not a JSON array: " + std::string(cut_utf8(text, 200)));
    std::vector<std::string> out;
    for (const auto& element : value.get_array()) {
        const bool parts = element.is_array() && std::all_of(element.get_array().begin(), element.get_array().end(),
                                                             [](const json::value& part) { return part.is_string(); });
        if (!parts) broken(what, "a namespace is not an array of strings: " + json::serialize(element).substr(0, 100));
        out.push_back(json::serialize(element));
    }
    return out;
}

}  // namespace lakeflow::host
