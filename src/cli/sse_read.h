/* sse_read.h -- server-sent events, out of bytes as they come.
 *
 * The format is that of the HTML standard: lines that end with LF, CR or CRLF, fields `event`, `id`,
 * `retry` and `data`, comments that begin with a colon, and an empty line that ends an event. Events without
 * data are dropped, and so is what stands after the last empty line. Nothing is read from anywhere
 * here: bytes are fed in pieces of any size, and complete events go to a sink.
 *
 *     scoped(sse_done) struct sse_reader r = SSE_READER(1 << 20);
 *     while (... bytes come ...)
 *         if (sse_feed(&r, bytes, len, &sink, e))
 *             return -1;
 */
#ifndef CLI_SSE_READ_H
#define CLI_SSE_READ_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct err;

enum { SSE_WORD_MAX = 128 }; /* of an event's name and of an id */

/* Borrowed during the call of the sink. Texts are NUL-terminated. */
struct sse_event {
    const char *name; /* "message" if the event does not say */
    const char *id;   /* the last one seen, by this event or before it; "" if none */
    const char *text; /* its lines, joined by line feeds */
    size_t len;
};

/* A put that fails ends the feeding with its err. */
struct sse_sink {
    int (*put)(void *arg, const struct sse_event *event, struct err *e);
    void *arg;
};

struct sse_reader {
    struct buf line; /* the one that is not complete yet */
    struct buf text; /* data so far, each line with its line feed */
    char name[SSE_WORD_MAX + 1], id[SSE_WORD_MAX + 1];
    unsigned retry_ms; /* what the server wants to be left alone for after the end; 0: not said */
    bool has_text;
    bool is_after_cr; /* a line feed now belongs to the line that has ended */
    bool is_begun;    /* a line has been read: no byte order mark any more */
};

/* Lines and events larger than `max_bytes` are an error. */
#define SSE_READER(max_bytes) \
    ((struct sse_reader){.line = BUF_INIT(max_bytes), .text = BUF_INIT(max_bytes)})

void sse_done(struct sse_reader *r); /* back to the beginning of a stream, same limit */

/* Fails with ERR_PROTOCOL when something is too long, or as the sink does. */
int sse_feed(struct sse_reader *r, const char *bytes, size_t len, const struct sse_sink *sink,
             struct err *e);

#endif
