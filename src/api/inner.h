/* inner.h -- an operation called from inside, by a dialect, for whoever asked it.
 *
 * It passes the stations of the pipeline from "may they" on: scope and role, how often, decode, the
 * handler, the audit. Only where the request comes from and who asks was seen to before, by the door it
 * came through. Nothing is sent: the answer is given back. Operations that stream cannot be called.
 */
#ifndef API_INNER_H
#define API_INNER_H

#include "base/buf.h"
#include "base/str.h"
#include "http/exchange.h"

struct call;
struct err;

struct inner {
    const char *method;
    struct str path, query; /* encoded, as in a request; query without '?' */
    const struct http_header *headers;
    size_t header_count;
    struct str body; /* ptr NULL: none */
    const char *via; /* for the audit: "mcp"; static */
};

struct inner_answer {
    int status;
    struct buf head; /* its headers, as lines */
    struct buf out;  /* its body; born with the most it may hold */
    char hint[256];  /* after a failure: what to do next; "": nothing special */
};

/* Fails as the operation does, with what a client would be told. Blocks as it does. */
int api_inner(struct call *outer, const struct inner *r, struct inner_answer *ret, struct err *e);
void inner_answer_done(struct inner_answer *a);

/* acts.c: a dialect refused `what` before any operation was called; that is in the audit, too. */
void call_act_denied(struct call *c, const char *what);

#endif
