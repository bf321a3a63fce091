// host/base/text.h: small helpers for text and numbers that do not look at the locale. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lakeflow/abi.h"

namespace lakeflow::host {

inline lf_str to_abi(std::string_view s) noexcept { return {s.data() ? s.data() : "", s.size()}; }
inline std::string_view view(lf_str s) noexcept {
    return s.data ? std::string_view(s.data, s.size) : std::string_view();
}

// The whole of `text` as an integer, or nothing: no spaces, no '+', no overflow.
std::optional<std::int64_t> parse_int(std::string_view text) noexcept;

// ASCII only: options, header names, host names.
std::string lower_ascii(std::string_view text);
bool equal_no_case(std::string_view a, std::string_view b) noexcept;

// An option's name as it is compared: lower case without '_' and '-' (contract 15).
std::string fold_option(std::string_view name);

std::vector<std::string> split(std::string_view text, char separator);
std::string_view trim(std::string_view text) noexcept;

// "1.2 MB", "340 kB": for people.
std::string human_bytes(std::uint64_t bytes);
// "12,345": for people.
std::string human_count(std::uint64_t count);
// "256MiB", "64 kB", "1000" -> bytes; nothing if it is no size.
std::optional<std::uint64_t> parse_bytes(std::string_view text) noexcept;
// "30s", "500ms", "5m", "1h", "7d" -> microseconds; nothing if it is no duration.
std::optional<std::int64_t> parse_duration_us(std::string_view text) noexcept;

// The candidate nearest to `word` by edit distance, if it is near enough to be what was meant; else nothing.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

// True if the bytes are well-formed UTF-8 (RFC 3629: no surrogates, no overlong forms).
bool is_utf8(std::string_view bytes) noexcept;
// At most `size` bytes of `text`, cut on a UTF-8 boundary.
std::string_view cut_utf8(std::string_view text, std::size_t size) noexcept;

std::string base64(std::string_view bytes);
std::string percent_encode(std::string_view bytes);  // RFC 3986: everything but unreserved characters
std::string hex(std::span<const std::uint8_t> bytes);
std::string sha256_hex(std::string_view bytes);
std::uint64_t hash64(std::string_view bytes, std::uint64_t seed = 0) noexcept;  // not for secrets; stable across runs

// 32 random hex digits, for run ids and temporary names.
std::string random_id();

}  // namespace lakeflow::host
