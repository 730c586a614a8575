// Owns the walk over simdjson's structural index: full grammar check and extraction in one pass.
// Domain: pure
//
// simdjson's first stage (SIMD: UTF-8, strings, positions of tokens) is used as it is. Its on-demand reader was
// rejected for the second half: it skips values by counting brackets without telling `{` from `[`, and stops at the
// first of several equal keys, while we promise "last one wins" and pass slices on byte for byte.
#include "csimdjson.h"

#include <memory>
#include <new>
#include <simdjson.h>

#include "scalars.hpp"

struct cryo_json_parser {
    std::unique_ptr<simdjson::internal::dom_parser_implementation> stage{};
    size_t maximum{0};
};

namespace {

// Index memory is four bytes per document byte; what exceeds this many document bytes is given back after the scan.
constexpr size_t capacity_kept = size_t{1} << 20;
constexpr size_t capacity_least = size_t{1} << 12;
// simdjson's index is 32 bits wide.
constexpr size_t capacity_most = size_t{1} << 31;

class walker {
public:
    walker(
        const uint8_t *bytes, size_t length, const uint32_t *tokens, uint32_t token_count, bool escapes,
        const cryo_json_path *paths, cryo_json_slice *out) noexcept
        : bytes(bytes), end(bytes + length), tokens(tokens), token_count(token_count), escapes(escapes), paths(paths),
          out(out) {}

    int32_t walk(uint64_t wanted) noexcept {
        const uint8_t first = byte(0);
        if (first == '{' || first == '[') {
            // With a closing bracket as the last token, only that bracket can run out of tokens: no other step
            // has to compare positions with the end.
            const uint8_t last = byte(token_count - 1);
            if (token_count < 2 || (last != '}' && last != ']')) return CRYO_JSON_NOT_JSON;
        }
        const int32_t result = value(wanted, 0, 0);
        if (result != CRYO_JSON_OK) return result;
        return at == token_count ? CRYO_JSON_OK : CRYO_JSON_NOT_JSON;
    }

private:
    const uint8_t *bytes;
    const uint8_t *end;
    const uint32_t *tokens;
    uint32_t token_count;
    uint32_t at{0};
    bool escapes;
    const cryo_json_path *paths;
    cryo_json_slice *out;

    uint8_t byte(uint32_t token) const noexcept { return bytes[tokens[token]]; }

    const uint8_t *position(uint32_t token) const noexcept {
        return token < token_count ? bytes + tokens[token] : end;
    }

    template <bool is_alone>
    CRYO_INLINE bool scalar(uint8_t first, uint32_t token) const noexcept {
        return first == '"' || cryo::is_bare<is_alone>(bytes + tokens[token], end);
    }

    static int32_t kind(uint8_t first) noexcept {
        switch (first) {
        case '"': return CRYO_JSON_STRING;
        case '{': return CRYO_JSON_OBJECT;
        case '[': return CRYO_JSON_ARRAY;
        case 't': case 'f': return CRYO_JSON_BOOL;
        case 'n': return CRYO_JSON_NULL;
        default: return CRYO_JSON_NUMBER;
        }
    }

    void forget(uint64_t mask) noexcept {
        for (; mask != 0; mask &= mask - 1) out[__builtin_ctzll(mask)] = cryo_json_slice{0, 0, CRYO_JSON_MISSING};
    }

    // The value at the current token, for the paths in `mask` whose first `level` segments led here. `depth` counts
    // the containers open around it.
    int32_t value(uint64_t mask, size_t level, unsigned depth) noexcept {
        uint64_t here = 0;
        for (uint64_t rest = mask; rest != 0; rest &= rest - 1) {
            if (paths[__builtin_ctzll(rest)].count == level) here |= rest & (~rest + 1);
        }
        const uint64_t below = mask & ~here;
        const uint8_t first = byte(at);
        const uint8_t *start = bytes + tokens[at];
        if (first == '{' || first == '[') {
            int32_t result;
            if (below == 0) {
                result = skip_container(depth);
            } else {
                result = first == '{' ? object(below, level, depth + 1) : array(below, level, depth + 1);
            }
            if (result != CRYO_JSON_OK) return result;
        } else {
            if (!(depth == 0 ? scalar<true>(first, at) : scalar<false>(first, at))) return CRYO_JSON_NOT_JSON;
            ++at;
        }
        if (here != 0) {
            const uint8_t *stop = position(at);
            while (stop > start && cryo::is_space(stop[-1])) --stop;
            if (first == '{' || first == '[') stop = bytes + tokens[at - 1] + 1;
            const cryo_json_slice slice{static_cast<size_t>(start - bytes), static_cast<size_t>(stop - start), kind(first)};
            for (; here != 0; here &= here - 1) out[__builtin_ctzll(here)] = slice;
        }
        return CRYO_JSON_OK;
    }

    uint64_t matching(const uint8_t *key, const uint8_t *key_end, uint64_t mask, size_t level) const noexcept {
        const size_t length = static_cast<size_t>(key_end - key);
        const bool escaped = escapes && std::memchr(key, '\\', length) != nullptr;
        uint64_t matched = 0;
        for (uint64_t rest = mask; rest != 0; rest &= rest - 1) {
            const cryo_json_segment &segment = paths[__builtin_ctzll(rest)].segments[level];
            bool equal;
            if (escaped) {
                equal = cryo::equals_unescaped(key, key_end, segment.key, segment.length);
            } else {
                // The first byte settles most comparisons without a call.
                equal = segment.length == length
                    && (length == 0 || (*segment.key == *key && std::memcmp(segment.key, key, length) == 0));
            }
            if (equal) matched |= rest & (~rest + 1);
        }
        return matched;
    }

    int32_t object(uint64_t mask, size_t level, unsigned depth) noexcept {
        if (depth > CRYO_JSON_DEPTH_MAX) return CRYO_JSON_TOO_DEEP;
        ++at;
        if (byte(at) == '}') {
            ++at;
            return CRYO_JSON_OK;
        }
        for (;;) {
            if (byte(at) != '"' || byte(at + 1) != ':') return CRYO_JSON_NOT_JSON;
            const uint8_t *key = bytes + tokens[at] + 1;
            const uint8_t *key_end = bytes + tokens[at + 1];
            while (*--key_end != '"') {}
            const uint64_t matched = matching(key, key_end, mask, level);
            at += 2;
            int32_t result;
            if (matched != 0) {
                forget(matched);  // The last of equal keys wins, with everything below it.
                result = value(matched, level + 1, depth);
            } else {
                result = skip(depth);
            }
            if (result != CRYO_JSON_OK) return result;
            if (at >= token_count) return CRYO_JSON_NOT_JSON;
            const uint8_t next = byte(at++);
            if (next == '}') return CRYO_JSON_OK;
            if (next != ',') return CRYO_JSON_NOT_JSON;
        }
    }

    int32_t array(uint64_t mask, size_t level, unsigned depth) noexcept {
        if (depth > CRYO_JSON_DEPTH_MAX) return CRYO_JSON_TOO_DEEP;
        ++at;
        if (byte(at) == ']') {
            ++at;
            return CRYO_JSON_OK;
        }
        for (int64_t index = 0;; ++index) {
            uint64_t matched = 0;
            for (uint64_t rest = mask; rest != 0; rest &= rest - 1) {
                if (paths[__builtin_ctzll(rest)].segments[level].index == index) matched |= rest & (~rest + 1);
            }
            const int32_t result = matched != 0 ? value(matched, level + 1, depth) : skip(depth);
            if (result != CRYO_JSON_OK) return result;
            if (at >= token_count) return CRYO_JSON_NOT_JSON;
            const uint8_t next = byte(at++);
            if (next == ']') return CRYO_JSON_OK;
            if (next != ',') return CRYO_JSON_NOT_JSON;
        }
    }

    int32_t skip(unsigned depth) noexcept {
        const uint8_t first = byte(at);
        if (first == '{' || first == '[') return skip_container(depth);
        if (!scalar<false>(first, at)) return CRYO_JSON_NOT_JSON;
        ++at;
        return CRYO_JSON_OK;
    }

    // Checks the container at the current token without recursion; one bit per open container tells its type.
    int32_t skip_container(unsigned outer) noexcept {
        uint64_t object_bits[(CRYO_JSON_DEPTH_MAX + 64) / 64] = {};
        unsigned depth = outer;
        uint32_t token = at;
        uint8_t c = byte(token);

    open:
        if (depth == CRYO_JSON_DEPTH_MAX) return CRYO_JSON_TOO_DEEP;
        ++depth;
        ++token;
        if (c == '{') {
            object_bits[depth >> 6] |= uint64_t{1} << (depth & 63);
            c = byte(token);
            if (c == '}') goto close;
            goto member;
        }
        object_bits[depth >> 6] &= ~(uint64_t{1} << (depth & 63));
        c = byte(token);
        if (c == ']') goto close;
        goto element;

    member:
        if (c != '"' || byte(token + 1) != ':') return CRYO_JSON_NOT_JSON;
        token += 2;
        c = byte(token);
        if (c != '"') {
            if (c == '{' || c == '[') goto open;
            if (!scalar<false>(c, token)) return CRYO_JSON_NOT_JSON;
        }
        ++token;
    member_end:
        c = byte(token);
        if (c == ',') {
            c = byte(++token);
            goto member;
        }
        if (c != '}') return CRYO_JSON_NOT_JSON;
        goto close;

    element:
        if (c != '"') {
            if (c == '{' || c == '[') goto open;
            if (!scalar<false>(c, token)) return CRYO_JSON_NOT_JSON;
        }
        ++token;
    element_end:
        c = byte(token);
        if (c == ',') {
            c = byte(++token);
            goto element;
        }
        if (c != ']') return CRYO_JSON_NOT_JSON;

    close:
        ++token;
        --depth;
        if (depth == outer) {
            at = token;
            return CRYO_JSON_OK;
        }
        if (token >= token_count) return CRYO_JSON_NOT_JSON;
        if ((object_bits[depth >> 6] >> (depth & 63)) & 1) goto member_end;
        goto element_end;
    }
};

int32_t reserve(cryo_json_parser &parser, size_t length) noexcept {
    if (parser.stage && parser.stage->capacity() >= length) return CRYO_JSON_OK;
    size_t capacity = capacity_least;
    while (capacity < length) capacity *= 2;
    if (capacity > parser.maximum && parser.maximum >= length) capacity = parser.maximum;
    simdjson::error_code error;
    if (parser.stage) {
        error = parser.stage->set_capacity(capacity);
    } else {
        error = simdjson::get_active_implementation()->create_dom_parser_implementation(
            capacity, CRYO_JSON_DEPTH_MAX, parser.stage);
    }
    if (error == simdjson::SUCCESS) return CRYO_JSON_OK;
    parser.stage.reset();
    return CRYO_JSON_NO_MEMORY;
}

int32_t scan(
    cryo_json_parser &parser, const uint8_t *bytes, size_t length, const cryo_json_path *paths, size_t count,
    cryo_json_slice *out) noexcept {
    if (length == 0) return CRYO_JSON_NOT_JSON;
    if (length > parser.maximum) return CRYO_JSON_TOO_LARGE;
    const int32_t reserved = reserve(parser, length);
    if (reserved != CRYO_JSON_OK) return reserved;
    const simdjson::error_code error = parser.stage->stage1(bytes, length, simdjson::stage1_mode::regular);
    if (error != simdjson::SUCCESS || parser.stage->n_structural_indexes == 0) {
        return error == simdjson::MEMALLOC ? CRYO_JSON_NO_MEMORY : CRYO_JSON_NOT_JSON;
    }
    bool escapes = false;
    if (!cryo::escapes_are_valid(bytes, bytes + length, escapes)) return CRYO_JSON_NOT_JSON;
    walker walker(
        bytes, length, parser.stage->structural_indexes.get(), parser.stage->n_structural_indexes, escapes, paths, out);
    const uint64_t wanted = count == 0 ? 0 : ~uint64_t{0} >> (64 - count);
    return walker.walk(wanted);
}

}  // namespace

cryo_json_parser *cryo_json_create(size_t maximum) {
    auto *parser = new (std::nothrow) cryo_json_parser;
    if (parser != nullptr) parser->maximum = maximum < capacity_most ? maximum : capacity_most;
    return parser;
}

void cryo_json_destroy(cryo_json_parser *parser) { delete parser; }

int32_t cryo_json_scan(
    cryo_json_parser *parser, const uint8_t *bytes, size_t length, const cryo_json_path *paths, size_t count,
    cryo_json_slice *out) {
    if (count > CRYO_JSON_PATHS_MAX) return CRYO_JSON_TOO_LARGE;
    const auto clear = [&]() noexcept {
        for (size_t i = 0; i < count; ++i) out[i] = cryo_json_slice{0, 0, CRYO_JSON_MISSING};
    };
    clear();
    // RFC 8259 section 8.1 lets a receiver ignore a byte order mark.
    const bool marked = length >= 3 && bytes[0] == 0xEF && bytes[1] == 0xBB && bytes[2] == 0xBF;
    const size_t mark = marked ? 3 : 0;
    const int32_t result = scan(*parser, bytes + mark, length - mark, paths, count, out);
    if (result != CRYO_JSON_OK) clear();
    if (marked && result == CRYO_JSON_OK) {
        for (size_t i = 0; i < count; ++i) {
            if (out[i].kind != CRYO_JSON_MISSING) out[i].offset += mark;
        }
    }
    if (length > capacity_kept) parser->stage.reset();
    return result;
}

int32_t cryo_json_validate(cryo_json_parser *parser, const uint8_t *bytes, size_t length) {
    const int32_t result = scan(*parser, bytes, length, nullptr, 0, nullptr);
    if (length > capacity_kept) parser->stage.reset();
    return result;
}
