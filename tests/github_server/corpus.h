// One repository: rows of issues, comments and reviews as numbers and instants (their text is made from hashes when a page asks for it),
// a git history, and what was changed since. Not thread safe except for the views: the world's lock guards the rest.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tests/github_server/commits.h"
#include "tests/github_server/config.h"

namespace lakeflow::github_server {

enum class row_table { issues, pulls, comments };
enum class row_sort { created, updated, comments };
enum class row_state { all, open, closed };

struct issue_row {
    std::int64_t created = 0;
    std::int64_t updated = 0;
    std::int64_t closed = 0;           // only when not open
    std::uint32_t revision = 0;        // edits so far; shows in title and body
    std::uint32_t extra_comments = 0;  // added after the start
    bool open = false;
    bool pull = false;
    bool merged = false;
    bool deleted = false;
};

struct comment_row {
    std::int64_t created = 0;
    std::int64_t updated = 0;
    std::uint32_t issue = 0;  // index of the issue
    std::uint32_t revision = 0;
    bool deleted = false;
};

struct review_row {
    std::int64_t id = 0;
    std::optional<std::int64_t> submitted;  // absent: pending
    std::string_view state;
    std::uint32_t revision = 0;
};

struct text_override {
    std::optional<std::string> title;
    std::optional<std::string> body;
};

// Rows that pass a filter, ascending by (sort value, tie).
using view = std::shared_ptr<const std::vector<std::uint32_t>>;
using sort_value = std::pair<std::int64_t, std::uint64_t>;

class repository {
  public:
    repository(repository_config config, std::uint64_t seed, std::uint32_t ordinal, std::int64_t base_time);

    repository_config config;  // owner and name change when it is renamed
    const std::uint64_t seed;
    const std::uint32_t ordinal;
    const std::int64_t id;
    const std::int64_t base_time;
    std::int64_t updated_at;
    std::optional<std::int64_t> pushed_at;
    std::uint64_t version = 1;  // grows with every change; pages rendered for an older one are stale

    std::string full_name() const { return config.owner + "/" + config.name; }

    std::vector<issue_row> issues;  // number = index + 1
    std::vector<comment_row> comments;
    commit_graph commits;
    std::unordered_map<std::uint32_t, text_override> issue_texts;
    std::unordered_map<std::uint32_t, text_override> comment_texts;

    std::int64_t issue_id(std::uint32_t index) const;
    std::int64_t pull_id(std::uint32_t index) const;
    std::int64_t comment_id(std::uint32_t index) const;  // beyond 2^53 from about the thirtieth on
    std::uint32_t comment_count(std::uint32_t issue) const;
    std::uint32_t open_issues() const;

    std::uint32_t review_count(std::uint32_t pull) const;
    review_row review(std::uint32_t pull, std::uint32_t ordinal) const;

    sort_value sort_of(row_table table, row_sort sort, std::uint32_t row) const;
    view rows(row_table table, row_state state, row_sort sort) const;
    // Commits reachable from `head` in listing order, within the inclusive bounds of the committer date.
    view commit_rows(std::uint32_t head, std::optional<std::int64_t> since, std::optional<std::int64_t> until) const;

    // Changes. Each returns the touched rows; the caller holds the world's lock for writing.
    struct issue_change {
        std::optional<std::int64_t> updated;
        std::optional<bool> open;
        text_override text;
    };
    void edit_issue(std::uint32_t index, const issue_change& change);
    void edit_comment(std::uint32_t index, std::int64_t updated, const std::optional<std::string>& body);
    std::uint32_t add_issue(std::int64_t created, bool pull);
    std::uint32_t add_comment(std::uint32_t issue, std::int64_t created);
    review_row add_review(std::uint32_t pull, std::int64_t submitted);
    bool dismiss_review(std::uint32_t pull, std::int64_t id);
    void changed();  // drops the views and moves the version

  private:
    void generate();
    view cached(const std::string& key, const std::function<std::vector<std::uint32_t>()>& build) const;

    std::uint32_t first_issues_ = 0;  // rows of the first corpus
    std::uint32_t first_comments_ = 0;
    std::unordered_map<std::uint32_t, std::vector<std::int64_t>> extra_reviews_;
    std::unordered_map<std::int64_t, std::uint32_t> dismissed_;
    mutable std::mutex views_mutex_;
    mutable std::map<std::string, view> views_;
};

}  // namespace lakeflow::github_server
