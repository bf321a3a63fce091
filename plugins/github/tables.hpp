// plugins/github/tables.hpp: the twelve tables as data: endpoint, keys, cursor, columns and where they lie in GitHub's answers.
// Constant; any thread.
#pragma once

#include <span>
#include <string_view>

#include "lakeflow/lakeflow.hpp"

namespace lakeflow::github {

// How a table advances.
enum class family {
    since,     // a listing with `since`: issues, comments
    newest,    // a listing without it, read from its newest row: pull requests
    history,   // what a head can reach: commits
    per_pull,  // one listing for each pull request: reviews
    snapshot,  // the whole table, or nothing if its pages did not change
};

// What a table belongs to, and so which options it needs.
enum class scope {
    repository,  // owner, repo
    account,     // owner or org
    token,       // the user behind the token
};

// What a listing is told about the state of its rows. Pull requests are asked for in every state, and those of another one than
// the option's dropped here: a row that leaves a filtered listing while it is walked by page numbers would push the next one out
// of sight. Issues can be walked another way.
enum class states { none, chosen, all };

// A column that is not simply the row's member of its name.
struct column_path {
    std::string_view column, pointer;
};

struct table {
    std::string_view name;
    family how;
    scope of;
    states asked;
    std::string_view path;  // behind /repos/{owner}/{repo}/, or behind the service's address
    ingestion kind;
    std::span<const std::string_view> keys;
    std::string_view cursor;  // a column; empty: none
    std::string_view ddl;     // Spark's DDL; a column that is no key may be null, whatever GitHub promises
    std::span<const column_path> paths = {};
};

std::span<const table> all_tables();

// Throws not_found(), naming the tables that there are.
const table& find_table(std::string_view name);

}  // namespace lakeflow::github
