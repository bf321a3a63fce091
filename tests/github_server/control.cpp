// See control.h.
#include "tests/github_server/control.h"

#include <algorithm>
#include <boost/json.hpp>
#include <exception>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <stdexcept>
#include <unordered_set>

#include "tests/github_server/listing.h"
#include "tests/github_server/text.h"

namespace lakeflow::github_server {
namespace {

namespace json = boost::json;

[[noreturn]] void refuse(std::string_view what) { throw std::invalid_argument("control: " + std::string(what)); }

// The arguments of one call. A key that no operation asked for is an error: a misspelt script must not pass for one that worked.
class arguments_of {
  public:
    arguments_of(std::string_view op, json::object object) : op_(op), object_(std::move(object)) {
        asked_.insert("op");
    }

    const json::value* find(std::string_view key) {
        asked_.insert(std::string(key));
        const json::value* found = object_.if_contains(json::string_view(key.data(), key.size()));
        return found && !found->is_null() ? found : nullptr;
    }
    std::optional<std::string> text(std::string_view key) {
        const json::value* found = find(key);
        if (!found) return std::nullopt;
        if (!found->is_string()) refuse(op_ + ": " + std::string(key) + ": a text is expected");
        return std::string(std::string_view(found->get_string()));
    }
    std::optional<std::int64_t> integer(std::string_view key) {
        const json::value* found = find(key);
        if (!found) return std::nullopt;
        if (!found->is_int64()) refuse(op_ + ": " + std::string(key) + ": a whole number is expected");
        return found->get_int64();
    }
    std::uint32_t count(std::string_view key, std::uint32_t otherwise) {
        const std::int64_t number = integer(key).value_or(otherwise);
        if (number < 0 || number > 10'000'000) refuse(op_ + ": " + std::string(key) + " is out of range");
        return static_cast<std::uint32_t>(number);
    }
    std::optional<bool> flag(std::string_view key) {
        const json::value* found = find(key);
        if (!found) return std::nullopt;
        if (!found->is_bool()) refuse(op_ + ": " + std::string(key) + ": true or false is expected");
        return found->get_bool();
    }
    std::int64_t instant(std::string_view key, std::int64_t otherwise) {
        const auto given = text(key);
        if (!given || *given == "now") return otherwise;
        const auto parsed = parse_iso(*given);
        if (!parsed) refuse(op_ + ": " + std::string(key) + ": an instant such as 2024-06-01T00:00:00Z is expected");
        return *parsed;
    }
    std::optional<std::vector<std::int64_t>> integers(std::string_view key) {
        const json::value* found = find(key);
        if (!found) return std::nullopt;
        std::vector<std::int64_t> out;
        if (found->is_array()) {
            for (const json::value& item : found->get_array()) {
                if (!item.is_int64()) refuse(op_ + ": " + std::string(key) + ": whole numbers are expected");
                out.push_back(item.get_int64());
            }
        } else {
            refuse(op_ + ": " + std::string(key) + ": a list is expected");
        }
        return out;
    }
    const json::object* object(std::string_view key) {
        const json::value* found = find(key);
        if (!found) return nullptr;
        if (!found->is_object()) refuse(op_ + ": " + std::string(key) + ": an object is expected");
        return &found->get_object();
    }
    void done() const {
        for (const auto& [key, value] : object_)
            if (!asked_.contains(std::string(std::string_view(key))))
                refuse(op_ + ": unknown key " + std::string(std::string_view(key)));
    }

  private:
    std::string op_;
    json::object object_;
    std::set<std::string> asked_;
};

repository& repository_of(world& w, arguments_of& in) {
    const auto name = in.text("repo");
    repository* found = name ? w.find_full(*name) : w.repositories.empty() ? nullptr : w.repositories.front().get();
    if (!found) refuse("no repository " + name.value_or("at all"));
    return *found;
}

// `count` of `from`, evenly spread, other ones for each version of the repository.
std::vector<std::uint32_t> pick(const std::vector<std::uint32_t>& from, std::uint32_t count, std::uint64_t version) {
    if (count > from.size()) refuse("only " + std::to_string(from.size()) + " rows are there to pick from");
    std::vector<std::uint32_t> out;
    const std::uint64_t shift = mix(version) % std::max<std::size_t>(from.size(), 1);
    for (std::uint64_t i = 0; i < count; ++i) out.push_back(from[(i * from.size() / count + shift) % from.size()]);
    std::sort(out.begin(), out.end());
    return out;
}

std::vector<std::uint32_t> candidates(const repository& repo, std::string_view table) {
    if (table == "comments") return *repo.rows(row_table::comments, row_state::all, row_sort::created);
    if (table == "pulls") return *repo.rows(row_table::pulls, row_state::all, row_sort::created);
    if (table == "issues") return *repo.rows(row_table::issues, row_state::all, row_sort::created);
    refuse("table " + std::string(table) + " has no such rows");
}

// The rows that {"numbers":[..]}, {"ids":[..]} or {"count":n} mean.
std::vector<std::uint32_t> selection(arguments_of& in, const repository& repo, std::string_view table) {
    const std::vector<std::uint32_t> all = candidates(repo, table);
    std::vector<std::uint32_t> out;
    const auto numbers = in.integers("numbers");
    const auto ids = in.integers("ids");
    if (numbers) {
        for (const std::int64_t number : *numbers) out.push_back(static_cast<std::uint32_t>(number - 1));
    } else if (ids) {
        for (const std::int64_t id : *ids)
            for (const std::uint32_t row : all)
                if ((table == "comments" ? repo.comment_id(row)
                     : table == "pulls"  ? repo.pull_id(row)
                                         : repo.issue_id(row)) == id)
                    out.push_back(row);
        if (out.size() != ids->size()) refuse("an id is not in the table");
    } else {
        return pick(all, in.count("count", 1), repo.version);
    }
    const std::unordered_set<std::uint32_t> present(all.begin(), all.end());
    for (const std::uint32_t row : out)
        if (!present.contains(row)) refuse("row " + std::to_string(row + 1) + " is not in the table");
    return out;
}

json::object touched(const repository& repo, std::string_view table, const std::vector<std::uint32_t>& rows,
                     std::int64_t instant) {
    json::array ids, numbers;
    for (const std::uint32_t row : rows) {
        ids.emplace_back(table == "comments" ? repo.comment_id(row)
                         : table == "pulls"  ? repo.pull_id(row)
                                             : repo.issue_id(row));
        if (table != "comments") numbers.emplace_back(std::int64_t{row} + 1);
    }
    return {{"repo", repo.full_name()},
            {"updated_at", iso(instant)},
            {"ids", std::move(ids)},
            {"numbers", std::move(numbers)}};
}

std::string table_of(arguments_of& in) {
    std::string table = in.text("table").value_or("issues");
    return table == "pull_requests" ? "pulls" : table;
}

json::object edit(world& w, arguments_of& in) {
    repository& repo = repository_of(w, in);
    const std::string table = table_of(in);
    const std::int64_t when = in.instant("updated_at", w.now());
    if (table == "reviews") {
        const auto pull = in.integer("pull");
        const auto id = in.integer("id");
        if (!pull || !id || *pull < 1 || *pull > static_cast<std::int64_t>(repo.issues.size()) ||
            !repo.dismiss_review(static_cast<std::uint32_t>(*pull - 1), *id))
            refuse("edit: a review is named by pull and id");
        repo.issues[static_cast<std::size_t>(*pull - 1)].updated = when;
        repo.changed();
        return {{"repo", repo.full_name()}, {"updated_at", iso(when)}};
    }
    const std::vector<std::uint32_t> rows = selection(in, repo, table);
    repository::issue_change change;
    change.updated = when;
    if (const json::object* set = in.object("set")) {
        for (const auto& [key, value] : *set) {
            if (!value.is_string()) refuse("edit: set: texts are expected");
            const std::string text{std::string_view(value.get_string())};
            if (key == "title")
                change.text.title = text;
            else if (key == "body")
                change.text.body = text;
            else if (key == "state")
                change.open = text == "open";
            else
                refuse("edit: set: title, body or state is expected");
        }
    }
    for (const std::uint32_t row : rows) {
        if (table == "comments")
            repo.edit_comment(row, when, change.text.body);
        else
            repo.edit_issue(row, change);
    }
    repo.changed();
    return touched(repo, table, rows, when);
}

json::object add(world& w, arguments_of& in) {
    repository& repo = repository_of(w, in);
    const std::string table = table_of(in);
    const std::int64_t when = in.instant("created_at", w.now());
    const std::uint32_t count = in.count("count", 1);
    std::vector<std::uint32_t> rows;
    if (table == "issues" || table == "pulls") {
        for (std::uint32_t i = 0; i < count; ++i) rows.push_back(repo.add_issue(when, table == "pulls"));
        repo.changed();
        return touched(repo, table, rows, when);
    }
    const bool touch = in.flag("touch_parent").value_or(true);
    std::vector<std::uint32_t> parents;
    const std::string_view parent_table = table == "reviews" ? "pulls" : "issues";
    if (const auto numbers = in.integers("parents")) {
        for (const std::int64_t number : *numbers) {
            if (number < 1 || number > static_cast<std::int64_t>(repo.issues.size()))
                refuse("add: no parent " + std::to_string(number));
            parents.push_back(static_cast<std::uint32_t>(number - 1));
        }
    } else {
        const std::vector<std::uint32_t> all = candidates(repo, parent_table);
        parents = pick(all, std::min<std::uint32_t>(count, static_cast<std::uint32_t>(all.size())), repo.version);
    }
    if (parents.empty()) refuse("add: no parent is there");
    json::array ids;
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t parent = parents[i % parents.size()];
        if (table == "reviews")
            ids.emplace_back(repo.add_review(parent, when).id);
        else if (table == "comments")
            ids.emplace_back(repo.comment_id(repo.add_comment(parent, when)));
        else
            refuse("add: table " + table + " cannot grow");
        if (touch) repo.issues[parent].updated = when;
    }
    repo.changed();
    json::object out = touched(repo, "issues", parents, when);
    out["parents"] = out["numbers"];
    out["ids"] = std::move(ids);
    out.erase("numbers");
    return out;
}

json::object remove(world& w, arguments_of& in) {
    repository& repo = repository_of(w, in);
    const std::string table = table_of(in);
    const std::vector<std::uint32_t> rows = selection(in, repo, table);
    for (const std::uint32_t row : rows)
        (table == "comments" ? repo.comments[row].deleted : repo.issues[row].deleted) = true;
    repo.changed();
    return touched(repo, table, rows, w.now());
}

json::object shas(const repository& repo, const std::vector<std::uint32_t>& made, const std::string& branch) {
    json::array out;
    for (const std::uint32_t index : made) out.emplace_back(repo.commits.sha(index));
    return {{"repo", repo.full_name()},
            {"shas", std::move(out)},
            {"head", repo.commits.sha(repo.commits.branches().at(branch))}};
}

json::object git(world& w, std::string_view op, arguments_of& in) {
    repository& repo = repository_of(w, in);
    const std::string branch = in.text("branch").value_or("main");
    const std::uint32_t count = in.count("count", 1);
    const std::int64_t now = w.now();
    const std::int64_t first = in.instant("first_date", op == "merge" ? now - std::int64_t{86400} * 400 : now);
    const std::int64_t step = in.integer("step").value_or(op == "merge" ? 60 : 0);
    std::vector<std::uint32_t> made;
    if (op == "merge") {
        const std::uint32_t back = in.count("back", 10);
        const std::int64_t merged = in.instant("merged_at", now);
        made = repo.commits.merge(branch, count, back, first, step, merged);
        if (made.empty()) refuse("merge: no branch " + branch);
    } else {
        const std::uint32_t dropped = in.count("drop", 0);
        if (dropped > 0 && !repo.commits.drop(branch, dropped)) refuse("push: no branch " + branch);
        made = repo.commits.push(branch, count, first, step);
    }
    repo.pushed_at = now;
    repo.changed();
    return shas(repo, made, branch);
}

json::object branch(world& w, arguments_of& in) {
    repository& repo = repository_of(w, in);
    const std::string name = in.text("name").value_or("");
    if (in.flag("delete").value_or(false)) {
        if (name == "main" || !repo.commits.delete_branch(name)) refuse("branch: " + name + " cannot be deleted");
    } else {
        const auto head = repo.commits.resolve(in.text("sha").value_or("main"));
        if (!head || name.empty()) refuse("branch: name, and a sha or branch that exists, are needed");
        repo.commits.set_branch(name, *head);
    }
    repo.changed();
    return {{"repo", repo.full_name()}, {"branches", repo.commits.branches().size()}};
}

json::object rename(world& w, arguments_of& in) {
    repository& repo = repository_of(w, in);
    const std::string to = in.text("to").value_or("");
    const std::size_t slash = to.find('/');
    if (slash == std::string::npos || w.find_full(to) || !w.who.find_owner(to.substr(0, slash)))
        refuse("rename: to must be a free owner/name of a known owner");
    w.renamed[lower(repo.full_name())] = repo.id;
    w.renamed.erase(lower(to));
    repo.config.owner = to.substr(0, slash);
    repo.config.name = to.substr(slash + 1);
    repo.changed();
    return {{"repo", to}, {"id", repo.id}};
}

json::object set_repository(world& w, arguments_of& in) {
    repository& repo = repository_of(w, in);
    if (const auto deep = in.text("deep")) {
        read_deep(*deep);
        repo.config.deep = *deep;
    }
    if (const auto order = in.text("commit_order")) repo.config.commit_order = *order;
    if (const auto hidden = in.flag("private")) repo.config.is_private = *hidden;
    repo.config.assignees = in.count("assignees", repo.config.assignees);
    repo.config.collaborators = in.count("collaborators", repo.config.collaborators);
    if (const json::object* status = in.object("status")) {
        for (const auto& [table, code] : *status) {
            if (!code.is_int64()) refuse("set: status: a whole number is expected");
            repo.config.status[std::string(std::string_view(table))] = static_cast<int>(code.get_int64());
        }
    }
    repo.updated_at = w.now();
    repo.changed();
    return {{"repo", repo.full_name()}};
}

json::object set_server(world& w, arguments_of& in) {
    if (const json::value* tokens = in.find("tokens")) {
        if (!tokens->is_array()) refuse("server: tokens: a list is expected");
        w.tokens.clear();
        for (const json::value& token : tokens->get_array()) w.tokens.emplace_back(std::string_view(token.as_string()));
    }
    w.latency_ms = in.count("latency_ms", w.latency_ms);
    w.gzip = in.flag("gzip").value_or(w.gzip);
    w.chunked = in.flag("chunked").value_or(w.chunked);
    w.clock_skew = in.integer("clock_skew").value_or(w.clock_skew.load());
    const auto limit = in.integer("rate_limit");
    const auto window = in.integer("rate_window");
    if (limit || window)
        w.rate.configure(static_cast<std::uint32_t>(limit.value_or(w.config.rate_limit)),
                         static_cast<std::uint32_t>(window.value_or(w.config.rate_window)));
    return {{"ok", true}};
}

}  // namespace

std::string control::operate(std::string_view op, std::string_view arguments) {
    json::value value = arguments.empty() ? json::value(json::object{})
                                          : json::parse(json::string_view(arguments.data(), arguments.size()));
    if (op == "faults") {
        faults_.add(arguments);
        return "{\"ok\":true}\n";
    }
    if (!value.is_object()) refuse("an object is expected");
    if (op == "clear_faults" || op == "reset_stats") {
        if (op == "clear_faults")
            faults_.clear();
        else
            stats_.reset();
        return "{\"ok\":true}\n";
    }
    const std::unique_lock lock(world_.mutex);
    json::object out;
    if (op == "add_repo") {
        value.get_object().erase("op");
        world_.add_repository(repository_from_json(json::serialize(value)));
        out = {{"ok", true}};
    } else {
        arguments_of in(op, std::move(value.get_object()));
        if (op == "edit")
            out = edit(world_, in);
        else if (op == "add")
            out = add(world_, in);
        else if (op == "delete")
            out = remove(world_, in);
        else if (op == "push" || op == "merge")
            out = git(world_, op, in);
        else if (op == "branch")
            out = branch(world_, in);
        else if (op == "rename")
            out = rename(world_, in);
        else if (op == "set")
            out = set_repository(world_, in);
        else if (op == "server")
            out = set_server(world_, in);
        else if (op == "delete_repo")
            out = {{"deleted", world_.delete_repository(in.text("repo").value_or(""))}};
        else
            refuse("unknown operation " + std::string(op));
        in.done();
    }
    return json::serialize(out) + "\n";
}

void control::run(std::string_view actions) {
    const json::value list = json::parse(json::string_view(actions.data(), actions.size()));
    if (!list.is_array()) refuse("a list of operations is expected");
    for (const json::value& item : list.get_array()) {
        const json::value* op = item.is_object() ? item.get_object().if_contains("op") : nullptr;
        if (!op || !op->is_string()) refuse("an operation needs \"op\"");
        operate(std::string_view(op->get_string()), json::serialize(item));
    }
}

control_reply control::call(std::string_view method, std::string_view path, std::string_view body) {
    control_reply out;
    try {
        const std::size_t mark = path.find('?');
        const parameters query = mark == std::string_view::npos ? parameters{} : parse_query(path.substr(mark + 1));
        std::string_view name = path.substr(0, mark);
        while (!name.empty() && name.front() == '/') name.remove_prefix(1);
        if (method == "POST" && name.empty()) {
            run(body);
            out.body = "{\"ok\":true}\n";
        } else if (method == "POST") {
            out.body = operate(name, body);
        } else if (name == "stats") {
            out.body = stats_.to_json();
        } else if (name == "requests") {
            out.body = stats_.requests_to_json();
        } else if (name == "faults") {
            out.body = faults_.to_json();
        } else if (name.substr(0, 6) == "truth/") {
            const std::shared_lock lock(world_.mutex);
            const std::string* wanted = find_parameter(query, "repo");
            const repository* repo = wanted                        ? world_.find_full(*wanted)
                                     : world_.repositories.empty() ? nullptr
                                                                   : world_.repositories.front().get();
            if (!repo) refuse("no such repository");
            out.body = truth(world_, name.substr(6), *repo, query);
            out.content_type = "application/x-ndjson";
        } else {
            refuse("unknown call " + std::string(name));
        }
    } catch (const std::exception& error) {
        out.status = 400;
        out.content_type = "application/json; charset=utf-8";
        out.body = "{\"error\":";
        append_json(out.body, error.what());
        out.body += "}\n";
    }
    return out;
}

}  // namespace lakeflow::github_server
