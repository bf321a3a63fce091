// See people.h.
#include "tests/github_server/people.h"

#include <algorithm>
#include <array>

#include "tests/github_server/text.h"

namespace lakeflow::github_server {
namespace {

// The members of simple-user, without the closing brace, so that richer user schemas can go on.
void user_members(std::string& out, std::string_view login, std::int64_t id, std::string_view type, bool site_admin,
                  bool lean = false) {
    const std::string escaped = percent_encode(login);
    const auto url = [&](std::string_view key, std::string_view tail) {
        out.append("\"").append(key).append("\":\"").append(api).append("/users/").append(escaped).append(tail).append(
            "\",");
    };
    out += "{\"login\":";
    append_json(out, login);
    out += ",\"id\":";
    append_number(out, id);
    out.append(",\"node_id\":\"U_")
        .append(base64url(std::to_string(id)))
        .append("\",\"avatar_url\":\"https://avatars.githubusercontent.com/u/");
    append_number(out, id);
    out += "?v=4\",\"gravatar_id\":\"\",";
    url("url", "");
    out.append("\"html_url\":\"").append(web).append(type == "Bot" ? "/apps/" : "/").append(escaped).append("\",");
    if (lean) {
        out.append("\"type\":\"").append(type).append("\",\"site_admin\":").append(site_admin ? "true" : "false");
        return;
    }
    url("followers_url", "/followers");
    url("following_url", "/following{/other_user}");
    url("gists_url", "/gists{/gist_id}");
    url("starred_url", "/starred{/owner}{/repo}");
    url("subscriptions_url", "/subscriptions");
    url("organizations_url", "/orgs");
    url("repos_url", "/repos");
    url("events_url", "/events{/privacy}");
    url("received_events_url", "/received_events");
    out.append("\"type\":\"")
        .append(type)
        .append("\",\"user_view_type\":\"public\",\"site_admin\":")
        .append(site_admin ? "true" : "false");
}

std::string title_case(std::string text) {
    if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
    return text;
}

}  // namespace

people::people(const server_config& config) : base_time_(config.base_time) {
    constexpr std::array<std::string_view, 8> stems{"ada",     "linus", "grace",    "edsger",
                                                    "barbara", "ken",   "margaret", "donald"};
    const std::uint32_t count = std::max<std::uint32_t>(config.users, 1);
    for (std::uint32_t i = 0; i < count; ++i) {
        user& u = users_.emplace_back();
        u.bot = i % 23 == 7;
        u.site_admin = i % 61 == 5;
        u.login = u.bot ? "ci-bot-" + std::to_string(i) + "[bot]"
                        : std::string(stems[i % stems.size()]) + "-" + std::to_string(i);
        // The newest accounts of GitHub are still far below 2^31; a third here is beyond it, so that 32 bits are never enough.
        u.id = i % 3 == 2 ? 2147483648LL + i * 1009LL : 1000LL + i * 37LL;
        user_members(u.json, u.login, u.id, u.bot ? "Bot" : "User", u.site_admin, config.profile == "lean");
        u.json += "}";
    }
    for (const repository_config& repository : config.repositories) {
        if (find_owner(repository.owner)) continue;
        organisation& owner = owners_.emplace_back();
        owner.login = repository.owner;
        owner.id = 9000000LL + static_cast<std::int64_t>(owners_.size()) * 7919;
        owner.is_user =
            std::find(config.user_owners.begin(), config.user_owners.end(), owner.login) != config.user_owners.end();
        user_members(owner.json, owner.login, owner.id, owner.is_user ? "User" : "Organization", false);
        owner.json += "}";
    }
    constexpr std::array<std::string_view, 6> names{"Maintainers",  "Équipe Noyau",  "Docs & Web",
                                                    "日本語チーム", "Release \"A\"", "On call"};
    for (std::size_t o = 0; o < owners_.size(); ++o) {
        if (owners_[o].is_user) continue;
        for (std::uint32_t t = 0; t < config.teams; ++t) {
            team& made = teams_.emplace_back();
            made.organisation = o;
            made.name = std::string(names[t % names.size()]) + (t < names.size() ? "" : " " + std::to_string(t));
            made.slug = "team-" + std::to_string(t);
            made.id = 5000000LL + static_cast<std::int64_t>(teams_.size());
        }
    }
}

const organisation* people::find_owner(std::string_view login) const {
    const std::string wanted = lower(login);
    for (const organisation& owner : owners_)
        if (lower(owner.login) == wanted) return &owner;
    return nullptr;
}

const organisation* people::find_owner(std::int64_t id) const {
    for (const organisation& owner : owners_)
        if (owner.id == id) return &owner;
    return nullptr;
}

void people::private_user(std::string& out) const {
    const user& me = users_.front();
    user_members(out, me.login, me.id, "User", me.site_admin);
    out +=
        ",\"name\":\"Ada \\\"λ\\\" "
        "Lovelace\",\"company\":null,\"blog\":\"\",\"location\":\"London\",\"email\":null,\"notification_email\":null,"
        "\"hireable\":null,\"bio\":\"First line\\r\\nsecond "
        "line\",\"twitter_username\":null,\"public_repos\":8,\"public_gists\":0,"
        "\"followers\":21,\"following\":3,\"created_at\":\"2011-01-25T18:44:36Z\",\"updated_at\":\"";
    append_iso(out, base_time_ - 86400);
    out +=
        "\",\"private_gists\":1,\"total_private_repos\":2,\"owned_private_repos\":2,\"disk_usage\":5000000000,"
        "\"collaborators\":4,"
        "\"two_factor_authentication\":true,\"plan\":{\"name\":\"pro\",\"space\":976562499,\"collaborators\":0,"
        "\"private_repos\":9999}}";
}

void people::organisation_simple(std::string& out, const organisation& owner) const {
    const std::string base = std::string(api) + "/orgs/" + percent_encode(owner.login);
    out += "{\"login\":";
    append_json(out, owner.login);
    out += ",\"id\":";
    append_number(out, owner.id);
    out.append(",\"node_id\":\"O_").append(base64url(std::to_string(owner.id))).append("\",\"url\":\"").append(base);
    for (const std::string_view name : {"repos", "events", "hooks", "issues"})
        out.append("\",\"").append(name).append("_url\":\"").append(base).append("/").append(name);
    out.append("\",\"members_url\":\"")
        .append(base)
        .append("/members{/member}\",\"public_members_url\":\"")
        .append(base);
    out += "/public_members{/member}\",\"avatar_url\":\"https://avatars.githubusercontent.com/u/";
    append_number(out, owner.id);
    out.append("?v=4\",\"description\":").append(owner.id % 2 ? "null}" : "\"Tools for \\\"everyone\\\" – 全員\"}");
}

void people::team_head(std::string& out, std::size_t index) const {
    const team& t = teams_[index];
    const organisation& owner = owners_[t.organisation];
    const std::string base =
        std::string(api) + "/organizations/" + std::to_string(owner.id) + "/team/" + std::to_string(t.id);
    out += "{\"id\":";
    append_number(out, t.id);
    out.append(",\"node_id\":\"T_").append(base64url(std::to_string(t.id))).append("\",\"name\":");
    append_json(out, t.name);
    out.append(",\"slug\":\"")
        .append(t.slug)
        .append("\",\"description\":")
        .append(index % 3 == 1 ? "null" : "\"They keep it running\"");
    out.append(",\"privacy\":\"")
        .append(index % 2 ? "secret" : "closed")
        .append("\",\"notification_setting\":\"notifications_enabled\",\"permission\":\"");
    out.append(index % 2 ? "push" : "pull")
        .append("\",\"url\":\"")
        .append(base)
        .append("\",\"html_url\":\"")
        .append(web)
        .append("/orgs/");
    out.append(percent_encode(owner.login))
        .append("/teams/")
        .append(t.slug)
        .append("\",\"members_url\":\"")
        .append(base);
    out.append("/members{/member}\",\"repositories_url\":\"")
        .append(base)
        .append("/repos\",\"type\":\"organization\",\"organization_id\":");
    append_number(out, owner.id);
}

void people::team_object(std::string& out, std::size_t index) const {
    team_head(out, index);
    out.append(",\"permissions\":{\"pull\":true,\"triage\":false,\"push\":").append(index % 2 ? "true" : "false");
    out.append(",\"maintain\":false,\"admin\":false},\"parent\":");
    if (index > 0 && teams_[index - 1].organisation == teams_[index].organisation && index % 3 == 2) {
        team_head(out, index - 1);
        out += "}}";
    } else {
        out += "null}";
    }
}

void people::team_full(std::string& out, std::size_t index) const {
    const organisation& owner = owners_[teams_[index].organisation];
    team_head(out, index);
    out.append(",\"members_count\":")
        .append(std::to_string(3 + index))
        .append(",\"repos_count\":")
        .append(std::to_string(index));
    out += ",\"created_at\":\"";
    append_iso(out, base_time_ - 86400 * (100 + static_cast<std::int64_t>(index)));
    out += "\",\"updated_at\":\"";
    append_iso(out, base_time_ - 3600 * static_cast<std::int64_t>(index + 1));
    out += "\",\"parent\":null,\"organization\":";
    organisation_simple(out, owner);
    out.pop_back();
    out.append(",\"name\":\"")
        .append(title_case(owner.login))
        .append("\",\"blog\":\"https://example.org\",\"twitter_username\":null,");
    out.append(
        "\"is_verified\":false,\"has_organization_projects\":true,\"has_repository_projects\":true,\"public_repos\":2,"
        "\"public_gists\":0,");
    out.append("\"followers\":20,\"following\":0,\"html_url\":\"")
        .append(web)
        .append("/")
        .append(percent_encode(owner.login));
    out +=
        "\",\"created_at\":\"2012-03-06T23:06:50Z\",\"updated_at\":\"2024-05-01T00:00:00Z\",\"archived_at\":null,"
        "\"type\":\"Organization\"}}";
}

void people::collaborator(std::string& out, std::uint64_t index) const {
    const std::string_view r = role(index);
    out += at(index).json;
    out.pop_back();
    const auto flag = [&](std::string_view name, bool set) {
        out.append(",\"").append(name).append("\":").append(set ? "true" : "false");
    };
    out += ",\"permissions\":{\"pull\":true";
    flag("triage", r != "read");
    flag("push", r == "admin" || r == "maintain" || r == "write");
    flag("maintain", r == "admin" || r == "maintain");
    flag("admin", r == "admin");
    out.append("},\"role_name\":\"").append(r).append("\"}");
}

std::string_view people::role(std::uint64_t index) {
    constexpr std::array<std::string_view, 5> roles{"admin", "maintain", "write", "triage", "read"};
    return roles[mix(index) % roles.size()];
}

}  // namespace lakeflow::github_server
