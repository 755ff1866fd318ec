#include "http/exchange.h"

#include <assert.h>
#include <poll.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "http/exchange_int.h"
#include "http/streams_int.h"

enum {
    DRAIN_MS = 2000,
    HEADERS_MAX = 32 << 10, /* of an answer */
};

int exchange_init(struct http_exchange *x, struct http_server *s, struct err *e)
{
    *x = (struct http_exchange){
        .server = s, .extra = BUF_INIT(HEADERS_MAX), .head_out = BUF_INIT(HEADERS_MAX + 1024)};
    x->in.bytes = malloc(INBOX_SIZE);
    return x->in.bytes ? 0 : err_set(e, ERR_NO_MEMORY, "serve a connection");
}

void exchange_done(struct http_exchange *x)
{
    buf_done(&x->extra);
    buf_done(&x->head_out);
    free(take(x->in.bytes));
}

const struct http_request *http_request(const struct http_exchange *x)
{
    return &x->head.request;
}

void http_on_hangup(struct http_exchange *x, void (*fn)(void *arg), void *arg)
{
    if (x->conn)
        conn_hook(x->conn, fn, arg);
}

/* ---- waiting ---- */

bool exchange_wait(struct http_exchange *x, short events, struct progress *p)
{
    const struct transport *io = &x->conn->io;
    int64_t limit_us = (int64_t)x->server->limits.progress_ms * 1000;
    size_t unread = events == POLLOUT ? transport_unread(io) : 0;
    for (;;) {
        int64_t before_us = clock_us();
        int64_t deadline_us = before_us + limit_us - p->waited_us;
        bool is_ready = deadline_us > before_us && transport_wait(io, events, deadline_us);
        p->waited_us += clock_us() - before_us;
        if (is_ready)
            return true;
        /* The kernel holds much on the way: a client that reads slowly frees it in large steps. */
        size_t still = events == POLLOUT ? transport_unread(io) : 0;
        if (still + PROGRESS_BYTES > unread)
            return false;
        unread = still;
        p->waited_us = 0;
    }
}

void exchange_moved(struct progress *p, size_t len)
{
    p->moved += len;
    if (p->moved >= PROGRESS_BYTES)
        *p = (struct progress){0};
}

static int gone(struct http_exchange *x, const char *why, struct err *e)
{
    x->is_gone = true;
    return err_set(e, ERR_GONE, "%s", why);
}

/* ---- the body of the request ---- */

/* Receives at least one byte. */
static int receive(struct http_exchange *x, char *to, size_t size, size_t *ret_len, struct err *e)
{
    if (!x->conn)
        return gone(x, "the body ends before its end", e);
    for (;;) {
        ssize_t n = transport_read(&x->conn->io, to, size);
        if (n > 0) {
            exchange_moved(&x->reading, (size_t)n);
            *ret_len = (size_t)n;
            return 0;
        }
        if (n != TRANSPORT_AGAIN)
            return gone(x, "the client has left before the end of the body", e);
        if (!exchange_wait(x, POLLIN, &x->reading)) {
            x->is_stalled = true;
            return gone(x, "the body did not come in time", e);
        }
    }
}

/* From what came with the head, or straight from the socket. */
static int take_body(struct http_exchange *x, char *to, size_t size, size_t *ret_len, struct err *e)
{
    struct inbox *in = &x->in;
    size_t len = in->end - in->at;
    if (len == 0)
        return receive(x, to, size, ret_len, e);
    if (len > size)
        len = size;
    memcpy(to, in->bytes + in->at, len);
    in->at += len;
    *ret_len = len;
    return 0;
}

static int read_counted(struct http_exchange *x, char *to, size_t size, size_t *ret_len,
                        struct err *e)
{
    if (take_body(x, to, size < x->body_left ? size : (size_t)x->body_left, ret_len, e))
        return -1;
    x->body_left -= *ret_len;
    x->has_read_all = x->body_left == 0;
    return 0;
}

/* Reads what is around the chunks, up to the next byte of the body or its end. */
static int read_frame(struct http_exchange *x, struct err *e)
{
    struct inbox *in = &x->in;
    for (;;) {
        size_t used = 0, len = 0;
        enum chunked_found found =
            chunked_next(&x->chunks, in->bytes + in->at, in->end - in->at, &used);
        in->at += used;
        switch (found) {
        case CHUNKED_DATA: return 0;
        case CHUNKED_END: x->has_read_all = true; return 0;
        case CHUNKED_BAD:
            x->closes = x->is_malformed = true;
            return err_set(e, ERR_INVALID, "the chunks of the body are malformed");
        case CHUNKED_MORE: break;
        }
        in->at = in->end = in->head_end;
        if (receive(x, in->bytes + in->end, INBOX_SIZE - in->end, &len, e))
            return -1;
        in->end += len;
    }
}

static int read_chunked(struct http_exchange *x, char *to, size_t size, size_t *ret_len,
                        struct err *e)
{
    if (read_frame(x, e))
        return -1;
    if (x->has_read_all)
        return 0;
    uint64_t left = chunked_left(&x->chunks);
    if (take_body(x, to, size < left ? size : (size_t)left, ret_len, e))
        return -1;
    chunked_skip(&x->chunks, *ret_len);
    return 0;
}

static int send_continue(struct http_exchange *x, struct err *e)
{
    struct iovec line = {"HTTP/1.1 100 Continue\r\n\r\n", 25};
    x->owes_continue = false;
    if (x->in.at < x->in.end || x->answer != ANSWER_NONE)
        return 0; /* the body is coming already; or it is too late to ask for it */
    return answer_send(x, &line, 1, e);
}

int http_read(struct http_exchange *x, void *to, size_t size, size_t *ret_len, struct err *e)
{
    *ret_len = 0;
    if (x->is_gone)
        return err_set(e, ERR_GONE, "the client has left");
    if (x->is_malformed)
        return err_set(e, ERR_INVALID, "the chunks of the body are malformed");
    if (size == 0 || x->has_read_all)
        return 0;
    if (x->body_read) {
        int failed = x->body_read(x->body_arg, to, size, ret_len, e);
        x->has_read_all = !failed && *ret_len == 0;
        return failed;
    }
    if (x->owes_continue && send_continue(x, e))
        return -1;
    return x->head.is_chunked ? read_chunked(x, to, size, ret_len, e)
                              : read_counted(x, to, size, ret_len, e);
}

static int too_large(size_t max, struct err *e)
{
    return err_set(e, ERR_TOO_LARGE, "the body is larger than %zu bytes", max);
}

int http_read_all(struct http_exchange *x, size_t max, struct buf *ret, struct err *e)
{
    const struct http_request *r = &x->head.request;
    if (r->has_length && r->length > max)
        return too_large(max, e);
    size_t before = ret->len, len = 0;
    char piece[4096];
    do {
        if (http_read(x, piece, sizeof piece, &len, e))
            return -1;
        if (len > max - (ret->len - before))
            return too_large(max, e);
        buf_add(ret, piece, len);
        if (buf_check(ret, e))
            return -1;
    } while (len);
    return 0;
}

bool exchange_drain(struct http_exchange *x)
{
    struct err e;
    char piece[4096];
    size_t len = 1, total = 0;
    int64_t limit_us = (int64_t)x->server->limits.progress_ms * 1000;
    /* Who was refused may be a stranger whose body never comes: no thread waits for it. */
    bool may_wait = !x->has_read_all && x->status < 400;
    int64_t deadline_us = may_wait ? clock_us() + DRAIN_MS * 1000 : 0;
    while (!x->has_read_all && total <= UNREAD_MAX) {
        int64_t left_us = deadline_us - clock_us();
        x->reading = (struct progress){.waited_us = limit_us > left_us ? limit_us - left_us : 0};
        if (http_read(x, piece, sizeof piece, &len, &e))
            return false;
        total += len;
    }
    return x->has_read_all;
}

/* ---- one exchange ---- */

static void rewind_buf(struct buf *b)
{
    if (b->failed)
        buf_done(b);
    if (b->bytes)
        b->bytes[0] = '\0';
    b->len = 0;
}

static void reset(struct http_exchange *x)
{
    struct conn *c = x->conn;
    x->head.request.peer = &c->peer;
    x->owes_continue = x->head.expects_continue && x->head.request.has_body;
    x->has_read_all = !x->head.request.has_body;
    x->body_left = x->head.request.length;
    x->chunks = (struct chunked){0};
    x->reading = x->writing = (struct progress){0};
    x->is_gone = x->is_stalled = x->is_malformed = false;
    x->answer = ANSWER_NONE;
    x->status = 0;
    x->closes = !x->head.keeps_alive;
    x->has_promised = x->is_chunked = x->is_bodyless = false;
    x->left = x->bytes_out = 0;
    rewind_buf(&x->extra);
    rewind_buf(&x->head_out);
    x->stream = NULL;
}

static enum verdict finish(struct http_exchange *x)
{
    struct conn *c = x->conn;
    if (x->answer == ANSWER_NONE && (!x->is_gone || x->is_stalled)) {
        if (x->is_stalled)
            conn_refuse(c, 408, "the body did not come in time");
        else
            conn_refuse(c, 500, "the request was not answered");
        return VERDICT_LINGER;
    }
    if (x->answer == ANSWER_BEGUN)
        conn_abort(c); /* whoever has got half an answer must be able to tell */
    if (x->answer == ANSWER_BEGUN || x->is_gone)
        return VERDICT_CLOSE;
    if (x->closes || !exchange_drain(x))
        return VERDICT_LINGER;
    return VERDICT_KEEP;
}

enum verdict exchange_run(struct http_exchange *x, size_t head_len)
{
    struct http_server *s = x->server;
    struct head_fault fault;
    x->in.head_end = x->in.at = head_len;
    if (head_parse(x->in.bytes, head_len, &x->head, &fault)) {
        conn_refuse(x->conn, fault.status, fault.reason);
        return VERDICT_LINGER;
    }
    reset(x);
    atomic_fetch_add_explicit(&s->requests, 1, memory_order_relaxed);
    s->options.handle(s->options.arg, x);
    conn_hook(x->conn, /* fn= */ NULL, NULL);
    if (!x->stream)
        return finish(x);
    if (!exchange_drain(x))
        x->stream->keeps_alive = false;
    x->conn->stream = take(x->stream);
    return VERDICT_PARK;
}
