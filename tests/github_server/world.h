// Everything that a test can change while the server runs: repositories, tokens, pace, and the cache of rendered pages.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tests/github_server/config.h"
#include "tests/github_server/corpus.h"
#include "tests/github_server/people.h"
#include "tests/github_server/render.h"

namespace lakeflow::github_server {

// A rendered body with its ETag. The gzip form is made when first asked for. Thread safe.
class page {
  public:
    explicit page(std::string body);
    const std::shared_ptr<const std::string>& body() const { return body_; }
    const std::string& etag() const { return etag_; }
    std::shared_ptr<const std::string> packed() const;
    std::size_t cost() const { return body_->size() + 512; }

  private:
    std::shared_ptr<const std::string> body_;
    std::string etag_;
    mutable std::once_flag once_;
    mutable std::shared_ptr<const std::string> packed_;
};

// Least recently used pages, bounded in bytes. Thread safe.
class page_cache {
  public:
    explicit page_cache(std::size_t bytes) : limit_(bytes) {}
    std::shared_ptr<const page> find(const std::string& key);
    void put(const std::string& key, std::shared_ptr<const page> made);

  private:
    struct entry {
        std::string key;
        std::shared_ptr<const page> made;
    };
    const std::size_t limit_;
    std::mutex mutex_;
    std::size_t used_ = 0;
    std::list<entry> order_;  // newest first
    std::unordered_map<std::string, std::list<entry>::iterator> entries_;
};

// GitHub's primary rate limit: one window for the whole server. Thread safe.
class rate_limiter {
  public:
    rate_limiter(std::uint32_t limit, std::uint32_t window) : limit_(limit), window_(window) {}
    struct state {
        std::uint32_t limit, remaining, used;
        std::int64_t reset;
        bool exceeded;
    };
    state take(std::int64_t now, bool costs);
    void configure(std::uint32_t limit, std::uint32_t window);

  private:
    std::mutex mutex_;
    std::uint32_t limit_, window_, used_ = 0;
    std::int64_t reset_ = 0;
};

class world {
  public:
    explicit world(const server_config& configuration);

    const server_config config;
    const people who;
    const renderer render;
    page_cache cache;
    rate_limiter rate;

    // Guards all below: shared to answer, exclusive to change.
    mutable std::shared_mutex mutex;
    std::vector<std::unique_ptr<repository>> repositories;
    std::map<std::string, std::int64_t> renamed;  // old owner/name in lower case -> id
    std::vector<std::string> tokens;
    std::uint32_t latency_ms = 0;
    bool gzip = true;
    bool chunked = false;
    std::atomic<std::int64_t> clock_skew = 0;

    std::int64_t now() const;                                         // whole seconds, the server's clock
    repository* find(std::string_view owner, std::string_view name);  // without regard to case
    repository* find(std::int64_t id);
    repository* find_full(std::string_view full_name);
    void add_repository(repository_config configuration);
    bool delete_repository(std::string_view full_name);

  private:
    std::uint32_t next_ordinal_ = 0;
};

}  // namespace lakeflow::github_server
