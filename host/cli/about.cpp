// host/cli/about.cpp: plugins, describe, tables, schema: what there is to read.
#include <algorithm>
#include <cstdio>
#include <set>

#include "host/base/error.h"
#include "host/base/json.h"
#include "host/base/text.h"
#include "host/cli/commands.h"
#include "host/cli/instance.h"
#include "host/plugin/loader.h"
#include "host/plugin/options.h"

namespace lakeflow::host {
namespace {

void print(const std::string& line) { std::printf("%s\n", line.c_str()); }

std::string json_list(const std::vector<std::string>& texts) {
    std::string out = "[";
    for (const auto& text : texts) out += (out.size() > 1 ? "," : "") + quote_json(text);
    return out + "]";
}

std::string joined(const std::vector<std::string>& texts) {
    std::string out;
    for (const auto& text : texts) out += (out.empty() ? "" : ", ") + text;
    return out;
}

std::string padded(std::string text, std::size_t width) {
    if (text.size() < width) text.resize(width, ' ');
    return text;
}

std::vector<std::string> interfaces_of(const plugin& p) {
    std::vector<std::string> names{LF_CONNECTOR_ID};
    if (p.partition) names.emplace_back(LF_PARTITION_ID);
    if (p.namespaces) names.emplace_back(LF_NAMESPACES_ID);
    if (p.scan) names.emplace_back(LF_SCAN_ID);
    if (p.writer) names.emplace_back(LF_WRITER_ID);
    return names;
}

std::string plugin_json(const plugin& p) {
    return "\"id\":" + quote_json(p.id) + ",\"version\":" + quote_json(p.version) +
           ",\"summary\":" + quote_json(p.summary) + ",\"vendor\":" + quote_json(p.vendor) +
           ",\"license\":" + quote_json(p.license) + ",\"path\":" + quote_json(p.path.string()) +
           ",\"abi_version\":" + std::to_string(p.abi_version) + ",\"interfaces\":" + json_list(interfaces_of(p));
}

void print_options(const plugin& p, const char* half, const std::string& title) {
    const auto options = list_options(p.options_schema, half);
    print("");
    print(title + (options.empty() ? ": none" : ""));
    for (const auto& o : options) {
        std::string notes = o.type;
        if (!o.choices.empty()) notes = joined(o.choices);
        if (o.required) notes += ", required";
        if (o.secret) notes += ", secret";
        if (o.deprecated) notes += ", deprecated";
        if (!o.default_json.empty()) notes += ", default " + o.default_json;
        print("  " + padded(o.name, 22) + " " + o.description + " (" + notes + ")");
    }
}

}  // namespace

int plugins_command(const arguments& args, terminal& out) {
    const auto places = search_order(args.plugin_dirs);
    const auto found = find_plugins(places);
    for (const auto& f : found) {
        if (args.json) {
            print(f.loaded ? "{" + plugin_json(*f.loaded) + ",\"origin\":" + quote_json(f.origin) + "}"
                           : "{\"path\":" + quote_json(f.path.string()) + ",\"origin\":" + quote_json(f.origin) +
                                 ",\"error\":{\"code\":" + quote_json(f.reason->code) +
                                 ",\"message\":" + quote_json(f.reason->message) + "}}");
        } else if (f.loaded) {
            print(padded(f.loaded->id, 16) + " " + padded(f.loaded->version, 8) + " " + f.loaded->summary + "  (" +
                  f.path.string() + ", " + f.origin + ")");
        } else {
            print(padded("-", 16) + " " + f.reason->message + " [" + f.reason->code + "]");
        }
    }
    if (found.empty() && !args.json) {
        out.say("no plugins were found in:");
        for (const auto& place : places) out.say("  " + place.directory.string() + " (" + place.origin + ")");
    }
    return 0;
}

int describe_command(const arguments& args, terminal&) {
    const auto p = load_plugin(args.subject, search_order(args.plugin_dirs));
    if (args.json) {
        print("{" + plugin_json(*p) +
              ",\"options\":" + canonical_json(p->options_schema, "plugin.contract", "the options schema") + "}");
        return 0;
    }
    print(p->id + " " + p->version + ": " + p->summary);
    print("  " + p->vendor + ", " + p->license + (p->homepage.empty() ? "" : ", " + p->homepage));
    print("  " + p->path.string() + ", ABI " + std::to_string(p->abi_version) + ", " + joined(interfaces_of(*p)));
    print_options(*p, "connection", "Options of [connection]");
    print_options(*p, "table", "Options of [[tables]]");
    return 0;
}

int tables_command(const arguments& args, terminal& out) {
    opened_job opened = open_job(args, out, {});
    plugin_instance instance(opened.plan, "");
    for (const auto& name : instance.connector().list_tables()) {
        if (!args.json) {
            print(name);
            continue;
        }
        // Metadata may need table options that only a flow has: those of the first flow that reads the table.
        std::string options = "{}";
        for (const auto& t : opened.plan.tables) {
            if (t.source == name) {
                options = t.options;
                break;
            }
        }
        std::string line = "{\"name\":" + quote_json(name);
        try {
            const table_metadata m = instance.connector().metadata(name, options);
            line += ",\"ingestion_type\":" + quote_json(to_string(m.ingestion)) +
                    ",\"primary_keys\":" + json_list(m.primary_keys) +
                    ",\"cursor_field\":" + (m.cursor_field.empty() ? "null" : quote_json(m.cursor_field)) +
                    ",\"capabilities\":" + json_list(m.capabilities);
        } catch (const failure& f) {
            line += ",\"error\":{\"code\":" + quote_json(f.get().code) + ",\"message\":" + quote_json(f.get().message) +
                    "}";
        }
        print(line + "}");
    }
    return 0;
}

int schema_command(const arguments& args, terminal& out) {
    opened_job opened = open_job(args, out, {});
    const table_plan table = table_of(opened.plan, args.subject);
    plugin_instance instance(opened.plan, table.source);
    const arrow_schema schema = instance.connector().table_schema(table.source, table.options);
    const table_metadata m = instance.connector().metadata(table.source, table.options);
    if (args.json) {
        std::string columns = "[";
        for (std::int64_t i = 0; i < schema.columns(); ++i) {
            const ArrowSchema& c = schema.column(i);
            columns += (i ? "," : "") + std::string("{\"name\":") + quote_json(name_of(c)) +
                       ",\"type\":" + quote_json(type_name(c)) +
                       ",\"nullable\":" + (is_nullable(c) ? "true" : "false") + "}";
        }
        print("{\"table\":" + quote_json(table.source) + ",\"columns\":" + columns +
              "],\"primary_keys\":" + json_list(m.primary_keys) +
              ",\"cursor_field\":" + (m.cursor_field.empty() ? "null" : quote_json(m.cursor_field)) +
              ",\"ingestion_type\":" + quote_json(to_string(m.ingestion)) + "}");
        return 0;
    }
    std::size_t width = 0;
    for (std::int64_t i = 0; i < schema.columns(); ++i) width = std::max(width, name_of(schema.column(i)).size());
    for (std::int64_t i = 0; i < schema.columns(); ++i) {
        const ArrowSchema& c = schema.column(i);
        print(padded(std::string(name_of(c)), width) + "  " + type_name(c) + (is_nullable(c) ? "" : " NOT NULL"));
    }
    out.say("ingestion type " + std::string(to_string(m.ingestion)) + ", primary keys " +
            (m.primary_keys.empty() ? "none" : joined(m.primary_keys)) +
            (m.cursor_field.empty() ? "" : ", cursor " + m.cursor_field));
    return 0;
}

}  // namespace lakeflow::host
