// Issues, pull requests, comments and reviews; see render.h.
#include <algorithm>
#include <array>

#include "tests/github_server/prose.h"
#include "tests/github_server/render.h"
#include "tests/github_server/text.h"

namespace lakeflow::github_server {
namespace {

constexpr std::uint64_t title_salt = 41, author_salt = 42, label_salt = 43, assignee_salt = 44, body_salt = 45,
                        misc_salt = 46;

std::size_t body_size(std::uint64_t hash, bool lean) {
    if (!lean && hash % 3001 == 7) return std::size_t{65536} << (hash / 3001 % 3);  // 64, 128 or 256 KiB
    return 20 + hash / 3001 % (hash % 5 == 0 ? 2400 : 500);
}

}  // namespace

std::string api_of(const repository& repo) {
    return std::string(api) + "/repos/" + percent_encode(repo.config.owner) + "/" + percent_encode(repo.config.name);
}
std::string web_of(const repository& repo) {
    return std::string(web) + "/" + percent_encode(repo.config.owner) + "/" + percent_encode(repo.config.name);
}

std::string_view association(std::uint64_t hash) {
    constexpr std::array<std::string_view, 8> all{
        "COLLABORATOR", "CONTRIBUTOR", "FIRST_TIMER", "FIRST_TIME_CONTRIBUTOR", "MANNEQUIN", "MEMBER", "NONE", "OWNER"};
    return all[hash % all.size()];
}

void append_instant(std::string& out, std::string_view key, std::int64_t instant) {
    out.append(",\"").append(key).append("\":\"");
    append_iso(out, instant);
    out.push_back('"');
}
void append_instant_or_null(std::string& out, std::string_view key, bool known, std::int64_t instant) {
    if (known)
        append_instant(out, key, instant);
    else
        out.append(",\"").append(key).append("\":null");
}

std::string renderer::issue_title(const repository& repo, std::uint32_t index) {
    const auto found = repo.issue_texts.find(index);
    if (found != repo.issue_texts.end() && found->second.title) return *found->second.title;
    return title_of(mix(repo.seed, title_salt, index), repo.issues[index].revision);
}

const user* renderer::issue_author(const repository& repo, std::uint32_t index) const {
    const std::uint64_t h = mix(repo.seed, author_salt, index);
    return h % 50 == 3 ? nullptr : &who_.at(h / 50);
}
const user* renderer::comment_author(const repository& repo, std::uint32_t index) const {
    const std::uint64_t h = mix(repo.seed, author_salt + 100, index);
    return h % 50 == 3 ? nullptr : &who_.at(h / 50);
}

void renderer::label(std::string& out, const repository& repo, std::uint32_t index) const {
    constexpr std::array<std::string_view, 8> names{"bug",  "good first issue", "type: \"docs\"", "области/сеть",
                                                    "P1 🔥", "won't fix",        "help wanted",    "größe/xl"};
    const std::string name =
        std::string(names[index % names.size()]) + (index < names.size() ? "" : " " + std::to_string(index));
    out += "{\"id\":";
    append_number(out, 208045946LL + std::int64_t{repo.ordinal} * 100000 + index);
    out.append(",\"node_id\":\"LA_")
        .append(std::to_string(index))
        .append("\",\"url\":\"")
        .append(api_of(repo))
        .append("/labels/");
    out.append(percent_encode(name)).append("\",\"name\":");
    append_json(out, name);
    out.append(",\"color\":\"")
        .append(index % 2 ? "d73a4a" : "0e8a16")
        .append("\",\"default\":")
        .append(index == 0 ? "true" : "false");
    out.append(",\"description\":").append(index % 3 == 2 ? "null" : "\"Says what it is – kurz & gut\"").append("}");
}

void renderer::milestone(std::string& out, const repository& repo, std::uint32_t index) const {
    const std::string number = std::to_string(index + 1);
    const std::string url = api_of(repo) + "/milestones/" + number;
    out.append("{\"url\":\"")
        .append(url)
        .append("\",\"html_url\":\"")
        .append(web_of(repo))
        .append("/milestone/")
        .append(number);
    out.append("\",\"labels_url\":\"").append(url).append("/labels\",\"id\":");
    append_number(out, 1002604LL + std::int64_t{repo.ordinal} * 1000 + index);
    out.append(",\"node_id\":\"MI_")
        .append(number)
        .append("\",\"number\":")
        .append(number)
        .append(",\"state\":\"")
        .append(index ? "open" : "closed");
    out.append("\",\"title\":\"v0.")
        .append(number)
        .append("\",\"description\":")
        .append(index == 1 ? "null" : "\"Next \\\"stable\\\"\\r\\nrelease\"");
    out.append(",\"creator\":")
        .append(index == 1 ? "null" : who_.at(index).json)
        .append(",\"open_issues\":4,\"closed_issues\":8");
    append_instant(out, "created_at", repo.base_time - 86400 * 200);
    append_instant(out, "updated_at", repo.base_time - 86400 * 20);
    append_instant_or_null(out, "closed_at", index == 0, repo.base_time - 86400 * 20);
    append_instant_or_null(out, "due_on", index == 2, repo.base_time + 86400 * 20);
    out += "}";
}

void renderer::reactions(std::string& out, std::string_view url, std::uint64_t hash) const {
    constexpr std::array<std::string_view, 8> names{"+1",    "-1",     "laugh", "confused",
                                                    "heart", "hooray", "eyes",  "rocket"};
    std::array<std::uint64_t, 8> counts{};
    std::uint64_t total = 0;
    if (hash % 3 == 0)
        for (std::size_t i = 0; i < counts.size(); ++i) total += counts[i] = (hash >> (3 * i + 8)) & 3;
    out.append(",\"reactions\":{\"url\":\"").append(url).append("/reactions\",\"total_count\":");
    append_number(out, static_cast<std::int64_t>(total));
    for (std::size_t i = 0; i < counts.size(); ++i) {
        out.append(",\"").append(names[i]).append("\":");
        append_number(out, static_cast<std::int64_t>(counts[i]));
    }
    out += "}";
}

// assignee, assignees, labels and milestone: the same in an issue and in its pull request.
void renderer::people_members(std::string& out, const repository& repo, std::uint32_t index,
                              api_version version) const {
    const std::uint64_t h = mix(repo.seed, assignee_salt, index);
    const std::uint64_t assignees = h % 10 < 7 || (lean_ && h % 10 < 9) ? 0 : h % 10 - (lean_ ? 8 : 6);
    if (version == api_version::v2022_11_28) {
        out += ",\"assignee\":";
        if (assignees > 0)
            out += who_.at(h / 10).json;
        else
            out += "null";
    }
    out += ",\"assignees\":[";
    for (std::uint64_t i = 0; i < assignees; ++i) {
        if (i > 0) out += ",";
        out += who_.at(h / 10 + i).json;
    }
    out += "],\"milestone\":";
    if (mix(h, 2) % (lean_ ? 40 : 8) == 0)
        milestone(out, repo, static_cast<std::uint32_t>(h % 3));
    else
        out += "null";
}

void renderer::issue(std::string& out, const repository& repo, std::uint32_t index, api_version version) const {
    const issue_row& row = repo.issues[index];
    const std::size_t start = out.size();
    const std::uint64_t misc = mix(repo.seed, misc_salt, index);
    const std::string number = std::to_string(index + 1);
    const std::string base = api_of(repo);
    const std::string self = base + "/issues/" + number;
    const std::string page = web_of(repo) + (row.pull ? "/pull/" : "/issues/") + number;
    out.append("{\"url\":\"").append(self).append("\",\"repository_url\":\"").append(base);
    out.append("\",\"labels_url\":\"").append(self).append("/labels{/name}\",\"comments_url\":\"").append(self);
    out.append("/comments\",\"events_url\":\"")
        .append(self)
        .append("/events\",\"html_url\":\"")
        .append(page)
        .append("\",\"id\":");
    append_number(out, repo.issue_id(index));
    out.append(",\"node_id\":\"")
        .append(row.pull ? "PR_kw" : "I_kw")
        .append(number)
        .append("\",\"number\":")
        .append(number)
        .append(",\"title\":");
    append_json(out, issue_title(repo, index), misc % 8 == 1);
    out += ",\"user\":";
    const user* author = issue_author(repo, index);
    out += author ? std::string_view(author->json) : "null";
    out += ",\"labels\":[";
    if (repo.config.labels > 0) {
        const std::uint64_t h = mix(repo.seed, label_salt, index);
        const std::uint64_t count = lean_ ? (h % 6 == 0 ? 1 : 0) : h % 4;
        for (std::uint64_t i = 0; i < count; ++i) {
            if (i > 0) out += ",";
            if (h % 97 == 5)
                out += "\"legacy-label\"";  // the description allows a bare text
            else
                label(out, repo, static_cast<std::uint32_t>((h / 6 + i) % repo.config.labels));
        }
    }
    out.append("],\"state\":\"")
        .append(row.open ? "open" : "closed")
        .append("\",\"locked\":")
        .append(misc % 20 == 0 ? "true" : "false");
    people_members(out, repo, index, version);
    out += ",\"comments\":";
    append_number(out, repo.comment_count(index));
    append_instant(out, "created_at", row.created);
    append_instant(out, "updated_at", row.updated);
    append_instant_or_null(out, "closed_at", !row.open, row.closed);
    out.append(",\"author_association\":\"").append(association(misc)).append("\"");
    if (!row.open) {
        out.append(",\"state_reason\":").append(row.pull ? "null" : misc % 3 ? "\"completed\"" : "\"not_planned\"");
    } else {
        out.append(",\"state_reason\":").append(misc % 9 == 4 ? "\"reopened\"" : "null");
    }
    if (row.pull) {
        const std::string pull_page = web_of(repo) + "/pull/" + number;
        out.append(",\"draft\":").append(misc % 7 == 0 ? "true" : "false");
        out.append(",\"pull_request\":{\"url\":\"")
            .append(base)
            .append("/pulls/")
            .append(number)
            .append("\",\"html_url\":\"")
            .append(pull_page);
        out.append("\",\"diff_url\":\"")
            .append(pull_page)
            .append(".diff\",\"patch_url\":\"")
            .append(pull_page)
            .append(".patch\"");
        append_instant_or_null(out, "merged_at", row.merged, row.closed);
        out += "}";
    }
    reactions(out, self, misc);
    out.append(",\"timeline_url\":\"").append(self).append("/timeline\"");
    if (!lean_) {
        out.append(",\"active_lock_reason\":").append(misc % 20 == 0 ? "\"too heated\"" : "null").append(",\"type\":");
        if (misc % 6 == 0)
            out +=
                "{\"id\":410,\"node_id\":\"IT_410\",\"name\":\"Task\",\"description\":\"A piece of "
                "work\",\"color\":\"blue\",\"created_at\":\"2023-01-01T00:00:00Z\","
                "\"updated_at\":\"2023-06-01T00:00:00Z\",\"is_enabled\":true}";
        else
            out += "null";
        out += ",\"closed_by\":";
        if (!row.open && misc % 11)
            out += who_.at(misc / 11).json;
        else
            out += "null";
        out +=
            ",\"performed_via_github_app\":null,\"sub_issues_summary\":{\"total\":0,\"completed\":0,\"percent_"
            "completed\":0},"
            "\"issue_dependencies_summary\":{\"blocked_by\":0,\"total_blocked_by\":0,\"blocking\":0,\"total_blocking\":"
            "0},"
            "\"parent_issue_url\":null,\"pinned_comment\":null,\"issue_field_values\":[]";
    }
    out += ",\"body\":";
    const auto text = repo.issue_texts.find(index);
    const std::uint64_t body = mix(repo.seed, body_salt, index);
    if (text != repo.issue_texts.end() && text->second.body) {
        append_json(out, *text->second.body);
    } else if (issue_bytes_ > 0) {
        // Uniform between nothing and twice what is missing: the mean is what was asked for.
        const std::size_t used = out.size() - start + 1;
        const std::size_t room = issue_bytes_ > used ? 2 * (issue_bytes_ - used) : 2;
        append_body(out, body, 2 + body % room, row.revision);
    } else if (body % 20 == 0) {
        out += "null";
    } else {
        append_body(out, body, body % 50 == 1 ? 2 : body_size(body, lean_), row.revision);
    }
    out += "}";
}

std::string renderer::pull_head_sha(const repository& repo, std::uint32_t index) {
    std::string sha;
    append_hex(sha, mix(repo.seed, 61, index, repo.issues[index].revision));
    append_hex(sha, mix(repo.seed, 62, index));
    append_hex(sha, mix(repo.seed, 63, index));
    sha.resize(40);
    return sha;
}

void renderer::pull(std::string& out, const repository& repo, std::uint32_t index, api_version version) const {
    const issue_row& row = repo.issues[index];
    const std::uint64_t misc = mix(repo.seed, misc_salt, index);
    const std::string number = std::to_string(index + 1);
    const std::string base = api_of(repo);
    const std::string self = base + "/pulls/" + number;
    const std::string issue_url = base + "/issues/" + number;
    const std::string page = web_of(repo) + "/pull/" + number;
    const std::string sha = pull_head_sha(repo, index);
    const std::string statuses = base + "/statuses/" + sha;
    out.append("{\"url\":\"").append(self).append("\",\"id\":");
    append_number(out, repo.pull_id(index));
    out.append(",\"node_id\":\"PR_kw")
        .append(number)
        .append("\",\"html_url\":\"")
        .append(page)
        .append("\",\"diff_url\":\"")
        .append(page);
    out.append(".diff\",\"patch_url\":\"")
        .append(page)
        .append(".patch\",\"issue_url\":\"")
        .append(issue_url)
        .append("\",\"number\":")
        .append(number);
    out.append(",\"state\":\"")
        .append(row.open ? "open" : "closed")
        .append("\",\"locked\":")
        .append(misc % 20 == 0 ? "true" : "false");
    out += ",\"title\":";
    append_json(out, issue_title(repo, index), misc % 8 == 1);
    out += ",\"user\":";
    const user* author = issue_author(repo, index);
    out += author ? std::string_view(author->json) : "null";
    append_instant(out, "created_at", row.created);
    append_instant(out, "updated_at", row.updated);
    append_instant_or_null(out, "closed_at", !row.open, row.closed);
    append_instant_or_null(out, "merged_at", row.merged, row.closed);
    if (version == api_version::v2022_11_28) {
        out += ",\"merge_commit_sha\":";
        if (row.merged || misc % 3)
            append_json(out, sha.substr(8) + sha.substr(0, 8));
        else
            out += "null";
    }
    people_members(out, repo, index, version);
    out += ",\"requested_reviewers\":[";
    if (row.open && misc % 4 == 0) out += who_.at(misc / 4).json;
    out += "],\"requested_teams\":[";
    if (row.open && misc % 16 == 0 && !who_.teams().empty()) who_.team_object(out, misc / 16 % who_.teams().size());
    out += "],\"labels\":[";
    if (repo.config.labels > 0 && misc % 3 == 0)
        label(out, repo, static_cast<std::uint32_t>(misc / 3 % repo.config.labels));
    out.append("],\"draft\":")
        .append(misc % 7 == 0 ? "true" : "false")
        .append(",\"active_lock_reason\":")
        .append(misc % 20 == 0 ? "\"spam\"" : "null");
    out.append(",\"commits_url\":\"").append(self).append("/commits\",\"review_comments_url\":\"").append(self);
    out.append("/comments\",\"review_comment_url\":\"")
        .append(base)
        .append("/pulls/comments{/number}\",\"comments_url\":\"")
        .append(issue_url);
    out.append("/comments\",\"statuses_url\":\"").append(statuses).append("\"");
    const auto side = [&](std::string_view key, std::string_view ref, std::string_view tip, bool gone) {
        const std::string_view owner = repo.config.owner;
        out.append(",\"").append(key).append("\":{\"label\":");
        append_json(out, std::string(gone ? "unknown" : owner) + ":" + std::string(ref));
        out += ",\"ref\":";
        append_json(out, ref);
        out.append(",\"sha\":\"").append(tip).append("\",\"user\":");
        const organisation* account = who_.find_owner(owner);
        out += gone || !account ? "null" : std::string_view(account->json);
        out += ",\"repo\":";
        // The fork that a pull request came from may have been deleted.
        if (gone)
            out += "null";
        else
            repository_object(out, repo, repository_schema::embedded, version, false);
        out += "}";
    };
    side("head", branch_word(mix(misc, 5)), sha, misc % 25 == 4);
    side("base", "main", pull_head_sha(repo, index / 2), false);
    out.append(",\"_links\":{\"self\":{\"href\":\"").append(self).append("\"},\"html\":{\"href\":\"").append(page);
    out.append("\"},\"issue\":{\"href\":\"")
        .append(issue_url)
        .append("\"},\"comments\":{\"href\":\"")
        .append(issue_url);
    out.append("/comments\"},\"review_comments\":{\"href\":\"")
        .append(self)
        .append("/comments\"},\"review_comment\":{\"href\":\"")
        .append(base);
    out.append("/pulls/comments{/number}\"},\"commits\":{\"href\":\"")
        .append(self)
        .append("/commits\"},\"statuses\":{\"href\":\"")
        .append(statuses);
    out.append("\"}},\"author_association\":\"").append(association(misc)).append("\",\"auto_merge\":");
    if (row.open && misc % 13 == 0)
        out.append("{\"enabled_by\":")
            .append(who_.at(1).json)
            .append(
                ",\"merge_method\":\"squash\",\"commit_title\":\"Merge it\",\"commit_message\":\"When "
                "\\\"green\\\"\"}");
    else
        out += "null";
    out += ",\"body\":";
    const auto text = repo.issue_texts.find(index);
    const std::uint64_t body = mix(repo.seed, body_salt, index);
    if (text != repo.issue_texts.end() && text->second.body)
        append_json(out, *text->second.body);
    else if (body % 20 == 0)
        out += "null";
    else
        append_body(out, body, body_size(body, lean_), row.revision);
    out += "}";
}

void renderer::comment(std::string& out, const repository& repo, std::uint32_t index) const {
    const comment_row& row = repo.comments[index];
    const std::uint64_t misc = mix(repo.seed, misc_salt + 100, index);
    const std::string id = std::to_string(repo.comment_id(index));
    const std::string self = api_of(repo) + "/issues/comments/" + id;
    const std::string issue_number = std::to_string(row.issue + 1);
    out.append("{\"url\":\"").append(self).append("\",\"html_url\":\"").append(web_of(repo));
    out.append(repo.issues[row.issue].pull ? "/pull/" : "/issues/")
        .append(issue_number)
        .append("#issuecomment-")
        .append(id);
    out.append("\",\"issue_url\":\"")
        .append(api_of(repo))
        .append("/issues/")
        .append(issue_number)
        .append("\",\"id\":")
        .append(id);
    out.append(",\"node_id\":\"IC_kw").append(std::to_string(index)).append("\",\"user\":");
    const user* author = comment_author(repo, index);
    out += author ? std::string_view(author->json) : "null";
    append_instant(out, "created_at", row.created);
    append_instant(out, "updated_at", row.updated);
    out += ",\"body\":";
    const auto text = repo.comment_texts.find(index);
    if (text != repo.comment_texts.end() && text->second.body)
        append_json(out, *text->second.body);
    else
        append_body(out, misc, misc % 40 == 0 ? 2 : body_size(mix(misc), lean_), row.revision);
    out.append(",\"author_association\":\"").append(association(misc)).append("\"");
    reactions(out, self, mix(misc, 1));
    if (!lean_) {
        out.append(",\"performed_via_github_app\":null,\"pin\":");
        if (misc % 60 == 1) {
            out.append("{\"pinned_at\":\"2024-01-01T00:00:00Z\",\"pinned_by\":").append(who_.at(2).json).append("}");
        } else {
            out += "null";
        }
        out.append(",\"minimized\":").append(misc % 60 == 2 ? "{\"reason\":\"off-topic\"}" : "null");
    }
    out += "}";
}

void renderer::review(std::string& out, const repository& repo, std::uint32_t pull, const review_row& row) const {
    const std::uint64_t misc = mix(repo.seed, misc_salt + 200, static_cast<std::uint64_t>(row.id));
    const std::string number = std::to_string(pull + 1);
    const std::string pull_url = api_of(repo) + "/pulls/" + number;
    const std::string page = web_of(repo) + "/pull/" + number + "#pullrequestreview-" + std::to_string(row.id);
    out += "{\"id\":";
    append_number(out, row.id);
    out.append(",\"node_id\":\"PRR_kw").append(std::to_string(row.id)).append("\",\"user\":");
    out += misc % 40 == 3 ? "null" : std::string_view(who_.at(misc / 40).json);
    out += ",\"body\":";
    if (misc % 30 == 7)
        out += "null";
    else
        append_body(out, misc, misc % 2 ? 2 : 120, row.revision);
    out.append(",\"state\":\"")
        .append(row.state)
        .append("\",\"html_url\":\"")
        .append(page)
        .append("\",\"pull_request_url\":\"")
        .append(pull_url);
    out.append("\",\"author_association\":\"")
        .append(association(misc))
        .append("\",\"_links\":{\"html\":{\"href\":\"")
        .append(page);
    out.append("\"},\"pull_request\":{\"href\":\"").append(pull_url).append("\"}}");
    if (row.submitted) append_instant(out, "submitted_at", *row.submitted);
    out += ",\"commit_id\":";
    if (misc % 35 == 2)
        out += "null";
    else
        append_json(out, pull_head_sha(repo, pull / 3));
    out += "}";
}

}  // namespace lakeflow::github_server
