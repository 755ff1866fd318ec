/* api_int.h -- what the files of api/ share. */
#ifndef API_API_INT_H
#define API_API_INT_H

#include "api/api.h"
#include "api/inner.h"
#include "api/op.h"
#include "base/err.h"

struct job;
struct metric;

struct api {
    struct api_options o;
    struct buf openapi; /* written once, at the start */
    struct metric *requests, *seconds;
};

/* What the fields of c->in and c->query point into. */
struct decoded {
    struct buf raw, query;
};

/* pipeline.c: the stations after "who", up to and with the handler. */
int call_perform(struct call *c, struct decoded *d, struct err *e);
void call_finish(struct call *c, struct decoded *d);

/* guard.c: may a request from there come in at all? Fails with ERR_DENIED. Adds the headers that tell
 * a browser so. */
int guard_check(struct call *c, struct err *e);
bool guard_is_preflight(const struct call *c);
void guard_answer_preflight(struct call *c, struct err *e);

/* follow.c: answers with the events of a run after number `seen`, until it has ended. Parks the
 * exchange. */
int follow_job(struct call *c, struct job *job, uint64_t seen, struct err *e);
/* The same for one that ended long ago: its last event. */
int follow_record(struct call *c, const struct buf *object, struct err *e);

/* acts.c: the entry in the audit begins right before the handler, and ends after it; also when it was
 * never reached. */
int call_act_begin(struct call *c, struct err *e);
void call_act_end(struct call *c, int failed, const struct err *e);

/* openapi.c */
void openapi_write(struct buf *out);

/* admit.c: sets c->who; ERR_UNAUTHORIZED, ERR_LIMIT. */
int identify(struct call *c, struct err *e);
/* Whether they may: scope and role, and c->ws. ERR_DENIED, or ERR_NOT_FOUND for what they may not see. */
int may(struct call *c, struct err *e);
/* The same for what shows only once the request is decoded (op->demand). */
int may_this(struct call *c, struct err *e);
/* The secret that they came with, or {NULL, 0}. */
struct str call_bearer(const struct http_request *r);
/* Whether the address carries a signature, right or wrong. */
bool has_signature(const struct http_request *r);
int refuse_wait(struct call *c, int64_t wait_ms); /* -1, and Retry-After */

/* decode.c: c->in and c->query. `raw` and `text` are kept as long as the call. ERR_INVALID, ... */
int decode_body(struct call *c, struct buf *raw, struct err *e);
int decode_query(struct call *c, struct buf *text, struct err *e);

/* errors.c: what is answered instead. */
void set_error(struct call *c, const struct err *e);
/* The body of an error answer. */
void write_error(struct buf *out, enum err_code code, const char *message, const char *hint,
                 const char *request_id);
const char *hint_for(enum err_code code); /* what to do next, where the message does not say it */
/* Messages of faults are for the log: they may name what is none of the client's business. */
bool is_fault(enum err_code code);

#endif
