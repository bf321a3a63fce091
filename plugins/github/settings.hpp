// plugins/github/settings.hpp: the options of the plugin: their schema, and their values checked. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lakeflow/lakeflow.hpp"
#include "tables.hpp"

namespace lakeflow::github {

inline constexpr std::string_view issue_states[] = {"all", "open", "closed"};

inline constexpr option connection_options[] = {
    option::text("base_url")
        .fallback("https://api.github.com")
        .help("the API's address; GitHub Enterprise Server: https://HOST/api/v3"),
    option::secret("token").help(
        "a personal access or installation token; without one GitHub answers 60 requests an hour"),
    option::text("api_version").fallback("2022-11-28").help("sent as X-GitHub-Api-Version"),
};

inline constexpr option table_options[] = {
    option::text("owner").help("the owner of the repository, or of the listed repositories"),
    option::text("repo").help("the name of the repository"),
    option::text("org").help("repositories: list those of this organisation, in the place of owner"),
    option::choice("state", issue_states).fallback("all").help("issues, pull_requests: only rows in this state"),
    option::integer("per_page").fallback(100).between(1, 100).help("rows a request"),
    option::text("start_date").help("leave out what was last changed (commits: committed) before this date or instant"),
    option::text("lookback")
        .fallback("0s")
        .help("read again what changed so long before the last run's end, for a GitHub that shows rows late: 90s, 5m, "
              "12h, 7d"),
    option::integer("max_records_per_batch")
        .between(1, 1'000'000'000)
        .help("issues, comments: about so many rows a micro-batch"),
    option::text("window").help("issues, comments: at most so much time a micro-batch: 12h, 7d"),
};

// The options of one table. The host has checked names, types and ranges; what is left is checked here.
struct settings {
    std::string owner, repo, org;
    std::string state = "all";
    std::int64_t per_page = 100;
    std::optional<std::int64_t> start_date_us;
    std::int64_t lookback_us = 0;
    std::optional<std::int64_t> max_records_per_batch;
    std::optional<std::int64_t> window_us;

    // Throws invalid(), naming the option, for a value that makes no sense. Options that are not there are no error here: a table
    // can be described without them.
    static settings from(const json& options);

    // Throws invalid() if an option is missing without which the table cannot be read.
    void require(const table& wanted) const;

    // "octo/demo", "organisation octo", "the user of the token": what a message is about.
    std::string subject(const table& wanted) const;
};

}  // namespace lakeflow::github
