// host/rows/content.cpp: see content.h.
#include "host/rows/content.h"

#include "host/base/text.h"

namespace lakeflow::host {

// A list of what cannot be, not of what may: servers send JSON as text/plain, application/octet-stream and worse.
std::string wrong_content(rows_format format, std::string_view content_type) {
    const std::string type = lower_ascii(trim(content_type.substr(0, content_type.find(';'))));
    const std::string_view t = type;
    bool wrong = t == "text/html" || t == "text/xml" || t == "application/xml" || t == "text/css" ||
                 t == "application/pdf" || t == "application/zip" || t.ends_with("+xml");
    for (const std::string_view kind : {"image/", "audio/", "video/", "font/", "multipart/"})
        wrong = wrong || t.starts_with(kind);
    const bool is_csv = t == "text/csv";
    const bool is_json = t == "application/json" || t == "text/json" || t.ends_with("+json");
    wrong = wrong || (format == rows_format::csv ? is_json : is_csv);
    if (!wrong) return {};
    return "the answer is " + type + ", not " + (format == rows_format::csv ? "CSV" : "JSON");
}

}  // namespace lakeflow::host
