/* model_sse.h -- the data of server-sent events, out of bytes as they come.
 *
 *     scoped(model_sse_done) struct model_sse s = MODEL_SSE(32 << 20);
 *     model_sse_feed(&s, bytes, &sink, e)     each time some come
 *     model_sse_end(&s, &sink, e)             when no more will: not everybody ends the last event with an empty line
 *
 * Lines end with LF, CR or CRLF. Only `data` counts: names of events, ids and comments are left out, for what is
 * streamed here says in its JSON what it is.
 */
#ifndef AGENT_MODEL_SSE_H
#define AGENT_MODEL_SSE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

struct err;

struct model_sse {
    struct buf line; /* the one that is not complete yet */
    struct buf text; /* data of the event so far */
    bool has_text, is_after_cr;
};

/* Events larger than `max_bytes` are an error. */
#define MODEL_SSE(max_bytes) \
    ((struct model_sse){.line = BUF_INIT(max_bytes), .text = BUF_INIT(max_bytes)})

/* A put that fails ends the feeding with its err. */
struct model_sse_sink {
    int (*put)(void *arg, struct str text, struct err *e);
    void *arg;
};

void model_sse_done(struct model_sse *s);

/* Fails with ERR_PROTOCOL when something is too long, or as the sink does. */
int model_sse_feed(struct model_sse *s, struct str bytes, const struct model_sse_sink *sink,
                   struct err *e);
int model_sse_end(struct model_sse *s, const struct model_sse_sink *sink, struct err *e);

#endif
