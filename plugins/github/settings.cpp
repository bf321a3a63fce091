// plugins/github/settings.cpp: see settings.hpp.
#include "settings.hpp"

#include "instant.hpp"

namespace lakeflow::github {
namespace {

failure wrong(std::string_view name, const std::string& value, std::string_view expected) {
    return invalid(std::string(name) + ": '" + value + "' is not " + std::string(expected)).with_code("config.invalid");
}

std::optional<std::int64_t> duration(const json& options, std::string_view name) {
    std::string text = options.text(name);
    if (text.empty()) return std::nullopt;
    auto value = parse_duration(text);
    if (!value) throw wrong(name, text, "a duration, such as 90s, 5m, 12h or 7d");
    return value;
}

}  // namespace

settings settings::from(const json& options) {
    settings out;
    out.owner = options.text("owner");
    out.repo = options.text("repo");
    out.org = options.text("org");
    out.state = options.text("state", "all");
    if (out.state != "all" && out.state != "open" && out.state != "closed") {
        throw wrong("state", out.state, "all, open or closed");
    }
    out.per_page = options.integer("per_page", 100);
    if (out.per_page < 1 || out.per_page > 100) {
        throw wrong("per_page", std::to_string(out.per_page), "between 1 and 100");
    }
    if (std::string text = options.text("start_date"); !text.empty()) {
        out.start_date_us = parse_instant(text);
        if (!out.start_date_us)
            throw wrong("start_date", text, "a date or an instant: 2024-01-31 or 2024-01-31T12:00:00Z");
    }
    out.lookback_us = duration(options, "lookback").value_or(0);
    out.window_us = duration(options, "window");
    if (out.window_us && *out.window_us < second_us)
        throw wrong("window", options.text("window"), "at least one second");
    if (const json* cap = options.find("max_records_per_batch"); cap != nullptr && !cap->is_null()) {
        out.max_records_per_batch = cap->as_int();
        if (*out.max_records_per_batch < 1) {
            throw wrong("max_records_per_batch", std::to_string(*out.max_records_per_batch), "at least 1");
        }
    }
    return out;
}

void settings::require(const table& wanted) const {
    auto missing = [&](const std::string& what) {
        return invalid("table " + std::string(wanted.name) + " needs " + what,
                       "set it in the table's options: options = { owner = \"apache\", repo = \"arrow\" }")
            .with_code("config.missing");
    };
    if (wanted.of == scope::repository && (owner.empty() || repo.empty())) {
        throw missing(owner.empty() && repo.empty() ? "owner and repo" : owner.empty() ? "owner" : "repo");
    }
    if (wanted.of == scope::account && owner.empty() == org.empty()) {
        throw missing(owner.empty() ? "either owner or org" : "either owner or org, not both");
    }
}

std::string settings::subject(const table& wanted) const {
    switch (wanted.of) {
        case scope::repository: return std::string(wanted.name) + " of " + owner + "/" + repo;
        case scope::account:
            return std::string(wanted.name) + " of " + (org.empty() ? "user " + owner : "organisation " + org);
        case scope::token: break;
    }
    return std::string(wanted.name) + " of the token's user";
}

}  // namespace lakeflow::github
