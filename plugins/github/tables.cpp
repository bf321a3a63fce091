// plugins/github/tables.cpp: see tables.hpp. Columns are those of GitHub's OpenAPI description, in the order that people know
// from the Python connector, and with these differences: instants are TIMESTAMP; `base`, `head`, `reactions` and `pull_request`
// are structs, for their members are fixed; the repository inside `base` and `head` is cut to what identifies it (it is a row of
// `repositories`). Not landed: temp_clone_token, which is a credential, and allow_rebase_merge, allow_squash_merge,
// allow_merge_commit and template_repository, which no listing ever sends.
#include "tables.hpp"

#include <string>

namespace lakeflow::github {
namespace {

#define GITHUB_USER "STRUCT<login: STRING, id: BIGINT, node_id: STRING, type: STRING, site_admin: BOOLEAN>"
#define GITHUB_REPOSITORY "repository_owner STRING NOT NULL, repository_name STRING NOT NULL, "
#define GITHUB_BRANCH_END                                                                                            \
    "STRUCT<label: STRING, ref: STRING, sha: STRING, user: " GITHUB_USER                                             \
    ", repo: STRUCT<id: BIGINT, node_id: STRING, name: STRING, full_name: STRING, private: BOOLEAN, fork: BOOLEAN, " \
    "html_url: STRING, default_branch: STRING>>"

constexpr std::string_view by_id[] = {"id"};
constexpr std::string_view by_sha[] = {"sha"};
constexpr std::string_view by_repository_and_id[] = {"repository_owner", "repository_name", "id"};
constexpr std::string_view by_repository_and_name[] = {"repository_owner", "repository_name", "name"};

constexpr std::string_view issues =
    "id BIGINT NOT NULL, node_id STRING, number BIGINT, " GITHUB_REPOSITORY
    "title STRING, body STRING, state STRING, locked BOOLEAN, comments BIGINT, "
    "created_at TIMESTAMP, updated_at TIMESTAMP, closed_at TIMESTAMP, author_association STRING, "
    "url STRING, html_url STRING, labels_url STRING, comments_url STRING, events_url STRING, timeline_url STRING, "
    "state_reason STRING, user " GITHUB_USER ", assignee " GITHUB_USER ", assignees ARRAY<" GITHUB_USER
    ">, "
    "labels ARRAY<STRUCT<id: BIGINT, node_id: STRING, name: STRING, color: STRING, description: STRING, "
    "`default`: BOOLEAN>>, "
    "milestone STRUCT<id: BIGINT, number: BIGINT, title: STRING, description: STRING, state: STRING, "
    "created_at: TIMESTAMP, updated_at: TIMESTAMP, due_on: TIMESTAMP>, "
    "pull_request STRUCT<merged_at: TIMESTAMP, diff_url: STRING, html_url: STRING, patch_url: STRING, url: STRING>, "
    "reactions STRUCT<url: STRING, total_count: BIGINT, `+1`: BIGINT, `-1`: BIGINT, laugh: BIGINT, confused: BIGINT, "
    "heart: BIGINT, hooray: BIGINT, eyes: BIGINT, rocket: BIGINT>";

constexpr std::string_view pull_requests =
    "id BIGINT NOT NULL, node_id STRING, number BIGINT, " GITHUB_REPOSITORY
    "state STRING, title STRING, body STRING, draft BOOLEAN, created_at TIMESTAMP, updated_at TIMESTAMP, "
    "closed_at TIMESTAMP, merged_at TIMESTAMP, merge_commit_sha STRING, user " GITHUB_USER ", base " GITHUB_BRANCH_END
    ", head " GITHUB_BRANCH_END ", html_url STRING, url STRING";

constexpr std::string_view comments = "id BIGINT NOT NULL, node_id STRING, " GITHUB_REPOSITORY
                                      "issue_url STRING, html_url STRING, body STRING, user " GITHUB_USER
                                      ", created_at TIMESTAMP, updated_at TIMESTAMP, author_association STRING";

constexpr std::string_view commits =
    "sha STRING NOT NULL, node_id STRING, " GITHUB_REPOSITORY
    "commit_message STRING, commit_author_name STRING, commit_author_email STRING, commit_author_date TIMESTAMP, "
    "commit_committer_name STRING, commit_committer_email STRING, commit_committer_date TIMESTAMP, "
    "html_url STRING, url STRING, author " GITHUB_USER ", committer " GITHUB_USER;

constexpr column_path commit_paths[] = {
    {"commit_message", "/commit/message"},
    {"commit_author_name", "/commit/author/name"},
    {"commit_author_email", "/commit/author/email"},
    {"commit_author_date", "/commit/author/date"},
    {"commit_committer_name", "/commit/committer/name"},
    {"commit_committer_email", "/commit/committer/email"},
    {"commit_committer_date", "/commit/committer/date"},
};

constexpr std::string_view reviews = "id BIGINT NOT NULL, node_id STRING, " GITHUB_REPOSITORY
                                     "pull_number BIGINT, state STRING, body STRING, user " GITHUB_USER
                                     ", commit_id STRING, submitted_at TIMESTAMP, html_url STRING";

constexpr std::string_view repositories =
    "id BIGINT NOT NULL, node_id STRING, " GITHUB_REPOSITORY "name STRING, full_name STRING, owner " GITHUB_USER
    ", private BOOLEAN, html_url STRING, description STRING, fork BOOLEAN, url STRING, "
    "archive_url STRING, assignees_url STRING, blobs_url STRING, branches_url STRING, collaborators_url STRING, "
    "comments_url STRING, commits_url STRING, compare_url STRING, contents_url STRING, contributors_url STRING, "
    "deployments_url STRING, downloads_url STRING, events_url STRING, forks_url STRING, git_commits_url STRING, "
    "git_refs_url STRING, git_tags_url STRING, git_url STRING, issue_comment_url STRING, issue_events_url STRING, "
    "issues_url STRING, keys_url STRING, labels_url STRING, languages_url STRING, merges_url STRING, "
    "milestones_url STRING, notifications_url STRING, pulls_url STRING, releases_url STRING, ssh_url STRING, "
    "stargazers_url STRING, statuses_url STRING, subscribers_url STRING, subscription_url STRING, tags_url STRING, "
    "teams_url STRING, trees_url STRING, clone_url STRING, mirror_url STRING, hooks_url STRING, svn_url STRING, "
    "homepage STRING, language STRING, forks_count BIGINT, stargazers_count BIGINT, watchers_count BIGINT, "
    "size BIGINT, default_branch STRING, open_issues_count BIGINT, is_template BOOLEAN, topics ARRAY<STRING>, "
    "has_issues BOOLEAN, has_projects BOOLEAN, has_wiki BOOLEAN, has_pages BOOLEAN, has_downloads BOOLEAN, "
    "archived BOOLEAN, disabled BOOLEAN, visibility STRING, pushed_at TIMESTAMP, created_at TIMESTAMP, "
    "updated_at TIMESTAMP, permissions STRUCT<admin: BOOLEAN, push: BOOLEAN, pull: BOOLEAN>, "
    "subscribers_count BIGINT, network_count BIGINT, "
    "license STRUCT<key: STRING, name: STRING, spdx_id: STRING, url: STRING, node_id: STRING>";

constexpr column_path repository_paths[] = {{"repository_owner", "/owner/login"}, {"repository_name", "/name"}};

constexpr std::string_view users =
    "id BIGINT NOT NULL, login STRING, node_id STRING, type STRING, site_admin BOOLEAN, name STRING, company STRING, "
    "blog STRING, location STRING, email STRING, created_at TIMESTAMP, updated_at TIMESTAMP";

constexpr std::string_view organizations =
    "id BIGINT NOT NULL, login STRING, node_id STRING, url STRING, repos_url STRING, events_url STRING, "
    "hooks_url STRING, issues_url STRING, members_url STRING, public_members_url STRING, avatar_url STRING, "
    "description STRING";

constexpr std::string_view teams =
    "id BIGINT NOT NULL, node_id STRING, organization_login STRING, name STRING, slug STRING, description STRING, "
    "privacy STRING, permission STRING";

constexpr column_path team_paths[] = {{"organization_login", "/organization/login"}};

constexpr std::string_view assignees =
    GITHUB_REPOSITORY "login STRING, id BIGINT NOT NULL, node_id STRING, type STRING, site_admin BOOLEAN";

constexpr std::string_view collaborators = GITHUB_REPOSITORY
    "login STRING, id BIGINT NOT NULL, node_id STRING, type STRING, site_admin BOOLEAN, "
    "permissions STRUCT<admin: BOOLEAN, push: BOOLEAN, pull: BOOLEAN>";

constexpr std::string_view branches = GITHUB_REPOSITORY
    "name STRING NOT NULL, commit STRUCT<sha: STRING, url: STRING>, protected BOOLEAN, "
    "protection_url STRING";

#undef GITHUB_USER
#undef GITHUB_REPOSITORY
#undef GITHUB_BRANCH_END

constexpr table tables[] = {
    {"issues", family::since, scope::repository, states::chosen, "issues", ingestion::cdc, by_id, "updated_at", issues},
    {"pull_requests", family::newest, scope::repository, states::all, "pulls", ingestion::cdc, by_id, "updated_at",
     pull_requests},
    {"comments", family::since, scope::repository, states::none, "issues/comments", ingestion::cdc, by_id, "updated_at",
     comments},
    {"commits", family::history, scope::repository, states::none, "commits", ingestion::append, by_sha, "", commits,
     commit_paths},
    {"reviews", family::per_pull, scope::repository, states::all, "pulls", ingestion::append, by_id, "", reviews},
    {"repositories", family::snapshot, scope::account, states::none, "repos", ingestion::snapshot, by_id, "",
     repositories, repository_paths},
    {"users", family::snapshot, scope::token, states::none, "user", ingestion::snapshot, by_id, "", users},
    {"organizations", family::snapshot, scope::token, states::none, "user/orgs", ingestion::snapshot, by_id, "",
     organizations},
    {"teams", family::snapshot, scope::token, states::none, "user/teams", ingestion::snapshot, by_id, "", teams,
     team_paths},
    {"assignees", family::snapshot, scope::repository, states::none, "assignees", ingestion::snapshot,
     by_repository_and_id, "", assignees},
    {"collaborators", family::snapshot, scope::repository, states::none, "collaborators", ingestion::snapshot,
     by_repository_and_id, "", collaborators},
    {"branches", family::snapshot, scope::repository, states::none, "branches", ingestion::snapshot,
     by_repository_and_name, "", branches},
};

}  // namespace

std::span<const table> all_tables() { return tables; }

const table& find_table(std::string_view name) {
    std::string known;
    for (const table& one : tables) {
        if (one.name == name) return one;
        known.append(known.empty() ? "" : ", ").append(one.name);
    }
    throw not_found("there is no table '" + std::string(name) + "'", "the tables are " + known);
}

}  // namespace lakeflow::github
