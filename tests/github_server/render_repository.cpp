// Commits, branches and repositories; see render.h.
#include <array>

#include "tests/github_server/prose.h"
#include "tests/github_server/render.h"
#include "tests/github_server/text.h"

namespace lakeflow::github_server {

renderer::account renderer::commit_account(const repository& repo, std::uint32_t index, bool committer) {
    const std::uint64_t h = mix(repo.seed, committer ? 52 : 51, index) % 20;
    return h == 3 || h == 4 ? account::null : h == 5 ? account::empty : account::known;
}

void renderer::account_of(std::string& out, const repository& repo, std::uint32_t index, bool committer) const {
    switch (commit_account(repo, index, committer)) {
        case account::null: out += "null"; return;
        case account::empty: out += "{}"; return;
        case account::known: out += who_.at(mix(repo.seed, committer ? 54 : 53, index)).json; return;
    }
}

void renderer::commit(std::string& out, const repository& repo, std::uint32_t index) const {
    const commit_node& node = repo.commits.at(index);
    const std::uint64_t misc = mix(repo.seed, 55, index);
    const std::string sha = repo.commits.sha(index);
    const std::string base = api_of(repo);
    const std::string page = web_of(repo) + "/commit/";
    const auto git_user = [&](std::string_view key, bool committer, std::int64_t date) {
        out.append(",\"").append(key).append("\":");
        // A broken commit object has no author at all; the name is free text, not an account.
        if (!committer && misc % 61 == 9) {
            out += "null";
            return;
        }
        const user& who = who_.at(mix(repo.seed, committer ? 54 : 53, index));
        out += "{\"name\":";
        append_json(out, misc % 9 == 0 ? "Zoë \"Z\" Łukasz" : who.login);
        out += ",\"email\":";
        append_json(out, who.login + "@example.org");
        append_instant(out, "date", date);
        out += "}";
    };
    out.append("{\"sha\":\"")
        .append(sha)
        .append("\",\"node_id\":\"C_kw")
        .append(sha.substr(0, 12))
        .append("\",\"commit\":{\"url\":\"");
    out.append(base).append("/git/commits/").append(sha).append("\"");
    git_user("author", false, node.authored);
    git_user("committer", true, node.committed);
    out += ",\"message\":";
    std::string message = title_of(mix(misc, 1), 0);
    if (node.second_parent != commit_node::none) message = "Merge branch '" + branch_word(misc) + "'";
    if (misc % 4 == 0)
        message += "\n\nLonger words about it: \"why\" before \\how\\.\r\n\nSigned-off-by: Zoë <zoe@example.org>";
    append_json(out, message, misc % 8 == 3);
    const std::string tree = sha.substr(20) + sha.substr(0, 20);
    out.append(",\"tree\":{\"sha\":\"")
        .append(tree)
        .append("\",\"url\":\"")
        .append(base)
        .append("/git/trees/")
        .append(tree);
    out.append("\"},\"comment_count\":")
        .append(misc % 12 ? "0" : "2")
        .append(",\"verification\":{\"verified\":")
        .append(misc % 5 ? "false" : "true");
    if (misc % 5) {
        out += ",\"reason\":\"unsigned\",\"signature\":null,\"payload\":null,\"verified_at\":null}}";
    } else {
        out.append(
               ",\"reason\":\"valid\",\"signature\":\"-----BEGIN PGP SIGNATURE-----\\n\\nwsFc\\n-----END PGP "
               "SIGNATURE-----\",\"payload\":\"tree ")
            .append(tree);
        out.append("\\n\"");
        append_instant(out, "verified_at", node.committed + 1);
        out += "}}";
    }
    out.append(",\"url\":\"")
        .append(base)
        .append("/commits/")
        .append(sha)
        .append("\",\"html_url\":\"")
        .append(page)
        .append(sha);
    out.append("\",\"comments_url\":\"").append(base).append("/commits/").append(sha).append("/comments\",\"author\":");
    account_of(out, repo, index, false);
    out += ",\"committer\":";
    account_of(out, repo, index, true);
    out += ",\"parents\":[";
    bool first = true;
    for (const std::uint32_t parent : {node.first_parent, node.second_parent}) {
        if (parent == commit_node::none) continue;
        const std::string id = repo.commits.sha(parent);
        out.append(first ? "" : ",")
            .append("{\"sha\":\"")
            .append(id)
            .append("\",\"url\":\"")
            .append(base)
            .append("/commits/")
            .append(id);
        out.append("\",\"html_url\":\"").append(page).append(id).append("\"}");
        first = false;
    }
    out += "]}";
}

void renderer::branch(std::string& out, const repository& repo, const std::string& name, std::uint32_t head) const {
    const std::string sha = repo.commits.sha(head);
    const std::string base = api_of(repo);
    const std::string guard = base + "/branches/" + percent_encode(name) + "/protection";
    const bool guarded = name == "main";
    out += "{\"name\":";
    append_json(out, name);
    out.append(",\"commit\":{\"sha\":\"")
        .append(sha)
        .append("\",\"url\":\"")
        .append(base)
        .append("/commits/")
        .append(sha);
    out.append("\"},\"protected\":").append(guarded ? "true" : "false");
    out.append(",\"protection\":{\"enabled\":").append(guarded ? "true" : "false");
    out.append(",\"required_status_checks\":{\"enforcement_level\":\"")
        .append(guarded ? "non_admins" : "off")
        .append("\",\"contexts\":[");
    out.append(guarded ? "\"ci/build\"" : "")
        .append("],\"checks\":[]}},\"protection_url\":\"")
        .append(guard)
        .append("\"}");
}

void renderer::repository_object(std::string& out, const repository& repo, repository_schema schema,
                                 api_version version, bool credentials) const {
    const std::string base = api_of(repo);
    const std::string page = web_of(repo);
    const bool embedded = schema == repository_schema::embedded;
    const std::string git = percent_encode(repo.config.owner) + "/" + percent_encode(repo.config.name) + ".git";
    const std::uint64_t misc = mix(repo.seed, 71);
    const auto text = [&](std::string_view key, std::string_view value) {
        out.append(",\"").append(key).append("\":\"").append(value).append("\"");
    };
    const auto flag = [&](std::string_view key, bool value) {
        out.append(",\"").append(key).append("\":").append(value ? "true" : "false");
    };
    const auto number = [&](std::string_view key, std::int64_t value) {
        out.append(",\"").append(key).append("\":");
        append_number(out, value);
    };
    out += "{\"id\":";
    append_number(out, repo.id);
    text("node_id", "R_kg" + std::to_string(repo.id));
    out += ",\"name\":";
    append_json(out, repo.config.name);
    out += ",\"full_name\":";
    append_json(out, repo.full_name());
    out += ",\"owner\":";
    const organisation* owner = who_.find_owner(repo.config.owner);
    out += owner ? std::string_view(owner->json) : "null";
    flag("private", repo.config.is_private);
    text("html_url", page);
    out.append(",\"description\":")
        .append(misc % 4 == 0 ? "null" : "\"Eine \\\"kleine\\\" Sammlung – 小さな例 \\\\ demo\"");
    flag("fork", misc % 6 == 1);
    text("url", base);
    text("default_branch", "main");
    if (lean_ && embedded) {
        out += "}";
        return;
    }
    constexpr std::array<std::array<std::string_view, 2>, 36> urls{
        {{"archive_url", "/{archive_format}{/ref}"},
         {"assignees_url", "/assignees{/user}"},
         {"blobs_url", "/git/blobs{/sha}"},
         {"branches_url", "/branches{/branch}"},
         {"collaborators_url", "/collaborators{/collaborator}"},
         {"comments_url", "/comments{/number}"},
         {"commits_url", "/commits{/sha}"},
         {"compare_url", "/compare/{base}...{head}"},
         {"contents_url", "/contents/{+path}"},
         {"contributors_url", "/contributors"},
         {"deployments_url", "/deployments"},
         {"downloads_url", "/downloads"},
         {"events_url", "/events"},
         {"forks_url", "/forks"},
         {"git_commits_url", "/git/commits{/sha}"},
         {"git_refs_url", "/git/refs{/sha}"},
         {"git_tags_url", "/git/tags{/sha}"},
         {"hooks_url", "/hooks"},
         {"issue_comment_url", "/issues/comments{/number}"},
         {"issue_events_url", "/issues/events{/number}"},
         {"issues_url", "/issues{/number}"},
         {"keys_url", "/keys{/key_id}"},
         {"labels_url", "/labels{/name}"},
         {"languages_url", "/languages"},
         {"merges_url", "/merges"},
         {"milestones_url", "/milestones{/number}"},
         {"notifications_url", "/notifications{?since,all,participating}"},
         {"pulls_url", "/pulls{/number}"},
         {"releases_url", "/releases{/id}"},
         {"stargazers_url", "/stargazers"},
         {"statuses_url", "/statuses/{sha}"},
         {"subscribers_url", "/subscribers"},
         {"subscription_url", "/subscription"},
         {"tags_url", "/tags"},
         {"teams_url", "/teams"},
         {"trees_url", "/git/trees{/sha}"}}};
    for (const auto& [key, tail] : urls) text(key, base + std::string(tail));
    text("git_url", "git://github.com/" + git);
    text("ssh_url", "git@github.com:" + git);
    text("clone_url", std::string(web) + "/" + git);
    text("svn_url", page);
    out.append(",\"mirror_url\":null,\"homepage\":")
        .append(misc % 3 == 0   ? "null"
                : misc % 3 == 1 ? "\"\""
                                : "\"https://example.org/\"");
    out.append(",\"language\":").append(misc % 5 == 0 ? "null" : "\"C++\"");
    number("forks_count", 9);
    number("forks", 9);
    number("stargazers_count", 80);
    number("watchers_count", 80);
    number("watchers", 80);
    number("size", 3000000000LL);  // kilobytes, beyond 2^31
    // Inside a pull request the counters stand still, so that an idle listing keeps its ETag.
    const std::int64_t open = embedded ? repo.config.issues : repo.open_issues();
    number("open_issues_count", open);
    number("open_issues", open);
    flag("is_template", false);
    out += ",\"topics\":[";
    out.append(misc % 2 ? "\"data\",\"c-plus-plus\",\"größe\"]" : "]");
    flag("has_issues", true);
    flag("has_projects", true);
    flag("has_wiki", false);
    flag("has_pages", false);
    if (version == api_version::v2022_11_28) flag("has_downloads", true);
    flag("has_discussions", false);
    flag("has_pull_requests", true);
    text("pull_request_creation_policy", "all");
    flag("archived", misc % 7 == 2);
    flag("disabled", false);
    text("visibility", repo.config.is_private ? "private" : "public");
    flag("allow_forking", true);
    flag("web_commit_signoff_required", false);
    append_instant_or_null(out, "pushed_at", repo.pushed_at.has_value(),
                           embedded ? repo.base_time - 60 : repo.pushed_at.value_or(0));
    append_instant(out, "created_at", repo.base_time - std::int64_t{86400} * 1500);
    append_instant(out, "updated_at", embedded ? repo.base_time - 3600 : repo.updated_at);
    out += ",\"license\":";
    if (misc % 4 == 1)
        out += "null";
    else
        out +=
            "{\"key\":\"apache-2.0\",\"name\":\"Apache License "
            "2.0\",\"url\":\"https://api.github.com/licenses/"
            "apache-2.0\",\"spdx_id\":\"Apache-2.0\",\"node_id\":\"MDc6\"}";
    if (credentials)
        out += ",\"permissions\":{\"admin\":true,\"maintain\":true,\"push\":true,\"triage\":true,\"pull\":true}";
    if (embedded) {
        out += "}";
        return;
    }
    if (credentials) text("temp_clone_token", clone_token);
    number("subscribers_count", 42);
    number("network_count", 9);
    flag("delete_branch_on_merge", true);
    if (schema == repository_schema::minimal) {
        if (credentials) text("role_name", "admin");
    } else {
        flag("allow_rebase_merge", true);
        flag("allow_squash_merge", true);
        flag("allow_auto_merge", false);
        flag("allow_merge_commit", true);
        flag("allow_update_branch", false);
        flag("use_squash_pr_title_as_default", false);
        text("squash_merge_commit_title", "COMMIT_OR_PR_TITLE");
        text("squash_merge_commit_message", "COMMIT_MESSAGES");
        text("merge_commit_title", "MERGE_MESSAGE");
        text("merge_commit_message", "PR_TITLE");
        out += ",\"template_repository\":null,\"organization\":";
        out += owner && !owner->is_user ? std::string_view(owner->json) : "null";
    }
    out +=
        ",\"security_and_analysis\":{\"secret_scanning\":{\"status\":\"enabled\"}},\"custom_properties\":{\"Umgebung\":"
        "\"Prüfung\"}}";
}

}  // namespace lakeflow::github_server
