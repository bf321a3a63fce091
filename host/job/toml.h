// host/job/toml.h: reads a job file as a tree of JSON values and remembers where each key stands. The only user of toml++. Any thread.
#pragma once

#include <boost/json.hpp>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lakeflow::host {

// A job file. Dates and times become their text. A path is written as in messages: "tables[0].source".
struct document {
    boost::json::object root;
    std::map<std::string, unsigned> lines;  // of each path; absent for a value from --set

    // "job.toml, line 7" or "--set", for messages.
    std::string place(const std::string& path) const;

    std::string file;
};

// Throws config.file if it cannot be read, config.syntax with line and column.
document read_document(const std::string& path);

// Sets one value: "destination.path=/x", "tables.issues.mode=append" (an entry by its name, or by its number). The value is TOML, or
// text if it is not. Throws config.set.
void set_value(document& doc, std::string_view assignment);

}  // namespace lakeflow::host
