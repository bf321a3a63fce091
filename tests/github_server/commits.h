// A git history: nodes with up to two parents, branches, and the order in which a listing from a head shows them.
// Not thread safe: the world's lock guards it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace lakeflow::github_server {

struct commit_node {
    static constexpr std::uint32_t none = 0xffffffff;
    std::uint32_t first_parent = none;
    std::uint32_t second_parent = none;
    std::int64_t committed = 0;  // committer date: what since and until compare
    std::int64_t authored = 0;
};

class commit_graph {
  public:
    commit_graph() = default;
    // `count` commits reachable from main: a main line with a side branch merged now and then, whose commits are older than what it joins.
    commit_graph(std::uint64_t seed, std::uint32_t count, std::uint32_t branches, std::int64_t base_time);

    bool empty() const { return branches_.empty(); }
    std::size_t size() const { return nodes_.size(); }
    const commit_node& at(std::uint32_t index) const { return nodes_[index]; }
    std::uint64_t hash(std::uint32_t index) const;
    std::string sha(std::uint32_t index) const;
    const std::map<std::string, std::uint32_t>& branches() const { return branches_; }  // name -> head, by name
    // A branch name, refs/heads/name, or a sha (also shortened to 7 digits or more).
    std::optional<std::uint32_t> resolve(std::string_view ref) const;

    // All that is reachable from `head`, first shown first.
    std::vector<std::uint32_t> listing(std::uint32_t head, bool topological) const;

    // Commits on top of a branch (created from main if new). Returns them, oldest first.
    std::vector<std::uint32_t> push(const std::string& branch, std::uint32_t count, std::int64_t first_date,
                                    std::int64_t step);
    // A line of `count` commits that forks `back` commits behind the head, with dates of its own, joined by a merge commit dated `merged`.
    // Returns the line, then the merge commit.
    std::vector<std::uint32_t> merge(const std::string& branch, std::uint32_t count, std::uint32_t back,
                                     std::int64_t first_date, std::int64_t step, std::int64_t merged);
    // Forgets the last `count` commits of a branch's first-parent line: what a forced push does before it pushes again.
    bool drop(const std::string& branch, std::uint32_t count);
    void set_branch(const std::string& name, std::uint32_t head) { branches_[name] = head; }
    bool delete_branch(const std::string& name) { return branches_.erase(name) > 0; }

  private:
    std::uint32_t append(std::uint32_t first, std::uint32_t second, std::int64_t date);
    std::uint64_t seed_ = 0;
    std::vector<commit_node> nodes_;
    std::map<std::string, std::uint32_t> branches_;
    std::unordered_map<std::uint64_t, std::uint32_t> by_hash_;
};

}  // namespace lakeflow::github_server
