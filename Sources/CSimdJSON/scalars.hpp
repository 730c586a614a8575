// Owns the grammar of JSON scalars and escapes (RFC 8259 sections 3, 6 and 7).
// Domain: pure
#ifndef CRYO_SIMDJSON_SCALARS_HPP
#define CRYO_SIMDJSON_SCALARS_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace cryo {

inline bool is_digit(uint8_t c) noexcept { return static_cast<uint8_t>(c - '0') < 10; }

inline bool is_space(uint8_t c) noexcept { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// simdjson's first stage marks only the start of a run of scalar bytes, so `1"a"` or `nullx` is one token to it:
// whoever checks a scalar checks what follows it as well.
inline bool ends_scalar(const uint8_t *p, const uint8_t *end) noexcept {
    if (p >= end) return true;
    const uint8_t c = *p;
    return c == ',' || c == '}' || c == ']' || is_space(c) || c == ':' || c == '{' || c == '[';
}

__attribute__((always_inline)) inline bool is_number(const uint8_t *p, const uint8_t *end) noexcept {
    if (p < end && *p == '-') ++p;
    if (p >= end || !is_digit(*p)) return false;
    if (*p == '0') {
        ++p;
    } else {
        while (p < end && is_digit(*p)) ++p;
    }
    if (p < end && *p == '.') {
        ++p;
        if (p >= end || !is_digit(*p)) return false;
        while (p < end && is_digit(*p)) ++p;
    }
    if (p < end && (*p | 0x20) == 'e') {
        ++p;
        if (p < end && (*p == '+' || *p == '-')) ++p;
        if (p >= end || !is_digit(*p)) return false;
        while (p < end && is_digit(*p)) ++p;
    }
    return ends_scalar(p, end);
}

template <size_t N>
inline bool is_literal(const uint8_t *p, const uint8_t *end, const char (&word)[N]) noexcept {
    constexpr size_t length = N - 1;
    return static_cast<size_t>(end - p) >= length && std::memcmp(p, word, length) == 0 && ends_scalar(p + length, end);
}

// The value of four hexadecimal digits, or -1.
inline int32_t hex4(const uint8_t *p) noexcept {
    int32_t value = 0;
    for (int i = 0; i < 4; ++i) {
        const uint8_t c = p[i];
        const uint8_t letter = static_cast<uint8_t>((c | 0x20) - 'a');
        if (is_digit(c)) {
            value = value * 16 + (c - '0');
        } else if (letter < 6) {
            value = value * 16 + letter + 10;
        } else {
            return -1;
        }
    }
    return value;
}

// Checks every escape of the document in one sweep, wherever it stands: a backslash outside a string is refused later
// as a bad token. `found` tells whether any key could need unescaping.
inline bool escapes_are_valid(const uint8_t *p, const uint8_t *end, bool &found) noexcept {
    found = false;
    while (p < end) {
        if (*p != '\\') {
            p = static_cast<const uint8_t *>(std::memchr(p, '\\', static_cast<size_t>(end - p)));
            if (p == nullptr) return true;
        }
        found = true;
        if (end - p < 2) return false;
        switch (p[1]) {
        case '"': case '\\': case '/': case 'b': case 'f': case 'n': case 'r': case 't':
            p += 2;
            break;
        case 'u':
            if (end - p < 6 || hex4(p + 2) < 0) return false;
            p += 6;
            break;
        default:
            return false;
        }
    }
    return true;
}

inline size_t put_utf8(uint32_t scalar, uint8_t out[4]) noexcept {
    if (scalar < 0x80) {
        out[0] = static_cast<uint8_t>(scalar);
        return 1;
    }
    if (scalar < 0x800) {
        out[0] = static_cast<uint8_t>(0xC0 | (scalar >> 6));
        out[1] = static_cast<uint8_t>(0x80 | (scalar & 0x3F));
        return 2;
    }
    if (scalar < 0x10000) {
        out[0] = static_cast<uint8_t>(0xE0 | (scalar >> 12));
        out[1] = static_cast<uint8_t>(0x80 | ((scalar >> 6) & 0x3F));
        out[2] = static_cast<uint8_t>(0x80 | (scalar & 0x3F));
        return 3;
    }
    out[0] = static_cast<uint8_t>(0xF0 | (scalar >> 18));
    out[1] = static_cast<uint8_t>(0x80 | ((scalar >> 12) & 0x3F));
    out[2] = static_cast<uint8_t>(0x80 | ((scalar >> 6) & 0x3F));
    out[3] = static_cast<uint8_t>(0x80 | (scalar & 0x3F));
    return 4;
}

// Decodes the escape at `p` (already checked) and moves past it. A lone surrogate becomes U+FFFD.
inline uint32_t take_escape(const uint8_t *&p, const uint8_t *end) noexcept {
    const uint8_t letter = p[1];
    if (letter != 'u') {
        p += 2;
        switch (letter) {
        case 'b': return '\b';
        case 'f': return '\f';
        case 'n': return '\n';
        case 'r': return '\r';
        case 't': return '\t';
        default: return letter;
        }
    }
    const int32_t high = hex4(p + 2);
    p += 6;
    if (high < 0) return 0xFFFD;
    if (high < 0xD800 || high > 0xDFFF) return static_cast<uint32_t>(high);
    if (high < 0xDC00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u') {
        const int32_t low = hex4(p + 2);
        if (low >= 0xDC00 && low <= 0xDFFF) {
            p += 6;
            return 0x10000u + (static_cast<uint32_t>(high - 0xD800) << 10) + static_cast<uint32_t>(low - 0xDC00);
        }
    }
    return 0xFFFD;
}

// Compares a raw key (checked escapes, no quotes) with an unescaped one, without a buffer.
inline bool equals_unescaped(const uint8_t *p, const uint8_t *end, const uint8_t *key, size_t length) noexcept {
    size_t at = 0;
    while (p < end) {
        uint8_t piece[4] = {*p, 0, 0, 0};
        size_t size = 1;
        if (*p == '\\') {
            size = put_utf8(take_escape(p, end), piece);
        } else {
            ++p;
        }
        if (length - at < size || std::memcmp(key + at, piece, size) != 0) return false;
        at += size;
    }
    return at == length;
}

}  // namespace cryo

#endif
