// The github plugin against the GitHub-shaped server, through the C ABI and the host's own http and rows: a run as the host
// makes it, without landing. One thread uses it; partitions may be read on several.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/arrow/arrow.h"
#include "host/plugin/connector.h"
#include "host/plugin/plugin.h"
#include "tests/github_server/server.h"

namespace lakeflow::github_test {

using github_server::repository_config;
using github_server::server_config;

// octo/demo, small rows, no compression: a test is about rows.
server_config small_server(const repository_config& repository);

struct outcome {
    std::vector<host::record_batch> batches;
    std::string end = "{}";
    std::uint64_t requests = 0;
    std::size_t micro_batches = 0;
    std::size_t partitions = 0;
    std::vector<std::string> log;
    std::map<std::string, std::int64_t> metrics;

    std::int64_t rows() const;
    // All values of a column, as text; a member of a struct column by "column.member" is its JSON.
    std::vector<std::string> column(std::string_view name) const;
    // key -> updated_at; the test fails if a key comes twice.
    std::map<std::string, std::string> by_key(std::string_view key, std::string_view value) const;
};

class bench {
  public:
    explicit bench(const server_config& config);

    github_server::server server;
    std::string connection;                                     // options of the connection, JSON
    std::string options = R"({"owner":"octo","repo":"demo"})";  // of the table, JSON
    int workers = 1;                                            // partitions read at once
    std::uint32_t parallelism = 4;                              // what the planner is told
    std::int64_t init_time_us = 0;                              // of the next runs; 0: now

    // One available-now run from `start` to its bound.
    outcome run(const std::string& table, const std::string& start = "{}");
    // (start, end] once more, on fresh instances.
    outcome replay(const std::string& table, const std::string& start, const std::string& end);
    // The whole table, no offsets, by partitions or by the simple read.
    outcome batch(const std::string& table, bool partitioned);
    // The simple read from `start`, until it no longer moves.
    outcome simple(const std::string& table, const std::string& start = "{}");

    host::latest latest(const std::string& table, const std::string& start, const std::string& bound = {},
                        const std::string& limits = "{}");
    host::table_metadata metadata(const std::string& table);
    host::arrow_schema schema(const std::string& table);
    std::unique_ptr<host::plugin_connector> instance(const std::string& table);
    const host::plugin& plugin() const { return *plugin_; }

    // The server's own list of a table, key -> instant.
    std::map<std::string, std::string> truth(std::string_view table, std::string_view query = "",
                                             std::string_view value = "updated_at");
    std::uint64_t requests() { return server.stats().requests; }
    // All requests so far, once the server has written the answer of the last one.
    std::deque<github_server::request_record> requests_done();
    std::vector<std::string> targets();

  private:
    void read_parts(const std::string& table, const std::vector<std::string>& parts, host::read_request request,
                    outcome& out);
    void start_context(const std::string& table);

    std::shared_ptr<const host::plugin> plugin_;
    std::shared_ptr<host::flow_context> flow_;
    std::vector<std::string> log_;
};

// True if both maps are equal; says the first difference otherwise.
bool same(const std::map<std::string, std::string>& got, const std::map<std::string, std::string>& wanted);

}  // namespace lakeflow::github_test
