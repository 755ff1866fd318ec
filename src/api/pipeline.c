/* pipeline.c -- the stations every request passes, in order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "api/api_int.h"
#include "api/challenge.h"
#include "api/share_door.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/scope.h"
#include "http/exchange.h"
#include "workspace/rates.h"
#include "json/fields.h"

static const char *const status_classes[] = {"2xx", "4xx", "5xx"};

/* ---- how often ---- */

static int count(struct call *c, struct err *e)
{
    int64_t wait_ms = 0;
    if (!(c->op->flags & OP_RUNS))
        return 0;
    if (rates_run_begin(c->api->o.rates, &c->who, &wait_ms, e))
        return refuse_wait(c, wait_ms);
    return 0;
}

/* ---- what else comes with it ---- */

/* Tokens of locks; whether they are good is seen by what they are needed for. */
static int present(struct call *c, struct err *e)
{
    struct str tokens = http_header_get(c->request, "Lock-Token");
    return tokens.ptr ? lock_present(&c->pass, tokens, e) : 0;
}

static int recall(struct call *c, struct err *e)
{
    struct str key = http_header_get(c->request, "Idempotency-Key");
    if (!(c->op->flags & OP_CREATES) || !key.ptr)
        return 0;
    if (once_begin(c->api->o.service, &c->who, key, c->op->name, c->body, &c->once, e))
        return -1;
    if (c->once.state == ONCE_AGAIN)
        http_add_header(c->x, "Idempotent-Replayed", "true");
    return 0;
}

/* ---- all of them ---- */

static int route(struct call *c, struct err *e)
{
    scoped(buf_done) struct buf allow = BUF_INIT(256);
    int failed = op_find(c, &allow, e);
    if (failed && e->code == ERR_METHOD)
        http_add_header(c->x, "Allow", "%s", allow.bytes);
    return failed;
}

int call_perform(struct call *c, struct decoded *d, struct err *e)
{
    if (may(c, e) || count(c, e))
        return -1;
    if (decode_query(c, &d->query, e) || decode_body(c, &d->raw, e) || present(c, e) ||
        may_this(c, e) || recall(c, e)) {
        if (c->op->flags & OP_RUNS)
            rates_run_refund(c->api->o.rates, &c->who);
        return -1;
    }
    if (call_act_begin(c, e))
        return -1;
    return c->op->run(c, e);
}

static int pass(struct call *c, struct decoded *d, struct err *e)
{
    return guard_check(c, e) || route(c, e) || identify(c, e) || call_perform(c, d, e) ? -1 : 0;
}

static void send_answer(struct call *c)
{
    struct err ignored = {0}; /* the client has left: nobody is there to be told */
    if (c->status == 0)
        c->status = c->op->status;
    if (c->out.failed) {
        const struct err too_large = {ERR_TOO_LARGE, "the answer is too large"};
        set_error(c, &too_large);
    }
    if (c->retry_after_s)
        http_add_header(c->x, "Retry-After", "%u", c->retry_after_s);
    if (c->status == 401 && !(c->op && c->op->flags & OP_SHARE))
        challenge_unauthorized(c);
    http_add_header(c->x, "Cache-Control", "no-store");
    const char *type = c->type ? c->type : "application/json";
    (void)http_send(c->x, c->status, c->status == 204 ? NULL : type, c->out.bytes, c->out.len,
                    &ignored);
}

static void log_request(struct call *c, const struct err *e, int64_t begun_us, bool failed)
{
    int64_t spent_us = clock_us() - begun_us;
    unsigned class = c->status < 400 ? 0 : c->status < 500 ? 1 : 2;
    metric_count(c->api->requests, METRIC_AT(class), 1);
    metric_observe(c->api->seconds, METRIC_AT(), (uint64_t)spent_us);
    bool is_bad = failed && is_fault(e->code);
    struct {
        struct str method, path;
        const char *peer;
    } where = {.path = str_of("-"), .method = str_of("-")};
    if (!c->is_parked) { /* otherwise the request is not ours any more */
        where.method = c->request->method;
        where.path = share_hide(c->request->path);
        where.peer = c->request->peer->address;
    }
    log_line(c->api->o.log, is_bad ? LOG_ERROR : LOG_INFO, "request", LOG_STR("id", c->id),
             LOG_STR("op", c->op ? c->op->name : NULL), LOG_VIEW("method", where.method),
             LOG_VIEW("path", where.path), LOG_U64("status", (uint64_t)c->status),
             LOG_MS("ms", spent_us), LOG_STR("who", *c->who.principal ? c->who.principal : NULL),
             LOG_STR("key", *c->who.key ? c->who.key : NULL),
             LOG_U64("bytes", c->is_parked ? c->out.len : http_bytes_out(c->x)),
             LOG_STR("peer", where.peer), LOG_STR("error", failed ? err_wire(e->code) : NULL),
             LOG_STR("why", failed ? e->text : NULL));
}

void call_finish(struct call *c, struct decoded *d)
{
    once_end(&c->once);
    if (c->in)
        fields_done(c->op->body, c->in);
    if (c->query && c->op && c->op->query)
        fields_done(c->op->query, c->query);
    free(c->in);
    free(c->query);
    json_decref(c->json);
    workspace_row_done(&c->ws);
    share_leave(c);
    buf_done(&c->out);
    buf_done(&d->raw);
    buf_done(&d->query);
}

void api_handle(void *arg, struct http_exchange *x)
{
    struct api *a = arg;
    struct err e = {0};
    int64_t begun_us = clock_us();
    struct decoded d = {.raw = BUF_INIT(a->o.body_max), .query = BUF_INIT(16 << 10)};
    struct call c = {.api = a, .x = x, .request = http_request(x), .out = BUF_INIT(OP_ANSWER_MAX)};
    if (id_make("req_", c.id, &e))
        (void)snprintf(c.id, sizeof c.id, "req_none");
    http_add_header(x, "X-Request-Id", "%s", c.id);
    if (guard_is_preflight(&c)) {
        guard_answer_preflight(&c, &e);
        call_finish(&c, &d);
        return;
    }
    int failed = pass(&c, &d, &e);
    call_act_end(&c, failed, &e);
    if (failed && !c.is_answered)
        set_error(&c, &e);
    if (!c.is_answered)
        send_answer(&c);
    log_request(&c, &e, begun_us, failed);
    if (c.after)
        c.after(&c);
    call_finish(&c, &d);
}

void api_refuse(void *arg, int status, const char *reason, struct buf *headers, struct buf *out)
{
    (void)arg;
    char id[ID_SIZE] = "";
    struct err ignored = {0};
    if (id_make("req_", id, &ignored) == 0)
        buf_fmt(headers, "X-Request-Id: %s\r\n", id);
    enum err_code code = status == 503 ? ERR_OVERLOADED : ERR_INVALID;
    for (int i = 1; i < ERR_COUNT && code == ERR_INVALID; i++)
        if (err_http((enum err_code)i) == status) {
            code = (enum err_code)i;
            break;
        }
    write_error(out, code, reason, hint_for(code), *id ? id : NULL);
}

int api_open(const struct api_options *options, struct api **ret, struct err *e)
{
    struct api *a = calloc(1, sizeof *a);
    if (!a)
        return err_set(e, ERR_NO_MEMORY, "open the API");
    a->o = *options;
    a->openapi = BUF_INIT(4 << 20);
    openapi_write(&a->openapi);
    const struct metric_spec requests = {.name = "cicada_requests_total",
                                         .help = "HTTP requests answered, by class of status.",
                                         .kind = METRIC_COUNTER,
                                         .labels = {METRIC_LABEL("status", status_classes)}};
    const struct metric_spec seconds = {.name = "cicada_request_seconds",
                                        .help = "Time from the head of a request to its answer.",
                                        .kind = METRIC_HISTOGRAM,
                                        .places = 6};
    if (buf_check(&a->openapi, e) || metrics_add(a->o.metrics, &requests, &a->requests, e) ||
        metrics_add(a->o.metrics, &seconds, &a->seconds, e)) {
        api_close(a);
        return -1;
    }
    *ret = a;
    return 0;
}

void api_close(struct api *a)
{
    if (!a)
        return;
    buf_done(&a->openapi);
    free(a);
}
