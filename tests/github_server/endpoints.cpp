// See endpoints.h. The listings of issues, pull requests, comments and commits are in endpoints_rows.cpp.
#include "tests/github_server/endpoints.h"

#include <algorithm>

namespace lakeflow::github_server {
namespace {

reply not_found() { return failure(404, "Not Found", "rest"); }

// What a listing answers that a test switched off.
reply switched_off(int status) {
    switch (status) {
        case 403: return failure(403, "Resource not accessible by personal access token", "rest");
        case 404: return not_found();
        case 409: return failure(409, "Git Repository is empty.", "rest/commits/commits#list-commits");
        case 410: return failure(410, "Issues has been disabled in this repository.", "v3/issues/");
        case 451:
            return failure(451, "Repository access blocked", "rest",
                           ",\"block\":{\"reason\":\"dmca\",\"created_at\":\"2023-01-01T00:00:00Z\",\"html_url\":"
                           "\"https://github.com/github/dmca\"}");
        default: return failure(status, status >= 500 ? "Server Error" : "Scripted", "rest");
    }
}

}  // namespace

reply failure(int status, std::string_view message, std::string_view documentation, std::string_view extra) {
    std::string body = "{\"message\":";
    append_json(body, message);
    body.append(extra).append(",\"documentation_url\":\"https://docs.github.com/").append(documentation);
    body.append("\",\"status\":\"").append(std::to_string(status)).append("\"}");
    reply out;
    out.status = status;
    out.content = std::make_shared<const page>(std::move(body));
    return out;
}

reply endpoints::list(const call& asked, const std::string& url, std::uint64_t count, const part& render) const {
    const page_request wanted = read_page(asked.query);
    const std::uint64_t first = std::min(count, (wanted.page - 1) * wanted.per_page);
    const std::uint64_t last = std::min(count, first + wanted.per_page);
    std::string body = "[";
    for (std::uint64_t i = first; i < last; ++i) {
        if (i > first) body += ",";
        render(body, i);
    }
    body += "]";
    reply out;
    out.content = std::make_shared<const page>(std::move(body));
    out.links = page_links(asked.origin + url, asked.query, wanted, count);
    return out;
}

reply endpoints::object(const std::function<void(std::string&)>& render) const {
    std::string body;
    render(body);
    reply out;
    out.content = std::make_shared<const page>(std::move(body));
    return out;
}

reply endpoints::answer(const call& asked) const {
    const std::vector<std::string>& path = asked.path;
    if (path.size() >= 3 && path[0] == "repos") {
        const std::vector<std::string> rest(path.begin() + 3, path.end());
        if (repository* repo = world_.find(path[1], path[2])) return repository_call(asked, *repo, rest);
        const auto moved = world_.renamed.find(lower(path[1] + "/" + path[2]));
        if (moved == world_.renamed.end()) return not_found();
        std::string location = asked.origin + "/repositories/" + std::to_string(moved->second);
        for (const std::string& segment : rest) location += "/" + percent_encode(segment);
        if (!asked.raw_query.empty()) location += "?" + asked.raw_query;
        std::string body = "{\"message\":\"Moved Permanently\",\"url\":";
        append_json(body, location);
        body +=
            ",\"documentation_url\":\"https://docs.github.com/rest/guides/"
            "best-practices-for-using-the-rest-api#follow-redirects\"}";
        reply out;
        out.status = 301;
        out.location = std::move(location);
        out.content = std::make_shared<const page>(std::move(body));
        return out;
    }
    if (path.size() >= 2 && path[0] == "repositories") {
        const auto id = to_integer(path[1]);
        repository* repo = id ? world_.find(*id) : nullptr;
        return repo ? repository_call(asked, *repo, {path.begin() + 2, path.end()}) : not_found();
    }
    if (path.size() == 3 && (path[0] == "users" || path[0] == "user") && path[2] == "repos") {
        const organisation* owner = path[0] == "users" ? world_.who.find_owner(path[1])
                                                       : world_.who.find_owner(to_integer(path[1]).value_or(-1));
        return owner ? owned_repositories(asked, *owner) : not_found();
    }
    if (path.size() >= 3 && (path[0] == "orgs" || path[0] == "organizations")) {
        const organisation* owner = path[0] == "orgs" ? world_.who.find_owner(path[1])
                                                      : world_.who.find_owner(to_integer(path[1]).value_or(-1));
        if (!owner || owner->is_user) return not_found();
        if (path.size() == 3 && path[2] == "repos") return owned_repositories(asked, *owner);
        if (!asked.authenticated) return failure(401, "Requires authentication", "rest");
        if (path.size() == 3 && path[2] == "teams") return organisation_teams(asked, *owner);
        if (path.size() == 4 && (path[2] == "teams" || path[2] == "team")) {
            for (std::size_t i = 0; i < world_.who.teams().size(); ++i) {
                const team& t = world_.who.teams()[i];
                if (&world_.who.owners()[t.organisation] != owner) continue;
                if (t.slug == path[3] || std::to_string(t.id) == path[3])
                    return object([&](std::string& out) { world_.who.team_full(out, i); });
            }
        }
        return not_found();
    }
    if (!path.empty() && path[0] == "user") return me(asked);
    return not_found();
}

reply endpoints::me(const call& asked) const {
    if (!asked.authenticated) return failure(401, "Requires authentication", "rest");
    const people& who = world_.who;
    if (asked.path.size() == 1) return object([&](std::string& out) { who.private_user(out); });
    if (asked.path.size() != 2) return not_found();
    if (asked.path[1] == "teams")
        return list(asked, "/user/teams", who.teams().size(),
                    [&](std::string& out, std::uint64_t i) { who.team_full(out, i); });
    if (asked.path[1] == "orgs") {
        std::vector<const organisation*> mine;
        for (const organisation& owner : who.owners())
            if (!owner.is_user) mine.push_back(&owner);
        return list(asked, "/user/orgs", mine.size(),
                    [&](std::string& out, std::uint64_t i) { who.organisation_simple(out, *mine[i]); });
    }
    return not_found();
}

reply endpoints::organisation_teams(const call& asked, const organisation& owner) const {
    std::vector<std::size_t> mine;
    for (std::size_t i = 0; i < world_.who.teams().size(); ++i)
        if (&world_.who.owners()[world_.who.teams()[i].organisation] == &owner) mine.push_back(i);
    return list(asked, "/organizations/" + std::to_string(owner.id) + "/teams", mine.size(),
                [&](std::string& out, std::uint64_t i) { world_.who.team_object(out, mine[i]); });
}

reply endpoints::owned_repositories(const call& asked, const organisation& owner) const {
    const bool as_user = asked.path[0] == "users" || asked.path[0] == "user";
    const std::string* type = find_parameter(asked.query, "type");
    const std::string* sort = find_parameter(asked.query, "sort");
    const std::string* direction = find_parameter(asked.query, "direction");
    const std::string by = sort ? *sort : as_user ? "full_name" : "created";
    std::vector<const repository*> mine;
    for (const auto& repo : world_.repositories) {
        if (lower(repo->config.owner) != lower(owner.login)) continue;
        if (repo->config.is_private && !asked.authenticated) continue;
        if (type &&
            ((*type == "private" && !repo->config.is_private) || (*type == "public" && repo->config.is_private)))
            continue;
        mine.push_back(repo.get());
    }
    const auto key = [&](const repository* repo) -> std::pair<std::int64_t, std::string> {
        if (by == "updated") return {repo->updated_at, ""};
        if (by == "pushed") return {repo->pushed_at.value_or(0), ""};
        if (by == "full_name") return {0, lower(repo->full_name())};
        return {repo->id, ""};  // older repositories have smaller ids
    };
    std::stable_sort(mine.begin(), mine.end(),
                     [&](const repository* a, const repository* b) { return key(a) < key(b); });
    if (direction ? *direction == "desc" : by != "full_name") std::reverse(mine.begin(), mine.end());
    const std::string url = (as_user ? "/user/" : "/organizations/") + std::to_string(owner.id) + "/repos";
    return list(asked, url, mine.size(), [&](std::string& out, std::uint64_t i) {
        world_.render.repository_object(out, *mine[i], renderer::repository_schema::minimal, asked.version,
                                        asked.authenticated);
    });
}

reply endpoints::repository_call(const call& asked, repository& repo, const std::vector<std::string>& rest) const {
    if (repo.config.is_private && !asked.authenticated) return not_found();
    const std::string url = "/repositories/" + std::to_string(repo.id);
    std::string table = rest.empty() ? "repository" : rest[0];
    if (rest.size() == 2 && rest[0] == "issues" && rest[1] == "comments") table = "comments";
    if (rest.size() == 3 && rest[0] == "pulls" && rest[2] == "reviews") table = "reviews";
    for (const std::string& key : {table, std::string("*")})
        if (const auto off = repo.config.status.find(key); off != repo.config.status.end() && off->second != 200)
            return switched_off(off->second);

    if (rest.empty()) {
        return object([&](std::string& out) {
            world_.render.repository_object(out, repo, renderer::repository_schema::full, asked.version,
                                            asked.authenticated);
        });
    }
    if (table == "comments") return rows(asked, repo, row_table::comments);
    if (table == "reviews") return reviews(asked, repo, rest[1]);
    if (rest.size() != 1) return not_found();
    if (table == "issues") return rows(asked, repo, row_table::issues);
    if (table == "pulls") return rows(asked, repo, row_table::pulls);
    if (table == "commits") return commits(asked, repo);
    if (table == "assignees")
        return list(asked, url + "/assignees", repo.config.assignees,
                    [&](std::string& out, std::uint64_t i) { out += world_.who.at(i).json; });
    if (table == "collaborators") {
        if (!asked.authenticated)
            return failure(401, "Requires authentication",
                           "rest/collaborators/collaborators#list-repository-collaborators");
        return list(asked, url + "/collaborators", repo.config.collaborators,
                    [&](std::string& out, std::uint64_t i) { world_.who.collaborator(out, i); });
    }
    if (table == "labels")
        return list(asked, url + "/labels", repo.config.labels, [&](std::string& out, std::uint64_t i) {
            world_.render.label(out, repo, static_cast<std::uint32_t>(i));
        });
    if (table == "branches") {
        const std::vector<std::pair<std::string, std::uint32_t>> all(repo.commits.branches().begin(),
                                                                     repo.commits.branches().end());
        const std::string* guarded = find_parameter(asked.query, "protected");
        std::vector<std::pair<std::string, std::uint32_t>> shown;
        for (const auto& branch : all)
            if (!guarded || (*guarded == "true") == (branch.first == "main")) shown.push_back(branch);
        return list(asked, url + "/branches", shown.size(), [&](std::string& out, std::uint64_t i) {
            world_.render.branch(out, repo, shown[i].first, shown[i].second);
        });
    }
    return not_found();
}

}  // namespace lakeflow::github_server
