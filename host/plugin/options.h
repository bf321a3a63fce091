// host/plugin/options.h: options of a plugin, checked against the schema that it publishes: names fold (contract 15), types, ranges,
// enums, required and default values, and which values are secrets. JSON text in and out. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lakeflow::host {

// One option as `lakeflow-host describe` shows it.
struct option_info {
    std::string name;
    std::string type;  // "string", "integer", "boolean", "number", "object", "array"
    std::string description;
    std::string default_json;  // empty: none
    std::vector<std::string> choices;
    bool required = false;
    bool secret = false;
    bool deprecated = false;
};

struct checked_options {
    std::string json;                  // canonical names, defaults filled in
    std::vector<std::string> secrets;  // values of secret options
};

// Checks that a schema text is one (lakeflow/entry.h). Throws plugin.contract.
void check_options_schema(std::string_view schema, std::string_view plugin);

// The options of one half, "connection" or "table", in the schema's order.
std::vector<option_info> list_options(std::string_view schema, std::string_view half);

// `given` is a JSON object. `where` is how messages name the place: "[connection]", "[[tables]] issues options". Throws
// config.unknown_option naming the near key, config.duplicate_option, config.missing_option, config.invalid_option.
checked_options check_options(std::string_view schema, std::string_view half, std::string_view given,
                              std::string_view where);

}  // namespace lakeflow::host
