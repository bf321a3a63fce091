// See config.h.
#include "tests/github_server/config.h"

#include <boost/json.hpp>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>

#include "tests/github_server/text.h"

namespace lakeflow::github_server {
namespace {

namespace json = boost::json;

[[noreturn]] void refuse(std::string_view key, std::string_view why) {
    throw std::invalid_argument("github-server: " + std::string(key) + ": " + std::string(why));
}

std::int64_t integer(std::string_view key, const json::value& value) {
    if (value.is_int64()) return value.get_int64();
    if (value.is_uint64() && value.get_uint64() <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        return static_cast<std::int64_t>(value.get_uint64());
    if (value.is_string())
        if (const auto number = to_integer(value.get_string())) return *number;
    refuse(key, "a whole number is expected");
}

template <class Integer>
void read(std::string_view key, const json::value& value, Integer& out) {
    const std::int64_t number = integer(key, value);
    if (number < 0 && !std::numeric_limits<Integer>::is_signed) refuse(key, "must not be negative");
    if (sizeof(Integer) < 8 && number > static_cast<std::int64_t>(std::numeric_limits<Integer>::max()))
        refuse(key, "is too large");
    out = static_cast<Integer>(number);
}
void read(std::string_view key, const json::value& value, std::string& out) {
    if (!value.is_string()) refuse(key, "a text is expected");
    out = std::string(std::string_view(value.get_string()));
}
void read(std::string_view key, const json::value& value, bool& out) {
    if (value.is_bool()) {
        out = value.get_bool();
    } else if (value.is_string() && (value.get_string() == "true" || value.get_string() == "false")) {
        out = value.get_string() == "true";
    } else {
        refuse(key, "true or false is expected");
    }
}
void read(std::string_view key, const json::value& value, std::vector<std::string>& out) {
    out.clear();
    if (value.is_string()) {
        std::string part;
        std::istringstream parts{std::string(std::string_view(value.get_string()))};
        while (std::getline(parts, part, ',')) out.push_back(part);
    } else if (value.is_array()) {
        for (const json::value& item : value.get_array()) read(key, item, out.emplace_back());
    } else {
        refuse(key, "a list of texts is expected");
    }
}

void one_of(std::string_view key, const std::string& value, std::initializer_list<std::string_view> allowed) {
    for (const std::string_view a : allowed)
        if (value == a) return;
    refuse(key, "unknown value \"" + value + "\"");
}

bool read_repository_key(std::string_view key, const json::value& value, repository_config& out) {
    if (key == "issues")
        read(key, value, out.issues);
    else if (key == "pulls")
        read(key, value, out.pulls);
    else if (key == "comments")
        read(key, value, out.comments);
    else if (key == "commits")
        read(key, value, out.commits);
    else if (key == "reviews_per_pull")
        read(key, value, out.reviews_per_pull);
    else if (key == "branches")
        read(key, value, out.branches);
    else if (key == "labels")
        read(key, value, out.labels);
    else if (key == "assignees")
        read(key, value, out.assignees);
    else if (key == "collaborators")
        read(key, value, out.collaborators);
    else if (key == "private")
        read(key, value, out.is_private);
    else if (key == "distinct_updated")
        read(key, value, out.distinct_updated);
    else if (key == "deep")
        read(key, value, out.deep);
    else if (key == "deep_tables")
        read(key, value, out.deep_tables);
    else if (key == "commit_order")
        read(key, value, out.commit_order), one_of(key, out.commit_order, {"date", "topo"});
    else if (key == "tie_order")
        read(key, value, out.tie_order), one_of(key, out.tie_order, {"by_number", "hashed"});
    else if (key == "status") {
        if (value.is_object()) {
            for (const auto& [table, status] : value.get_object())
                read(key, status, out.status[std::string(std::string_view(table))]);
        } else {
            read(key, value, out.status["*"]);
        }
    } else {
        return false;
    }
    return true;
}

void read_name(const json::value& value, repository_config& out) {
    std::string full;
    read("repo", value, full);
    const std::size_t slash = full.find('/');
    if (slash == std::string::npos || slash == 0 || slash + 1 == full.size())
        refuse("repo", "owner/name is expected, got \"" + full + "\"");
    out.owner = full.substr(0, slash);
    out.name = full.substr(slash + 1);
}

repository_config read_repository(const json::value& value, repository_config defaults) {
    if (value.is_string()) {
        read_name(value, defaults);
        return defaults;
    }
    if (!value.is_object()) refuse("repos", "an object or \"owner/name\" is expected");
    for (const auto& [key, member] : value.get_object()) {
        if (key == "repo" || key == "name") {
            read_name(member, defaults);
        } else if (!read_repository_key(key, member, defaults)) {
            refuse(key, "unknown key of a repository");
        }
    }
    return defaults;
}

bool read_server_key(std::string_view key, const json::value& value, server_config& out) {
    if (key == "seed")
        read(key, value, out.seed);
    else if (key == "address")
        read(key, value, out.address);
    else if (key == "port")
        read(key, value, out.port);
    else if (key == "tls")
        read(key, value, out.tls);
    else if (key == "tls_port")
        read(key, value, out.tls_port), out.tls = true;
    else if (key == "ca_out")
        read(key, value, out.ca_out);
    else if (key == "tls_fault")
        read(key, value, out.tls_fault), one_of(key, out.tls_fault, {"", "expired", "self_signed"});
    else if (key == "tls_names")
        read(key, value, out.tls_names);
    else if (key == "threads")
        read(key, value, out.threads);
    else if (key == "tokens" || key == "token")
        read(key, value, out.tokens);
    else if (key == "latency_ms")
        read(key, value, out.latency_ms);
    else if (key == "gzip")
        read(key, value, out.gzip);
    else if (key == "chunked")
        read(key, value, out.chunked);
    else if (key == "base_time") {
        std::string text;
        read(key, value, text);
        const auto instant = parse_iso(text);
        if (!instant) refuse(key, "an instant such as 2024-06-01T00:00:00Z is expected");
        out.base_time = *instant;
    } else if (key == "clock_skew")
        read(key, value, out.clock_skew);
    else if (key == "users")
        read(key, value, out.users);
    else if (key == "profile")
        read(key, value, out.profile), one_of(key, out.profile, {"full", "lean"});
    else if (key == "issue_bytes")
        read(key, value, out.issue_bytes);
    else if (key == "teams")
        read(key, value, out.teams);
    else if (key == "extra_repos")
        read(key, value, out.extra_repos);
    else if (key == "user_owners")
        read(key, value, out.user_owners);
    else if (key == "rate_limit")
        read(key, value, out.rate_limit);
    else if (key == "rate_window")
        read(key, value, out.rate_window);
    else if (key == "public_url")
        read(key, value, out.public_url);
    else if (key == "cache_bytes")
        read(key, value, out.cache_bytes);
    else if (key == "log_entries")
        read(key, value, out.log_entries);
    else
        return false;
    return true;
}

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) refuse(path, "cannot be read");
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

server_config from_object(const json::object& object) {
    server_config out;
    repository_config defaults;
    json::object script;
    for (const auto& [key, value] : object) {
        if (key == "repos" || key == "repo") continue;
        if (key == "faults" || key == "triggers") {
            script[key] = value;
        } else if (!read_server_key(key, value, out) && !read_repository_key(key, value, defaults)) {
            refuse(key, "unknown key");
        }
    }
    if (!script.empty()) out.faults = json::serialize(script);
    for (const std::string_view key : {"repos", "repo"}) {
        const json::value* repositories = object.if_contains(key);
        if (!repositories) continue;
        if (repositories->is_array()) {
            for (const json::value& repository : repositories->get_array())
                out.repositories.push_back(read_repository(repository, defaults));
        } else {
            out.repositories.push_back(read_repository(*repositories, defaults));
        }
    }
    if (out.repositories.empty()) out.repositories.push_back(defaults);
    // A full issue alone is larger than the sizes that anyone asks for.
    if (out.issue_bytes > 0 && !object.contains("profile")) out.profile = "lean";
    return out;
}

}  // namespace

server_config config_from_json(std::string_view text) {
    const json::value value = json::parse(json::string_view(text.data(), text.size()));
    if (!value.is_object()) refuse("config", "a JSON object is expected");
    return from_object(value.get_object());
}

repository_config repository_from_json(std::string_view text) {
    return read_repository(json::parse(json::string_view(text.data(), text.size())), {});
}

arguments parse_arguments(const std::vector<std::string>& argv) {
    arguments out;
    json::object object;
    json::array repositories;
    json::array tokens;
    const auto merge = [&object](const std::string& path) {
        const json::value file = json::parse(read_file(path));
        if (!file.is_object()) refuse(path, "a JSON object is expected");
        for (const auto& [key, value] : file.get_object()) object[key] = value;
    };
    for (std::size_t i = 0; i < argv.size(); ++i) {
        const std::string& flag = argv[i];
        if (flag == "--exit-with-stdin")
            out.exit_with_stdin = true;
        else if (flag == "--help")
            out.help = true;
        else if (flag == "--tls" || flag == "--chunked" || flag == "--private")
            object[flag.substr(2)] = true;
        else if (flag == "--no-gzip")
            object["gzip"] = false;
        else if (flag.rfind("--", 0) != 0)
            refuse(flag, "an option such as --repo owner/name is expected");
        else if (i + 1 == argv.size())
            refuse(flag, "a value is missing");
        else if (flag == "--config" || flag == "--faults")
            merge(argv[++i]);
        else if (flag == "--repo")
            repositories.emplace_back(argv[++i]);
        else if (flag == "--token")
            tokens.emplace_back(argv[++i]);
        else {
            std::string key = flag.substr(2);
            for (char& c : key)
                if (c == '-') c = '_';
            const std::string& text = argv[++i];
            // Lists and objects are JSON; everything else is the text itself.
            object[key] = text.starts_with('{') || text.starts_with('[') ? json::parse(text) : json::value(text);
        }
    }
    if (!repositories.empty()) object["repos"] = repositories;
    if (!tokens.empty()) object["tokens"] = tokens;
    out.config = from_object(object);
    return out;
}

}  // namespace lakeflow::github_server
