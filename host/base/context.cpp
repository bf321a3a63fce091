// host/base/context.cpp: see context.h.
#include "host/base/context.h"

#include <utility>

namespace lakeflow::host {

void wait_note::set(std::string text) {
    const std::scoped_lock lock(mutex_);
    text_ = std::move(text);
}

std::string wait_note::get() const {
    const std::scoped_lock lock(mutex_);
    return text_;
}

void metric_set::add(std::string_view name, std::int64_t delta) {
    const std::scoped_lock lock(mutex_);
    const auto it = values_.find(name);
    if (it == values_.end()) {
        values_.emplace(name, delta);
    } else {
        it->second += delta;
    }
}

void metric_set::set(std::string_view name, std::int64_t value) {
    const std::scoped_lock lock(mutex_);
    values_.insert_or_assign(std::string(name), value);
}

std::map<std::string, std::int64_t> metric_set::values() const {
    const std::scoped_lock lock(mutex_);
    return {values_.begin(), values_.end()};
}

}  // namespace lakeflow::host
