// The accounts of the corpus: users, organisations, teams, and their JSON as GitHub's schemas simple-user, private-user, team, ... have it.
// Immutable after construction; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/github_server/config.h"

namespace lakeflow::github_server {

inline constexpr std::string_view api = "https://api.github.com";
inline constexpr std::string_view web = "https://github.com";

struct user {
    std::string login;
    std::int64_t id = 0;
    bool bot = false;
    bool site_admin = false;
    std::string json;  // schema simple-user, braces included
};

struct organisation {
    std::string login;
    std::int64_t id = 0;
    bool is_user = false;  // an owner that is a person: no organisation endpoints
    std::string json;      // as the owner of a repository (simple-user)
};

struct team {
    std::string slug;
    std::string name;
    std::int64_t id = 0;
    std::size_t organisation = 0;
};

class people {
  public:
    explicit people(const server_config& config);

    const user& at(std::uint64_t index) const { return users_[index % users_.size()]; }
    std::size_t size() const { return users_.size(); }
    const std::vector<organisation>& owners() const { return owners_; }
    const organisation* find_owner(std::string_view login) const;  // without regard to case
    const organisation* find_owner(std::int64_t id) const;
    const std::vector<team>& teams() const { return teams_; }

    // Each appends one object.
    void private_user(std::string& out) const;
    void organisation_simple(std::string& out, const organisation& owner) const;
    void team_object(std::string& out, std::size_t index) const;     // schema team
    void team_full(std::string& out, std::size_t index) const;       // schema team-full
    void collaborator(std::string& out, std::uint64_t index) const;  // schema collaborator
    static std::string_view role(std::uint64_t index);               // of a collaborator

  private:
    void team_head(std::string& out, std::size_t index) const;
    std::int64_t base_time_;
    std::vector<user> users_;
    std::vector<organisation> owners_;
    std::vector<team> teams_;
};

}  // namespace lakeflow::github_server
