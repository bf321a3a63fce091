// host/duck/sql.cpp: see sql.h.
#include "host/duck/sql.h"

#include <boost/json.hpp>

#include "host/base/error.h"
#include "host/base/text.h"

namespace lakeflow::host::duck {
namespace {

namespace json = boost::json;

std::string one_text(connection& c, const std::string& sql) {
    result rows = c.query(sql);
    if (!rows.next() || rows[0].is_null())
        throw failure("destination.duckdb", "DuckDB gave no answer about an SQL text");
    return std::string(rows[0].text());
}

std::string member(const json::object& object, const char* name) {
    const auto* found = object.if_contains(name);
    const auto* text = found ? found->if_string() : nullptr;
    return text ? std::string(*text) : std::string();
}

}  // namespace

json::value parse_sql(connection& c, const std::string& sql, const std::string& code) {
    const auto text = one_text(c, "SELECT json_serialize_sql(" + quote_text(sql) + ")");
    json::parse_options options;
    options.max_depth = 1'000;
    boost::system::error_code ec;
    auto tree = json::parse(text, ec, {}, options);
    if (ec || !tree.is_object())
        throw failure("destination.duckdb", "DuckDB's tree of an SQL text is not JSON: " + ec.message());
    const auto& object = tree.get_object();
    const auto* failed = object.if_contains("error");
    if (!failed || !failed->is_bool() || !failed->get_bool()) return tree;
    const auto place = member(object, "position");
    throw failure(error{code,
                        std::string(cut_utf8(sql, 300)) + ": " + member(object, "error_message") +
                            (place.empty() ? "" : " (at character " + place + ")"),
                        "the SQL is DuckDB's, and only SELECT is taken", retry_class::invalid});
}

std::string write_sql(connection& c, const json::value& tree) {
    return one_text(c, "SELECT json_deserialize_sql(" + quote_text(json::serialize(tree)) + "::JSON)");
}

json::value parse_where(const std::string& library, std::string_view text) {
    database_options options;
    options.library = library;
    const auto db = database::open(options);
    auto c = db->connect();
    // A line of its own, so that a comment at the end of the text ends there.
    return parse_sql(c, "SELECT * FROM t WHERE " + std::string(text) + "\n", "config.where");
}

}  // namespace lakeflow::host::duck
