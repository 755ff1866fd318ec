#include "api/inner.h"

#include <stdio.h>

#include "api/api_int.h"
#include "base/scope.h"
#include "http/inner.h"

void inner_answer_done(struct inner_answer *a)
{
    buf_done(&a->head);
    buf_done(&a->out);
}

/* What would be sent, and in e what a client would be told of a failure. */
static int give(struct call *c, struct inner_answer *ret, int failed, struct err *e)
{
    if (failed) {
        const char *hint = c->hint ? c->hint : hint_for(e->code);
        (void)snprintf(ret->hint, sizeof ret->hint, "%s", hint ? hint : "");
        set_error(c, e);
        if (is_fault(e->code))
            (void)err_set(e, e->code, "something went wrong");
        buf_done(&ret->out);
    }
    ret->status = c->status ? c->status : c->is_answered ? http_status(c->x) : c->op->status;
    struct str head = http_inner_headers(c->x);
    buf_add(&ret->head, head.ptr, head.len);
    if (failed || !c->is_answered)
        buf_add(&ret->out, c->out.bytes, c->out.len);
    if (!failed && (ret->out.failed || c->out.failed))
        return err_set(e, ERR_TOO_LARGE, "the answer is too large");
    return failed;
}

static int perform(struct call *c, struct decoded *d, struct inner_answer *ret, struct err *e)
{
    scoped(buf_done) struct buf allow = BUF_INIT(256);
    int failed = op_find(c, &allow, e) || call_perform(c, d, e);
    call_act_end(c, failed, e);
    failed = give(c, ret, failed, e);
    if (c->after)
        c->after(c);
    return failed;
}

static int call_inside(struct call *outer, const struct inner *r, const struct inner_body *body,
                       struct inner_answer *ret, struct err *e)
{
    struct http_request request = *outer->request;
    struct http_exchange *x = NULL;
    request.method = str_of(r->method);
    request.path = r->path;
    request.query = r->query;
    request.headers = r->headers;
    request.header_count = r->header_count;
    ret->head = BUF_INIT(32 << 10);
    if (http_inner_new(&request, r->body, &ret->out, &x, e))
        return -1;
    if (body)
        http_inner_body(x, body->read, body->arg, body->has_length, body->length);
    struct decoded d = {.raw = BUF_INIT(outer->api->o.body_max), .query = BUF_INIT(16 << 10)};
    struct call c = {.api = outer->api,
                     .x = x,
                     .request = http_request(x),
                     .who = outer->who,
                     .via = r->via,
                     .on_run = r->on_run,
                     .on_run_arg = r->on_run_arg,
                     .out = BUF_INIT(OP_ANSWER_MAX)};
    (void)snprintf(c.id, sizeof c.id, "%s", outer->id);
    int failed = perform(&c, &d, ret, e);
    call_finish(&c, &d);
    http_inner_free(x);
    return failed ? -1 : 0;
}

int api_inner(struct call *outer, const struct inner *r, struct inner_answer *ret, struct err *e)
{
    return call_inside(outer, r, /* body= */ NULL, ret, e);
}

int api_inner_stream(struct call *outer, const struct inner *r, const struct inner_body *body,
                     struct inner_answer *ret, struct err *e)
{
    return call_inside(outer, r, body, ret, e);
}

int call_scope(struct call *c, unsigned scope, struct err *e)
{
    return who_may(&c->who, (enum scope)scope, e);
}

/* ---- by another address ---- */

static int forward(struct call *outer, struct call *c, struct decoded *d, struct err *e)
{
    scoped(buf_done) struct buf allow = BUF_INIT(256);
    int failed = op_find(c, &allow, e) || call_perform(c, d, e);
    call_act_end(c, failed, e);
    outer->is_answered = c->is_answered;
    outer->is_parked = c->is_parked;
    outer->retry_after_s = c->retry_after_s;
    if (c->is_answered && !c->is_parked)
        outer->status = http_status(c->x);
    if (failed) {
        const char *hint = c->hint ? c->hint : hint_for(e->code);
        (void)snprintf(outer->hint_text, sizeof outer->hint_text, "%s", hint ? hint : "");
        outer->hint = *outer->hint_text ? outer->hint_text : NULL;
        if (is_fault(e->code))
            (void)err_set(e, e->code, "something went wrong");
    } else if (!c->is_answered) {
        outer->status = c->status ? c->status : c->op->status;
        outer->type = c->type;
        buf_done(&outer->out);
        outer->out = c->out;
        c->out = BUF_INIT(OP_ANSWER_MAX);
    }
    if (c->after)
        c->after(c);
    return failed ? -1 : 0;
}

int api_forward(struct call *outer, const char *method, struct str path, struct str query,
                const char *via, struct err *e)
{
    struct http_request request = *outer->request;
    request.method = str_of(method);
    request.path = path;
    request.query = query;
    struct decoded d = {.raw = BUF_INIT(outer->api->o.body_max), .query = BUF_INIT(16 << 10)};
    struct call c = {.api = outer->api,
                     .x = outer->x,
                     .request = &request,
                     .who = outer->who,
                     .via = via,
                     .out = BUF_INIT(OP_ANSWER_MAX)};
    (void)snprintf(c.id, sizeof c.id, "%s", outer->id);
    int failed = forward(outer, &c, &d, e);
    call_finish(&c, &d);
    return failed;
}
