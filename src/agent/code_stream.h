/* code_stream.h -- the code in the arguments of a call, {"code":"…"}, while they are still coming.
 *
 *     struct code_stream s;
 *     code_stream_init(&s);
 *     code_stream_feed(&s, piece);       s.code has grown by what the piece brought
 *     code_stream_end(&s);               s.code is all of it
 *     code_stream_done(&s);
 *
 * What was in s.code stays as it was: it only grows, by whole characters if the pieces are whole characters. The end does not
 * depend on where the pieces were cut.
 *
 * Of an object it is the string "code", whatever stands before or after. Models write JSON that is none: an escape that does not exist
 * is taken as it stands, so is a line end inside the string, and the code ends where the text does. What does not begin as
 * an object is the code itself. Where that cannot be told at once (a quote, a fence, an object without such a
 * string) the code comes at the end: of the string, of the block, of a key that means the same, or the whole text.
 */
#ifndef AGENT_CODE_STREAM_H
#define AGENT_CODE_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

enum code_stream_state {
    CODE_BEGIN, /* nothing but blanks yet */
    CODE_KEY,   /* in the object, before a key */
    CODE_IN_KEY,
    CODE_COLON,   /* after a key */
    CODE_VALUE,   /* before a value */
    CODE_SKIP,    /* in a value that is not wanted */
    CODE_STRING,  /* in the code */
    CODE_ESCAPE,  /* there, after a backslash */
    CODE_UNICODE, /* there, after \u */
    CODE_RAW,     /* the text is the code */
    CODE_WAIT,    /* the end will tell */
    CODE_OVER,    /* the code is whole */
};

struct code_stream {
    struct buf code; /* of at most MODEL_TEXT_MAX bytes, as the next */
    struct buf all;  /* what came */
    enum code_stream_state state;
    char key[16];
    size_t key_len;
    unsigned depth;             /* of a value that is skipped */
    bool is_quoted, is_escaped; /* in it */
    uint32_t unit, high;        /* of \uXXXX; half a pair that waits for the other */
    unsigned digits;
};

void code_stream_init(struct code_stream *s);
void code_stream_feed(struct code_stream *s, struct str piece);
void code_stream_end(struct code_stream *s);
void code_stream_done(struct code_stream *s);

#endif
