// See commits.h.
#include "tests/github_server/commits.h"

#include <algorithm>
#include <queue>
#include <utility>

#include "tests/github_server/text.h"

namespace lakeflow::github_server {

commit_graph::commit_graph(std::uint64_t seed, std::uint32_t count, std::uint32_t branches, std::int64_t base_time)
    : seed_(seed) {
    if (count == 0) return;
    nodes_.reserve(count + branches);
    by_hash_.reserve(count + branches);
    const std::int64_t step = std::max<std::int64_t>(1, std::int64_t{86400} * 365 * 2 / count);
    std::int64_t date = base_time - step * count;
    std::uint32_t head = commit_node::none;
    while (nodes_.size() < count) {
        const auto made = static_cast<std::uint32_t>(nodes_.size());
        if (made % 20 == 12 && made + 4 <= count) {
            // Fork six commits back; the side line's dates begin just after the fork, so they are older than the present head's.
            std::uint32_t fork = head;
            for (int i = 0; i < 6 && nodes_[fork].first_parent != commit_node::none; ++i)
                fork = nodes_[fork].first_parent;
            std::uint32_t side = fork;
            for (std::int64_t i = 1; i <= 3; ++i) side = append(side, commit_node::none, nodes_[fork].committed + i);
            date += step * 4;
            head = append(head, side, date);
        } else {
            date += step;
            head = append(head, commit_node::none, date);
        }
    }
    branches_["main"] = head;
    for (std::uint32_t b = 1; b < branches; ++b) {
        std::uint32_t fork = head;
        for (std::uint32_t i = 0; i < b * 3 && nodes_[fork].first_parent != commit_node::none; ++i)
            fork = nodes_[fork].first_parent;
        const char* stem = b % 3 == 0   ? "dependabot/npm_and_yarn/left-pad-1."
                           : b % 3 == 1 ? "feature/größe-"
                                        : "release/v";
        // Every other branch has a commit of its own, which main cannot reach.
        branches_[stem + std::to_string(b)] =
            b % 2 ? append(fork, commit_node::none, nodes_[fork].committed + 5) : fork;
    }
}

std::uint32_t commit_graph::append(std::uint32_t first, std::uint32_t second, std::int64_t date) {
    const auto index = static_cast<std::uint32_t>(nodes_.size());
    const std::int64_t lead = static_cast<std::int64_t>(mix(seed_, index, 3) % 7200);
    nodes_.push_back({first, second, date, mix(seed_, index, 4) % 3 ? date : date - lead});
    by_hash_[hash(index)] = index;
    return index;
}

std::uint64_t commit_graph::hash(std::uint32_t index) const { return mix(seed_, index, 1); }

std::string commit_graph::sha(std::uint32_t index) const {
    std::string out;
    append_hex(out, hash(index));
    append_hex(out, mix(seed_, index, 2));
    append_hex(out, mix(seed_, index, 5));
    out.resize(40);
    return out;
}

std::optional<std::uint32_t> commit_graph::resolve(std::string_view ref) const {
    if (ref.substr(0, 11) == "refs/heads/") ref.remove_prefix(11);
    if (const auto branch = branches_.find(std::string(ref)); branch != branches_.end()) return branch->second;
    if (ref.size() < 7 || ref.size() > 40 || ref.find_first_not_of("0123456789abcdef") != std::string_view::npos)
        return std::nullopt;
    if (ref.size() < 16) {
        for (std::uint32_t i = 0; i < nodes_.size(); ++i)
            if (std::string_view(sha(i)).substr(0, ref.size()) == ref) return i;
        return std::nullopt;
    }
    std::uint64_t head = 0;
    for (const char c : ref.substr(0, 16))
        head = head << 4 | static_cast<std::uint64_t>(c <= '9' ? c - '0' : c - 'a' + 10);
    const auto found = by_hash_.find(head);
    if (found == by_hash_.end() || std::string_view(sha(found->second)).substr(0, ref.size()) != ref)
        return std::nullopt;
    return found->second;
}

std::vector<std::uint32_t> commit_graph::listing(std::uint32_t head, bool topological) const {
    std::vector<std::uint32_t> out;
    if (topological) {
        // Children first, and a line to its end before the next one: a parent is ready once all its reachable children were shown.
        std::vector<std::uint32_t> waiting(nodes_.size(), 0);
        std::vector<bool> seen(nodes_.size(), false);
        std::vector<std::uint32_t> stack{head};
        seen[head] = true;
        const auto each_parent = [this](std::uint32_t index, auto&& visit) {
            if (nodes_[index].first_parent != commit_node::none) visit(nodes_[index].first_parent);
            if (nodes_[index].second_parent != commit_node::none) visit(nodes_[index].second_parent);
        };
        while (!stack.empty()) {
            const std::uint32_t index = stack.back();
            stack.pop_back();
            each_parent(index, [&](std::uint32_t parent) {
                ++waiting[parent];
                if (!seen[parent]) {
                    seen[parent] = true;
                    stack.push_back(parent);
                }
            });
        }
        stack.push_back(head);
        while (!stack.empty()) {
            const std::uint32_t index = stack.back();
            stack.pop_back();
            out.push_back(index);
            each_parent(index, [&](std::uint32_t parent) {
                if (--waiting[parent] == 0) stack.push_back(parent);
            });
        }
        return out;
    }
    // git log: of all that was reached and not yet shown, the newest committer date goes next. A child is reached before its parents,
    // but a merged line with old dates sinks below newer commits of the main line.
    using entry = std::pair<std::int64_t, std::int64_t>;  // date, minus the order of arrival
    std::priority_queue<std::pair<entry, std::uint32_t>> queue;
    std::vector<bool> seen(nodes_.size(), false);
    std::int64_t arrivals = 0;
    const auto reach = [&](std::uint32_t index) {
        if (index == commit_node::none || seen[index]) return;
        seen[index] = true;
        queue.push({{nodes_[index].committed, -arrivals++}, index});
    };
    reach(head);
    while (!queue.empty()) {
        const std::uint32_t index = queue.top().second;
        queue.pop();
        out.push_back(index);
        reach(nodes_[index].first_parent);
        reach(nodes_[index].second_parent);
    }
    return out;
}

std::vector<std::uint32_t> commit_graph::push(const std::string& branch, std::uint32_t count, std::int64_t first_date,
                                              std::int64_t step) {
    std::vector<std::uint32_t> out;
    std::uint32_t head = commit_node::none;
    if (const auto found = branches_.find(branch); found != branches_.end())
        head = found->second;
    else if (const auto main = branches_.find("main"); main != branches_.end())
        head = main->second;
    for (std::uint32_t i = 0; i < count; ++i) {
        head = append(head, commit_node::none, first_date + step * i);
        out.push_back(head);
    }
    if (head != commit_node::none) branches_[branch] = head;
    return out;
}

std::vector<std::uint32_t> commit_graph::merge(const std::string& branch, std::uint32_t count, std::uint32_t back,
                                               std::int64_t first_date, std::int64_t step, std::int64_t merged) {
    std::vector<std::uint32_t> out;
    const auto found = branches_.find(branch);
    if (found == branches_.end()) return out;
    std::uint32_t fork = found->second;
    for (std::uint32_t i = 0; i < back && nodes_[fork].first_parent != commit_node::none; ++i)
        fork = nodes_[fork].first_parent;
    std::uint32_t side = fork;
    for (std::uint32_t i = 0; i < count; ++i) {
        side = append(side, commit_node::none, first_date + step * i);
        out.push_back(side);
    }
    found->second = append(found->second, side, merged);
    out.push_back(found->second);
    return out;
}

bool commit_graph::drop(const std::string& branch, std::uint32_t count) {
    const auto found = branches_.find(branch);
    if (found == branches_.end()) return false;
    for (std::uint32_t i = 0; i < count && nodes_[found->second].first_parent != commit_node::none; ++i)
        found->second = nodes_[found->second].first_parent;
    return true;
}

}  // namespace lakeflow::github_server
