// Rows -> JSON text, member by member as github_schema.json lists them. Reads the corpus only; many threads at once under the world's read lock.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tests/github_server/corpus.h"
#include "tests/github_server/people.h"

namespace lakeflow::github_server {

// The credential that a repository object carries. It must never land anywhere.
inline constexpr std::string_view clone_token = "CANARY-temp-clone-token-must-never-land";

enum class api_version { v2022_11_28, v2026_03_10 };

class renderer {
  public:
    renderer(const people& who, const server_config& config)
        : who_(who), lean_(config.profile == "lean"), issue_bytes_(config.issue_bytes) {}

    // Each appends one object. The newer API version leaves out `assignee`, `merge_commit_sha` and `has_downloads`.
    void issue(std::string& out, const repository& repo, std::uint32_t index, api_version version) const;
    void pull(std::string& out, const repository& repo, std::uint32_t index, api_version version) const;
    void comment(std::string& out, const repository& repo, std::uint32_t index) const;
    void review(std::string& out, const repository& repo, std::uint32_t pull, const review_row& row) const;
    void commit(std::string& out, const repository& repo, std::uint32_t index) const;
    void branch(std::string& out, const repository& repo, const std::string& name, std::uint32_t head) const;
    void label(std::string& out, const repository& repo, std::uint32_t index) const;

    enum class repository_schema { full, minimal, embedded };
    void repository_object(std::string& out, const repository& repo, repository_schema schema, api_version version,
                           bool credentials) const;

    // What a row says, for the ground truth.
    static std::string issue_title(const repository& repo, std::uint32_t index);
    static std::string pull_head_sha(const repository& repo, std::uint32_t index);
    const user* issue_author(const repository& repo, std::uint32_t index) const;  // null: a deleted account
    const user* comment_author(const repository& repo, std::uint32_t index) const;
    enum class account { known, null, empty };
    static account commit_account(const repository& repo, std::uint32_t index, bool committer);

  private:
    void account_of(std::string& out, const repository& repo, std::uint32_t index, bool committer) const;
    void milestone(std::string& out, const repository& repo, std::uint32_t index) const;
    void reactions(std::string& out, std::string_view url, std::uint64_t hash) const;
    void people_members(std::string& out, const repository& repo, std::uint32_t index, api_version version) const;

    const people& who_;
    bool lean_;
    std::uint32_t issue_bytes_;
};

// Building blocks shared by the parts of the renderer.
std::string api_of(const repository& repo);  // https://api.github.com/repos/owner/name
std::string web_of(const repository& repo);
std::string_view association(std::uint64_t hash);
void append_instant(std::string& out, std::string_view key, std::int64_t instant);  // ,"key":"2024-..."
void append_instant_or_null(std::string& out, std::string_view key, bool known, std::int64_t instant);

}  // namespace lakeflow::github_server
