// host/laws/offsets.cpp: see offsets.h.
#include "host/laws/offsets.h"

#include "host/base/json.h"
#include "host/base/text.h"
#include "host/base/time.h"

namespace lakeflow::host {
namespace {

constexpr std::int64_t us_per_s = 1'000'000;
constexpr std::int64_t us_per_ms = 1'000;

void append_utf8(std::string& out, std::uint32_t point) {
    if (point < 0x80) {
        out += static_cast<char>(point);
    } else if (point < 0x800) {
        out += static_cast<char>(0xC0 | (point >> 6));
        out += static_cast<char>(0x80 | (point & 0x3F));
    } else {
        out += static_cast<char>(0xE0 | (point >> 12));
        out += static_cast<char>(0x80 | ((point >> 6) & 0x3F));
        out += static_cast<char>(0x80 | (point & 0x3F));
    }
}

// The value of a canonical JSON string with its quotes. Canonical text escapes nothing but quotes, backslashes and controls.
std::string unquote(std::string_view json) {
    std::string out;
    json = json.substr(1, json.size() - 2);
    for (std::size_t i = 0; i < json.size(); ++i) {
        if (json[i] != '\\' || i + 1 == json.size()) {
            out += json[i];
            continue;
        }
        switch (const char c = json[++i]; c) {
            case 'b': out += '\b'; break;
            case 'f': out += '\f'; break;
            case 'n': out += '\n'; break;
            case 'r': out += '\r'; break;
            case 't': out += '\t'; break;
            case 'u': {
                std::uint32_t point = 0;
                for (const char digit : json.substr(i + 1, 4)) {
                    point =
                        point * 16 + static_cast<std::uint32_t>(digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10);
                }
                append_utf8(out, point);
                i += 4;
                break;
            }
            default: out += c;
        }
    }
    return out;
}

std::optional<std::int64_t> scaled(std::optional<std::int64_t> value, std::int64_t unit) {
    std::int64_t us = 0;
    if (!value || __builtin_mul_overflow(*value, unit, &us)) return std::nullopt;
    return us;
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

int sign(std::strong_ordering order) { return order < 0 ? -1 : order > 0 ? 1 : 0; }

}  // namespace

bool is_instant(cursor_form form) noexcept {
    return form == cursor_form::rfc3339 || form == cursor_form::epoch_s || form == cursor_form::epoch_ms;
}

std::optional<cursor_value> offset_order::value(std::string_view offset) const {
    if (!cursor_) return std::nullopt;
    const std::string json = offset_member(offset, cursor_->member);
    if (json.empty()) return std::nullopt;
    const bool quoted = json.front() == '"';
    const std::string text = quoted ? unquote(json) : json;
    std::optional<std::int64_t> number;
    switch (cursor_->form) {
        case cursor_form::text: return quoted ? std::optional<cursor_value>(text) : std::nullopt;
        case cursor_form::rfc3339: number = quoted ? parse_rfc3339_us(text) : std::nullopt; break;
        case cursor_form::epoch_s: number = scaled(parse_int(text), us_per_s); break;
        case cursor_form::epoch_ms: number = scaled(parse_int(text), us_per_ms); break;
        case cursor_form::integer: number = parse_int(text); break;
    }
    if (!number) return std::nullopt;
    return cursor_value(*number);
}

std::optional<int> offset_order::compare(std::string_view a, std::string_view b) const {
    if (!cursor_) return std::nullopt;
    if (a == "{}" || b == "{}") return a == b ? 0 : a == "{}" ? -1 : 1;
    const auto left = value(a);
    const auto right = value(b);
    if (!left || !right) return std::nullopt;
    if (const auto* number = std::get_if<std::int64_t>(&*left)) return sign(*number <=> std::get<std::int64_t>(*right));
    return sign(std::get<std::string>(*left) <=> std::get<std::string>(*right));
}

bool offset_order::only_cursor(std::string_view offset) const {
    if (!cursor_) return false;
    const auto members = offset_members(offset);
    return members.size() == 1 && members.front() == cursor_->member;
}

bool offset_order::same(std::string_view a, std::string_view b) const {
    if (a == b) return true;
    return only_cursor(a) && only_cursor(b) && compare(a, b) == 0;
}

std::optional<std::string> offset_order::at_instant(std::int64_t us) const {
    if (!cursor_ || !is_instant(cursor_->form)) return std::nullopt;
    switch (cursor_->form) {
        case cursor_form::epoch_s:
            return with_offset_member("{}", cursor_->member, std::to_string(floor_div(us, us_per_s)));
        case cursor_form::epoch_ms:
            return with_offset_member("{}", cursor_->member, std::to_string(floor_div(us, us_per_ms)));
        default: return with_offset_member("{}", cursor_->member, quote_json(format_rfc3339(us)));
    }
}

}  // namespace lakeflow::host
