// host/land/test_lake.h: what the tests of destinations share: a folder of their own, issues as rows, positions, and the readers
// that have nothing to do with the host.
#pragma once

#include <unistd.h>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "host/base/error.h"
#include "host/base/text.h"
#include "host/duck/duck.h"
#include "host/duck/test_batches.h"
#include "host/land/delta/actions.h"
#include "host/land/destination.h"

namespace lakeflow::host::test {

namespace fs = std::filesystem;

class temporary_folder {
  public:
    temporary_folder() : path_((fs::temp_directory_path() / ("lakeflow-" + random_id())).string()) {
        fs::create_directories(path_);
    }
    ~temporary_folder() {
        std::error_code none;
        fs::remove_all(path_, none);
    }
    const std::string& path() const noexcept { return path_; }

  private:
    std::string path_;
};

// An issue: the columns that the tests look at.
struct issue {
    std::int64_t id = 0;
    std::int64_t updated = 0;  // microseconds
    std::string title;
};

inline std::shared_ptr<const arrow_schema> issue_schema() {
    static const auto schema = schema_of(
        "id BIGINT NOT NULL, updated_at TIMESTAMP, title STRING, user STRUCT<login: STRING>, labels ARRAY<STRING>");
    return schema;
}

inline record_batch issues(const std::vector<issue>& rows) {
    return make_batch(issue_schema(), static_cast<std::int64_t>(rows.size()), [&](struct_column& t, std::int64_t row) {
        const issue& i = rows[static_cast<std::size_t>(row)];
        at<i64>(t, 0).append(i.id);
        at<i64>(t, 1).append(i.updated);
        at<text_column>(t, 2).append(i.title);
        auto& user = at<struct_column>(t, 3);
        at<text_column>(user, 0).append("user-" + std::to_string(i.id % 7));
        user.end_value();
        auto& labels = at<list_column>(t, 4);
        for (std::int64_t n = 0; n < i.id % 3; ++n)
            static_cast<text_column&>(labels.child()).append("label " + std::to_string(n));
        labels.end_value();
    });
}

inline record_batch issues(std::int64_t from, std::int64_t count, const std::string& title = "first",
                           std::int64_t updated = 1'000'000) {
    std::vector<issue> rows;
    for (std::int64_t id = from; id < from + count; ++id)
        rows.push_back({id, updated + id, title + " " + std::to_string(id)});
    return issues(rows);
}

inline flow_spec issue_flow(land_mode mode) {
    flow_spec flow;
    flow.job = "job";
    flow.flow = "issues";
    flow.table = "bronze";
    flow.mode = mode;
    flow.primary_keys = {"id"};
    if (mode == land_mode::scd1 || mode == land_mode::scd2) flow.sequence_by = "updated_at";
    flow.cursor = "updated_at";
    flow.schema = issue_schema();
    return flow;
}

inline position at_batch(std::uint32_t batch, std::uint32_t epoch = 1) {
    return {epoch, batch, "{\"n\":" + std::to_string(batch) + "}", "{}"};
}

inline std::string code_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const failure& f) {
        return f.get().code;
    }
    return "";
}

template <class... Batches>
land_result land(target& to, const position& next, Batches... batches) {
    auto landing = to.begin();
    (landing->add(0, std::move(batches)), ...);
    return landing->commit(next);
}

// ---- reading a Delta table back, without the code under test

inline std::vector<std::string> commits(const std::string& table) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(table + "/_delta_log")) {
        const std::string name = entry.path().filename().string();
        if (name.size() == 25 && name.ends_with(".json")) names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
}

inline std::string file_text(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
}

// A table as the commits of its log make it.
inline delta::snapshot state_of(const std::string& table) {
    delta::snapshot state;
    std::int64_t version = 0;
    for (const std::string& name : commits(table))
        state.apply(delta::parse_commit(file_text(table + "/_delta_log/" + name), name), version++);
    return state;
}

inline std::vector<std::string> data_files(const std::string& table) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(table)) {
        if (entry.path().extension() == ".parquet") names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
}

// The data files that a table's log names, by its JSON commits alone.
std::vector<std::string> live_files(const std::string& table);

// What delta-rs sees of a table ("rows", "distinct_keys", "sha256", "version", ...); fails the test if DuckDB's delta extension sees
// other content.
std::map<std::string, std::string> read_back(const std::string& table, const std::string& more = "--keys id");

// Runs a script with the Python of the tests; its exit code.
int run_python(const std::string& script);

// The rows of a table by the files that its log names, read by plain JSON and DuckDB: id -> title.
struct contents {
    std::multimap<std::int64_t, std::string> rows;
    std::int64_t version = -1;
    std::size_t files = 0;
};
contents read_table(const std::string& table);

struct lake {
    temporary_folder folder;
    destination_options options;
    std::unique_ptr<destination> to;

    explicit lake(std::int64_t max_file_rows = 1 << 20) {
        options.type = "delta";
        options.path = folder.path();
        options.max_file_rows = max_file_rows;
        to = make_destination(options, {}, nullptr);
    }
    std::string table() const { return folder.path() + "/bronze"; }
    std::unique_ptr<target> open(land_mode mode) { return to->open(issue_flow(mode)); }
};

inline std::map<std::int64_t, std::string> expected(std::int64_t from, std::int64_t count,
                                                    const std::string& title = "first") {
    std::map<std::int64_t, std::string> rows;
    for (std::int64_t id = from; id < from + count; ++id) rows[id] = title + " " + std::to_string(id);
    return rows;
}

inline void check_rows(const std::string& table, const std::map<std::int64_t, std::string>& rows) {
    const contents found = read_table(table);
    BOOST_TEST(found.rows.size() == rows.size());
    BOOST_TEST((found.rows == std::multimap<std::int64_t, std::string>(rows.begin(), rows.end())));
}

}  // namespace lakeflow::host::test
