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

#define CRYO_INLINE __attribute__((always_inline)) inline

namespace cryo {

inline bool is_digit(uint8_t c) noexcept { return static_cast<uint8_t>(c - '0') < 10; }

inline bool is_space(uint8_t c) noexcept { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// What a byte means where its neighbours do not matter: one load in place of a chain of comparisons.
struct byte_classes {
    bool ends_scalar[256];
    // Bytes of the escape whose second byte this is; 0: no escape.
    uint8_t escape_length[256];

    constexpr byte_classes() noexcept : ends_scalar{}, escape_length{} {
        for (const char c : {',', '}', ']', ':', '{', '[', ' ', '\n', '\r', '\t'}) ends_scalar[static_cast<uint8_t>(c)] = true;
        for (const char c : {'"', '\\', '/', 'b', 'f', 'n', 'r', 't'}) escape_length[static_cast<uint8_t>(c)] = 2;
        escape_length['u'] = 6;
    }
};

inline constexpr byte_classes classes{};

// What stands at `p`. Within brackets the document's last byte is still to come, which ends every scalar, so no end is looked for.
// A scalar that is alone is all of its document, and what follows in memory is no part of it.
template <bool is_alone>
inline uint8_t peek(const uint8_t *p, const uint8_t *end) noexcept { return is_alone && p >= end ? ' ' : *p; }

// Digits among the first eight bytes: a digit differs from '0' by less than ten. What a byte that is none carries into the next one
// does not matter, because the first is what counts. Reads up to seven bytes beyond the digits, which the padding allows.
CRYO_INLINE unsigned leading_digits(const uint8_t *p) noexcept {
    uint64_t eight;
    std::memcpy(&eight, p, sizeof eight);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    eight = __builtin_bswap64(eight);
#endif
    const uint64_t distance = eight ^ 0x3030303030303030u;
    const uint64_t others = ((distance + 0x7676767676767676u) | distance) & 0x8080808080808080u;
    return others == 0 ? 8 : static_cast<unsigned>(__builtin_ctzll(others)) >> 3;
}

template <bool is_alone>
CRYO_INLINE const uint8_t *skip_digits(const uint8_t *p, const uint8_t *end) noexcept {
    for (unsigned digits = 8; digits == 8 && (!is_alone || p < end); p += digits) digits = leading_digits(p);
    return is_alone && p > end ? end : p;
}

// simdjson's first stage marks only the start of a run of scalar bytes, so `1"a"` or `nullx` is one token to it:
// whoever checks a scalar checks what follows it as well.
template <bool is_alone>
CRYO_INLINE bool is_any_number(const uint8_t *p, const uint8_t *end) noexcept {
    p += *p == '-';
    const uint8_t *next = skip_digits<is_alone>(p, end);
    // A zero is followed by no digit.
    bool is_valid = next > p && (next == p + 1 || *p != '0');
    if (peek<is_alone>(next, end) == '.') {
        p = next + 1;
        next = skip_digits<is_alone>(p, end);
        is_valid &= next > p;
    }
    if ((peek<is_alone>(next, end) | 0x20) == 'e') {
        p = next + 1;
        const uint8_t sign = peek<is_alone>(p, end);
        p += sign == '+' || sign == '-';
        next = skip_digits<is_alone>(p, end);
        is_valid &= next > p;
    }
    return is_valid && classes.ends_scalar[peek<is_alone>(next, end)];
}

// Most numbers are short and have no exponent. Those are checked without a jump on what they look like, which no processor predicts.
CRYO_INLINE bool is_number(const uint8_t *p, const uint8_t *end) noexcept {
    const uint8_t *start = p + (*p == '-');
    const unsigned whole = leading_digits(start);
    const bool has_point = start[whole] == '.';
    const unsigned fraction = leading_digits(start + whole + 1);
    const unsigned length = whole + (has_point ? fraction + 1 : 0);
    const bool is_plain = (whole > 0) & ((whole == 1) | (*start != '0')) & (!has_point | (fraction > 0))
        & classes.ends_scalar[start[length]];
    return is_plain || is_any_number<false>(p, end);
}

inline uint32_t four_bytes(const void *p) noexcept {
    uint32_t four;
    std::memcpy(&four, p, sizeof four);
    return four;
}

// `true`, `false` or `null`, told apart without a jump: which one comes next is nothing a processor predicts.
template <bool is_alone>
CRYO_INLINE bool is_literal(const uint8_t *p, const uint8_t *end) noexcept {
    const bool is_false = *p == 'f';
    const uint32_t wanted = is_false ? four_bytes("alse") : *p == 'n' ? four_bytes("null") : four_bytes("true");
    const uint8_t *next = p + 4 + is_false;
    return four_bytes(p + is_false) == wanted && (!is_alone || next <= end) && classes.ends_scalar[peek<is_alone>(next, end)];
}

// Any scalar but a string.
template <bool is_alone>
CRYO_INLINE bool is_bare(const uint8_t *p, const uint8_t *end) noexcept {
    if ((*p & 0x40) != 0) return is_literal<is_alone>(p, end);
    return is_alone ? is_any_number<is_alone>(p, end) : is_number(p, end);
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
            const uint8_t length = classes.escape_length[at[1]];
            if (length == 0 || end - at < length || (length == 6 && hex4(at + 2) < 0)) return false;
            next = at + length;
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
