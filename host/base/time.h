// host/base/time.h: instants as microseconds since 1970 UTC, and their texts. Proleptic Gregorian, years 0001 to 9999.
// No locale, no time zone database. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lakeflow::host {

// RFC 3339 with any offset and any number of fractional digits (cut after microseconds only if they are zeros: else
// nothing), also with a space for the T and a lower-case z. Text without a zone: nothing.
std::optional<std::int64_t> parse_rfc3339_us(std::string_view text) noexcept;
// The same without a zone: "2026-03-01T10:00:00.5" or a date alone is nothing.
std::optional<std::int64_t> parse_local_us(std::string_view text) noexcept;
// "2026-03-01" -> days since 1970.
std::optional<std::int32_t> parse_date(std::string_view text) noexcept;

// "2026-03-01T10:00:00Z", with 3 or 6 fractional digits only if needed.
std::string format_rfc3339(std::int64_t us);
// "2026-03-01T10:00:00.123456", always 6 digits, no zone.
std::string format_local(std::int64_t us);
std::string format_date(std::int32_t days);

// The three date forms of RFC 9110 section 5.6.7: IMF-fixdate, RFC 850, asctime. `now_us` resolves two-digit years.
std::optional<std::int64_t> parse_http_date_us(std::string_view text, std::int64_t now_us) noexcept;

std::int64_t days_from_civil(int year, unsigned month, unsigned day) noexcept;

}  // namespace lakeflow::host
