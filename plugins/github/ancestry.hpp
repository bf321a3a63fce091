// plugins/github/ancestry.hpp: tells which commits of a new head's listing the old head can reach too. No I/O; one thread at a
// time.
//
// Rows come in any order in which a head's listing may show them: with dates that lie, a commit can even come before a child of
// it. A commit is old if the old head reaches it: it is the old head, or a parent of an old commit. The rest of what was seen
// counts as new. `open` are the parents of new commits that were neither seen nor known as old: while there is one, a new commit
// may still be hidden behind it. Once there is none, every commit that was not seen is reached only through old ones.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace lakeflow::github {

class ancestry {
  public:
    ancestry(std::string old_head, const std::string& new_head) : open_{new_head} { mark_old(std::move(old_head)); }

    // A row of the new head's listing.
    void saw(const std::string& sha, std::vector<std::string> parents) {
        open_.erase(sha);
        bool old = is_old(sha);
        for (const std::string& parent : parents) {
            if (old) mark_old(parent);
            if (!old && !is_old(parent) && !parents_.contains(parent)) open_.insert(parent);
        }
        parents_.insert_or_assign(sha, std::move(parents));
    }

    // A row of the old head's listing: old, and so are its parents.
    void saw_old(const std::string& sha, const std::vector<std::string>& parents) {
        mark_old(sha);
        for (const std::string& parent : parents) mark_old(parent);
    }

    bool is_old(const std::string& sha) const { return old_.contains(sha); }
    bool has_seen(const std::string& sha) const { return parents_.contains(sha); }
    // True once nothing new can be left.
    bool complete() const { return open_.empty(); }

  private:
    void mark_old(std::string first) {
        std::vector<std::string> todo{std::move(first)};
        while (!todo.empty()) {
            std::string sha = std::move(todo.back());
            todo.pop_back();
            open_.erase(sha);
            if (!old_.insert(sha).second) continue;
            // It was taken for new when it was seen: what follows from it is old as well.
            if (auto seen = parents_.find(sha); seen != parents_.end()) {
                todo.insert(todo.end(), seen->second.begin(), seen->second.end());
            }
        }
    }

    std::unordered_map<std::string, std::vector<std::string>> parents_;  // of the rows that were seen
    std::unordered_set<std::string> old_, open_;
};

}  // namespace lakeflow::github
