// Owns the view of zlib, brotli (decoder) and zstd that Swift sees; macros Swift cannot call become inline functions.
// Domain: worker
#ifndef CRYO_CODING_H
#define CRYO_CODING_H

#include <brotli/decode.h>
#include <zlib.h>
#include <zstd.h>

static inline int cryo_inflate_init(z_stream *stream, int window_bits) {
    return inflateInit2(stream, window_bits);
}

static inline int cryo_deflate_init(z_stream *stream, int level, int window_bits) {
    return deflateInit2(stream, level, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY);
}

#endif
