// Small text helpers of the test server: hashing, JSON strings, instants, URLs. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lakeflow::github_server {

// Finaliser of a 64-bit hash: everything in the corpus is derived from it, so a seed gives the same corpus everywhere.
constexpr std::uint64_t mix(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}
template <class... Rest>
constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b, Rest... rest) {
    return mix(mix(a) ^ (b * 0xff51afd7ed558ccdULL), static_cast<std::uint64_t>(rest)...);
}
std::uint64_t hash_text(std::string_view text);

// Appends `text` as a JSON string with its quotes. With `ascii`, everything above U+007F is written as \uXXXX pairs.
void append_json(std::string& out, std::string_view text, bool ascii = false);
void append_number(std::string& out, std::int64_t value);
void append_hex(std::string& out, std::uint64_t value);

// Instants are whole seconds since 1970, UTC.
void append_iso(std::string& out, std::int64_t instant);  // 2024-06-01T12:00:00Z
std::string iso(std::int64_t instant);
// RFC 3339 with Z or an offset, or a date alone; a fraction of a second is cut off.
std::optional<std::int64_t> parse_iso(std::string_view text);
enum class date_form { imf, rfc850, asctime };
std::string http_date(std::int64_t instant, date_form form = date_form::imf);

std::string percent_decode(std::string_view text, bool plus_is_space);
std::string percent_encode(std::string_view text);
std::string base64url(std::string_view bytes);
std::optional<std::string> from_base64(std::string_view text);  // both alphabets, padding optional
std::string lower(std::string_view text);
std::optional<std::int64_t> to_integer(std::string_view text);  // the whole text, sign allowed

using parameters = std::vector<std::pair<std::string, std::string>>;
// Decoded, in order.
parameters parse_query(std::string_view query);
std::string render_query(const parameters& query);
// The last value of a name; GitHub's framework lets the last one win.
const std::string* find_parameter(const parameters& query, std::string_view name);

std::string gzip(std::string_view bytes);
std::string sha256_hex(std::string_view bytes);

}  // namespace lakeflow::github_server
