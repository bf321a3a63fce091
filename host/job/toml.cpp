// host/job/toml.cpp: see toml.h.
#include "host/job/toml.h"

#include <toml++/toml.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include "host/base/error.h"
#include "host/base/text.h"

namespace lakeflow::host {
namespace {

namespace json = boost::json;

template <class T>
std::string as_text(const T& value) {
    std::ostringstream out;
    out.imbue(std::locale::classic());
    out << value;
    return out.str();
}

json::value convert(const toml::node& node, const std::string& path, std::map<std::string, unsigned>* lines) {
    if (lines && !path.empty() && node.source().begin) (*lines)[path] = node.source().begin.line;
    if (const auto* table = node.as_table()) {
        json::object out;
        for (const auto& [key, value] : *table) {
            const std::string name(key.str());
            const std::string below = path.empty() ? name : path + "." + name;
            out[name] = convert(value, below, lines);
            if (lines) (*lines)[below] = key.source().begin.line;
        }
        return out;
    }
    if (const auto* array = node.as_array()) {
        json::array out;
        for (const auto& element : *array)
            out.push_back(convert(element, path + "[" + std::to_string(out.size()) + "]", lines));
        return out;
    }
    if (const auto* text = node.as_string()) return json::value(json::string(text->get()));
    if (const auto* integer = node.as_integer()) return integer->get();
    if (const auto* number = node.as_floating_point()) return number->get();
    if (const auto* flag = node.as_boolean()) return flag->get();
    if (const auto* date = node.as_date()) return json::value(json::string(as_text(date->get())));
    if (const auto* time = node.as_time()) return json::value(json::string(as_text(time->get())));
    if (const auto* moment = node.as_date_time()) return json::value(json::string(as_text(moment->get())));
    return nullptr;
}

[[noreturn]] void bad_set(std::string_view assignment, const std::string& why) {
    throw failure("config.set", "--set " + std::string(assignment) + ": " + why,
                  "Write --set table.key=value, for example --set destination.path=/data/lake or --set "
                  "tables.issues.mode=append.");
}

// The entry of an array of tables that a step of a path means: its number, or its name, destination or source.
json::value* entry_of(json::array& entries, const std::string& step) {
    if (const auto index = parse_int(step)) {
        const bool inside = *index >= 0 && static_cast<std::size_t>(*index) < entries.size();
        return inside ? &entries[static_cast<std::size_t>(*index)] : nullptr;
    }
    for (const char* member : {"name", "destination", "source"}) {
        for (auto& entry : entries) {
            const auto* object = entry.if_object();
            const auto* value = object ? object->if_contains(member) : nullptr;
            if (value && value->is_string() && std::string_view(value->get_string()) == step) return &entry;
        }
    }
    return nullptr;
}

}  // namespace

std::string document::place(const std::string& path) const {
    const auto found = lines.find(path);
    return found == lines.end() ? file : file + ", line " + std::to_string(found->second);
}

document read_document(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    if (!in.is_open() || in.bad()) {
        throw failure("config.file", "the job file " + path + " cannot be read",
                      "Give the path of a job file with --config.");
    }
    toml::table table;
    try {
        table = toml::parse(text, path);
    } catch (const toml::parse_error& e) {
        std::ostringstream where;
        where.imbue(std::locale::classic());
        where << path << ", line " << e.source().begin.line << ", column " << e.source().begin.column << ": "
              << e.description();
        throw failure("config.syntax", where.str(), "The job file is TOML: https://toml.io");
    }
    document doc;
    doc.file = path;
    doc.root = convert(table, "", &doc.lines).as_object();
    return doc;
}

void set_value(document& doc, std::string_view assignment) {
    const std::size_t equals = assignment.find('=');
    if (equals == std::string_view::npos || equals == 0) bad_set(assignment, "there is no KEY=VALUE");
    const std::vector<std::string> steps = split(trim(assignment.substr(0, equals)), '.');
    const std::string text(assignment.substr(equals + 1));

    json::value value;
    try {
        const toml::table parsed = toml::parse("v = " + text);
        if (parsed.size() == 1) value = convert(*parsed.get("v"), "", nullptr);
    } catch (const toml::parse_error&) {
        value = nullptr;
    }
    if (value.is_null()) value = json::string(text);  // what is no TOML value is text

    json::object* at = &doc.root;
    std::string path;
    for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
        if (steps[i].empty()) bad_set(assignment, "a part of the key is empty");
        path += (path.empty() ? "" : ".") + steps[i];
        json::value& next = (*at)[steps[i]];
        if (next.is_null()) next = json::object();
        json::value* chosen = &next;
        if (next.is_array()) {
            chosen = i + 2 < steps.size() ? entry_of(next.get_array(), steps[++i]) : nullptr;
            if (!chosen) bad_set(assignment, "[[" + path + "]] has no such entry");
        }
        if (!chosen->is_object()) bad_set(assignment, path + " is not a table");
        at = &chosen->get_object();
    }
    if (steps.back().empty()) bad_set(assignment, "a part of the key is empty");
    (*at)[steps.back()] = std::move(value);
}

}  // namespace lakeflow::host
