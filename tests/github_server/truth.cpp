// The ground truth that oracles compare with; see control.h.
#include <stdexcept>

#include "tests/github_server/control.h"
#include "tests/github_server/text.h"

namespace lakeflow::github_server {
namespace {

class line {
  public:
    explicit line(std::string& out) : out_(out) { out_ += "{"; }
    line(const line&) = delete;
    line& operator=(const line&) = delete;
    ~line() { out_ += "}\n"; }
    void number(std::string_view key, std::int64_t value) {
        name(key);
        append_number(out_, value);
    }
    void text(std::string_view key, std::string_view value) {
        name(key);
        append_json(out_, value);
    }
    void instant(std::string_view key, std::optional<std::int64_t> value) {
        if (value)
            text(key, iso(*value));
        else
            null(key);
    }
    void flag(std::string_view key, bool value) {
        name(key);
        out_ += value ? "true" : "false";
    }
    void null(std::string_view key) {
        name(key);
        out_ += "null";
    }
    void login(const user* who) {
        if (who)
            text("user_login", who->login);
        else
            null("user_login");
    }

  private:
    void name(std::string_view key) {
        if (out_.back() != '{') out_ += ",";
        append_json(out_, key);
        out_ += ":";
    }
    std::string& out_;
};

void issues(world& w, const repository& repo, bool pulls, std::string& out) {
    for (std::uint32_t i = 0; i < repo.issues.size(); ++i) {
        const issue_row& row = repo.issues[i];
        if (row.deleted || (pulls && !row.pull)) continue;
        line l(out);
        l.number("key", pulls ? repo.pull_id(i) : repo.issue_id(i));
        l.instant("updated_at", row.updated);
        l.instant("created_at", row.created);
        l.number("number", i + 1);
        l.text("title", renderer::issue_title(repo, i));
        l.text("state", row.open ? "open" : "closed");
        l.instant("closed_at", row.open ? std::nullopt : std::optional(row.closed));
        l.login(w.render.issue_author(repo, i));
        if (pulls) {
            l.instant("merged_at", row.merged ? std::optional(row.closed) : std::nullopt);
            l.text("head_sha", renderer::pull_head_sha(repo, i));
        } else {
            l.flag("pull_request", row.pull);
            l.number("comments", repo.comment_count(i));
        }
    }
}

void reviews(const repository& repo, std::string& out) {
    for (std::uint32_t i = 0; i < repo.issues.size(); ++i) {
        if (!repo.issues[i].pull || repo.issues[i].deleted) continue;
        for (std::uint32_t k = 0; k < repo.review_count(i); ++k) {
            const review_row row = repo.review(i, k);
            line l(out);
            l.number("key", row.id);
            l.instant("updated_at", row.submitted);
            l.number("pull_number", i + 1);
            l.text("state", row.state);
        }
    }
}

void commits(const repository& repo, const parameters& query, std::string& out) {
    if (repo.commits.empty()) return;
    const std::string* branch = find_parameter(query, "branch");
    const auto head = repo.commits.resolve(branch ? *branch : "main");
    if (!head) throw std::invalid_argument("no such branch");
    for (const std::uint32_t index : *repo.commit_rows(*head, std::nullopt, std::nullopt)) {
        const commit_node& node = repo.commits.at(index);
        line l(out);
        l.text("key", repo.commits.sha(index));
        l.instant("updated_at", node.committed);
        l.number("parents", (node.first_parent != commit_node::none) + (node.second_parent != commit_node::none));
    }
}

}  // namespace

std::string truth(world& w, std::string_view table, const repository& repo, const parameters& query) {
    std::string out;
    const people& who = w.who;
    if (table == "issues") {
        issues(w, repo, false, out);
    } else if (table == "pulls" || table == "pull_requests") {
        issues(w, repo, true, out);
    } else if (table == "comments") {
        for (std::uint32_t i = 0; i < repo.comments.size(); ++i) {
            const comment_row& row = repo.comments[i];
            if (row.deleted) continue;
            line l(out);
            l.number("key", repo.comment_id(i));
            l.instant("updated_at", row.updated);
            l.instant("created_at", row.created);
            l.number("issue_number", row.issue + 1);
            l.login(w.render.comment_author(repo, i));
        }
    } else if (table == "reviews") {
        reviews(repo, out);
    } else if (table == "commits") {
        commits(repo, query, out);
    } else if (table == "branches") {
        for (const auto& [name, head] : repo.commits.branches()) {
            line l(out);
            l.text("key", name);
            l.text("sha", repo.commits.sha(head));
        }
    } else if (table == "assignees" || table == "collaborators") {
        const std::uint32_t count = table == "assignees" ? repo.config.assignees : repo.config.collaborators;
        for (std::uint32_t i = 0; i < count; ++i) {
            line l(out);
            l.number("key", who.at(i).id);
            l.text("login", who.at(i).login);
            if (table == "collaborators") l.text("role", people::role(i));
        }
    } else if (table == "repositories") {
        const std::string* owner = find_parameter(query, "owner");
        for (const auto& one : w.repositories) {
            if (owner && lower(*owner) != lower(one->config.owner)) continue;
            line l(out);
            l.number("key", one->id);
            l.text("full_name", one->full_name());
            l.instant("updated_at", one->updated_at);
        }
    } else if (table == "users") {
        line l(out);
        l.number("key", who.at(0).id);
        l.text("login", who.at(0).login);
    } else if (table == "organizations") {
        for (const organisation& owner : who.owners()) {
            if (owner.is_user) continue;
            line l(out);
            l.number("key", owner.id);
            l.text("login", owner.login);
        }
    } else if (table == "teams") {
        for (const team& t : who.teams()) {
            line l(out);
            l.number("key", t.id);
            l.text("slug", t.slug);
            l.text("name", t.name);
            l.text("organization_login", who.owners()[t.organisation].login);
        }
    } else {
        throw std::invalid_argument("truth: unknown table " + std::string(table));
    }
    return out;
}

}  // namespace lakeflow::github_server
