/* chunked.h -- the decoder of "Transfer-Encoding: chunked": no I/O, no memory.
 *
 *     struct chunked c = {0};
 *     chunked_next(&c, bytes, len, &used)     until CHUNKED_END or CHUNKED_BAD; at CHUNKED_DATA
 *     chunked_skip(&c, n)                     the next chunked_left(&c) bytes are of the body
 *
 * Strict: CRLF only, at most 15 hex digits, no blanks. Extensions and trailers are checked, bounded
 * (CHUNKED_EXTRA_MAX for all of them together) and dropped.
 */
#ifndef HTTP_CHUNKED_H
#define HTTP_CHUNKED_H

#include <stddef.h>
#include <stdint.h>

enum { CHUNKED_EXTRA_MAX = 4096 };

enum chunked_state {
    CHUNKED_SIZE, /* the first state, so that zeroes are a good start */
    CHUNKED_EXTENSION,
    CHUNKED_SIZE_LF,
    CHUNKED_BODY,
    CHUNKED_BODY_CR,
    CHUNKED_BODY_LF,
    CHUNKED_TRAILER, /* at the begin of a line */
    CHUNKED_TRAILER_NAME,
    CHUNKED_TRAILER_VALUE,
    CHUNKED_TRAILER_LF,
    CHUNKED_LAST_LF,
    CHUNKED_DONE,
    CHUNKED_BROKEN,
};

struct chunked {
    uint64_t left; /* of the chunk, in CHUNKED_BODY */
    enum chunked_state state;
    uint16_t digits;
    uint16_t extra; /* bytes of extensions and trailers so far */
};

enum chunked_found {
    CHUNKED_MORE, /* every byte was used and more are needed */
    CHUNKED_DATA, /* bytes of the body come next: chunked_left, chunked_skip */
    CHUNKED_END,
    CHUNKED_BAD,
};

/* Goes on with `bytes`, of which *ret_used are done with: only what is around the body. */
enum chunked_found chunked_next(struct chunked *c, const char *bytes, size_t len, size_t *ret_used);

/* How many bytes of the body come next for certain. Who has read them, from wherever, says so. */
uint64_t chunked_left(const struct chunked *c);
void chunked_skip(struct chunked *c, uint64_t len);

#endif
