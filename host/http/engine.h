// host/http/engine.h: what all exchanges of one http_service share. Everything but `proxy_for` belongs to the io thread.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <unordered_map>

#include "host/http/connection.h"
#include "host/http/http.h"
#include "host/http/limits.h"
#include "host/http/loop.h"
#include "host/http/pool.h"
#include "host/http/proxy.h"
#include "host/http/resolver.h"
#include "host/http/tls.h"
#include "host/http/url.h"

namespace lakeflow::host {

class exchange_core;

struct http_engine {
    explicit http_engine(http_settings s)
        : settings(std::move(s)),
          names(loop, settings.resolve),
          pool(settings.max_connections, settings.idle_connection_us) {}

    // Any thread. The environment is read at the first use of an origin, and what it said then holds.
    std::optional<proxy> proxy_for(const url& target, const std::string& option) {
        if (!option.empty()) return choose_proxy(target, option, {});
        const std::scoped_lock lock(proxies_mutex);
        const std::string origin = target.origin();
        auto found = proxies.find(origin);
        if (found == proxies.end()) {
            found = proxies.emplace(origin, choose_proxy(target, {}, read_proxy_environment())).first;
        }
        return found->second;
    }

    double random() { return std::uniform_real_distribution<double>(0.0, 1.0)(dice); }

    const http_settings settings;
    io_loop loop;
    resolver names;
    tls_contexts contexts;
    std::shared_ptr<block_store> blocks = std::make_shared<block_store>();
    connection_pool pool;
    std::map<std::string, pace> paces;
    std::unordered_map<exchange_core*, std::shared_ptr<exchange_core>> active;  // those with work on the io thread
    std::mt19937_64 dice{std::random_device{}()};

    std::mutex proxies_mutex;
    std::map<std::string, std::optional<proxy>> proxies;
};

}  // namespace lakeflow::host
