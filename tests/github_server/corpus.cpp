// See corpus.h.
#include "tests/github_server/corpus.h"

#include <algorithm>
#include <array>

#include "tests/github_server/text.h"

namespace lakeflow::github_server {
namespace {

constexpr std::int64_t three_years = std::int64_t{86400} * 365 * 3;
constexpr std::size_t most_views = 64;

// Spaces of ids: unique across repositories, growing with the row, and passing 2^31, 2^32 and 2^53 on the way.
std::int64_t spread(std::int64_t first, std::uint32_t ordinal, std::int64_t width) { return first + width * ordinal; }

}  // namespace

repository::repository(repository_config configuration, std::uint64_t world_seed, std::uint32_t repository_ordinal,
                       std::int64_t base)
    : config(std::move(configuration)),
      seed(mix(world_seed, repository_ordinal, 77)),
      ordinal(repository_ordinal),
      id(1296269 + std::int64_t{repository_ordinal} * 1'000'003),
      base_time(base),
      updated_at(base - 3600),
      commits(mix(world_seed, repository_ordinal, 78), config.commits, config.branches, base) {
    generate();
    if (!commits.empty()) pushed_at = commits.at(commits.branches().at("main")).committed;
}

void repository::generate() {
    config.issues = std::max(config.issues, config.pulls);
    const std::int64_t tied = std::int64_t{config.distinct_updated} * 3600;
    const std::int64_t end = base_time - tied - 1;
    const auto instants = [&](std::uint64_t salt, std::uint32_t index, std::uint32_t count, std::int64_t& created,
                              std::int64_t& updated) {
        const std::int64_t step = std::max<std::int64_t>(1, three_years / std::max<std::uint32_t>(count, 1));
        const std::uint64_t h = mix(seed, salt, index);
        created = std::min(
            end, end - three_years + step * index + static_cast<std::int64_t>(h % static_cast<std::uint64_t>(step)));
        const std::uint64_t g = mix(h, 9);
        if (config.distinct_updated > 0) {
            updated = base_time - static_cast<std::int64_t>(g % config.distinct_updated) * 3600;
        } else {
            updated = g % 4 == 0 ? created
                                 : created + static_cast<std::int64_t>(
                                                 mix(g, 1) % static_cast<std::uint64_t>(base_time - created + 1));
        }
    };
    issues.resize(config.issues);
    for (std::uint32_t i = 0; i < config.issues; ++i) {
        issue_row& row = issues[i];
        instants(11, i, config.issues, row.created, row.updated);
        const std::uint64_t h = mix(seed, 12, i);
        row.open = h % 5 < 2;
        // Pull requests are spread evenly between the issues.
        const std::uint64_t before = std::uint64_t{i} * config.pulls / config.issues;
        row.pull = (std::uint64_t{i} + 1) * config.pulls / config.issues != before;
        row.merged = row.pull && !row.open && h / 5 % 10 < 7;
        // A review touches its pull request.
        if (row.pull && config.distinct_updated == 0)
            row.updated =
                std::max(row.updated, std::min(base_time, row.created + 3600 * std::int64_t{config.reviews_per_pull}));
        if (!row.open)
            row.closed = row.created + static_cast<std::int64_t>(
                                           mix(h, 3) % static_cast<std::uint64_t>(row.updated - row.created + 1));
    }
    comments.resize(config.issues ? config.comments : 0);
    for (std::uint32_t i = 0; i < comments.size(); ++i) {
        comment_row& row = comments[i];
        instants(13, i, config.comments, row.created, row.updated);
        row.issue = i % config.issues;
    }
    first_issues_ = config.issues;
    first_comments_ = static_cast<std::uint32_t>(comments.size());
}

std::int64_t repository::issue_id(std::uint32_t index) const {
    return spread(2147480000LL, ordinal, 4'000'000'000LL) + std::int64_t{index} * 7 +
           static_cast<std::int64_t>(mix(seed, 21, index) % 7);
}
std::int64_t repository::pull_id(std::uint32_t index) const {
    return spread(1000000007LL, ordinal, 4'000'000'000LL) + std::int64_t{index} * 5 +
           static_cast<std::int64_t>(mix(seed, 22, index) % 5);
}
std::int64_t repository::comment_id(std::uint32_t index) const {
    return spread(9007199254740900LL, ordinal, 1'000'000'000'000LL) + std::int64_t{index} * 3 +
           static_cast<std::int64_t>(mix(seed, 23, index) % 3);
}

std::uint32_t repository::comment_count(std::uint32_t issue) const {
    std::uint32_t count = issues[issue].extra_comments;
    if (issue < first_issues_ && first_issues_ > 0)
        count += first_comments_ / first_issues_ + (issue < first_comments_ % first_issues_ ? 1 : 0);
    return count;
}

std::uint32_t repository::open_issues() const {
    return static_cast<std::uint32_t>(
        std::count_if(issues.begin(), issues.end(), [](const issue_row& r) { return r.open && !r.deleted; }));
}

std::uint32_t repository::review_count(std::uint32_t pull) const {
    const auto extra = extra_reviews_.find(pull);
    return (pull < first_issues_ ? config.reviews_per_pull : 0) +
           (extra == extra_reviews_.end() ? 0 : static_cast<std::uint32_t>(extra->second.size()));
}

review_row repository::review(std::uint32_t pull, std::uint32_t review) const {
    constexpr std::array<std::string_view, 4> states{"APPROVED", "CHANGES_REQUESTED", "COMMENTED", "COMMENTED"};
    const std::uint32_t first = pull < first_issues_ ? config.reviews_per_pull : 0;
    const issue_row& row = issues[pull];
    review_row out;
    out.id = spread(4294967000LL, ordinal, 1'000'000'000'000LL) + std::int64_t{pull} * 2048 + review;
    out.state = states[mix(seed, 25, pull, review) % states.size()];
    if (review < first) {
        // A pending review is seen only by its author and is always the last one.
        if (review + 1 == first && first > 1 && mix(seed, 26, pull) % 11 == 0) {
            out.state = "PENDING";
        } else {
            out.submitted = std::min(base_time, row.created + 3600 * std::int64_t{review + 1});
        }
    } else {
        out.submitted = extra_reviews_.at(pull)[review - first];
    }
    if (const auto found = dismissed_.find(out.id); found != dismissed_.end()) {
        out.state = "DISMISSED";
        out.revision = found->second;
    }
    return out;
}

sort_value repository::sort_of(row_table table, row_sort sort, std::uint32_t row) const {
    const std::uint64_t tie = config.tie_order == "hashed" ? mix(seed, 31, row) : row;
    if (table == row_table::comments)
        return {sort == row_sort::updated ? comments[row].updated : comments[row].created, tie};
    switch (sort) {
        case row_sort::updated: return {issues[row].updated, tie};
        case row_sort::comments: return {comment_count(row), tie};
        case row_sort::created: break;
    }
    return {issues[row].created, tie};
}

view repository::cached(const std::string& key, const std::function<std::vector<std::uint32_t>()>& build) const {
    const std::lock_guard lock(views_mutex_);
    if (const auto found = views_.find(key); found != views_.end()) return found->second;
    if (views_.size() >= most_views) views_.clear();
    return views_[key] = std::make_shared<const std::vector<std::uint32_t>>(build());
}

view repository::rows(row_table table, row_state state, row_sort sort) const {
    std::string key = "rows";
    for (const int part : {static_cast<int>(table), static_cast<int>(state), static_cast<int>(sort)})
        key += " " + std::to_string(part);
    return cached(key, [&] {
        std::vector<std::uint32_t> out;
        if (table == row_table::comments) {
            for (std::uint32_t i = 0; i < comments.size(); ++i)
                if (!comments[i].deleted) out.push_back(i);
        } else {
            for (std::uint32_t i = 0; i < issues.size(); ++i) {
                const issue_row& row = issues[i];
                if (row.deleted || (table == row_table::pulls && !row.pull)) continue;
                if (state == row_state::all || row.open == (state == row_state::open)) out.push_back(i);
            }
        }
        std::sort(out.begin(), out.end(),
                  [&](std::uint32_t a, std::uint32_t b) { return sort_of(table, sort, a) < sort_of(table, sort, b); });
        return out;
    });
}

view repository::commit_rows(std::uint32_t head, std::optional<std::int64_t> since,
                             std::optional<std::int64_t> until) const {
    const std::string all = "commits " + std::to_string(head);
    if (!since && !until) return cached(all, [&] { return commits.listing(head, config.commit_order == "topo"); });
    const view whole = commit_rows(head, std::nullopt, std::nullopt);
    const std::string key =
        all + " " + (since ? std::to_string(*since) : "-") + " " + (until ? std::to_string(*until) : "-");
    return cached(key, [&] {
        std::vector<std::uint32_t> out;
        for (const std::uint32_t index : *whole) {
            const std::int64_t date = commits.at(index).committed;
            if ((!since || date >= *since) && (!until || date <= *until)) out.push_back(index);
        }
        return out;
    });
}

void repository::edit_issue(std::uint32_t index, const issue_change& change) {
    issue_row& row = issues[index];
    ++row.revision;
    if (change.updated) row.updated = *change.updated;
    if (change.open && *change.open != row.open) {
        row.open = *change.open;
        if (!row.open) row.closed = row.updated;
    }
    if (row.open) row.merged = false;
    text_override& text = issue_texts[index];
    if (change.text.title) text.title = change.text.title;
    if (change.text.body) text.body = change.text.body;
}

void repository::edit_comment(std::uint32_t index, std::int64_t updated, const std::optional<std::string>& body) {
    comments[index].updated = updated;
    ++comments[index].revision;
    if (body) comment_texts[index].body = body;
}

std::uint32_t repository::add_issue(std::int64_t created, bool pull) {
    issue_row row;
    row.created = row.updated = created;
    row.open = true;
    row.pull = pull;
    issues.push_back(row);
    return static_cast<std::uint32_t>(issues.size() - 1);
}

std::uint32_t repository::add_comment(std::uint32_t issue, std::int64_t created) {
    comment_row row;
    row.created = row.updated = created;
    row.issue = issue;
    comments.push_back(row);
    ++issues[issue].extra_comments;
    return static_cast<std::uint32_t>(comments.size() - 1);
}

review_row repository::add_review(std::uint32_t pull, std::int64_t submitted) {
    extra_reviews_[pull].push_back(submitted);
    return review(pull, review_count(pull) - 1);
}

bool repository::dismiss_review(std::uint32_t pull, std::int64_t review_id) {
    for (std::uint32_t i = 0; i < review_count(pull); ++i) {
        if (review(pull, i).id != review_id) continue;
        ++dismissed_[review_id];
        return true;
    }
    return false;
}

void repository::changed() {
    ++version;
    const std::lock_guard lock(views_mutex_);
    views_.clear();
}

}  // namespace lakeflow::github_server
