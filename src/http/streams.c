#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "base/err.h"
#include "base/scope.h"
#include "http/exchange_int.h"
#include "http/streams_int.h"

enum {
    PULL_KEPT = 256 << 10, /* the listener's buffer goes back to the heap above this */
    ROUNDS_MAX = 4,        /* pulls in a row, then others get their turn */
};

/* ---- from any thread ---- */

int http_park(struct http_exchange *x, const struct http_source *source, bool is_events,
              struct http_stream **ret, struct err *e)
{
    if (x->answer != ANSWER_BEGUN || x->has_promised)
        return err_set(e, ERR_INTERNAL, "only an answer without a length can be parked");
    if (x->collect)
        return err_set(e, ERR_UNSUPPORTED, "an answer from inside cannot be parked");
    if (x->is_gone)
        return err_set(e, ERR_GONE, "the client has left");
    struct http_stream *s = calloc(1, sizeof *s);
    if (!s)
        return err_set(e, ERR_NO_MEMORY, "park an answer");
    s->server = x->server;
    s->conn = x->conn;
    s->source = *source;
    s->is_events = is_events;
    s->is_chunked = x->is_chunked;
    s->is_ending = s->has_last = x->is_bodyless;
    s->keeps_alive = !x->closes;
    s->has_more = true;
    atomic_init(&s->refs, 2);
    (void)pthread_mutex_init(&s->lock, NULL);
    x->stream = s;
    *ret = s;
    return 0;
}

void http_stream_wake(struct http_stream *s)
{
    pthread_mutex_lock(&s->lock);
    if (s->server)
        mail_wake(&s->server->mail, s);
    pthread_mutex_unlock(&s->lock);
}

void http_stream_unref(struct http_stream *s)
{
    if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) > 1)
        return;
    (void)pthread_mutex_destroy(&s->lock);
    free(s->pending);
    free(s);
}

/* ---- of the listener ---- */

void stream_end(struct http_stream *s)
{
    pthread_mutex_lock(&s->lock);
    if (s->server && s->conn->state == CONN_PARKED)
        atomic_fetch_sub_explicit(&s->server->parked, 1, memory_order_relaxed);
    s->server = NULL;
    pthread_mutex_unlock(&s->lock);
    s->conn = NULL;
    if (s->source.gone)
        s->source.gone(s->source.arg);
    http_stream_unref(s);
}

/* Everything has been written. The connection may serve another request. */
static void finish(struct conn *c)
{
    bool keeps_alive = c->stream->keeps_alive &&
                       !atomic_load_explicit(&c->server->is_draining, memory_order_relaxed);
    stream_end(take(c->stream));
    if (keeps_alive)
        listener_wait(c);
    else
        listener_linger(c);
}

/* Keeps what of `pieces` comes after the first `done` bytes. */
static bool keep(struct http_stream *s, const struct iovec *pieces, int count, size_t done)
{
    size_t len = 0;
    for (int i = 0; i < count; i++)
        len += pieces[i].iov_len;
    if (len == done)
        return true;
    char *pending = malloc(len - done);
    if (!pending)
        return false;
    s->pending = pending;
    s->pending_at = 0;
    s->pending_len = len - done;
    for (int i = 0; i < count; i++) {
        size_t skip = done < pieces[i].iov_len ? done : pieces[i].iov_len;
        memcpy(pending, (const char *)pieces[i].iov_base + skip, pieces[i].iov_len - skip);
        pending += pieces[i].iov_len - skip;
        done -= skip;
    }
    return true;
}

/* Writes what it can and keeps the rest. False: the client is gone, or no memory. */
static bool put(struct conn *c, const char *bytes, size_t len)
{
    struct http_stream *s = c->stream;
    char size[24] = "";
    struct iovec pieces[4] = {{size, 0}, {(void *)bytes, len}, {"", 0}, {"", 0}};
    if (s->is_chunked && len) {
        pieces[0].iov_len = (size_t)snprintf(size, sizeof size, "%zx\r\n", len);
        pieces[2] = (struct iovec){"\r\n", 2};
    }
    if (s->is_chunked && s->is_ending) {
        pieces[3] = (struct iovec){"0\r\n\r\n", 5};
        s->has_last = true;
    }
    ssize_t n = transport_write(&c->io, pieces, 4);
    if (n == TRANSPORT_GONE || n == TRANSPORT_CLOSED)
        return false;
    return keep(s, pieces, 4, n < 0 ? 0 : (size_t)n);
}

/* Writes on. False: the client is gone. */
static bool flush(struct conn *c)
{
    struct http_stream *s = c->stream;
    while (s->pending) {
        struct iovec rest = {s->pending + s->pending_at, s->pending_len - s->pending_at};
        ssize_t n = transport_write(&c->io, &rest, 1);
        if (n == TRANSPORT_AGAIN)
            return true;
        if (n <= 0)
            return false;
        conn_place(c, LIST_PROGRESS); /* it moves: a new deadline */
        s->pending_at += (size_t)n;
        if (s->pending_at == s->pending_len)
            free(take(s->pending));
    }
    return true;
}

/* Asks the source once. False: the stream is broken. */
static bool pull(struct conn *c)
{
    struct http_stream *s = c->stream;
    struct buf *out = &c->server->pulled;
    enum http_pulled what = s->source.pull(s->source.arg, out);
    s->has_more = what == HTTP_PULLED;
    s->is_ending = what == HTTP_ENDED;
    bool is_good = !out->failed;
    if (is_good && (out->len || s->is_ending))
        is_good = put(c, out->bytes ? out->bytes : "", out->len);
    if (out->cap > PULL_KEPT || out->failed) {
        buf_done(out);
    } else if (out->bytes) {
        out->len = 0;
        out->bytes[0] = '\0';
    }
    return is_good;
}

/* Nothing can be done right now: what is waited for? */
static void settle(struct conn *c)
{
    struct http_stream *s = c->stream;
    if (s->pending)
        s->unread = transport_unread(&c->io);
    if (s->pending && c->list != LIST_PROGRESS)
        conn_place(c, LIST_PROGRESS);
    else if (!s->pending)
        conn_place(c, s->is_events ? LIST_HEARTBEAT : LIST_PARKED);
    if (!s->pending && s->has_more)
        mail_wake(&c->server->mail, s); /* its turn comes after the others' */
    if (conn_arm(c, s->pending ? EPOLLRDHUP | EPOLLOUT : EPOLLRDHUP))
        conn_free(c);
}

/* Goes one step on. False: the client is gone. */
static bool go_on(struct conn *c, bool *ret_has_more)
{
    struct http_stream *s = c->stream;
    if (!flush(c))
        return false;
    if (!s->pending && s->is_ending && s->is_chunked && !s->has_last && !put(c, "", 0))
        return false;
    if (!s->pending && !s->is_ending && s->has_more && !pull(c))
        return false;
    *ret_has_more = !s->pending && (s->has_more || s->is_ending);
    return true;
}

void stream_pump(struct conn *c)
{
    struct http_stream *s = c->stream;
    bool has_more = true;
    for (int round = 0; has_more && round < ROUNDS_MAX; round++) {
        if (!go_on(c, &has_more)) {
            conn_free(c);
            return;
        }
        if (s->is_ending && has_more) {
            finish(c);
            return;
        }
    }
    settle(c);
}

void stream_writable(struct conn *c)
{
    if (!flush(c))
        conn_free(c);
    else if (!c->stream->pending && c->stream->is_ending)
        stream_pump(c);
    else
        settle(c);
}

void stream_park(struct conn *c)
{
    atomic_fetch_add_explicit(&c->server->parked, 1, memory_order_relaxed);
    c->state = CONN_PARKED;
    if (atomic_load_explicit(&c->server->is_draining, memory_order_relaxed))
        stream_stop(c);
    else
        stream_pump(c);
}

void stream_woken(struct http_stream *s)
{
    if (s->conn && s->conn->state == CONN_PARKED) {
        s->has_more = true;
        if (!s->pending)
            stream_pump(s->conn);
    }
    http_stream_unref(s);
}

void stream_beat(struct conn *c)
{
    /* One that waits for its turn is not silent. */
    if (c->stream->has_more || put(c, ": ping\n\n", 8))
        settle(c);
    else
        conn_free(c);
}

/* The kernel holds much on the way: a client that reads slowly frees it in large steps. */
void stream_late(struct conn *c)
{
    size_t unread = transport_unread(&c->io), before = c->stream->unread;
    c->stream->unread = unread;
    if (unread < before) {
        conn_place(c, LIST_PROGRESS);
        return;
    }
    conn_abort(c); /* otherwise the kernel would go on trying */
    conn_free(c);
}

/* What the source wants to say at the end, unless the client has not taken what came before. False: the
 * client is gone. */
static bool put_last(struct conn *c)
{
    struct http_stream *s = c->stream;
    scoped(buf_done) struct buf out = BUF_INIT(HTTP_PULL_MAX);
    if (!s->source.last || s->pending)
        return true;
    s->source.last(s->source.arg, &out);
    return out.len == 0 || out.failed || put(c, out.bytes, out.len);
}

void stream_stop(struct conn *c)
{
    bool was_ending = c->stream->is_ending;
    if (!c->stream->is_events && !was_ending) {
        conn_abort(c); /* no stream that may end anywhere: half of an answer */
        conn_free(c);
        return;
    }
    c->stream->is_ending = true;
    c->stream->has_more = false;
    if (!was_ending && !put_last(c))
        conn_free(c);
    else
        stream_pump(c);
}
