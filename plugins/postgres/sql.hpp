// plugins/postgres/sql.hpp: names and values as SQL text that the server takes as just that name and that value. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lakeflow/lakeflow.hpp"

namespace lakeflow::postgres {

// "order ""x""". Throws invalid() for what cannot be a name: nothing, or one with NUL.
inline std::string identifier(std::string_view name) {
    if (name.empty() || name.find('\0') != std::string_view::npos) {
        throw invalid("'" + std::string(name) + "' is no name of PostgreSQL");
    }
    std::string out = "\"";
    for (char c : name) out += c == '"' ? std::string("\"\"") : std::string(1, c);
    return out + "\"";
}

// 'it''s'. A backslash makes it an E'' string, which means the same whatever standard_conforming_strings says. The session's
// encoding is UTF-8, in which no byte of a longer character is a quote. Throws invalid() for NUL, which no text of the server holds.
inline std::string literal(std::string_view text) {
    if (text.find('\0') != std::string_view::npos) throw invalid("PostgreSQL's text cannot hold NUL");
    std::string out = text.find('\\') == std::string_view::npos ? "'" : " E'";
    for (char c : text) {
        if (c == '\'' || c == '\\') out += c;
        out += c;
    }
    return out + "'";
}

inline std::string join(const std::vector<std::string>& parts, std::string_view between) {
    std::string out;
    for (const std::string& part : parts) {
        if (!out.empty()) out += between;
        out += part;
    }
    return out;
}

// A name of parts as people write it: public.orders, public."Odd.Name". What stands in quotes is taken as it is.
inline std::vector<std::string> split_name(std::string_view text) {
    std::vector<std::string> out(1);
    bool quoted = false;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '"' && quoted && i + 1 < text.size() && text[i + 1] == '"') {
            out.back() += text[++i];
        } else if (text[i] == '"') {
            quoted = !quoted;
        } else if (text[i] == '.' && !quoted) {
            out.emplace_back();
        } else {
            out.back() += text[i];
        }
    }
    return out;
}

// The inverse of split_name.
inline std::string show_name(const std::vector<std::string>& parts) {
    std::vector<std::string> shown;
    for (const std::string& part : parts) {
        bool plain = part.find_first_of(".\"") == std::string::npos;
        shown.push_back(plain ? part : identifier(part));
    }
    return join(shown, ".");
}

}  // namespace lakeflow::postgres
