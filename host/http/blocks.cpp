// host/http/blocks.cpp: the parts of connection.h that need no socket.
#include <algorithm>
#include <utility>

#include "host/base/text.h"
#include "host/http/connection.h"

namespace lakeflow::host {

std::string endpoint::key() const {
    std::string out = (tls ? "https://" : "http://") + host + ":" + std::to_string(port);
    if (via) out += " by " + via->shown() + " " + via->authorization;
    if (tls) out += " ca " + ca_file;
    return out;
}

std::int64_t keep_alive_time(std::string_view header) {
    constexpr std::int64_t longest_us = std::int64_t{3600} * 1'000'000;
    for (const auto& part : split(header, ',')) {
        const std::string_view item = trim(part);
        if (!item.starts_with("timeout=")) continue;
        const auto seconds = parse_int(item.substr(8));
        if (seconds && *seconds < 3600) return std::clamp<std::int64_t>(*seconds * 1'000'000 - 500'000, 0, longest_us);
    }
    return longest_us;
}

std::shared_ptr<block> block_store::get() {
    std::unique_ptr<block> chosen;
    {
        const std::scoped_lock lock(mutex_);
        if (!free_.empty()) {
            chosen = std::move(free_.back());
            free_.pop_back();
        }
    }
    if (!chosen) chosen.reset(new block);  // not make_unique, which would clear its 64 KiB
    return {chosen.release(), [store = weak_from_this()](block* used) {
                std::unique_ptr<block> owner(used);
                if (const auto alive = store.lock()) alive->put(std::move(owner));
            }};
}

void block_store::put(std::unique_ptr<block> used) {
    constexpr std::size_t kept = 64;  // 4 MiB
    const std::scoped_lock lock(mutex_);
    if (free_.size() < kept) free_.push_back(std::move(used));
}

}  // namespace lakeflow::host
