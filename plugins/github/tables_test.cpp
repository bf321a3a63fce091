// Every column of every table against GitHub's own description of the rows, and the rules of metadata and options.
#include "tables.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include "settings.hpp"

using namespace lakeflow;
using namespace lakeflow::github;

namespace {

const json& description() {
    static const json all = [] {
        std::ifstream in(LAKEFLOW_TEST_DATA "/github_schema.json");
        std::string text{std::istreambuf_iterator<char>(in), {}};
        return json::parse(text).at("schemas");
    }();
    return all;
}

// The row that a table's listing gives, and the columns that the connector adds.
const std::map<std::string_view, std::string_view> row_of = {
    {"issues", "issue"},          {"pull_requests", "pull-request-simple"}, {"comments", "issue-comment"},
    {"commits", "commit"},        {"reviews", "pull-request-review"},       {"repositories", "minimal-repository"},
    {"users", "private-user"},    {"organizations", "organization-simple"}, {"teams", "team-full"},
    {"assignees", "simple-user"}, {"collaborators", "collaborator"},        {"branches", "short-branch"},
};
const std::set<std::string_view> added = {"repository_owner", "repository_name", "pull_number"};

const json* members_of(const json& field);

// Follows references; of several alternatives the first that is an object.
const json& resolved(const json& field) {
    if (const json* some = field.find("any")) {
        for (const json& one : some->items())
            if (const json* members = members_of(one); members != nullptr && !members->empty()) return one;
        return some->items().front();
    }
    return field;
}

const json* members_of(const json& field) {
    const json& one = field.contains("any") ? resolved(field) : field;
    if (const json* name = one.find("ref")) return &description().at(name->as_text());
    return one.find("props");
}

const json* find_field(const json& row, std::string_view pointer) {
    const json* members = &row;
    const json* field = nullptr;
    while (!pointer.empty()) {
        pointer.remove_prefix(1);
        std::string_view part = pointer.substr(0, pointer.find('/'));
        pointer.remove_prefix(part.size());
        field = members == nullptr ? nullptr : members->find(part);
        if (field == nullptr) return nullptr;
        members = members_of(*field);
    }
    return field;
}

void check_type(const std::string& place, const type& column, const json& field) {
    const json* members = members_of(field);
    if (members != nullptr) {
        BOOST_TEST_REQUIRE((column.kind() == type_kind::structure), place << " is an object, not " << column.ddl());
        for (const lakeflow::field& one : column.children()) {
            const json* inner = members->find(one.name);
            BOOST_TEST_REQUIRE(inner != nullptr, place << "." << one.name << " does not exist");
            BOOST_TEST(one.nullable, place << "." << one.name << " may be missing");
            check_type(place + "." + one.name, one.type, *inner);
        }
        return;
    }
    const json& one = resolved(field);
    std::string kind = one.text("t");
    if (kind == "array") {
        BOOST_TEST_REQUIRE((column.kind() == type_kind::list), place << " is a list, not " << column.ddl());
        check_type(place + "[]", column.children()[0].type, one.at("items"));
        return;
    }
    std::string expected = kind == "integer"              ? "BIGINT"
                           : kind == "boolean"            ? "BOOLEAN"
                           : one.text("f") == "date-time" ? "TIMESTAMP"
                           : kind == "string"             ? "STRING"
                                                          : "?";
    BOOST_TEST(column.ddl() == expected, place << " is " << column.ddl() << ", GitHub describes " << expected);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(tables)

BOOST_AUTO_TEST_CASE(every_column_is_what_github_describes) {
    BOOST_TEST(all_tables().size() == row_of.size());
    for (const table& one : all_tables()) {
        const json& row = description().at(row_of.at(one.name));
        schema columns = schema::ddl(one.ddl);
        for (const field& column : columns.fields()) {
            std::string place = std::string(one.name) + "." + column.name;
            std::string pointer = "/" + column.name;
            bool moved = false;
            for (const column_path& path : one.paths)
                if (path.column == column.name) pointer = path.pointer, moved = true;
            if (!moved && added.contains(column.name)) continue;
            const json* field = find_field(row, pointer);
            BOOST_TEST_REQUIRE(field != nullptr, place << " does not exist at " << pointer);
            check_type(place, column.type, *field);
        }
    }
}

// What GitHub calls required is no promise: only keys, and what the connector itself puts in, are never null.
BOOST_AUTO_TEST_CASE(only_keys_and_constants_are_required) {
    for (const table& one : all_tables()) {
        schema columns = schema::ddl(one.ddl);
        for (const field& column : columns.fields()) {
            bool key = std::find(one.keys.begin(), one.keys.end(), column.name) != one.keys.end();
            bool constant = column.name == "repository_owner" || column.name == "repository_name";
            BOOST_TEST(column.nullable == !(key || constant), one.name << "." << column.name);
        }
    }
}

BOOST_AUTO_TEST_CASE(keys_and_cursors_are_columns) {
    for (const table& one : all_tables()) {
        schema columns = schema::ddl(one.ddl);
        BOOST_TEST(!one.keys.empty(), one.name);
        for (std::string_view key : one.keys) BOOST_TEST(columns.find(key) != nullptr, one.name << " has no " << key);
        if (!one.cursor.empty()) BOOST_TEST(columns.find(one.cursor)->type.ddl() == "TIMESTAMP");
        for (const column_path& path : one.paths) BOOST_TEST(columns.find(path.column) != nullptr, path.column);
    }
}

BOOST_AUTO_TEST_CASE(no_credential_and_nothing_that_never_comes) {
    schema columns = schema::ddl(find_table("repositories").ddl);
    for (const char* name : {"temp_clone_token", "allow_rebase_merge", "allow_squash_merge", "allow_merge_commit",
                             "template_repository"}) {
        BOOST_TEST((columns.find(name) == nullptr), name);
    }
    BOOST_TEST(columns.size() == 78u);
    BOOST_TEST(schema::ddl(find_table("issues").ddl).size() == 28u);
}

BOOST_AUTO_TEST_CASE(an_unknown_table_names_those_that_there_are) {
    BOOST_CHECK_EXCEPTION(find_table("isues"), failure, [](const failure& error) {
        return error.how() == retry::not_found && error.hint().find("issues, pull_requests") != std::string::npos;
    });
}

BOOST_AUTO_TEST_CASE(options_that_make_no_sense_are_named) {
    auto refused = [](const char* options, const char* name) {
        BOOST_CHECK_EXCEPTION(settings::from(json::parse(options)), failure, [&](const failure& error) {
            return error.how() == retry::invalid && error.message().find(name) != std::string::npos;
        });
    };
    refused(R"({"per_page": 0})", "per_page");
    refused(R"({"per_page": 101})", "per_page");
    refused(R"({"state": "merged"})", "state");
    refused(R"({"start_date": "last week"})", "start_date");
    refused(R"({"lookback": "5 minutes"})", "lookback");
    refused(R"({"window": "0s"})", "window");
    refused(R"({"max_records_per_batch": 0})", "max_records_per_batch");
    settings good =
        settings::from(json::parse(R"({"owner": "o", "repo": "r", "start_date": "2024-01-31", "lookback": "5m"})"));
    BOOST_TEST(good.lookback_us == 300'000'000);
    BOOST_TEST(good.start_date_us.has_value());
}

BOOST_AUTO_TEST_CASE(what_a_table_stands_on_must_be_given) {
    auto lacks = [](const char* options, const char* table, const char* what) {
        BOOST_CHECK_EXCEPTION(
            settings::from(json::parse(options)).require(find_table(table)), failure, [&](const failure& error) {
                return error.how() == retry::invalid && error.message().find(what) != std::string::npos;
            });
    };
    lacks(R"({})", "issues", "owner and repo");
    lacks(R"({"owner": "octo"})", "issues", "needs repo");
    lacks(R"({"repo": "demo"})", "branches", "needs owner");
    lacks(R"({})", "repositories", "either owner or org");
    lacks(R"({"owner": "a", "org": "b"})", "repositories", "not both");
    settings::from(json::parse(R"({"org": "b"})")).require(find_table("repositories"));
    settings::from(json::parse(R"({})")).require(find_table("teams"));
}

BOOST_AUTO_TEST_SUITE_END()
