// Issues, pull requests, comments, commits and reviews: the listings whose rules differ; see endpoints.h.
#include <algorithm>

#include "tests/github_server/endpoints.h"

namespace lakeflow::github_server {
namespace {

constexpr std::string_view issues_page = "rest/issues/issues#list-repository-issues";
constexpr std::string_view pulls_page = "rest/pulls/pulls#list-pull-requests";
constexpr std::string_view comments_page = "rest/issues/comments#list-issue-comments-for-a-repository";
constexpr std::string_view commits_page = "rest/commits/commits#list-commits";

reply invalid(std::string_view resource, std::string_view field, std::string_view documentation) {
    std::string extra = ",\"errors\":[{\"resource\":\"";
    extra.append(resource).append("\",\"field\":\"").append(field).append("\",\"code\":\"invalid\"}]");
    return failure(422, "Validation Failed", documentation, extra);
}

// GitHub ignores a parameter that it does not know. One that it knows and this server does not must not be ignored in silence.
const std::string* unsupported(const parameters& query, std::initializer_list<std::string_view> names) {
    for (const auto& [name, value] : query)
        for (const std::string_view known : names)
            if (name == known && !value.empty() && value != "*") return &name;
    return nullptr;
}

}  // namespace

row_slice endpoints::slice(const repository& repo, row_table table, row_state state, row_sort sort, bool ascending,
                           const std::optional<std::int64_t>& since, const page_request& asked,
                           const call& call_) const {
    const view all = repo.rows(table, state, sort);
    std::vector<std::uint32_t> filtered;
    const std::vector<std::uint32_t>* rows = all.get();
    std::size_t low = 0;
    const auto below = [&](std::uint32_t row, const sort_value& value) {
        return repo.sort_of(table, sort, row) < value;
    };
    const auto above = [&](const sort_value& value, std::uint32_t row) {
        return value < repo.sort_of(table, sort, row);
    };
    if (since && sort == row_sort::updated) {
        low = static_cast<std::size_t>(std::lower_bound(rows->begin(), rows->end(), sort_value{*since, 0}, below) -
                                       rows->begin());
    } else if (since) {
        std::copy_if(rows->begin(), rows->end(), std::back_inserter(filtered),
                     [&](std::uint32_t row) { return repo.sort_of(table, row_sort::updated, row).first >= *since; });
        rows = &filtered;
    }
    const std::size_t size = rows->size();
    row_slice out;
    out.total = size - low;
    std::uint64_t first = std::min<std::uint64_t>(out.total, (asked.page - 1) * asked.per_page);
    std::uint64_t count = asked.per_page;
    // Positions in the order of the answer: how many rows come before the cursor's row, and how many up to and with it.
    const auto position = [&](const sort_value& at, bool inclusive) {
        const bool upper = inclusive == ascending;
        const auto bound = upper ? std::upper_bound(rows->begin(), rows->end(), at, above)
                                 : std::lower_bound(rows->begin(), rows->end(), at, below);
        const auto index = std::max<std::size_t>(low, static_cast<std::size_t>(bound - rows->begin()));
        return static_cast<std::uint64_t>(ascending ? index - low : size - index);
    };
    if (const std::string* after = find_parameter(call_.query, "after")) {
        if (const auto at = read_cursor(*after)) first = position(*at, true);
    } else if (const std::string* before = find_parameter(call_.query, "before")) {
        if (const auto at = read_cursor(*before)) {
            const std::uint64_t end = position(*at, false);
            first = end > asked.per_page ? end - asked.per_page : 0;
            count = end - first;
        }
    }
    out.offset = first;
    for (std::uint64_t i = first; i < std::min<std::uint64_t>(out.total, first + count); ++i)
        out.rows.push_back((*rows)[ascending ? low + i : size - 1 - i]);
    return out;
}

reply endpoints::rows(const call& asked, const repository& repo, row_table table) const {
    const parameters& query = asked.query;
    const bool comments = table == row_table::comments;
    const std::string_view resource = comments ? "IssueComment" : table == row_table::pulls ? "PullRequest" : "Issue";
    const std::string_view documentation = comments                    ? comments_page
                                           : table == row_table::pulls ? pulls_page
                                                                       : issues_page;
    const std::string* refused = table == row_table::issues
                                     ? unsupported(query, {"milestone", "assignee", "type", "creator", "mentioned",
                                                           "labels", "issue_field_values"})
                                 : table == row_table::pulls ? unsupported(query, {"head", "base"})
                                                             : nullptr;
    if (refused) return failure(501, "This test server does not filter by " + *refused, documentation);

    row_state state = comments ? row_state::all : row_state::open;
    if (const std::string* text = find_parameter(query, "state"); text && !comments) {
        if (*text == "all")
            state = row_state::all;
        else if (*text == "closed")
            state = row_state::closed;
        else if (*text != "open")
            return invalid(resource, "state", documentation);
    }
    row_sort sort = row_sort::created;
    const std::string* sort_text = find_parameter(query, "sort");
    if (sort_text) {
        if (*sort_text == "updated")
            sort = row_sort::updated;
        else if (*sort_text == "comments" && table == row_table::issues)
            sort = row_sort::comments;
        else if (table == row_table::pulls && (*sort_text == "popularity" || *sort_text == "long-running"))
            return failure(501, "This test server does not sort by " + *sort_text, documentation);
        else if (*sort_text != "created")
            return invalid(resource, "sort", documentation);
    }
    // Defaults of direction: issues desc; pulls desc by created and asc by anything else; comments ascending unless `sort` is given, and
    // without `sort` a direction is ignored.
    const std::string* direction = find_parameter(query, "direction");
    if (direction && *direction != "asc" && *direction != "desc") return invalid(resource, "direction", documentation);
    bool ascending = false;
    if (comments && !sort_text)
        ascending = true;
    else if (direction)
        ascending = *direction == "asc";
    else if (table == row_table::pulls)
        ascending = sort != row_sort::created;
    std::optional<std::int64_t> since;
    if (const std::string* text = find_parameter(query, "since"); text && table != row_table::pulls) {
        since = parse_iso(*text);
        if (!since) return invalid(resource, "since", documentation);
    }

    const page_request wanted = read_page(query);
    const std::string name = comments ? "comments" : table == row_table::pulls ? "pulls" : "issues";
    const bool deep_table = std::find(repo.config.deep_tables.begin(), repo.config.deep_tables.end(), name) !=
                            repo.config.deep_tables.end();
    const deep_rule deep = deep_table ? read_deep(repo.config.deep) : deep_rule{};
    const std::string* after = find_parameter(query, "after");
    const std::string* before = find_parameter(query, "before");
    for (const std::string* cursor : {after, before})
        if (cursor && !read_cursor(*cursor)) return failure(422, "Invalid cursor", documentation);
    if (!after && !before && deep.refused(wanted))
        return failure(422,
                       "Pagination with the page parameter is not supported for large datasets, please use cursor "
                       "based pagination (after/before)",
                       documentation);

    row_slice part;
    // Seen in reality: the epoch as a lower bound finds nothing at all.
    if (!since || *since != 0) part = slice(repo, table, state, sort, ascending, since, wanted, asked);

    reply out;
    std::string key;
    for (const std::uint64_t piece :
         {static_cast<std::uint64_t>(repo.id), repo.version, static_cast<std::uint64_t>(table),
          static_cast<std::uint64_t>(state), static_cast<std::uint64_t>(sort), std::uint64_t{ascending},
          static_cast<std::uint64_t>(since.value_or(-1)), part.offset, std::uint64_t{part.rows.size()},
          static_cast<std::uint64_t>(asked.version)})
        key.append(std::to_string(piece)).append(" ");
    out.content = world_.cache.find(key);
    if (!out.content) {
        std::string body = "[";
        body.reserve(part.rows.size() * 2400 + 2);
        for (const std::uint32_t row : part.rows) {
            if (body.size() > 1) body += ",";
            if (comments)
                world_.render.comment(body, repo, row);
            else if (table == row_table::pulls)
                world_.render.pull(body, repo, row, asked.version);
            else
                world_.render.issue(body, repo, row, asked.version);
        }
        body += "]";
        body.shrink_to_fit();
        out.content = std::make_shared<const page>(std::move(body));
        world_.cache.put(key, out.content);
    }
    const std::string url =
        asked.origin + "/repositories/" + std::to_string(repo.id) + (comments ? "/issues/comments" : "/" + name);
    if (deep.refuses || after || before) {
        std::optional<sort_value> next, previous;
        if (!part.rows.empty()) {
            if (part.offset + part.rows.size() < part.total) next = repo.sort_of(table, sort, part.rows.back());
            if (part.offset > 0) previous = repo.sort_of(table, sort, part.rows.front());
        }
        out.links = cursor_links(url, query, wanted, next, previous);
    } else {
        out.links = page_links(url, query, wanted, part.total);
    }
    return out;
}

reply endpoints::commits(const call& asked, const repository& repo) const {
    if (repo.commits.empty()) return failure(409, "Git Repository is empty.", commits_page);
    if (const std::string* name = unsupported(asked.query, {"path", "author", "committer"}))
        return failure(501, "This test server does not filter by " + *name, commits_page);
    std::optional<std::int64_t> since, until;
    for (const auto& [name, bound] : {std::pair{"since", &since}, std::pair{"until", &until}}) {
        const std::string* text = find_parameter(asked.query, name);
        if (!text || text->empty()) continue;
        *bound = parse_iso(*text);
        if (!*bound) return invalid("Commit", name, commits_page);
    }
    const std::string* sha = find_parameter(asked.query, "sha");
    const std::string ref = sha && !sha->empty() ? *sha : "main";
    const auto head = repo.commits.resolve(ref);
    if (!head) return failure(404, sha ? "No commit found for SHA: " + ref : "Not Found", commits_page);
    const view all = repo.commit_rows(*head, since, until);
    return list(asked, "/repositories/" + std::to_string(repo.id) + "/commits", all->size(),
                [&](std::string& out, std::uint64_t i) { world_.render.commit(out, repo, (*all)[i]); });
}

reply endpoints::reviews(const call& asked, const repository& repo, std::string_view number) const {
    const std::int64_t wanted = to_integer(number).value_or(0);
    if (wanted < 1 || wanted > static_cast<std::int64_t>(repo.issues.size()))
        return failure(404, "Not Found", "rest/pulls/reviews#list-reviews-for-a-pull-request");
    const auto pull = static_cast<std::uint32_t>(wanted - 1);
    if (!repo.issues[pull].pull || repo.issues[pull].deleted)
        return failure(404, "Not Found", "rest/pulls/reviews#list-reviews-for-a-pull-request");
    return list(asked, "/repositories/" + std::to_string(repo.id) + "/pulls/" + std::to_string(wanted) + "/reviews",
                repo.review_count(pull), [&](std::string& out, std::uint64_t i) {
                    world_.render.review(out, repo, pull, repo.review(pull, static_cast<std::uint32_t>(i)));
                });
}

}  // namespace lakeflow::github_server
