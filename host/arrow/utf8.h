// host/arrow/utf8.h: a UTF-8 check for whole buffers of text, fast where the text is ASCII. Any thread.
#pragma once

#include <cstdint>
#include <cstring>

namespace lakeflow::host {

// The end of the ASCII bytes that [p, end) begins with.
inline const char* skip_ascii(const char* p, const char* end) noexcept {
    constexpr std::uint64_t high = 0x8080808080808080u;
    for (; end - p >= 32; p += 32) {
        std::uint64_t w[4];
        std::memcpy(w, p, sizeof w);
        if ((w[0] | w[1] | w[2] | w[3]) & high) break;
    }
    for (; end - p >= 8; p += 8) {
        std::uint64_t w;
        std::memcpy(&w, p, sizeof w);
        if (w & high) break;
    }
    while (p < end && static_cast<signed char>(*p) >= 0) ++p;
    return p;
}

// RFC 3629: no overlong forms, no surrogates, nothing past U+10FFFF.
inline bool utf8_valid(const char* p, const char* end) noexcept {
    const auto tail = [&](int i) { return (static_cast<unsigned char>(p[i]) & 0xC0) == 0x80; };
    while ((p = skip_ascii(p, end)) < end) {
        const auto lead = static_cast<unsigned char>(*p);
        const auto rest = end - p;
        if (lead < 0xC2) return false;
        if (lead < 0xE0) {
            if (rest < 2 || !tail(1)) return false;
            p += 2;
            continue;
        }
        const auto second = rest > 1 ? static_cast<unsigned char>(p[1]) : 0u;
        if (lead < 0xF0) {
            if (rest < 3 || !tail(1) || !tail(2)) return false;
            if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F)) return false;
            p += 3;
            continue;
        }
        if (lead > 0xF4 || rest < 4 || !tail(1) || !tail(2) || !tail(3)) return false;
        if ((lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F)) return false;
        p += 4;
    }
    return true;
}

}  // namespace lakeflow::host
