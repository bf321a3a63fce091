// host/duck/sql.h: SQL text as the tree that DuckDB's parser makes of it, and back. The tree is the JSON of json_serialize_sql in its full
// form, the only one that json_deserialize_sql takes. Threads: as the connection.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>
#include <string_view>

#include "host/duck/duck.h"

namespace lakeflow::host::duck {

// {"error": false, "statements": [...]}. Throws `code` for what does not parse, or is no SELECT, with DuckDB's words and the place.
boost::json::value parse_sql(connection& c, const std::string& sql, const std::string& code);
// One statement of such a tree as SQL.
std::string write_sql(connection& c, const boost::json::value& tree);

// The conjuncts of a `where`: SELECT * FROM t WHERE <text>, on a DuckDB that lives only for that.
boost::json::value parse_where(const std::string& library, std::string_view text);

}  // namespace lakeflow::host::duck
