/* inner.h -- an operation called from inside, by a dialect, for whoever asked it.
 *
 * It passes the stations of the pipeline from "may they" on: scope and role, how often, decode, the
 * handler, the audit. Only where the request comes from and who asks was seen to before, by the door it
 * came through. Nothing is sent: the answer is given back. Operations that stream cannot be called.
 */
#ifndef API_INNER_H
#define API_INNER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "http/exchange.h"

struct call;
struct err;
struct job;
struct service;
struct who;

struct inner {
    const char *method;
    struct str path, query; /* encoded, as in a request; query without '?' */
    const struct http_header *headers;
    size_t header_count;
    struct str body; /* ptr NULL: none */
    const char *via; /* for the audit: "mcp"; static */
    /* Told of a run as soon as there is one, before it is waited for; NULL: nobody. */
    void (*on_run)(void *arg, struct job *job);
    void *on_run_arg;
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

/* ---- for somebody whose request has been answered already ---- */

/* Who asked, from where and with which request, kept for what goes on in another thread. */
struct caller;
int caller_new(const struct call *c, struct caller **ret, struct err *e);
void caller_free(struct caller *k);                             /* NULL is fine */
const struct http_request *caller_http(const struct caller *k); /* without a body */
struct service *caller_service(const struct caller *k);
const struct who *caller_who(const struct caller *k);
const char *caller_request(const struct caller *k); /* its id */
int caller_inner(struct caller *k, const struct inner *r, struct inner_answer *ret, struct err *e);

/* ---- by another address ---- */

/* Answers this very request (its exchange, its headers, its body) by the operation at another method and address: bytes come and go as
 * they would there. Fails as the operation does, and then nothing was answered. */
int api_forward(struct call *c, const char *method, struct str path, struct str query,
                const char *via, struct err *e);
/* The same with another body than the request's, which is read from there: a part of a form. `read` is like http_read. The
 * answer is given back, not sent. */
struct inner_body {
    int (*read)(void *arg, void *to, size_t size, size_t *ret_len, struct err *e);
    void *arg;
    bool has_length;
    uint64_t length;
};
int api_inner_stream(struct call *outer, const struct inner *r, const struct inner_body *body,
                     struct inner_answer *ret, struct err *e);

/* The words of a failure for a client that is told of it otherwise than by failing: in an event, or on what is kept. A fault's own words
 * are for the log. Those of ERR_PROTOCOL are told: in what goes on here it is the endpoint of a model that did not keep to one. */
const char *err_for_client(const struct err *e);

/* Whether the key they came with has that scope: ERR_DENIED. */
int call_scope(struct call *c, unsigned scope, struct err *e);

/* follow.c: begins an answer of events, to be written or parked; and whether they asked for one. */
int begin_events(struct call *c, struct err *e);
bool wants_events(const struct call *c);
/* The number of the last event the client has seen; *ret stays as it is when it does not say. */
int last_event_id(const struct call *c, uint64_t *ret, struct err *e);

/* acts.c: a dialect refused `what` before any operation was called; that is in the audit, too. */
void call_act_denied(struct call *c, const char *what);

#endif
