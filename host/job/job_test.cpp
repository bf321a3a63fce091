// The job file: every key known, every mistake named with its line and the near key, nothing ignored.
#include "host/job/job.h"

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "host/base/error.h"
#include "host/base/text.h"

namespace fs = std::filesystem;
using namespace lakeflow::host;

namespace {

struct job_file {
    fs::path directory = fs::temp_directory_path() / ("lakeflow-job-" + random_id());
    fs::path path = directory / "job.toml";
    explicit job_file(const std::string& text) {
        fs::create_directories(directory);
        std::ofstream(path) << text;
    }
    ~job_file() { fs::remove_all(directory); }
};

const std::string smallest =
    "[job]\nname = \"j\"\n[destination]\ntype = \"delta\"\npath = \"lake\"\n[[tables]]\nsource = \"issues\"\n";

job load(const std::string& text, const std::vector<std::string>& sets = {}) {
    const job_file file(text);
    return load_job(file.path.string(), sets);
}

error refusal(const std::string& text, const std::vector<std::string>& sets = {}) {
    try {
        load(text, sets);
    } catch (const failure& f) {
        return f.get();
    }
    return {"none", {}, {}};
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

BOOST_AUTO_TEST_CASE(the_smallest_job_has_the_documented_defaults) {
    const job_file file(smallest);
    const job j = load_job(file.path.string(), {});
    BOOST_TEST(j.name == "j");
    BOOST_TEST((j.trigger == trigger_kind::available_now));
    BOOST_TEST(j.parallelism == 8);
    BOOST_TEST(j.state == (file.directory / "state").string());
    BOOST_TEST(j.destination.path == (file.directory / "lake").string());
    BOOST_REQUIRE(j.tables.size() == 1u);
    BOOST_TEST(j.tables[0].destination == "issues");
    BOOST_TEST(j.tables[0].name == "issues");
    BOOST_TEST(!j.tables[0].mode.has_value());
}

BOOST_AUTO_TEST_CASE(every_key_of_the_design_is_read) {
    setenv("LAKEFLOW_TEST_TOKEN", "canary-token", 1);
    const job j = load(R"(
[job]
name = "github-to-lake"
trigger = "continuous"
interval = "45s"
state = "/var/s"
parallelism = 3
plugin = "github"
memory = "200MiB"
spool = "5MiB"
plugin_timeout = "90s"
[connection]
base_url = "http://127.0.0.1:1"
token = { env = "LAKEFLOW_TEST_TOKEN" }
retry = { attempts = 2, max_wait = "10s" }
timeout = { connect = "1s", idle = "2s" }
ca_file = "ca.pem"
proxy = "http://127.0.0.1:8"
origins = ["https://other"]
[destination]
type = "delta"
path = "/lake"
max_file_rows = 250
[[tables]]
source = "public.issues"
mode = "scd1"
primary_keys = ["id"]
sequence_by = "updated_at"
columns = ["id", "title"]
limits = { max_rows = 50000, max_bytes = "256MiB" }
options = { owner = "apache", repo = "arrow" }
[[tables]]
source = "public.issues"
destination = "other"
name = "second"
)");
    BOOST_TEST(*j.plugin == "github");
    BOOST_TEST(j.interval_us == 45'000'000);
    BOOST_TEST(j.state == "/var/s");
    BOOST_TEST(j.connection == R"({"base_url":"http://127.0.0.1:1","token":"canary-token"})");
    BOOST_TEST(j.http.attempts == 2);
    BOOST_TEST(j.http.max_wait_us == 10'000'000);
    BOOST_TEST(j.http.connect_timeout_us == 1'000'000);
    BOOST_TEST(j.http.first_byte_timeout_us == 30'000'000);
    BOOST_TEST(j.http.idle_timeout_us == 2'000'000);
    BOOST_TEST(j.http.origins.size() == 1u);
    BOOST_TEST(j.destination.memory_bytes == 200u << 20);
    BOOST_TEST(j.spool_bytes == std::size_t{5} << 20);
    BOOST_TEST(j.plugin_timeout_us == 90'000'000);
    BOOST_TEST(j.destination.max_file_rows == 250);
    BOOST_TEST(j.tables[0].destination == "issues");  // contract 40: the last part
    BOOST_TEST(j.tables[0].limits == R"({"max_rows":50000,"max_bytes":268435456})");
    BOOST_TEST(j.tables[0].options == R"({"owner":"apache","repo":"arrow"})");
    BOOST_TEST(j.tables[1].name == "second");
}

BOOST_AUTO_TEST_CASE(a_misspelt_key_is_named_with_its_line_and_the_near_one) {
    const error e = refusal("[job]\nname = \"j\"\nparalelism = 3\n" + smallest.substr(17));
    BOOST_TEST(e.code == "config.unknown_key");
    BOOST_TEST(has(e.message, "job.toml, line 3"), e.message);
    BOOST_TEST(e.hint == "Did you mean \"parallelism\"?");
    const error table = refusal(smallest + "primary_key = [\"id\"]\n");
    BOOST_TEST(has(table.message, "line 8"), table.message);
    BOOST_TEST(has(table.message, "[[tables]] issues"), table.message);
    BOOST_TEST(table.hint == "Did you mean \"primary_keys\"?");
    BOOST_TEST(refusal(smallest + "[destinaton]\n").hint == "Did you mean \"destination\"?");
    BOOST_TEST(refusal(smallest + "Primary-Keys = [\"a\"]\nprimary_keys = [\"b\"]\n").code == "config.duplicate_key");
}

BOOST_AUTO_TEST_CASE(what_a_childs_status_means_travels_as_the_plugins_option) {
    const std::string key = "on_status = { \"404\" = \"skip\" }\n";
    BOOST_TEST(load(smallest + key).tables[0].options == R"({"on_status":{"404":"skip"}})");
    BOOST_TEST(load(smallest + key + "options = { a = 1 }\n").tables[0].options ==
               R"({"a":1,"on_status":{"404":"skip"}})");
    const error e = refusal(smallest + key + "options = { on_status = { \"404\" = \"skip\" } }\n");
    BOOST_TEST(e.code == "config.invalid_value");
    BOOST_TEST(has(e.message, "on_status"), e.message);
}

BOOST_AUTO_TEST_CASE(a_connector_is_a_destination_with_a_connection_of_its_own) {
    ::setenv("LAKEFLOW_TEST_SINK", "sink-secret", 1);
    const std::string head =
        "[job]\nname=\"j\"\n[connection]\nurl = \"a\"\ntimeout = \"5s\"\n[destination]\ntype = \"connector\"\n";
    const std::string tail = "[[tables]]\nsource = \"a\"\n";
    const job j = load(head +
                       "plugin = \"http-api\"\nresource = \"orders\"\n[destination.connection]\nbase_url = \"b\"\n"
                       "token = { env = \"LAKEFLOW_TEST_SINK\" }\nretry = { attempts = 2 }\n" +
                       tail);
    BOOST_TEST(j.destination.type == "connector");
    BOOST_TEST(j.destination_plugin == "http-api");
    BOOST_TEST(j.destination.connector.resource == "orders");
    BOOST_TEST(j.destination.connector.connection == R"({"base_url":"b","token":"sink-secret"})");
    BOOST_TEST(j.destination.connector.http.attempts == 2);
    BOOST_TEST(j.destination.connector.http.idle_timeout_us == 30'000'000);
    BOOST_TEST(j.http.idle_timeout_us == 5'000'000);
    BOOST_TEST(j.http.attempts == 6);
    BOOST_TEST(refusal(head + tail).code == "config.missing_key");
    BOOST_TEST(refusal(head + "plugin = \"x\"\npath = \"lake\"\n" + tail).code == "config.invalid_value");
    BOOST_TEST(refusal(head + "plugin = \"x\"\nconnection = { timeout = \"soon\" }\n" + tail).code ==
               "config.invalid_value");

    BOOST_TEST(choose_plugin("github", {"http-api.so"}, "http-api") == "github");
    BOOST_TEST(choose_destination_plugin("http-api", {"github", "./x/http-api.so"}) == "./x/http-api.so");
    BOOST_TEST(choose_destination_plugin("http-api", {}) == "http-api");
    BOOST_CHECK_THROW(choose_plugin("github", {"other.so"}, "http-api"), failure);
}

BOOST_AUTO_TEST_CASE(what_a_table_says_of_its_history_and_its_columns_is_taken) {
    const job j =
        load(smallest + "mode = \"scd2\"\ntrack = [\"title\"]\nmax_delete_ratio = 0.25\nschema = \"fixed\"\n");
    BOOST_TEST((j.tables[0].mode == land_mode::scd2));
    BOOST_TEST((j.tables[0].track == std::vector<std::string>{"title"}));
    BOOST_TEST(j.tables[0].max_delete_ratio == 0.25);
    BOOST_TEST((j.tables[0].schema_changes == schema_policy::fixed));
    const job plain = load(smallest);
    BOOST_TEST(plain.tables[0].max_delete_ratio == 1.0);
    BOOST_TEST((plain.tables[0].schema_changes == schema_policy::evolve));
    for (const std::string line :
         {"max_delete_ratio = 1.5", "max_delete_ratio = -1", "track = []", "schema = \"grow\""}) {
        BOOST_TEST(refusal(smallest + line + "\n").code == "config.invalid_value", line);
    }
}

BOOST_AUTO_TEST_CASE(the_upkeep_of_delta_tables_is_asked_for_and_never_dangerous_by_itself) {
    const auto with = [](const std::string& lines, const std::string& type = "delta") {
        return "[job]\nname = \"j\"\n[destination]\ntype = \"" + type + "\"\npath = \"x\"\n" + lines +
               "\n[[tables]]\nsource = \"a\"\n";
    };
    const destination_options none = load(with("")).destination;
    BOOST_TEST(none.optimize_every == 0);
    BOOST_TEST(none.vacuum_retain_ms == -1);
    const destination_options some =
        load(with("optimize = { every = 20, target_file_size = \"64MiB\" }\nvacuum = { }")).destination;
    BOOST_TEST(some.optimize_every == 20);
    BOOST_TEST(some.optimize_file_bytes == 64 << 20);
    BOOST_TEST(some.vacuum_retain_ms == 7ll * 24 * 3600 * 1000);
    BOOST_TEST(load(with("vacuum = { retain = \"1h\", force = true }")).destination.vacuum_retain_ms == 3'600'000);
    for (const std::string line :
         {"optimize = { }", "optimize = { every = 0 }", "optimize = true",
          "optimize = { every = 2, target_file_size = \"1kB\" }", "vacuum = { retain = \"6d\" }"})
        BOOST_TEST(refusal(with(line)).code == "config.invalid_value", line);
    BOOST_TEST(has(refusal(with("vacuum = { retain = \"1h\" }")).hint, "force = true"));
    BOOST_TEST(refusal(with("optimize = { evry = 2 }")).hint == "Did you mean \"every\"?");
    BOOST_TEST(refusal(with("optimize = { every = 2 }", "duckdb")).code == "config.invalid_value");
}

BOOST_AUTO_TEST_CASE(what_becomes_of_a_bad_value_is_taken) {
    const job j = load(smallest + "on_mismatch = \"quarantine\"\nmax_mismatches = 5\nschema = \"rescue\"\n");
    BOOST_TEST((j.tables[0].on_mismatch == mismatch_policy::quarantine));
    BOOST_TEST((j.tables[0].max_mismatches == std::optional<std::int64_t>(5)));
    BOOST_TEST((j.tables[0].schema_changes == schema_policy::rescue));
    BOOST_TEST((load(smallest + "on_mismatch = \"null\"\n").tables[0].on_mismatch == mismatch_policy::null));
    BOOST_TEST((load(smallest).tables[0].on_mismatch == mismatch_policy::fail));
    BOOST_TEST(refusal(smallest + "max_mismatches = 5\n").code == "config.invalid_value");
    BOOST_TEST(refusal(smallest + "on_mismatch = \"null\"\nmax_mismatches = -1\n").code == "config.invalid_value");
    const error e = refusal(smallest +
                            "on_mismatch = \"quarantine\"\n[[tables]]\nsource = \"b\"\ndestination = "
                            "\"issues__quarantine\"\n");
    BOOST_TEST(e.code == "config.invalid_value");
    BOOST_TEST(has(e.message, "issues__quarantine"), e.message);
}

BOOST_AUTO_TEST_CASE(where_and_read_schema_reach_the_plan) {
    const job j = load(smallest + "where = \"a > 1\"\nread_schema = \"id bigint not null, `b c` STRING\"\n");
    BOOST_TEST(j.tables[0].where == "a > 1");
    BOOST_TEST(j.tables[0].read_schema == "id BIGINT NOT NULL, `b c` STRING");
    BOOST_TEST(refusal(smallest + "where = \" \"\n").code == "config.invalid_value");
    const error e = refusal(smallest + "read_schema = \"id NUMBER\"\n");
    BOOST_TEST(e.code == "config.invalid_value");
    BOOST_TEST(has(e.message, "read_schema"), e.message);
}

BOOST_AUTO_TEST_CASE(wrong_values_are_refused) {
    const auto with_job = [](const std::string& line) {
        return "[job]\nname = \"j\"\n" + line + "\n" + smallest.substr(17);
    };
    for (const std::string line : {"trigger = \"sometimes\"", "interval = \"10s\"", "parallelism = 0",
                                   "parallelism = \"8\"", "memory = \"lots\"", "memory = \"1MiB\"", "spool = \"1kB\"",
                                   "plugin_timeout = 5", "plugin_timeout = \"soon\""}) {
        BOOST_TEST(refusal(with_job(line)).code == "config.invalid_value", line);
    }
    for (const std::string line :
         {"mode = \"upsert\"", "columns = []", "limits = { max_rows = 0 }", "limits = { min_rows = 5 }", "options = 3",
          "name = \"\"", "on_mismatch = \"shrug\""}) {
        BOOST_TEST(refusal(smallest + line + "\n").code == "config.invalid_value", line);
    }
    BOOST_TEST(refusal(smallest + "[[tables]]\nsource = \"issues\"\n").code == "config.duplicate_flow");
    BOOST_TEST(refusal("[job]\nname = \"j\"\n").code == "config.missing_key");
    BOOST_TEST(refusal("[job]\nname = \"a/b\"\n" + smallest.substr(17)).code == "config.invalid_value");
    BOOST_TEST(refusal("[job\n").code == "config.syntax");
    BOOST_TEST(has(refusal("[job]\nname = \n").message, "line 2"));
    BOOST_TEST(
        has(refusal("[job]\nname=\"j\"\n[destination]\ntype=\"detla\"\npath=\"x\"\n[[tables]]\nsource=\"a\"\n").hint,
            "delta"));
    BOOST_CHECK_THROW(load_job("/nonexistent/job.toml", {}), failure);
}

BOOST_AUTO_TEST_CASE(a_secret_that_is_not_there_names_the_variable_and_the_key) {
    unsetenv("LAKEFLOW_TEST_ABSENT");
    const error e = refusal(smallest + "[connection]\ntoken = { env = \"LAKEFLOW_TEST_ABSENT\" }\n");
    BOOST_TEST(e.code == "config.missing_env");
    BOOST_TEST(has(e.message, "connection.token"), e.message);
    BOOST_TEST(has(e.hint, "LAKEFLOW_TEST_ABSENT"));
    BOOST_TEST(refusal(smallest + "[connection]\ntoken = { file = \"absent\" }\n").code == "config.missing_file");
    const job_file file(smallest + "[connection]\ntoken = { file = \"secret\" }\n");
    std::ofstream(file.directory / "secret") << "from-file\n";
    BOOST_TEST(load_job(file.path.string(), {}).connection == R"({"token":"from-file"})");
}

BOOST_AUTO_TEST_CASE(set_overrides_one_value_and_splits_at_the_first_equals) {
    const job j = load(smallest, {"destination.path=/x=y", "job.parallelism=2", "tables.issues.mode=append",
                                  "tables.0.columns=[\"id\"]", "connection.base_url=http://127.0.0.1:1/?a=b",
                                  "job.plugin=\"github\""});
    BOOST_TEST(j.destination.path == "/x=y");
    BOOST_TEST(j.parallelism == 2);
    BOOST_TEST((*j.tables[0].mode == land_mode::append));
    BOOST_TEST(j.tables[0].columns == std::vector<std::string>{"id"});
    BOOST_TEST(j.connection == R"({"base_url":"http://127.0.0.1:1/?a=b"})");
    BOOST_TEST(*j.plugin == "github");
    for (const char* bad : {"nothing", "=x", "tables.absent.mode=append", "job.name.x=1", "job..x=1"}) {
        BOOST_TEST(refusal(smallest, {bad}).code == "config.set", bad);
    }
    BOOST_TEST(refusal(smallest, {"job.parallelsm=2"}).hint == "Did you mean \"parallelism\"?");
}

BOOST_AUTO_TEST_CASE(one_plugin_reads) {
    BOOST_TEST(choose_plugin({}, {"github.so"}) == "github.so");
    BOOST_TEST(choose_plugin("github", {}) == "github");
    BOOST_TEST(choose_plugin("github", {"./x/github.so"}) == "./x/github.so");
    const auto code = [](const std::optional<std::string>& in_job, const std::vector<std::string>& given) {
        try {
            choose_plugin(in_job, given);
        } catch (const failure& f) {
            return f.get().code;
        }
        return std::string("none");
    };
    BOOST_TEST(code({}, {}) == "config.no_plugin");
    BOOST_TEST(code("github", {"other.so"}) == "config.plugin_conflict");
    BOOST_TEST(code({}, {"a", "b"}) == "config.plugin_conflict");
}
