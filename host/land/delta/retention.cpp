// host/land/delta/retention.cpp: see retention.h.
#include "host/land/delta/retention.h"

#include "host/base/text.h"

namespace lakeflow::host::delta {
namespace {

std::optional<std::int64_t> unit_ms(std::string_view unit) {
    if (unit.ends_with('s') || unit.ends_with('S')) unit.remove_suffix(1);
    if (equal_no_case(unit, "week")) return 7 * day_ms;
    if (equal_no_case(unit, "day")) return day_ms;
    if (equal_no_case(unit, "hour")) return 3'600'000;
    if (equal_no_case(unit, "minute")) return 60'000;
    if (equal_no_case(unit, "second")) return 1'000;
    if (equal_no_case(unit, "millisecond")) return 1;
    return std::nullopt;
}

std::optional<std::int64_t> duration_of(const metadata& meta, const char* key, std::int64_t otherwise) {
    const auto own = meta.configuration.find(key);
    return own == meta.configuration.end() ? otherwise : parse_interval_ms(own->second);
}

}  // namespace

std::optional<std::int64_t> parse_interval_ms(std::string_view text) {
    std::vector<std::string> words;
    for (const std::string& word : split(text, ' ')) {
        if (!word.empty()) words.push_back(word);
    }
    if (!words.empty() && equal_no_case(words.front(), "interval")) words.erase(words.begin());
    if (words.empty() || words.size() % 2 != 0) return std::nullopt;
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < words.size(); i += 2) {
        const auto count = parse_int(words[i]);
        const auto unit = unit_ms(words[i + 1]);
        if (!count || !unit || *count < 0 || *count > 1'000'000'000) return std::nullopt;
        sum += *count * *unit;
    }
    return sum;
}

std::optional<std::int64_t> log_retention_ms(const metadata& meta) {
    const auto cleaned = meta.configuration.find("delta.enableExpiredLogCleanup");
    if (cleaned != meta.configuration.end() && !equal_no_case(cleaned->second, "true")) return std::nullopt;
    return duration_of(meta, "delta.logRetentionDuration", 30 * day_ms);
}

std::optional<std::int64_t> file_retention_ms(const metadata& meta) {
    return duration_of(meta, "delta.deletedFileRetentionDuration", 7 * day_ms);
}

}  // namespace lakeflow::host::delta
