// lakeflow/cpp/detail/utf8.hpp: checks and cuts UTF-8. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lakeflow::detail {

inline unsigned char byte_at(std::string_view text, size_t i) { return static_cast<unsigned char>(text[i]); }

// The length of the well-formed sequence at position i; 0 if there is none (overlong forms, surrogates, past U+10FFFF).
inline size_t utf8_length(std::string_view text, size_t i) {
    unsigned char lead = byte_at(text, i);
    if (lead < 0x80) return 1;
    size_t length = lead >= 0xF0 && lead <= 0xF4  ? 4
                    : lead >= 0xE0 && lead < 0xF0 ? 3
                    : lead >= 0xC2 && lead < 0xE0 ? 2
                                                  : 0;
    if (length == 0 || i + length > text.size()) return 0;
    for (size_t k = 1; k < length; ++k)
        if ((byte_at(text, i + k) & 0xC0) != 0x80) return 0;
    unsigned char second = byte_at(text, i + 1);
    if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F)) return 0;
    if ((lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F)) return 0;
    return length;
}

// At most `size` bytes of the text, not cut inside a character.
inline std::string_view utf8_prefix(std::string_view text, size_t size) {
    if (text.size() <= size) return text;
    while (size > 0 && (byte_at(text, size) & 0xC0) == 0x80) --size;
    return text.substr(0, size);
}

inline void append_utf8(std::string& out, uint32_t code) {
    auto put = [&](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
    if (code < 0x80) {
        put(code);
    } else if (code < 0x800) {
        put(0xC0 | (code >> 6)), put(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
        put(0xE0 | (code >> 12)), put(0x80 | ((code >> 6) & 0x3F)), put(0x80 | (code & 0x3F));
    } else {
        put(0xF0 | (code >> 18)), put(0x80 | ((code >> 12) & 0x3F)), put(0x80 | ((code >> 6) & 0x3F));
        put(0x80 | (code & 0x3F));
    }
}

}  // namespace lakeflow::detail
