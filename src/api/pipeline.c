/* pipeline.c -- the stations every request passes, in order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "api/api_int.h"
#include "api/share_door.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/scope.h"
#include "http/exchange.h"
#include "service/object.h"
#include "workspace/files.h"
#include "workspace/rates.h"
#include "json/fields.h"
#include "json/read.h"
#include "json/write.h"

enum { RETRY_S = 2 }; /* for whoever is refused because it is full, and nobody knows how long */

static const char *const status_classes[] = {"2xx", "4xx", "5xx"};

/* ---- errors ---- */

static void put_block(struct json_writer *w, const struct lock_block *block)
{
    jw_key(w, "lock");
    jw_object(w);
    jw_key(w, "id");
    jw_text(w, block->id);
    jw_key(w, "path");
    jw_text(w, block->path);
    jw_key(w, "tree");
    jw_bool(w, block->is_tree);
    jw_key(w, "shared");
    jw_bool(w, block->is_shared);
    jw_key(w, "holder");
    jw_text(w, block->holder);
    object_time(w, "expires_at", block->expires_us);
    jw_end_object(w);
}

/* `block`: the lock that was in the way; NULL: none was. */
static void write_body(struct buf *out, const struct err *e, const char *hint,
                       const char *request_id, const struct lock_block *block)
{
    struct json_writer w = JSON_WRITER(out);
    jw_object(&w);
    jw_key(&w, "error");
    jw_object(&w);
    jw_key(&w, "code");
    jw_text(&w, err_wire(e->code));
    jw_key(&w, "message");
    jw_text(&w, e->text);
    jw_key(&w, "hint");
    jw_text(&w, hint);
    jw_key(&w, "request_id");
    jw_text(&w, request_id);
    if (block)
        put_block(&w, block);
    jw_end_object(&w);
    jw_end_object(&w);
}

void write_error(struct buf *out, enum err_code code, const char *message, const char *hint,
                 const char *request_id)
{
    struct err e = {.code = code};
    (void)snprintf(e.text, sizeof e.text, "%s", message);
    write_body(out, &e, hint, request_id, /* block= */ NULL);
}

/* What to do next, where the message does not say it. */
static const char *hint_for(enum err_code code)
{
    switch (code) {
    case ERR_UNAUTHORIZED:
        return "Send a key: `Authorization: Bearer cik_...`. `cicada key create` makes one.";
    case ERR_DENIED: return "Use a key with the scope that is needed, or ask who runs this server.";
    case ERR_NOT_FOUND: return "List what there is, or look at /openapi.json for addresses.";
    case ERR_METHOD: return "See /openapi.json.";
    case ERR_INVALID: return "See /openapi.json for what this operation takes.";
    case ERR_BUSY: return "Wait for the run, cancel it, or use another session.";
    case ERR_LIMIT: return "Wait as long as Retry-After says, or use less.";
    case ERR_OVERLOADED: return "Try again after as many seconds as Retry-After says.";
    case ERR_TOO_LARGE: return "Send less at once.";
    case ERR_UNSUPPORTED: return "Send JSON: Content-Type: application/json.";
    case ERR_MISMATCH: return "Use a new Idempotency-Key for a new request.";
    case ERR_PRECONDITION: return "Read the file again, then repeat the change with its ETag.";
    case ERR_RANGE: return "Ask for less: Content-Range of this answer says how long the file is.";
    case ERR_QUOTA:
        return "Purge the trash or old versions, or ask who runs this server for a larger quota.";
    case ERR_LOCKED:
        return "Wait until the lock ends, send its token as Lock-Token, or ask an admin to break it.";
    case ERR_NO_SPACE: return "The server's disk is full: tell who runs it. Nothing was changed.";
    case ERR_INTERNAL:
    case ERR_PROTOCOL:
    case ERR_DAMAGED:
        return "This is a fault of the server; its log has more under the request id.";
    default: return NULL;
    }
}

/* Messages of faults are for the log: they may name what is none of the client's business. */
static bool is_fault(enum err_code code)
{
    return code == ERR_INTERNAL || code == ERR_PROTOCOL || code == ERR_DAMAGED;
}

static uint32_t seconds_until(int64_t wall_us)
{
    int64_t left_us = wall_us - clock_wall_us();
    return left_us > 0 ? (uint32_t)(left_us / 1000000 + 1) : 1;
}

static void set_error(struct call *c, const struct err *e)
{
    c->status = err_http(e->code);
    if ((c->status == 429 || c->status == 503) && c->retry_after_s == 0)
        c->retry_after_s = RETRY_S;
    const struct lock_block *block =
        e->code == ERR_LOCKED && *c->pass.block.id ? &c->pass.block : NULL;
    if (block && c->retry_after_s == 0)
        c->retry_after_s = seconds_until(block->expires_us);
    buf_done(&c->out);
    const char *hint = c->hint ? c->hint : hint_for(e->code);
    struct err told = *e;
    if (is_fault(e->code))
        (void)err_set(&told, e->code, "something went wrong");
    if (c->op && c->op->tell)
        c->op->tell(c, &told, hint);
    else
        write_body(&c->out, &told, hint, c->id, block);
}

/* ---- who ---- */

static struct str bearer(const struct http_request *r)
{
    struct str value = http_header_get(r, "Authorization");
    if (value.ptr && value.len > 7 && strncasecmp(value.ptr, "Bearer ", 7) == 0) {
        value = (struct str){value.ptr + 7, value.len - 7};
        while (value.len > 0 && *value.ptr == ' ')
            value = (struct str){value.ptr + 1, value.len - 1};
        return value;
    }
    return http_header_get(r, "X-API-Key");
}

static int refuse_wait(struct call *c, int64_t wait_ms)
{
    c->retry_after_s = (uint32_t)(wait_ms / 1000 + 1);
    return -1;
}

bool has_signature(const struct http_request *r)
{
    static const char name[] = "signature=";
    const char *at =
        r->query.len ? memmem(r->query.ptr, r->query.len, name, sizeof name - 1) : NULL;
    return at && (at == r->query.ptr || at[-1] == '&');
}

static int identify(struct call *c, struct err *e)
{
    const struct api_options *o = &c->api->o;
    const struct http_peer *peer = c->request->peer;
    struct str secret = bearer(c->request);
    int64_t wait_ms = 0;
    bool is_ours = peer->is_unix && (peer->uid == o->local_uid || peer->uid == 0);
    if (c->op->flags & OP_PUBLIC)
        return 0;
    if (c->op->flags & OP_SHARE || (c->op->admit && has_signature(c->request)))
        return c->op->admit(c, e);
    if (!secret.ptr && is_ours) {
        people_local(o->people, &c->who);
        return 0;
    }
    if (!secret.ptr)
        return err_set(e, ERR_UNAUTHORIZED, "this needs a key");
    if (people_who(o->people, secret, clock_wall_us(), &c->who, e) == 0)
        return 0; /* also from where others guess: behind a proxy all have one address */
    if (rates_peer(o->rates, peer->address, &wait_ms, e))
        return refuse_wait(c, wait_ms);
    rates_peer_failed(o->rates, peer->address);
    return err_set(e, ERR_UNAUTHORIZED, "this key is not known, has expired or was revoked");
}

/* ---- may they ---- */

static bool is_right(enum op_needs needs)
{
    return needs >= NEEDS_READ && needs <= NEEDS_OWN;
}

/* The workspace of the address. A signed address was made by somebody who had the right. */
static int find_workspace(struct call *c, struct err *e)
{
    struct files *files = c->api->o.files;
    if (!is_right(c->op->needs))
        return 0;
    if (c->is_admitted)
        return files_workspace_known(files, c->param[0], &c->ws, e);
    return files_workspace(files, &c->who, c->param[0], (enum right)c->op->needs, &c->ws, e);
}

static int may(struct call *c, struct err *e)
{
    if (c->op->scope && who_may(&c->who, c->op->scope, e))
        return -1;
    return find_workspace(c, e);
}

static int may_this(struct call *c, struct err *e)
{
    enum scope scope = 0;
    enum op_needs needs = NEEDS_NOT_SAID;
    if (!c->op->demand)
        return 0;
    c->op->demand(c, &scope, &needs);
    if (scope && who_may(&c->who, scope, e))
        return -1;
    return is_right(needs) ? rights_check(c->api->o.files, &c->who, &c->ws, (enum right)needs, e)
                           : 0;
}

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

/* ---- decoding ---- */

static bool is_json(struct str type)
{
    static const char json[] = "application/json";
    size_t len = sizeof json - 1;
    return type.ptr && type.len >= len && strncasecmp(type.ptr, json, len) == 0 &&
           (type.len == len || type.ptr[len] == ';' || type.ptr[len] == ' ');
}

static int read_body(struct call *c, struct buf *raw, struct err *e)
{
    const struct http_request *r = c->request;
    if (!r->has_body)
        return 0;
    struct str type = http_header_get(r, "Content-Type");
    if (!is_json(type) && !(r->has_length && r->length == 0))
        return err_set(e, ERR_UNSUPPORTED, "the body must be JSON");
    return http_read_all(c->x, c->api->o.body_max, raw, e);
}

static int decode_body(struct call *c, struct buf *raw, struct err *e)
{
    if (!c->op->body)
        return 0;
    if (read_body(c, raw, e))
        return -1;
    c->body = (struct str){raw->bytes, raw->len};
    c->in = calloc(1, c->op->body_size);
    if (!c->in)
        return err_set(e, ERR_NO_MEMORY, "read the request");
    if (raw->len == 0 && c->op->body_is_optional) {
        fields_preset(c->op->body, c->in);
        return 0;
    }
    if (raw->len == 0)
        return err_set(e, ERR_INVALID, "a JSON object is needed as the body");
    if (json_read(raw->bytes, raw->len, &c->json, e)) {
        if (e->code == ERR_LIMIT)
            e->code = ERR_INVALID; /* too deep: no waiting makes that better */
        return err_wrap(e, "the body");
    }
    return fields_read(c->op->body, c->json, c->in, e);
}

enum { QUERY_MAX = 16 };

/* The parameters of the query, decoded into `text`, one NUL-terminated piece after the other. */
static int split_query(struct str query, struct buf *text, size_t at[2 * QUERY_MAX],
                       size_t *ret_count, struct err *e)
{
    size_t count = 0;
    while (query.len > 0) {
        const char *amp = memchr(query.ptr, '&', query.len);
        struct str pair = {query.ptr, amp ? (size_t)(amp - query.ptr) : query.len};
        query.ptr += pair.len + (amp != NULL);
        query.len -= pair.len + (amp != NULL);
        if (pair.len == 0)
            continue;
        const char *eq = memchr(pair.ptr, '=', pair.len);
        struct str name = {pair.ptr, eq ? (size_t)(eq - pair.ptr) : pair.len};
        struct str value = eq ? (struct str){eq + 1, pair.len - name.len - 1} : STR_NONE;
        if (count == QUERY_MAX)
            return err_set(e, ERR_INVALID, "too many parameters in the address");
        at[2 * count] = text->len;
        if (http_decode(name, /* is_form= */ true, text, e))
            return -1;
        buf_add(text, "", 1);
        at[2 * count + 1] = text->len;
        if (value.ptr && http_decode(value, /* is_form= */ true, text, e))
            return -1;
        buf_add(text, "", 1);
        count++;
    }
    *ret_count = count;
    return buf_check(text, e);
}

static int decode_query(struct call *c, struct buf *text, struct err *e)
{
    static const struct json_field nothing[] = {{0}};
    size_t at[2 * QUERY_MAX], count = 0;
    struct json_pair pairs[QUERY_MAX];
    if (split_query(c->request->query, text, at, &count, e))
        return -1;
    for (size_t i = 0; i < count; i++)
        pairs[i] = (struct json_pair){text->bytes + at[2 * i], text->bytes + at[2 * i + 1]};
    size_t size = c->op->query ? c->op->query_size : 1;
    c->query = calloc(1, size);
    if (!c->query)
        return err_set(e, ERR_NO_MEMORY, "read the request");
    return fields_from_pairs(c->op->query ? c->op->query : nothing, pairs, count, c->query, e);
}

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

struct decoded {
    struct buf raw, query;
};

static int pass(struct call *c, struct decoded *d, struct err *e)
{
    scoped(buf_done) struct buf allow = BUF_INIT(256);
    if (guard_check(c, e))
        return -1;
    if (op_find(c, &allow, e)) {
        if (e->code == ERR_METHOD)
            http_add_header(c->x, "Allow", "%s", allow.bytes);
        return -1;
    }
    if (identify(c, e) || may(c, e) || count(c, e))
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
        http_add_header(c->x, "WWW-Authenticate", "Bearer realm=\"cicada\"");
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

static void finish(struct call *c, struct decoded *d)
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
        finish(&c, &d);
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
    finish(&c, &d);
}

void api_refuse(void *arg, int status, const char *reason, struct buf *out)
{
    (void)arg;
    enum err_code code = ERR_INVALID;
    for (int i = 1; i < ERR_COUNT; i++)
        if (err_http((enum err_code)i) == status) {
            code = (enum err_code)i;
            break;
        }
    write_error(out, code, reason, hint_for(code), NULL);
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
