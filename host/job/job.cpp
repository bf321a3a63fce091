// host/job/job.cpp: see job.h.
#include "host/job/job.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "host/base/error.h"
#include "host/base/text.h"
#include "host/job/keys.h"
#include "host/job/toml.h"
#include "host/land/postgres/connection.h"
#include "host/land/quarantine.h"

namespace lakeflow::host {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

const std::vector<key> top_keys{{"job", key_type::table},
                                {"connection", key_type::table},
                                {"destination", key_type::table},
                                {"tables", key_type::any}};

const std::vector<key> job_keys{{"name"},
                                {"plugin"},
                                {"trigger"},
                                {"interval", key_type::duration},
                                {"state"},
                                {"parallelism", key_type::integer},
                                {"duckdb"},
                                {"memory", key_type::size},
                                {"spool", key_type::size},
                                {"plugin_timeout", key_type::duration}};

// The host's own keys of [connection] (contract 31); all others are the plugin's.
const std::vector<key> connection_keys{
    {"retry", key_type::table}, {"timeout", key_type::any}, {"ca_file"}, {"proxy"}, {"origins", key_type::texts}};

const std::vector<key> destination_keys{{"type"},
                                        {"path"},
                                        {"schema"},
                                        {"dsn", key_type::text},
                                        {"plugin", key_type::text},
                                        {"connection", key_type::table},
                                        {"resource", key_type::text},
                                        {"max_file_rows", key_type::integer},
                                        {"max_file_bytes", key_type::size},
                                        {"temp_directory"},
                                        {"optimize", key_type::table},
                                        {"vacuum", key_type::table}};

const std::vector<key> table_keys{{"source"},
                                  {"destination"},
                                  {"name"},
                                  {"mode"},
                                  {"primary_keys", key_type::texts},
                                  {"sequence_by"},
                                  {"columns", key_type::texts},
                                  {"limits", key_type::table},
                                  {"options", key_type::table},
                                  {"on_mismatch"},
                                  {"where"},
                                  {"schema"},
                                  {"read_schema"},
                                  {"max_mismatches", key_type::integer},
                                  {"allow_empty", key_type::boolean},
                                  {"max_delete_ratio", key_type::number},
                                  {"on_status", key_type::table},
                                  {"track", key_type::texts}};

std::string stem(const std::string& plugin) { return fs::path(plugin).stem().string(); }

std::string absolute(const std::string& directory, const std::string& path) {
    return (fs::path(path).is_absolute() ? fs::path(path) : fs::path(directory) / path).lexically_normal().string();
}

// { env = ".." } and { file = ".." } are replaced by what they name.
class references {
  public:
    references(const document& doc, std::string directory) : doc_(doc), directory_(std::move(directory)) {}

    json::value resolve(const json::value& value, const std::string& path) const {
        const auto* object = value.if_object();
        if (object && object->size() == 1) {
            const auto& [name, what] = *object->begin();
            if (what.is_string() && name == "env") return from_env(std::string(what.get_string()), path);
            if (what.is_string() && name == "file") return from_file(std::string(what.get_string()), path);
        }
        if (object) {
            json::object out;
            for (const auto& member : *object)
                out[member.key()] = resolve(member.value(), path + "." + std::string(member.key()));
            return out;
        }
        if (const auto* array = value.if_array()) {
            json::array out;
            for (const auto& element : *array) out.push_back(resolve(element, path));
            return out;
        }
        return value;
    }

  private:
    json::value from_env(const std::string& name, const std::string& path) const {
        const char* value = std::getenv(name.c_str());
        if (value && *value) return json::string(value);
        throw failure("config.missing_env",
                      doc_.place(path) + ": \"" + path + "\" is taken from the environment variable " + name +
                          ", which is not set",
                      "Set " + name + " before the run.");
    }

    json::value from_file(const std::string& name, const std::string& path) const {
        const std::string file = absolute(directory_, name);
        std::ifstream in(file, std::ios::binary);
        const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
        const std::string_view value = trim(text);
        if (in.is_open() && !in.bad() && !value.empty()) return json::string(value.data(), value.size());
        throw failure("config.missing_file",
                      doc_.place(path) + ": \"" + path + "\" is taken from the file " + file + ", which " +
                          (in.is_open() ? "is empty" : "cannot be read"),
                      "Check the file and its permissions.");
    }

    const document& doc_;
    std::string directory_;
};

land_mode parse_mode(const checked_table& table, const std::string& text) {
    if (text == "append") return land_mode::append;
    if (text == "scd1") return land_mode::scd1;
    if (text == "snapshot") return land_mode::snapshot;
    if (text == "scd2") return land_mode::scd2;
    table.refuse("mode", "is \"" + text + "\"; it must be append, scd1, scd2 or snapshot");
}

void read_job_block(const document& doc, const json::object& block, job& j) {
    const checked_table t(doc, block, "job", "[job]", job_keys);
    j.name = t.required_text("name", "The name is the job's identity: its state and its positions hang on it.");
    if (j.name.find_first_of("/\\\n") != std::string::npos || j.name == "." || j.name == "..")
        t.refuse("name", "must not hold '/', '\\' or a line break");
    j.plugin = t.text("plugin");
    if (const auto trigger = t.text("trigger")) {
        if (*trigger == "once")
            j.trigger = trigger_kind::once;
        else if (*trigger == "available_now")
            j.trigger = trigger_kind::available_now;
        else if (*trigger == "continuous")
            j.trigger = trigger_kind::continuous;
        else
            t.refuse("trigger", "is \"" + *trigger + "\"; it must be once, available_now or continuous");
    }
    if (const auto interval = t.duration_us("interval")) {
        if (j.trigger != trigger_kind::continuous) t.refuse("interval", "is given without trigger = \"continuous\"");
        j.interval_us = *interval;
    }
    j.state = absolute(j.directory, t.text("state").value_or("state"));
    j.parallelism = static_cast<int>(t.integer_in("parallelism", 1, 256).value_or(8));
    if (const auto library = t.text("duckdb")) j.destination.duckdb_library = absolute(j.directory, *library);
    if (const auto memory = t.size("memory")) {
        if (*memory < (64u << 20)) t.refuse("memory", "is below 64MiB");
        j.memory_bytes = *memory;
    }
    if (const auto spool = t.size("spool")) {
        if (*spool < (1u << 20)) t.refuse("spool", "is below 1MiB");
        j.spool_bytes = *spool;
    }
    j.plugin_timeout_us = t.duration_us("plugin_timeout").value_or(j.plugin_timeout_us);
}

void read_timeouts(const document& doc, const checked_table& t, http_options& http, const std::string& path,
                   const std::string& title) {
    const json::value* value = t.find("timeout");
    if (!value) return;
    if (value->is_string()) {
        const auto us = parse_duration_us(std::string_view(value->get_string()));
        if (!us || *us == 0) t.refuse("timeout", "is not a duration such as \"30s\"");
        http.connect_timeout_us = http.first_byte_timeout_us = http.idle_timeout_us = *us;
        return;
    }
    if (!value->is_object())
        t.refuse("timeout", "must be a duration such as \"30s\", or { connect, first_byte, idle }");
    const checked_table parts(
        doc, value->get_object(), path + ".timeout", title + " timeout",
        {{"connect", key_type::duration}, {"first_byte", key_type::duration}, {"idle", key_type::duration}});
    http.connect_timeout_us = parts.duration_us("connect").value_or(http.connect_timeout_us);
    http.first_byte_timeout_us = parts.duration_us("first_byte").value_or(http.first_byte_timeout_us);
    http.idle_timeout_us = parts.duration_us("idle").value_or(http.idle_timeout_us);
}

// The host's own keys of a connection go into `http`; gives the plugin's. References are resolved.
std::string read_connection(const document& doc, const json::object& resolved, const std::string& path,
                            const std::string& title, const std::string& directory, http_options& http) {
    const checked_table t(doc, resolved, path, title, connection_keys, true);
    if (const json::value* retry = t.find("retry")) {
        const checked_table r(doc, retry->get_object(), path + ".retry", title + " retry",
                              {{"attempts", key_type::integer}, {"max_wait", key_type::duration}});
        http.attempts = static_cast<int>(r.integer_in("attempts", 1, 100).value_or(http.attempts));
        http.max_wait_us = r.duration_us("max_wait").value_or(http.max_wait_us);
    }
    read_timeouts(doc, t, http, path, title);
    if (const auto file = t.text("ca_file")) http.ca_file = absolute(directory, *file);
    http.proxy = t.text("proxy").value_or("");
    http.origins = t.texts("origins").value_or(std::vector<std::string>{});
    return json::serialize(t.rest());
}

// Rows go into a plugin: which one, how it is reached, and which of its tables takes them.
void read_connector(const document& doc, const checked_table& t, job& j) {
    connector_options& c = j.destination.connector;
    j.destination_plugin = t.required_text("plugin", "The plugin that takes the rows, for example \"http-api\".");
    if (j.destination_plugin.find('/') != std::string::npos)
        j.destination_plugin = absolute(j.directory, j.destination_plugin);
    if (const json::value* connection = t.find("connection")) {
        c.connection = read_connection(doc, connection->get_object(), "destination.connection",
                                       "[destination.connection]", j.directory, c.http);
    }
    c.resource = t.text("resource").value_or("");
    if (t.has("resource") && c.resource.empty()) t.refuse("resource", "is empty");
    c.state_directory = j.state;
    c.redactor = j.redactor;
}

// The upkeep of Delta tables: optimize = { every = 20, target_file_size = "128MiB" }, vacuum = { retain = "7d", force = false }.
void read_upkeep(const document& doc, const checked_table& t, destination_options& d) {
    for (const char* key : {"optimize", "vacuum"}) {
        if (t.has(key) && d.type != "delta") t.refuse(key, "has no meaning for a destination of type " + d.type);
    }
    if (const json::value* optimize = t.find("optimize")) {
        const checked_table o(doc, optimize->get_object(), "destination.optimize", "[destination] optimize",
                              {{"every", key_type::integer}, {"target_file_size", key_type::size}});
        const auto every = o.integer_in("every", 1, 1 << 20);
        if (!every)
            t.refuse("optimize", "does not say after how many batches", "For example optimize = { every = 20 }.");
        d.optimize_every = *every;
        if (const auto bytes = o.size("target_file_size")) {
            if (*bytes < (64u << 10)) o.refuse("target_file_size", "is below 64KiB");
            d.optimize_file_bytes = static_cast<std::int64_t>(*bytes);
        }
    }
    if (const json::value* vacuum = t.find("vacuum")) {
        const checked_table v(doc, vacuum->get_object(), "destination.vacuum", "[destination] vacuum",
                              {{"retain", key_type::duration}, {"force", key_type::boolean}});
        constexpr std::int64_t week_us = 7ll * 24 * 3600 * 1'000'000;
        d.vacuum_forced = v.boolean("force").value_or(false);
        const std::int64_t retain = v.duration_us("retain").value_or(week_us);
        if (retain < week_us && !d.vacuum_forced) {
            v.refuse(
                "retain", "is below 7d",
                "A reader or writer that still works on an older version would lose its files. Add force = true if "
                "there is none.");
        }
        d.vacuum_retain_ms = retain / 1000;
    }
}

void read_destination(const document& doc, const json::object& block, job& j) {
    const json::object resolved = references(doc, j.directory).resolve(block, "destination").as_object();
    const checked_table t(doc, resolved, "destination", "[destination]", destination_keys);
    destination_options& d = j.destination;
    d.type = t.required_text("type", "One of delta, duckdb, postgres, jsonl, connector.");
    const std::vector<std::string> types{"delta", "duckdb", "jsonl", "postgres", "connector"};
    if (std::find(types.begin(), types.end(), d.type) == types.end()) {
        const auto near = nearest(d.type, types);
        t.refuse("type", "is \"" + d.type + "\"",
                 near ? "Did you mean \"" + *near + "\"?" : "It must be delta, duckdb, postgres, jsonl or connector.");
    }
    const std::map<std::string_view, std::set<std::string_view>> own_keys{
        {"postgres", {"dsn", "schema"}},
        {"duckdb", {"path", "schema"}},
        {"connector", {"plugin", "connection", "resource"}},
    };
    for (const char* foreign : {"dsn", "path", "schema", "plugin", "connection", "resource"}) {
        const auto of_type = own_keys.find(d.type);
        const bool own =
            of_type != own_keys.end() ? of_type->second.contains(foreign) : std::string_view(foreign) == "path";
        if (!own && t.has(foreign)) t.refuse(foreign, "has no meaning for a destination of type " + d.type);
    }
    if (d.type == "postgres") {
        d.path = t.required_text("dsn", "For example \"host=db dbname=lake user=lakeflow\", or { env = \"NAME\" }.");
        for (const std::string& secret : postgres::secrets_of_dsn(d.path)) j.redactor->add(secret);
    } else if (d.type == "connector") {
        read_connector(doc, t, j);
    } else {
        d.path = t.required_text("path", d.type == "duckdb" ? "The file, for example \"lake.duckdb\"."
                                                            : "The folder, for example \"lake\".");
        if (!(d.type == "jsonl" && d.path == "-")) d.path = absolute(j.directory, d.path);
    }
    d.schema = t.text("schema").value_or("");
    if (const auto rows = t.integer_in("max_file_rows", 1, 1ll << 32)) d.max_file_rows = *rows;
    if (const auto bytes = t.size("max_file_bytes")) {
        if (*bytes < (64u << 10)) t.refuse("max_file_bytes", "is below 64KiB");
        d.max_file_bytes = static_cast<std::int64_t>(*bytes);
    }
    read_upkeep(doc, t, d);
    if (const auto temp = t.text("temp_directory")) d.temp_directory = absolute(j.directory, *temp);
    if (j.memory_bytes != 0) d.memory_bytes = j.memory_bytes;
}

std::string read_limits(const document& doc, const json::object& limits, const std::string& path,
                        const std::string& title) {
    const checked_table t(doc, limits, path, title,
                          {{"max_rows", key_type::integer},
                           {"max_bytes", key_type::size},
                           {"min_rows", key_type::integer},
                           {"max_delay", key_type::duration}});
    json::object out;
    if (const auto rows = t.integer_in("max_rows", 1, 1ll << 60)) out["max_rows"] = *rows;
    if (const auto bytes = t.size("max_bytes")) {
        if (*bytes == 0) t.refuse("max_bytes", "is 0");
        out["max_bytes"] = static_cast<std::int64_t>(*bytes);
    }
    const auto min_rows = t.integer_in("min_rows", 1, 1ll << 60);
    if (min_rows) out["min_rows"] = *min_rows;
    if (const auto delay = t.duration_us("max_delay")) out["max_delay_ms"] = *delay / 1000;
    if (min_rows.has_value() != t.has("max_delay"))
        t.refuse(min_rows ? "min_rows" : "max_delay", "needs the other: min_rows and max_delay go together");
    return json::serialize(out);
}

job_table read_table_entry(const document& doc, const json::object& entry, std::size_t index, const job& j) {
    const std::string path = "tables[" + std::to_string(index) + "]";
    const auto* source = entry.if_contains("source");
    const std::string title =
        "[[tables]] " + (source && source->is_string() ? std::string(source->get_string()) : std::to_string(index + 1));
    const json::object resolved = references(doc, j.directory).resolve(entry, path).as_object();
    const checked_table t(doc, resolved, path, title, table_keys);
    job_table out;
    out.place = doc.place(path + ".source");
    out.source = t.required_text("source", "The name of a table of the plugin; `lakeflow-host tables` lists them.");
    // Contract 40: a source with dots lands under its last part.
    out.destination = t.text("destination").value_or(out.source.substr(out.source.rfind('.') + 1));
    if (out.destination.empty()) t.refuse("destination", "is empty");
    out.name = t.text("name").value_or(out.destination);
    if (out.name.empty() || out.name.find('\n') != std::string::npos)
        t.refuse("name", "is empty or holds a line break");
    if (const auto mode = t.text("mode")) out.mode = parse_mode(t, *mode);
    out.primary_keys = t.texts("primary_keys");
    if (out.primary_keys && out.primary_keys->empty() && out.mode != land_mode::append)
        t.refuse("primary_keys", "is an empty list");
    out.sequence_by = t.text("sequence_by");
    out.allow_empty = t.boolean("allow_empty").value_or(false);
    if (const json::value* ratio = t.find("max_delete_ratio")) {
        out.max_delete_ratio = ratio->to_number<double>();
        if (!(out.max_delete_ratio >= 0 && out.max_delete_ratio <= 1))
            t.refuse("max_delete_ratio", "must lie between 0 and 1");
    }
    out.track = t.texts("track").value_or(std::vector<std::string>{});
    if (t.has("track") && out.track.empty())
        t.refuse("track", "is an empty list", "Leave it out to track all columns.");
    if (const auto policy = t.text("schema")) {
        if (*policy != "evolve" && *policy != "fixed" && *policy != "rescue")
            t.refuse("schema", "is \"" + *policy + "\"; it must be evolve, fixed or rescue");
        if (*policy == "fixed") out.schema_changes = schema_policy::fixed;
        if (*policy == "rescue") out.schema_changes = schema_policy::rescue;
    }
    out.columns = t.texts("columns").value_or(std::vector<std::string>{});
    if (t.has("columns") && out.columns.empty())
        t.refuse("columns", "is an empty list", "Leave it out to land all columns.");
    out.where = t.text("where").value_or("");
    if (t.has("where") && trim(out.where).empty()) t.refuse("where", "is empty", "Leave it out to land every row.");
    if (const auto ddl = t.text("read_schema")) {
        try {
            out.read_schema = to_ddl(*parse_ddl(*ddl).get());
        } catch (const failure& f) {
            t.refuse("read_schema", "is no schema: " + f.get().message,
                     "Write it as DDL: \"id BIGINT NOT NULL, name STRING\".");
        }
    }
    if (const auto policy = t.text("on_mismatch")) {
        if (*policy == "null") {
            out.on_mismatch = mismatch_policy::null;
        } else if (*policy == "quarantine") {
            out.on_mismatch = mismatch_policy::quarantine;
        } else if (*policy != "fail") {
            t.refuse("on_mismatch", "is \"" + *policy + "\"; it must be fail, null or quarantine");
        }
    }
    out.max_mismatches = t.integer_in("max_mismatches", 0, 1ll << 60);
    if (out.max_mismatches && out.on_mismatch == mismatch_policy::fail)
        t.refuse("max_mismatches", "has no meaning where on_mismatch is \"fail\"",
                 "Set on_mismatch = \"null\" or \"quarantine\" too.");
    if (const json::value* limits = t.find("limits"))
        out.limits = read_limits(doc, limits->get_object(), path + ".limits", title + " limits");
    const json::value* options = t.find("options");
    json::object given = options != nullptr ? options->get_object() : json::object();
    // What an answer about a child means is the plugin's to know: the table's key is its option.
    if (const json::value* by_status = t.find("on_status")) {
        if (given.contains("on_status")) t.refuse("on_status", "is set in its options too", "Keep one of the two.");
        given["on_status"] = *by_status;
    }
    if (!given.empty()) out.options = json::serialize(given);
    return out;
}

void read_tables(const document& doc, const json::value& tables, job& j) {
    const bool entries = tables.is_array() && std::all_of(tables.get_array().begin(), tables.get_array().end(),
                                                          [](const json::value& v) { return v.is_object(); });
    if (!entries || tables.get_array().empty()) {
        throw failure("config.invalid_value",
                      doc.place("tables") + ": \"tables\" must be one or more [[tables]] entries",
                      "Write [[tables]] and below it source = \"...\".");
    }
    std::set<std::string> names;
    for (const auto& entry : tables.get_array()) {
        j.tables.push_back(read_table_entry(doc, entry.get_object(), j.tables.size(), j));
        const job_table& t = j.tables.back();
        for (const job_table& other : j.tables) {
            const bool taken = other.on_mismatch == mismatch_policy::quarantine &&
                               t.destination == quarantine_table(other.destination);
            const bool takes =
                t.on_mismatch == mismatch_policy::quarantine && other.destination == quarantine_table(t.destination);
            if (!taken && !takes) continue;
            const std::string& side = taken ? t.destination : other.destination;
            throw failure("config.invalid_value",
                          t.place + ": \"" + side +
                              "\" is where on_mismatch = \"quarantine\" puts rows aside, and another "
                              "[[tables]] entry lands there",
                          "Give one of them another `destination`.");
        }
        if (!names.insert(t.name).second) {
            throw failure("config.duplicate_flow",
                          t.place + ": two [[tables]] entries have the name \"" + t.name + "\"",
                          "Give one of them a name of its own: name = \"...\"; its position hangs on it.");
        }
    }
}

}  // namespace

job load_job(const std::string& path, const std::vector<std::string>& sets) {
    document doc = read_document(path);
    for (const auto& assignment : sets) set_value(doc, assignment);
    const checked_table top(doc, doc.root, "", "the job file", top_keys);
    job j;
    j.file = path;
    j.directory = fs::absolute(path).parent_path().string();
    for (const char* block : {"job", "destination", "tables"}) {
        if (!top.has(block)) {
            const std::string shown = block == std::string("tables") ? "[[tables]]" : "[" + std::string(block) + "]";
            throw failure("config.missing_key", path + ": the job has no " + shown + " block",
                          "See the README for a whole job file.");
        }
    }
    read_job_block(doc, top.find("job")->get_object(), j);
    if (const json::value* connection = top.find("connection")) {
        const json::value resolved = references(doc, j.directory).resolve(*connection, "connection");
        if (!resolved.is_object())
            throw failure("config.invalid_value", doc.place("connection") + ": [connection] must be a table");
        j.connection = read_connection(doc, resolved.get_object(), "connection", "[connection]", j.directory, j.http);
    }
    read_destination(doc, top.find("destination")->get_object(), j);
    read_tables(doc, *top.find("tables"), j);
    return j;
}

std::string choose_plugin(const std::optional<std::string>& in_job, const std::vector<std::string>& on_command_line,
                          const std::string& of_destination) {
    if (!in_job && on_command_line.empty()) {
        throw failure("config.no_plugin", "no plugin to read from is named",
                      "Give --plugin NAME, or plugin = \"NAME\" under [job]; `lakeflow-host plugins` lists them.");
    }
    const std::string wanted = in_job ? *in_job : on_command_line.front();
    std::string chosen = wanted;
    for (const auto& named : on_command_line) {
        if (stem(named) == stem(wanted)) {
            chosen = named;  // the command line may say where the job's plugin lies
        } else if (of_destination.empty() || stem(named) != stem(of_destination)) {
            throw failure("config.plugin_conflict",
                          "the job reads from plugin \"" + wanted + "\", and --plugin " + named + " names another",
                          "A job reads from one plugin; split it into two jobs.");
        }
    }
    return chosen;
}

std::string choose_destination_plugin(const std::string& in_job, const std::vector<std::string>& on_command_line) {
    const auto named = std::find_if(on_command_line.begin(), on_command_line.end(),
                                    [&](const auto& name) { return stem(name) == stem(in_job); });
    return named == on_command_line.end() ? in_job : *named;
}

}  // namespace lakeflow::host
