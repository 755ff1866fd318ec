/* file_decode.h -- the bytes of a file as UTF-8, piece by piece.
 *
 *     struct decoder d = {.encoding = encoding_of(bytes, len)};
 *     decoder_feed(&d, bytes, len, &out);         any number of times
 *
 * What a file is written in is guessed from its beginning: a byte order mark says UTF-8 or UTF-16;
 * without one it is UTF-8 if it can be, binary if it has NULs or more control characters than text
 * has, and otherwise the old encoding of Western Europe (Windows-1252, of which Latin-1 is a part).
 */
#ifndef MCP_FILE_DECODE_H
#define MCP_FILE_DECODE_H

#include <stdbool.h>
#include <stddef.h>

struct buf;

enum encoding {
    ENCODING_UTF8,
    ENCODING_UTF8_MARK, /* with a byte order mark, which is left out */
    ENCODING_UTF16_LE,
    ENCODING_UTF16_BE,
    ENCODING_LATIN1,
    ENCODING_BINARY,
};

enum { ENCODING_LOOK_MAX = 64 << 10 }; /* bytes that are looked at */

/* Of a file that begins so; its last character may be cut off. */
enum encoding encoding_of(const char *bytes, size_t len);
const char *encoding_name(enum encoding encoding); /* "utf-8" */

struct decoder {
    enum encoding encoding;
    bool is_begun;
    unsigned char held[4]; /* UTF-16: what is no whole character yet */
    size_t held_len;
};

/* Appends to `out`. UTF-8 is handed on as it is, also where it is broken. */
void decoder_feed(struct decoder *d, const char *bytes, size_t len, struct buf *out);

#endif
