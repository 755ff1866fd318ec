#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "http/addresses.h"
#include "http/server_int.h"
#include "http/tls.h"

static int64_t list_ms(const struct http_server *s, enum list_name list)
{
    const struct http_limits *l = &s->limits;
    switch (list) {
    case LIST_HEAD: return l->head_ms;
    case LIST_IDLE: return l->idle_ms;
    case LIST_HEARTBEAT: return l->heartbeat_ms;
    case LIST_PROGRESS: return l->progress_ms;
    case LIST_LINGER: return s->drain_until_us == CLOCK_NEVER ? LINGER_MS : LINGER_DRAIN_MS;
    case LIST_WORKING:
    case LIST_PARKED:
    case LIST_COUNT: break;
    }
    return -1;
}

static void unlist(struct conn *c)
{
    struct conn_list *l = &c->server->lists[c->list];
    *(c->prev ? &c->prev->next : &l->first) = c->next;
    *(c->next ? &c->next->prev : &l->last) = c->prev;
    c->prev = c->next = NULL;
}

static void enlist(struct conn *c, enum list_name list)
{
    struct conn_list *l = &c->server->lists[list];
    int64_t ms = list_ms(c->server, list);
    c->list = list;
    c->deadline_us = ms < 0 ? CLOCK_NEVER : c->server->now_us + ms * 1000;
    c->prev = l->last;
    *(l->last ? &l->last->next : &l->first) = c;
    l->last = c;
}

void conn_place(struct conn *c, enum list_name list)
{
    unlist(c);
    enlist(c, list);
}

int conn_arm(struct conn *c, uint32_t events)
{
    if (c->armed == events)
        return 0;
    struct epoll_event ev = {.events = events, .data.ptr = c};
    c->armed = events;
    return epoll_ctl(c->server->epoll_fd, EPOLL_CTL_MOD, c->io.fd, &ev);
}

static int start_tls(struct http_server *s, struct conn *c, struct err *e)
{
    if (!s->tls_cert || c->peer.is_unix)
        return 0;
    c->peer.is_tls = true;
    pthread_mutex_lock(&s->tls_lock);
    int failed = tls_accept(s->tls, c->io.fd, &c->io.ssl, e);
    pthread_mutex_unlock(&s->tls_lock);
    return failed;
}

int conn_new(struct http_server *s, const struct door *door, int fd,
             const struct sockaddr_storage *from, struct conn **ret, struct err *e)
{
    struct conn *c = calloc(1, sizeof *c);
    if (!c) {
        (void)close(fd);
        return err_set(e, ERR_NO_MEMORY, "accept a connection");
    }
    *c = (struct conn){.server = s, .io.fd = fd, .state = CONN_WAITING};
    (void)pthread_mutex_init(&c->hangup.lock, NULL);
    listening_peer(&door->listening, fd, from, &c->peer, c->address);
    atomic_fetch_add_explicit(&s->connections, 1, memory_order_relaxed);
    enlist(c, LIST_HEAD);

    struct epoll_event ev = {.events = EPOLLIN, .data.ptr = c};
    c->armed = ev.events;
    if (epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &ev))
        err_sys(e, errno, "watch a connection");
    else if (!start_tls(s, c, e)) {
        c->state = c->io.ssl ? CONN_HANDSHAKE : CONN_WAITING;
        *ret = c;
        return 0;
    }
    conn_free(c);
    return -1;
}

void conn_free(struct conn *c)
{
    struct http_server *s = c->server;
    if (c->stream)
        stream_end(take(c->stream));
    if (c->is_counted)
        addresses_remove(s->addresses, c->address);
    atomic_fetch_sub_explicit(c->is_refused ? &s->refusing : &s->connections, 1,
                              memory_order_relaxed);
    unlist(c);
    transport_close(&c->io); /* which also takes it out of the epoll set */
    (void)pthread_mutex_destroy(&c->hangup.lock);
    free(c->in);
    free(c);
    if (s->accept_at_us != CLOCK_NEVER)
        s->accept_at_us = s->now_us; /* a descriptor is free again */
}

void conn_abort(struct conn *c)
{
    struct linger now = {.l_onoff = 1, .l_linger = 0};
    (void)setsockopt(c->io.fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

void conn_hang_up(struct conn *c)
{
    pthread_mutex_lock(&c->hangup.lock);
    bool is_new = !c->hangup.has_happened;
    c->hangup.has_happened = true;
    if (is_new && c->hangup.fn)
        c->hangup.fn(c->hangup.arg);
    pthread_mutex_unlock(&c->hangup.lock);
}

void conn_hook(struct conn *c, void (*fn)(void *arg), void *arg)
{
    pthread_mutex_lock(&c->hangup.lock);
    c->hangup.fn = fn;
    c->hangup.arg = arg;
    if (fn && c->hangup.has_happened)
        fn(arg);
    pthread_mutex_unlock(&c->hangup.lock);
}

void conn_refuse(struct conn *c, int status, const char *reason)
{
    const struct http_options *o = &c->server->options;
    scoped(buf_done) struct buf body = BUF_INIT(8 << 10), head = BUF_INIT(2 << 10),
                                headers = BUF_INIT(1 << 10);
    if (o->refuse)
        o->refuse(o->arg, status, reason, &headers, &body);
    else
        buf_fmt(&body, "%s\n", reason);
    if (body.failed)
        buf_done(&body);
    struct http_date date = {0};
    buf_fmt(&head,
            "HTTP/1.1 %d %s\r\nDate: %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s%s"
            "Connection: close\r\n\r\n",
            status, http_reason(status), http_date_text(&date),
            o->refuse ? "application/json" : "text/plain; charset=utf-8", body.len,
            status == 503 || status == 429 ? "Retry-After: 1\r\n" : "",
            headers.len > 0 && !headers.failed ? headers.bytes : "");
    struct iovec pieces[] = {{head.bytes, head.len}, {body.bytes, body.len}};
    atomic_fetch_add_explicit(&c->server->refused, 1, memory_order_relaxed);
    /* Once: a client that has no room for this has other worries. */
    if (!head.failed)
        (void)transport_write(&c->io, pieces, 2);
}
