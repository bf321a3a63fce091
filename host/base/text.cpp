// host/base/text.cpp: see text.h.
#include "host/base/text.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <limits>

namespace lakeflow::host {
namespace {

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_space(char c) noexcept { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

// Splits "256 MiB" into its number and its unit; nothing if there is no whole number in front.
struct quantity {
    std::uint64_t number;
    std::string unit;
};
std::optional<quantity> parse_quantity(std::string_view text) noexcept {
    text = trim(text);
    quantity q{};
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), q.number);
    if (code != std::errc()) return std::nullopt;
    q.unit = lower_ascii(trim(std::string_view(end, text.data() + text.size())));
    return q;
}

std::optional<std::uint64_t> times(std::uint64_t number, std::uint64_t factor) noexcept {
    if (number > std::numeric_limits<std::int64_t>::max() / factor) return std::nullopt;
    return number * factor;
}

// OpenSSL cleans up at exit, under the thread of the http service, unless whoever uses it first says otherwise.
void keep_openssl_at_exit() noexcept { OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr); }

}  // namespace

std::optional<std::int64_t> parse_int(std::string_view text) noexcept {
    std::int64_t value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
    return value;
}

std::string lower_ascii(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(), lower);
    return out;
}

bool equal_no_case(std::string_view a, std::string_view b) noexcept {
    return a.size() == b.size() &&
           std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return lower(x) == lower(y); });
}

std::string fold_option(std::string_view name) {
    std::string out;
    for (const char c : name) {
        if (c != '_' && c != '-') out += lower(c);
    }
    return out;
}

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts;
    while (true) {
        const std::size_t at = text.find(separator);
        parts.emplace_back(text.substr(0, at));
        if (at == std::string_view::npos) return parts;
        text.remove_prefix(at + 1);
    }
}

std::string_view trim(std::string_view text) noexcept {
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
    return text;
}

std::string human_bytes(std::uint64_t bytes) {
    if (bytes < 1000) return std::to_string(bytes) + " B";
    static constexpr std::array units{"kB", "MB", "GB", "TB", "PB"};
    std::size_t unit = 0;
    std::uint64_t tenths = bytes / 100;  // tenths of a kB
    while (tenths >= 10000 && unit + 1 < units.size()) {
        tenths /= 1000;
        ++unit;
    }
    std::string out = std::to_string(tenths / 10);
    if (tenths < 1000) out += '.' + std::to_string(tenths % 10);
    return out + ' ' + units[unit];
}

std::string human_count(std::uint64_t count) {
    std::string digits = std::to_string(count);
    for (std::size_t at = digits.size(); at > 3;) {
        at -= 3;
        digits.insert(at, 1, ',');
    }
    return digits;
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) noexcept {
    const auto q = parse_quantity(text);
    if (!q) return std::nullopt;
    const std::string& u = q->unit;
    if (u.empty() || u == "b") return q->number;
    if (u == "kb") return times(q->number, 1000);
    if (u == "mb") return times(q->number, 1000 * 1000);
    if (u == "gb") return times(q->number, 1000 * 1000 * 1000);
    if (u == "kib") return times(q->number, 1ull << 10);
    if (u == "mib") return times(q->number, 1ull << 20);
    if (u == "gib") return times(q->number, 1ull << 30);
    return std::nullopt;
}

std::optional<std::int64_t> parse_duration_us(std::string_view text) noexcept {
    const auto q = parse_quantity(text);
    if (!q) return std::nullopt;
    const std::string& u = q->unit;
    std::optional<std::uint64_t> us;
    if (u == "us") us = times(q->number, 1);
    if (u == "ms") us = times(q->number, 1000);
    if (u == "s") us = times(q->number, 1000000);
    if (u == "m") us = times(q->number, 60ull * 1000000);
    if (u == "h") us = times(q->number, 3600ull * 1000000);
    if (u == "d") us = times(q->number, 86400ull * 1000000);
    if (!us) return std::nullopt;
    return static_cast<std::int64_t>(*us);
}

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
    const std::string wanted = lower_ascii(word);
    std::optional<std::string> best;
    std::size_t best_distance = std::max<std::size_t>(1, wanted.size() / 3) + 1;
    for (const auto& candidate : candidates) {
        const std::string name = lower_ascii(candidate);
        std::vector<std::size_t> row(name.size() + 1);
        for (std::size_t j = 0; j <= name.size(); ++j) row[j] = j;
        for (std::size_t i = 1; i <= wanted.size(); ++i) {
            std::size_t diagonal = row[0];
            row[0] = i;
            for (std::size_t j = 1; j <= name.size(); ++j) {
                const std::size_t change = diagonal + (wanted[i - 1] == name[j - 1] ? 0 : 1);
                diagonal = row[j];
                row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
            }
        }
        if (row.back() < best_distance) {
            best_distance = row.back();
            best = candidate;
        }
    }
    return best;
}

bool is_utf8(std::string_view bytes) noexcept {
    const auto* p = reinterpret_cast<const unsigned char*>(bytes.data());
    const auto* end = p + bytes.size();
    while (p < end) {
        // Eight ASCII bytes at a time: most text is.
        if (end - p >= 8) {
            std::uint64_t word;
            std::memcpy(&word, p, 8);
            if ((word & 0x8080808080808080ull) == 0) {
                p += 8;
                continue;
            }
        }
        const unsigned char c = *p;
        if (c < 0x80) {
            ++p;
            continue;
        }
        int more = 0;
        unsigned code = 0, least = 0;
        if ((c & 0xe0) == 0xc0) {
            more = 1, code = c & 0x1f, least = 0x80;
        } else if ((c & 0xf0) == 0xe0) {
            more = 2, code = c & 0x0f, least = 0x800;
        } else if ((c & 0xf8) == 0xf0) {
            more = 3, code = c & 0x07, least = 0x10000;
        } else {
            return false;
        }
        if (end - p <= more) return false;
        for (int i = 1; i <= more; ++i) {
            if ((p[i] & 0xc0) != 0x80) return false;
            code = (code << 6) | (p[i] & 0x3f);
        }
        if (code < least || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return false;
        p += more + 1;
    }
    return true;
}

std::string_view cut_utf8(std::string_view text, std::size_t size) noexcept {
    if (text.size() <= size) return text;
    while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) --size;
    return text.substr(0, size);
}

std::string base64(std::string_view bytes) {
    std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');
    const int size =
        EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                        reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
    out.resize(static_cast<std::size_t>(size));
    return out;
}

std::string percent_encode(std::string_view bytes) {
    static constexpr char digits[] = "0123456789ABCDEF";
    std::string out;
    for (const char c : bytes) {
        const bool unreserved = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                                c == '-' || c == '.' || c == '_' || c == '~';
        if (unreserved) {
            out += c;
        } else {
            const auto byte = static_cast<unsigned char>(c);
            out += '%';
            out += digits[byte >> 4];
            out += digits[byte & 15];
        }
    }
    return out;
}

std::string hex(std::span<const std::uint8_t> bytes) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string out;
    out.reserve(bytes.size() * 2);
    for (const std::uint8_t b : bytes) {
        out += digits[b >> 4];
        out += digits[b & 15];
    }
    return out;
}

std::string sha256_hex(std::string_view bytes) {
    keep_openssl_at_exit();
    std::array<std::uint8_t, 32> digest{};
    unsigned size = 0;
    EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr);
    return hex(digest);
}

std::uint64_t hash64(std::string_view bytes, std::uint64_t seed) noexcept {
    // Multiply and fold eight bytes at a time, with a finaliser of xor-shifts; stable on little-endian machines.
    std::uint64_t h = seed ^ (bytes.size() * 0x9e3779b97f4a7c15ull);
    const auto mix = [&h](std::uint64_t word) {
        h ^= word;
        h *= 0xff51afd7ed558ccdull;
        h ^= h >> 32;
    };
    while (bytes.size() >= 8) {
        std::uint64_t word;
        std::memcpy(&word, bytes.data(), 8);
        mix(word);
        bytes.remove_prefix(8);
    }
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), bytes.size());
    mix(word + 1);
    h *= 0xc4ceb9fe1a85ec53ull;
    return h ^ (h >> 29);
}

std::string random_id() {
    keep_openssl_at_exit();
    std::array<std::uint8_t, 16> bytes{};
    RAND_bytes(bytes.data(), static_cast<int>(bytes.size()));
    return hex(bytes);
}

}  // namespace lakeflow::host
