// host/land/test_lake.cpp: see test_lake.h.
#include "host/land/test_lake.h"

namespace lakeflow::host::test {

namespace {

std::string python() {
    const char* cache = std::getenv("LAKEFLOW_CACHE");
    const char* home = std::getenv("HOME");
    return (cache ? std::string(cache) : std::string(home ? home : "") + "/.cache/lakeflow") +
           "/python-test/bin/python";
}

std::map<std::string, std::string> read_with(const std::string& reader, const std::string& table,
                                             const std::string& more) {
    const std::string command =
        python() + " " LAKEFLOW_TEST_TOOLS "/delta_read.py --with " + reader + " " + more + " " + table;
    FILE* pipe = popen(command.c_str(), "r");
    BOOST_REQUIRE(pipe);
    std::string text;
    char some[4096];
    for (std::size_t n; (n = fread(some, 1, sizeof some, pipe)) > 0;) text.append(some, n);
    BOOST_TEST(pclose(pipe) == 0, command << " printed " << text);
    return delta::string_members(delta::string_members(text)[table]);
}

}  // namespace

std::map<std::string, std::string> read_back(const std::string& table, const std::string& more) {
    auto first = read_with("delta-rs", table, more);
    auto second = read_with("duckdb", table, more);
    for (const char* what : {"rows", "columns", "non_null", "distinct_keys", "sha256"}) {
        BOOST_TEST(first[what] == second[what], what << " by delta-rs and by DuckDB");
    }
    return first;
}

int run_python(const std::string& script) { return std::system((python() + " -c \"" + script + "\"").c_str()); }

std::vector<std::string> live_files(const std::string& table) {
    std::set<std::string> live;
    if (!fs::exists(table + "/_delta_log")) return {};
    for (const std::string& name : commits(table)) {
        const delta::actions commit = delta::parse_commit(file_text(table + "/_delta_log/" + name), name);
        for (const auto& r : commit.removes) live.erase(r.path);
        for (const auto& a : commit.adds) live.insert(a.path);
    }
    return {live.begin(), live.end()};
}

contents read_table(const std::string& table) {
    contents found;
    found.version = static_cast<std::int64_t>(commits(table).size()) - 1;
    const std::vector<std::string> live = live_files(table);
    found.files = live.size();
    if (live.empty()) return found;
    std::string list;
    for (const std::string& file : live) list += (list.empty() ? "" : ", ") + duck::quote_text(table + "/" + file);
    auto c = duck::database::open({})->connect();
    for (auto rows = c.query("SELECT id, title FROM read_parquet([" + list + "])"); rows.next();) {
        found.rows.emplace(rows[0].integer(), std::string(rows[1].text()));
    }
    return found;
}

}  // namespace lakeflow::host::test
