// plugins/postgres/settings.cpp: see settings.hpp.
#include "settings.hpp"

#include <libpq-fe.h>

#include <algorithm>
#include <cctype>
#include <memory>

#include "sql.hpp"

namespace lakeflow::postgres {
namespace {

using parameters = std::vector<std::pair<std::string, std::string>>;

failure wrong(std::string message, std::string hint = {}) {
    return invalid(std::move(message), std::move(hint)).with_code("config.invalid");
}

// "90s", "5m", "12h", "7d", "250ms" -> microseconds.
std::optional<std::int64_t> duration(std::string_view text) {
    static constexpr std::pair<std::string_view, std::int64_t> units[] = {
        {"us", 1},         {"ms", 1'000},        {"min", 60'000'000},   {"s", 1'000'000},
        {"m", 60'000'000}, {"h", 3'600'000'000}, {"d", 86'400'000'000},
    };
    for (const auto& [unit, size] : units) {
        if (!text.ends_with(unit)) continue;
        auto number = detail::plain_integer(text.substr(0, text.size() - unit.size()));
        std::int64_t out = 0;
        if (!number || *number < 0 || __builtin_mul_overflow(*number, size, &out)) return std::nullopt;
        return out;
    }
    return std::nullopt;
}

void put(parameters& all, const std::string& name, const std::string& value) {
    for (auto& [known, old] : all) {
        if (known == name) {
            old = value;
            return;
        }
    }
    all.emplace_back(name, value);
}

// libpq's own parser; its message names no value, since a value may be the password.
parameters parse_dsn(const std::string& text, const char* option) {
    char* problem = nullptr;
    std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> parsed(PQconninfoParse(text.c_str(), &problem),
                                                                        &PQconninfoFree);
    PQfreemem(problem);
    if (!parsed) {
        throw wrong(std::string(option) + " is no connection text that libpq understands",
                    "write 'host=.. port=.. dbname=.. user=..' or postgresql://user@host:port/dbname");
    }
    parameters out;
    for (const PQconninfoOption* one = parsed.get(); one->keyword != nullptr; ++one) {
        if (one->val != nullptr) out.emplace_back(one->keyword, one->val);
    }
    return out;
}

std::string unescape(std::string_view text) {
    std::string out;
    auto digit = [](char c) {
        return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
    };
    for (size_t i = 0; i < text.size(); ++i) {
        int high = i + 2 < text.size() && text[i] == '%' ? digit(text[i + 1]) : -1;
        int low = high >= 0 ? digit(text[i + 2]) : -1;
        if (low >= 0) {
            out += static_cast<char>(high * 16 + low);
            i += 2;
        } else {
            out += text[i];
        }
    }
    return out;
}

std::string trimmed_query(std::string text) {
    while (!text.empty() && (std::isspace(static_cast<unsigned char>(text.back())) || text.back() == ';'))
        text.pop_back();
    return text;
}

std::string bound_text(const json& options, std::string_view name) {
    const json* value = options.find(name);
    if (value == nullptr || value->is_null()) return {};
    return value->is_text() ? value->as_text() : value->dump();
}

}  // namespace

std::vector<std::pair<std::string, std::string>> parse_jdbc(std::string_view url) {
    url.remove_prefix(std::string_view("jdbc:postgresql:").size());
    std::string_view query;
    if (size_t mark = url.find('?'); mark != std::string_view::npos) {
        query = url.substr(mark + 1);
        url = url.substr(0, mark);
    }
    parameters out;
    if (url.starts_with("//")) {
        url.remove_prefix(2);
        size_t slash = std::min(url.find('/'), url.size());
        std::string hosts, ports;
        std::string_view rest = url.substr(0, slash);
        while (!rest.empty()) {
            std::string_view one = rest.substr(0, rest.find(','));
            rest.remove_prefix(std::min(one.size() + 1, rest.size()));
            size_t bracket = one.find(']');
            size_t colon = one.find(':', bracket == std::string_view::npos ? 0 : bracket);
            std::string_view host = one.substr(0, colon);
            if (host.starts_with("[") && host.ends_with("]")) host = host.substr(1, host.size() - 2);
            hosts += (hosts.empty() ? "" : ",") + unescape(host);
            ports += (ports.empty() ? "" : ",") +
                     std::string(colon == std::string_view::npos ? "5432" : one.substr(colon + 1));
        }
        if (!hosts.empty()) {
            out.emplace_back("host", hosts);
            out.emplace_back("port", ports);
        }
        url.remove_prefix(std::min(slash + 1, url.size()));
    }
    if (url.starts_with("/")) url.remove_prefix(1);
    if (!url.empty()) out.emplace_back("dbname", unescape(url));
    while (!query.empty()) {
        std::string_view pair = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(pair.size() + 1, query.size()));
        size_t equals = std::min(pair.find('='), pair.size());
        std::string name = unescape(pair.substr(0, equals));
        std::string value = unescape(pair.substr(std::min(equals + 1, pair.size())));
        if (name == "user" || name == "password" || name == "sslmode" || name == "sslrootcert") {
            put(out, name, value);
        } else if (name == "ssl") {
            if (value != "false") put(out, "sslmode", "verify-full");
        } else if (name == "ApplicationName") {
            put(out, "application_name", value);
        } else if (name == "currentSchema") {
            put(out, "options", "-csearch_path=" + value);
        } else if (name == "connectTimeout" || name == "loginTimeout") {
            put(out, "connect_timeout", value);
        } else {
            throw wrong("url: the JDBC parameter '" + name + "' has no meaning here",
                        "user, password, ssl, sslmode, sslrootcert, ApplicationName, currentSchema and connectTimeout "
                        "have one");
        }
    }
    return out;
}

connection_settings connection_settings::from(const json& options) {
    connection_settings out;
    std::string dsn = options.text("dsn"), url = options.text("url");
    if (!dsn.empty() && !url.empty()) throw wrong("dsn and url are both given", "keep one of the two");
    if (!dsn.empty()) out.parameters = parse_dsn(dsn, "dsn");
    if (url.starts_with("jdbc:postgresql:")) {
        out.parameters = parse_jdbc(url);
    } else if (!url.empty()) {
        out.parameters = parse_dsn(url, "url");
    }
    for (const char* name :
         {"host", "dbname", "user", "password", "service", "passfile", "sslmode", "sslrootcert", "application_name"}) {
        if (std::string value = options.text(name); !value.empty()) put(out.parameters, name, value);
    }
    if (std::int64_t port = options.integer("port"); port != 0) put(out.parameters, "port", std::to_string(port));
    bool timed = false;
    for (const auto& [name, value] : out.parameters) timed = timed || name == "connect_timeout";
    if (!timed) put(out.parameters, "connect_timeout", std::to_string(options.integer("connect_timeout", 10)));
    put(out.parameters, "fallback_application_name", "lakeflow-host");
    // What the decoder counts on, whatever the role or the environment say.
    put(out.parameters, "client_encoding", "UTF8");
    if (std::string text = options.text("statement_timeout"); !text.empty()) {
        auto limit = duration(text);
        if (!limit) throw wrong("statement_timeout: '" + text + "' is not a duration, such as 30s, 5m or 1h");
        out.statement_timeout = std::to_string((*limit + 999) / 1000);
    }
    return out;
}

table_settings table_settings::from(const json& options) {
    table_settings out;
    out.query = trimmed_query(options.text("query"));
    std::string dbtable = options.text("dbtable");
    if (!dbtable.empty() && !out.query.empty()) throw wrong("query and dbtable are both given", "keep one of the two");
    size_t opening = dbtable.find_first_not_of(" \t\r\n");
    if (opening != std::string::npos && dbtable[opening] == '(') {
        size_t closing = dbtable.rfind(')');
        if (closing == std::string::npos) throw wrong("dbtable: the parenthesis is not closed");
        out.query = trimmed_query(dbtable.substr(opening + 1, closing - opening - 1));
    } else {
        out.table = dbtable;
    }
    if (!options.text("num_partition_column").empty()) {
        throw wrong("there is no option num_partition_column", "the column that splits a read is partition_column");
    }
    if (const json* keys = options.find("primary_keys"); keys != nullptr && !keys->is_null()) {
        for (const json& key : keys->items()) out.primary_keys.push_back(key.as_text());
    }
    out.cursor = options.text("cursor");
    out.deleted = options.text("deleted");
    if (!out.deleted.empty() && out.cursor.empty()) {
        throw wrong("deleted is given without a cursor",
                    "a table without a cursor is read whole: leave such rows out by a query");
    }
    if (std::string text = options.text("lookback"); !text.empty()) {
        if (out.cursor.empty())
            throw wrong("lookback is given without a cursor", "name the column: cursor = \"updated_at\"");
        out.lookback = detail::plain_integer(text);
        if (!out.lookback) out.lookback = duration(text);
        if (!out.lookback || *out.lookback < 0) {
            throw wrong("lookback: '" + text + "' is neither a duration, such as 90s, 5m or 1h, nor a number");
        }
    }
    out.partition_column = options.text("partition_column");
    out.lower_bound = bound_text(options, "lower_bound");
    out.upper_bound = bound_text(options, "upper_bound");
    bool bounded = !out.lower_bound.empty() && !out.upper_bound.empty();
    if (out.partition_column.empty() && (!out.lower_bound.empty() || !out.upper_bound.empty())) {
        throw wrong("lower_bound and upper_bound are given without partition_column",
                    "name the column whose values are split: partition_column = \"id\"");
    }
    if (!out.partition_column.empty() && !bounded) {
        throw wrong("partition_column needs lower_bound and upper_bound",
                    "they say where to split and filter nothing: lower_bound = 1, upper_bound = 100000");
    }
    if (std::int64_t count = options.integer("num_partitions"); count > 0) out.num_partitions = count;
    out.fetch_size = options.integer("fetch_size");
    out.null_non_finite = options.text("non_finite") == "null";
    out.arrays_as_json = options.text("arrays") == "json";
    return out;
}

}  // namespace lakeflow::postgres
