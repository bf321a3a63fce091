// host/http/pool.cpp: see pool.h.
#include "host/http/pool.h"

#include <algorithm>
#include <utility>

namespace lakeflow::host {

void connection_pool::acquire(const std::string& key, connection_waiter& waiter) {
    origins_[key].waiting.push_back(&waiter);
    pump(key);
}

void connection_pool::forget(const std::string& key, connection_waiter& waiter) {
    std::erase(origins_[key].waiting, &waiter);
}

std::shared_ptr<connection> connection_pool::take_idle(origin& o) {
    while (!o.idle.empty()) {
        auto candidate = std::move(o.idle.back());
        o.idle.pop_back();
        if (candidate->wake()) return candidate;
    }
    return nullptr;
}

void connection_pool::pump(const std::string& key) {
    origin& o = origins_[key];
    while (!o.waiting.empty()) {
        if (o.busy - o.stalled >= most_) return;
        connection_waiter* const next = o.waiting.front();
        o.waiting.pop_front();
        ++o.busy;
        // Idle ones count as open: a fresh one takes the place of the oldest.
        if (next->wants_fresh()) {
            if (!o.idle.empty() && o.busy + static_cast<int>(o.idle.size()) > most_) {
                const auto oldest = o.idle.front();
                o.idle.erase(o.idle.begin());
                oldest->close();
            }
            next->on_connection(nullptr);
        } else {
            next->on_connection(take_idle(o));
        }
    }
}

void connection_pool::give_back(const std::string& key, std::shared_ptr<connection> reusable) {
    origin& o = origins_[key];
    --o.busy;
    if (reusable) {
        auto* const raw = reusable.get();
        reusable->rest(idle_us_, [this, key, raw] {
            std::erase_if(origins_[key].idle, [raw](const auto& c) { return c.get() == raw; });
        });
        o.idle.push_back(std::move(reusable));
    }
    pump(key);
}

void connection_pool::stalled(const std::string& key, bool is) {
    origins_[key].stalled += is ? 1 : -1;
    if (is) pump(key);
}

void connection_pool::close_all() {
    for (auto& [key, o] : origins_) {
        o.waiting.clear();
        for (const auto& idle : o.idle) idle->close();
        o.idle.clear();
    }
}

}  // namespace lakeflow::host
