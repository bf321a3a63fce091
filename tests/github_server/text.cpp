// See text.h.
#include "tests/github_server/text.h"

#include <openssl/evp.h>
#include <zlib.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cstring>
#include <stdexcept>

namespace lakeflow::github_server {
namespace {

constexpr std::string_view hex_digits = "0123456789abcdef";

void append_two(std::string& out, unsigned value) {
    out.push_back(static_cast<char>('0' + value / 10 % 10));
    out.push_back(static_cast<char>('0' + value % 10));
}

void append_unicode_escape(std::string& out, std::uint32_t unit) {
    out += "\\u";
    for (int shift = 12; shift >= 0; shift -= 4) out.push_back(hex_digits[(unit >> shift) & 15]);
}

// Decodes one well-formed UTF-8 sequence (the corpus holds no other) and advances.
std::uint32_t next_code_point(std::string_view text, std::size_t& at) {
    const auto lead = static_cast<unsigned char>(text[at]);
    const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    std::uint32_t point = size == 1 ? lead : lead & (0xffU >> (size + 1));
    for (std::size_t i = 1; i < size && at + i < text.size(); ++i)
        point = (point << 6) | (static_cast<unsigned char>(text[at + i]) & 0x3fU);
    at += size;
    return point;
}

struct civil {
    std::chrono::year_month_day date;
    unsigned weekday, hour, minute, second;
};

civil split(std::int64_t instant) {
    const std::chrono::sys_seconds point{std::chrono::seconds{instant}};
    const auto day = std::chrono::floor<std::chrono::days>(point);
    const auto rest = static_cast<unsigned>((point - day).count());
    return {std::chrono::year_month_day{day}, std::chrono::weekday{day}.c_encoding(), rest / 3600, rest / 60 % 60,
            rest % 60};
}

void append_clock(std::string& out, const civil& c) {
    append_two(out, c.hour);
    out.push_back(':');
    append_two(out, c.minute);
    out.push_back(':');
    append_two(out, c.second);
}

}  // namespace

std::uint64_t hash_text(std::string_view text) {
    std::uint64_t h = 0xcbf29ce484222325ULL;
    for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    return mix(h);
}

void append_json(std::string& out, std::string_view text, bool ascii) {
    out.push_back('"');
    for (std::size_t at = 0; at < text.size();) {
        const auto c = static_cast<unsigned char>(text[at]);
        if (c >= 0x80 && ascii) {
            std::uint32_t point = next_code_point(text, at);
            if (point >= 0x10000) {
                point -= 0x10000;
                append_unicode_escape(out, 0xd800 + (point >> 10));
                append_unicode_escape(out, 0xdc00 + (point & 0x3ff));
            } else {
                append_unicode_escape(out, point);
            }
            continue;
        }
        ++at;
        switch (c) {
            case '"': out += "\\\""; break;
            case '\\': out += "\\\\"; break;
            case '\n': out += "\\n"; break;
            case '\r': out += "\\r"; break;
            case '\t': out += "\\t"; break;
            case '\b': out += "\\b"; break;
            case '\f': out += "\\f"; break;
            default:
                if (c < 0x20) {
                    append_unicode_escape(out, c);
                } else {
                    out.push_back(static_cast<char>(c));
                }
        }
    }
    out.push_back('"');
}

void append_number(std::string& out, std::int64_t value) {
    std::array<char, 24> buffer;
    out.append(buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr);
}

void append_hex(std::string& out, std::uint64_t value) {
    for (int shift = 60; shift >= 0; shift -= 4) out.push_back(hex_digits[(value >> shift) & 15]);
}

void append_iso(std::string& out, std::int64_t instant) {
    const civil c = split(instant);
    const auto year = static_cast<unsigned>(static_cast<int>(c.date.year()));
    append_two(out, year / 100);
    append_two(out, year % 100);
    out.push_back('-');
    append_two(out, static_cast<unsigned>(c.date.month()));
    out.push_back('-');
    append_two(out, static_cast<unsigned>(c.date.day()));
    out.push_back('T');
    append_clock(out, c);
    out.push_back('Z');
}

std::string iso(std::int64_t instant) {
    std::string out;
    append_iso(out, instant);
    return out;
}

std::optional<std::int64_t> parse_iso(std::string_view text) {
    std::size_t at = 0;
    const auto number = [&](std::size_t digits) -> int {
        if (at + digits > text.size()) return -1;
        int value = 0;
        for (std::size_t i = 0; i < digits; ++i) {
            const char c = text[at + i];
            if (c < '0' || c > '9') return -1;
            value = value * 10 + (c - '0');
        }
        at += digits;
        return value;
    };
    const auto skip = [&](std::string_view any) {
        if (at >= text.size() || any.find(text[at]) == std::string_view::npos) return false;
        ++at;
        return true;
    };
    const int year = number(4);
    if (year < 0 || !skip("-")) return std::nullopt;
    const int month = number(2);
    if (month < 0 || !skip("-")) return std::nullopt;
    const int day = number(2);
    if (day < 0) return std::nullopt;
    const std::chrono::year_month_day date{std::chrono::year{year}, std::chrono::month{static_cast<unsigned>(month)},
                                           std::chrono::day{static_cast<unsigned>(day)}};
    if (!date.ok()) return std::nullopt;
    std::int64_t seconds = std::chrono::sys_seconds{std::chrono::sys_days{date}}.time_since_epoch().count();
    if (at == text.size()) return seconds;
    if (!skip("Tt")) return std::nullopt;
    const int hour = number(2);
    if (hour < 0 || hour > 23 || !skip(":")) return std::nullopt;
    const int minute = number(2);
    if (minute < 0 || minute > 59 || !skip(":")) return std::nullopt;
    const int second = number(2);
    if (second < 0 || second > 60) return std::nullopt;
    seconds += hour * 3600 + minute * 60 + second;
    if (skip(".")) {
        if (number(1) < 0) return std::nullopt;
        while (number(1) >= 0) {
        }
    }
    if (at == text.size() || skip("Zz")) return at == text.size() ? std::optional(seconds) : std::nullopt;
    const bool minus = text[at] == '-';
    if (!skip("+-")) return std::nullopt;
    const int offset_hour = number(2);
    skip(":");
    const int offset_minute = number(2);
    if (offset_hour < 0 || offset_minute < 0 || at != text.size()) return std::nullopt;
    const int offset = offset_hour * 3600 + offset_minute * 60;
    return minus ? seconds + offset : seconds - offset;
}

std::string http_date(std::int64_t instant, date_form form) {
    constexpr std::array<std::string_view, 7> days{"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                   "Thursday", "Friday", "Saturday"};
    constexpr std::array<std::string_view, 12> months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const civil c = split(instant);
    const auto year = static_cast<unsigned>(static_cast<int>(c.date.year()));
    const auto day = static_cast<unsigned>(c.date.day());
    const std::string_view month = months[static_cast<unsigned>(c.date.month()) - 1];
    std::string out;
    if (form == date_form::asctime) {
        out.append(days[c.weekday].substr(0, 3)).append(" ").append(month).append(" ");
        out.append(day < 10 ? " " : "").append(std::to_string(day)).append(" ");
        append_clock(out, c);
        return out.append(" ").append(std::to_string(year));
    }
    out.append(form == date_form::rfc850 ? days[c.weekday] : days[c.weekday].substr(0, 3)).append(", ");
    append_two(out, day);
    if (form == date_form::rfc850) {
        out.append("-").append(month).append("-");
        append_two(out, year % 100);
    } else {
        out.append(" ").append(month).append(" ").append(std::to_string(year));
    }
    out.push_back(' ');
    append_clock(out, c);
    return out.append(" GMT");
}

std::string percent_decode(std::string_view text, bool plus_is_space) {
    const auto digit = [](char c) {
        return c >= '0' && c <= '9'   ? c - '0'
               : c >= 'a' && c <= 'f' ? c - 'a' + 10
               : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                      : -1;
    };
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0) {
            out.push_back(static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2])));
            i += 2;
        } else {
            out.push_back(text[i] == '+' && plus_is_space ? ' ' : text[i]);
        }
    }
    return out;
}

std::string percent_encode(std::string_view text) {
    std::string out;
    for (const char c : text) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                           c == '.' || c == '_' || c == '~';
        if (plain) {
            out.push_back(c);
        } else {
            const auto byte = static_cast<unsigned char>(c);
            out.push_back('%');
            out.push_back("0123456789ABCDEF"[byte >> 4]);
            out.push_back("0123456789ABCDEF"[byte & 15]);
        }
    }
    return out;
}

std::string base64url(std::string_view bytes) {
    constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    std::string out;
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        std::uint32_t block = 0;
        for (std::size_t k = 0; k < 3; ++k)
            block = (block << 8) | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
        for (std::size_t k = 0; k < 4; ++k)
            out.push_back(i + k <= bytes.size() ? alphabet[(block >> (18 - 6 * k)) & 63] : '=');
    }
    return out;
}

std::optional<std::string> from_base64(std::string_view text) {
    while (!text.empty() && text.back() == '=') text.remove_suffix(1);
    std::string out;
    std::uint32_t block = 0;
    int bits = 0;
    for (const char c : text) {
        const int value = c >= 'A' && c <= 'Z'   ? c - 'A'
                          : c >= 'a' && c <= 'z' ? c - 'a' + 26
                          : c >= '0' && c <= '9' ? c - '0' + 52
                          : c == '-' || c == '+' ? 62
                          : c == '_' || c == '/' ? 63
                                                 : -1;
        if (value < 0) return std::nullopt;
        block = (block << 6) | static_cast<std::uint32_t>(value);
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            out.push_back(static_cast<char>((block >> bits) & 0xff));
        }
    }
    return out;
}

std::string lower(std::string_view text) {
    std::string out{text};
    for (char& c : out)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return out;
}

std::optional<std::int64_t> to_integer(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

parameters parse_query(std::string_view query) {
    parameters out;
    while (!query.empty()) {
        const std::size_t end = query.find('&');
        const std::string_view part = query.substr(0, end);
        query = end == std::string_view::npos ? std::string_view{} : query.substr(end + 1);
        if (part.empty()) continue;
        const std::size_t equals = part.find('=');
        out.emplace_back(
            percent_decode(part.substr(0, equals), true),
            equals == std::string_view::npos ? std::string{} : percent_decode(part.substr(equals + 1), true));
    }
    return out;
}

std::string render_query(const parameters& query) {
    std::string out;
    for (const auto& [name, value] : query) {
        out.append(out.empty() ? "" : "&").append(percent_encode(name)).append("=").append(percent_encode(value));
    }
    return out;
}

const std::string* find_parameter(const parameters& query, std::string_view name) {
    for (auto it = query.rbegin(); it != query.rend(); ++it)
        if (it->first == name) return &it->second;
    return nullptr;
}

std::string gzip(std::string_view bytes) {
    z_stream stream{};
    if (deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        throw std::runtime_error("zlib refuses to start");
    std::string out(deflateBound(&stream, bytes.size()), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    const int result = deflate(&stream, Z_FINISH);
    out.resize(stream.total_out);
    out.shrink_to_fit();  // the bound is as large as the input
    deflateEnd(&stream);
    if (result != Z_STREAM_END) throw std::runtime_error("zlib did not finish");
    return out;
}

std::string sha256_hex(std::string_view bytes) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
    unsigned size = 0;
    if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1)
        throw std::runtime_error("SHA-256 is not available");
    std::string out;
    for (unsigned i = 0; i < size; ++i) {
        out.push_back(hex_digits[digest[i] >> 4]);
        out.push_back(hex_digits[digest[i] & 15]);
    }
    return out;
}

}  // namespace lakeflow::github_server
