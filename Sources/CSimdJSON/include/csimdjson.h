// Owns the C face of the JSON scanner: one pass over a document for a set of compiled paths.
// Domain: pure (one parser object belongs to one thread at a time)
//
// What CRYO_JSON_OK promises: the bytes are one complete JSON text by RFC 8259 (UTF-8, brackets, commas, colons,
// literals, number grammar, no raw control characters in strings, well-formed escapes), nested no deeper than
// CRYO_JSON_DEPTH_MAX. Skipped values are checked as strictly as extracted ones.
// What it does not promise: that \u escapes form proper surrogate pairs (the RFC's grammar allows lone ones), that
// numbers fit any machine type, that keys are unique (the last one wins).
#ifndef CRYO_SIMDJSON_H
#define CRYO_SIMDJSON_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Readable bytes the caller guarantees after a document. They are never taken for data.
#define CRYO_JSON_PADDING 64
// Open containers at once; one more is too deep.
#define CRYO_JSON_DEPTH_MAX 512
// Paths of one scan: one bit each.
#define CRYO_JSON_PATHS_MAX 64
// Segments of one path; bounds the recursion into matched containers.
#define CRYO_JSON_SEGMENTS_MAX 32

typedef enum cryo_json_result {
    CRYO_JSON_OK = 0,
    CRYO_JSON_NOT_JSON = 1,
    CRYO_JSON_TOO_DEEP = 2,
    CRYO_JSON_TOO_LARGE = 3,
    CRYO_JSON_NO_MEMORY = 4,
} cryo_json_result;

typedef enum cryo_json_kind {
    CRYO_JSON_MISSING = 0,
    CRYO_JSON_NULL = 1,
    CRYO_JSON_BOOL = 2,
    CRYO_JSON_NUMBER = 3,
    CRYO_JSON_STRING = 4,
    CRYO_JSON_ARRAY = 5,
    CRYO_JSON_OBJECT = 6,
} cryo_json_kind;

// A member name in unescaped UTF-8; `index` is its value as an array index, or negative when it is none.
typedef struct cryo_json_segment {
    const uint8_t *key;
    size_t length;
    int64_t index;
} cryo_json_segment;

typedef struct cryo_json_path {
    const cryo_json_segment *segments;
    size_t count;
} cryo_json_path;

// A value's raw bytes within the input; a string includes its quotes.
typedef struct cryo_json_slice {
    size_t offset;
    size_t length;
    int32_t kind;
} cryo_json_slice;

typedef struct cryo_json_parser cryo_json_parser;

// `maximum` bounds the documents accepted. NULL when memory is short.
cryo_json_parser *cryo_json_create(size_t maximum);
void cryo_json_destroy(cryo_json_parser *parser);

// Writes one slice per path; all are missing unless the result is CRYO_JSON_OK. A leading byte order mark is skipped;
// offsets still count from `bytes`. With no paths this only validates.
int32_t cryo_json_scan(
    cryo_json_parser *parser, const uint8_t *bytes, size_t length, const cryo_json_path *paths, size_t count,
    cryo_json_slice *out);

// A scan without paths: may these bytes be embedded in a JSON text of ours? A byte order mark is refused here,
// because an embedded one would break the text around it.
int32_t cryo_json_validate(cryo_json_parser *parser, const uint8_t *bytes, size_t length);

#ifdef __cplusplus
}
#endif

#endif
