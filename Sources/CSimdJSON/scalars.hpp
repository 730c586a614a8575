// Owns the grammar of JSON scalars and escapes (RFC 8259 sections 3, 6 and 7).
// Domain: pure
#ifndef CRYO_SIMDJSON_SCALARS_HPP
#define CRYO_SIMDJSON_SCALARS_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

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

// The first byte that is no digit, eight bytes at a time: a byte is a digit when its high nibble is 3 and stays so after 6 is
// added. Reads up to seven bytes beyond the digits, which the padding after every document allows.
inline const uint8_t *skip_digits(const uint8_t *p, const uint8_t *end) noexcept {
    while (p < end) {
        uint64_t eight;
        std::memcpy(&eight, p, sizeof eight);
        const uint64_t odd = ((eight & 0xF0F0F0F0F0F0F0F0u) ^ 0x3030303030303030u)
            | ((((eight & 0x7F7F7F7F7F7F7F7Fu) + 0x0606060606060606u) & 0xF0F0F0F0F0F0F0F0u) ^ 0x3030303030303030u);
        if (odd == 0) {
            p += 8;
            continue;
        }
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        p += __builtin_ctzll(odd) >> 3;
#else
        p += __builtin_clzll(odd) >> 3;
#endif
        break;
    }
    return p < end ? p : end;
}

__attribute__((always_inline)) inline bool is_number(const uint8_t *p, const uint8_t *end) noexcept {
    if (p < end && *p == '-') ++p;
    if (p >= end || !is_digit(*p)) return false;
    if (*p == '0') {
        ++p;
    } else {
        ++p;
        while (p < end && is_digit(*p)) ++p;
    }
    if (p < end && *p == '.') {
        ++p;
        if (p >= end || !is_digit(*p)) return false;
        // Whole parts are short, fractions of printed doubles are not.
        p = skip_digits(p + 1, end);
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

// The backslashes among the next 64 bytes, one bit each.
inline uint64_t backslashes(const uint8_t *p) noexcept {
    uint64_t mask = 0;
#if defined(__SSE2__)
    const __m128i wanted = _mm_set1_epi8('\\');
    for (int block = 0; block < 4; ++block) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i *>(p + 16 * block));
        mask |= static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, wanted)))) << (16 * block);
    }
#else
    for (int index = 0; index < 64; ++index) mask |= static_cast<uint64_t>(p[index] == '\\') << index;
#endif
    return mask;
}

// Checks every escape of the document in one sweep, wherever it stands: a backslash outside a string is refused later
// as a bad token. `found` tells whether any key could need unescaping. Blocks of 64 bytes were measured against a call of memchr
// for each escape: 4 in place of 7 us where 64 KiB hold 1,400 of them. Reads the padding after the document.
inline bool escapes_are_valid(const uint8_t *p, const uint8_t *end, bool &found) noexcept {
    const uint8_t *first = static_cast<const uint8_t *>(std::memchr(p, '\\', static_cast<size_t>(end - p)));
    found = first != nullptr;
    if (!found) return true;
    // The second half of an escape is no escape of its own.
    const uint8_t *next = first;
    for (const uint8_t *block = first; block < end; block += 64) {
        for (uint64_t mask = backslashes(block); mask != 0; mask &= mask - 1) {
            const uint8_t *at = block + __builtin_ctzll(mask);
            if (at < next) continue;
            if (at >= end) break;
            if (end - at < 2) return false;
            switch (at[1]) {
            case '"': case '\\': case '/': case 'b': case 'f': case 'n': case 'r': case 't':
                next = at + 2;
                break;
            case 'u':
                if (end - at < 6 || hex4(at + 2) < 0) return false;
                next = at + 6;
                break;
            default:
                return false;
            }
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
