// host/land/delta/retention.h: how long a table keeps its log and the files that were removed from it, by its properties. Plain data; any
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "host/land/delta/actions.h"

namespace lakeflow::host::delta {

constexpr std::int64_t day_ms = 24ll * 3600 * 1000;

// "interval 30 days", "1 week 2 hours", as Spark writes it, in milliseconds; nothing for months, years and what is no interval.
std::optional<std::int64_t> parse_interval_ms(std::string_view text);

// delta.logRetentionDuration, 30 days where it is not set. Nothing: all commits stay, as the table says or as its duration cannot be read.
std::optional<std::int64_t> log_retention_ms(const metadata& meta);
// delta.deletedFileRetentionDuration, a week where it is not set. Nothing: it cannot be read.
std::optional<std::int64_t> file_retention_ms(const metadata& meta);

}  // namespace lakeflow::host::delta
