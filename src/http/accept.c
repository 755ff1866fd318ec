/* accept.c -- letting clients in: caps, and what to do when there are no descriptors left. */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/err.h"
#include "http/addresses.h"
#include "http/server_int.h"

enum { ACCEPTS_MAX = 64 }; /* in a row, then others get their turn */

void accept_arm(struct http_server *s, uint32_t events)
{
    for (size_t i = 0; i < s->door_count; i++) {
        struct epoll_event ev = {.events = events, .data.ptr = &s->doors[i]};
        if (s->doors[i].listening.fd >= 0)
            (void)epoll_ctl(s->epoll_fd, EPOLL_CTL_MOD, s->doors[i].listening.fd, &ev);
    }
}

/* Out of descriptors or memory: those who knock wait in the kernel until a conn is closed, or a
 * moment has passed. Trying again at once would only burn the processor. */
static void pause_accepting(struct http_server *s)
{
    accept_arm(s, 0);
    s->accept_at_us = s->now_us + ACCEPT_PAUSE_MS * 1000;
}

static void tell_over_cap(struct conn *c, int status, const char *reason)
{
    struct http_server *s = c->server;
    atomic_fetch_sub_explicit(&s->connections, 1, memory_order_relaxed);
    c->is_refused = true;
    unsigned before = atomic_fetch_add_explicit(&s->refusing, 1, memory_order_relaxed);
    if (before >= REFUSED_MAX || c->io.ssl) {
        atomic_fetch_add_explicit(&s->refused, 1, memory_order_relaxed);
        conn_free(c);
    } else {
        conn_refuse(c, status, reason);
        listener_linger(c);
    }
}

static void admit(struct http_server *s, const struct door *d, int fd,
                  const struct sockaddr_storage *from)
{
    struct err e;
    struct conn *c = NULL;
    if (conn_new(s, d, fd, from, &c, &e))
        return; /* no memory: the client sees a closed connection */
    atomic_fetch_add_explicit(&s->accepted, 1, memory_order_relaxed);
    if (atomic_load_explicit(&s->connections, memory_order_relaxed) > s->limits.connections_max) {
        tell_over_cap(c, 503, "there are too many connections: try again in a moment");
        return;
    }
    c->is_counted =
        !c->peer.is_unix && addresses_add(s->addresses, c->address, s->limits.per_address_max);
    if (!c->is_counted && !c->peer.is_unix)
        tell_over_cap(c, 429, "there are too many connections from this address");
}

void accept_from(struct http_server *s, struct door *d)
{
    for (int i = 0; i < ACCEPTS_MAX; i++) {
        struct sockaddr_storage from = {0};
        socklen_t len = sizeof from;
        int fd =
            accept4(d->listening.fd, (struct sockaddr *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            admit(s, d, fd, &from);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            pause_accepting(s);
            return;
        } else if (errno == EAGAIN) {
            return;
        } /* anything else is about that one connection */
    }
}
