// What the test server is asked to be: its corpus, its manners, its ports. Plain values; filled by hand in a test, from JSON or from argv.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lakeflow::github_server {

struct repository_config {
    std::string owner = "octo";
    std::string name = "demo";
    // Rows of the issues listing. A pull request is an issue too: `pulls` of these rows are pull requests.
    std::uint32_t issues = 0;
    std::uint32_t pulls = 0;
    std::uint32_t comments = 0;
    std::uint32_t commits = 0;  // reachable from the default branch; 0 is an empty git repository (409)
    std::uint32_t reviews_per_pull = 0;
    std::uint32_t branches = 1;
    std::uint32_t labels = 8;
    std::uint32_t assignees = 5;
    std::uint32_t collaborators = 5;
    bool is_private = false;
    // 0: spread over three years. K: exactly K distinct updated_at values (1: every row is tied).
    std::uint32_t distinct_updated = 0;
    // ok | refuse_rows:N (422 once page * per_page reaches N) | refuse_pages:N (422 for page > N). In both refusing modes Link carries `after=`.
    std::string deep = "ok";
    std::vector<std::string> deep_tables{"issues"};  // of issues, pulls, comments
    // date: what git log (and GitHub) does: newest committer date first among what is reachable. topo: merged lines stay together.
    std::string commit_order = "date";
    // How rows with equal sort values are ordered: by_number | hashed.
    std::string tie_order = "by_number";
    // table -> status that its listing answers instead (403, 404, 410, 451, 500...); "*" is every table and the repository itself.
    std::map<std::string, int> status;
};

struct server_config {
    std::uint64_t seed = 1;
    std::string address = "127.0.0.1";
    std::uint16_t port = 0;  // 0: a free one
    bool tls = false;
    std::uint16_t tls_port = 0;
    std::string ca_out;                  // file that receives the private CA's certificate (PEM)
    std::string tls_fault;               // "" | expired | self_signed
    std::vector<std::string> tls_names;  // names of the certificate; default localhost and 127.0.0.1
    unsigned threads = 2;
    std::vector<std::string> tokens;  // empty: any credential will do and none is needed
    std::uint32_t latency_ms = 0;
    bool gzip = true;                     // when the client accepts it
    bool chunked = false;                 // else content-length
    std::int64_t base_time = 1717200000;  // 2024-06-01T00:00:00Z: nothing in the first corpus is newer
    std::int64_t clock_skew = 0;          // seconds added to the server's clock (Date, rate limit, "now" of edits)
    std::uint32_t users = 200;
    std::string profile =
        "full";  // full: every field of the schema | lean: a part of them, for measuring (users without their links)
    std::uint32_t issue_bytes =
        0;  // bodies are sized so that an issue has about this many bytes (read from options: lean then, unless told); 0: as they come
    std::uint32_t teams = 3;               // of each organisation
    std::uint32_t extra_repos = 0;         // further repositories without rows, for each owner
    std::vector<std::string> user_owners;  // owners that are people, not organisations
    std::uint32_t rate_limit = 1000000;
    std::uint32_t rate_window = 3600;
    std::string public_url;  // origin used in Link and Location; default: what the client called us
    std::size_t cache_bytes = std::size_t{192} << 20;
    std::size_t log_entries = 200000;
    std::vector<repository_config> repositories;
    std::string faults;  // JSON: {"faults":[..],"triggers":[..]}, as the control API takes them
};

// Reads {"seed":1,"repos":[{"name":"octo/demo","issues":100}],"issues":..}: a repository's key at the top is the default for all.
// Throws std::invalid_argument naming an unknown key.
server_config config_from_json(std::string_view text);
repository_config repository_from_json(std::string_view text);

struct arguments {
    server_config config;
    bool exit_with_stdin = false;
    bool help = false;
};
// --some-key VALUE is the JSON key some_key; --repo and --token may repeat; --config FILE and --faults FILE read JSON files.
arguments parse_arguments(const std::vector<std::string>& argv);

}  // namespace lakeflow::github_server
