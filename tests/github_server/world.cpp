// See world.h.
#include "tests/github_server/world.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "tests/github_server/text.h"

namespace lakeflow::github_server {

page::page(std::string body)
    : body_(std::make_shared<const std::string>(std::move(body))), etag_("W/\"" + sha256_hex(*body_) + "\"") {}

std::shared_ptr<const std::string> page::packed() const {
    std::call_once(once_, [this] { packed_ = std::make_shared<const std::string>(github_server::gzip(*body_)); });
    return packed_;
}

std::shared_ptr<const page> page_cache::find(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end()) return nullptr;
    order_.splice(order_.begin(), order_, found->second);
    return found->second->made;
}

void page_cache::put(const std::string& key, std::shared_ptr<const page> made) {
    if (made->cost() > limit_) return;
    const std::lock_guard lock(mutex_);
    if (entries_.contains(key)) return;
    used_ += made->cost();
    order_.push_front({key, std::move(made)});
    entries_[key] = order_.begin();
    while (used_ > limit_) {
        used_ -= order_.back().made->cost();
        entries_.erase(order_.back().key);
        order_.pop_back();
    }
}

rate_limiter::state rate_limiter::take(std::int64_t now, bool costs) {
    const std::lock_guard lock(mutex_);
    if (now >= reset_) {
        reset_ = now + window_;
        used_ = 0;
    }
    const bool exceeded = costs && used_ >= limit_;
    if (costs && !exceeded) ++used_;
    return {limit_, limit_ - std::min(limit_, used_), used_, reset_, exceeded};
}

void rate_limiter::configure(std::uint32_t limit, std::uint32_t window) {
    const std::lock_guard lock(mutex_);
    limit_ = limit;
    window_ = window;
    used_ = 0;
    reset_ = 0;
}

world::world(const server_config& configuration)
    : config(configuration),
      who(config),
      render(who, config),
      cache(config.cache_bytes),
      rate(config.rate_limit, config.rate_window),
      tokens(config.tokens),
      latency_ms(config.latency_ms),
      gzip(config.gzip),
      chunked(config.chunked),
      clock_skew(config.clock_skew) {
    for (const repository_config& one : config.repositories) add_repository(one);
    for (const organisation& owner : who.owners()) {
        for (std::uint32_t i = 0; i < config.extra_repos; ++i) {
            repository_config extra;
            extra.owner = owner.login;
            extra.name = "extra-" + std::to_string(i);
            add_repository(std::move(extra));
        }
    }
}

std::int64_t world::now() const {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::seconds>(since).count() + clock_skew.load();
}

repository* world::find(std::string_view owner, std::string_view name) {
    const std::string wanted_owner = lower(owner);
    const std::string wanted_name = lower(name);
    for (const auto& one : repositories)
        if (lower(one->config.name) == wanted_name && lower(one->config.owner) == wanted_owner) return one.get();
    return nullptr;
}

repository* world::find(std::int64_t id) {
    for (const auto& one : repositories)
        if (one->id == id) return one.get();
    return nullptr;
}

repository* world::find_full(std::string_view full_name) {
    const std::size_t slash = full_name.find('/');
    return slash == std::string_view::npos ? nullptr : find(full_name.substr(0, slash), full_name.substr(slash + 1));
}

void world::add_repository(repository_config configuration) {
    if (!who.find_owner(configuration.owner))
        throw std::invalid_argument("owner " + configuration.owner + " has no account here");
    if (find(configuration.owner, configuration.name))
        throw std::invalid_argument("repository " + configuration.owner + "/" + configuration.name + " exists already");
    repositories.push_back(
        std::make_unique<repository>(std::move(configuration), config.seed, next_ordinal_++, config.base_time));
}

bool world::delete_repository(std::string_view full_name) {
    const repository* found = find_full(full_name);
    return found && std::erase_if(repositories, [found](const auto& one) { return one.get() == found; }) > 0;
}

}  // namespace lakeflow::github_server
