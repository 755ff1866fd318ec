#include "http/server.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "http/addresses.h"
#include "http/server_int.h"
#include "http/tls.h"

enum { PULL_MAX = 64 << 20 }; /* a single event */

static int watch(struct http_server *s, int fd, struct watch *w, struct err *e)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.ptr = w};
    return epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &ev) ? err_sys(e, errno, "watch a socket") : 0;
}

static int open_doors(struct http_server *s, const struct http_options *o, struct err *e)
{
    s->doors = calloc(o->address_count, sizeof *s->doors);
    if (!s->doors)
        return err_set(e, ERR_NO_MEMORY, "listen");
    for (size_t i = 0; i < o->address_count; i++) {
        struct door *d = &s->doors[i];
        d->watch.kind = WATCH_LISTENING;
        if (listening_open(&o->addresses[i], &d->listening, e))
            return -1;
        s->door_count++;
        if (watch(s, d->listening.fd, &d->watch, e))
            return -1;
    }
    return 0;
}

static int open_tls(struct http_server *s, const struct http_options *o, struct err *e)
{
    if (!o->tls_cert)
        return 0;
    if (!o->tls_key)
        return err_set(e, ERR_INVALID, "a TLS certificate needs its key");
    s->tls_cert = strdup(o->tls_cert);
    s->tls_key = strdup(o->tls_key);
    if (!s->tls_cert || !s->tls_key)
        return err_set(e, ERR_NO_MEMORY, "start TLS");
    return tls_open(s->tls_cert, s->tls_key, &s->tls, e);
}

static int open_inside(struct http_server *s, struct err *e)
{
    s->scratch = malloc(HEAD_MAX);
    if (!s->scratch)
        return err_set(e, ERR_NO_MEMORY, "start the server");
    s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (s->epoll_fd < 0)
        return err_sys(e, errno, "make an epoll set");
    return watch(s, s->mail.fd, &s->mail.watch, e);
}

int http_server_open(const struct http_options *options, struct http_server **ret, struct err *e)
{
    assert(options->handle && options->address_count);
    struct http_server *s = calloc(1, sizeof *s);
    if (!s)
        return err_set(e, ERR_NO_MEMORY, "start the server");
    s->limits = options->limits;
    atomic_init(&s->drain_ms, s->limits.drain_ms);
    s->options = *options;
    s->epoll_fd = s->mail.fd = -1;
    s->accept_at_us = s->drain_until_us = CLOCK_NEVER;
    s->pulled = BUF_INIT(PULL_MAX);
    (void)pthread_mutex_init(&s->tls_lock, NULL);
    if (workers_init(&s->workers, e) || mail_open(&s->mail, e) || open_inside(s, e) ||
        addresses_new(&s->addresses, e) || open_tls(s, options, e) || open_doors(s, options, e)) {
        http_server_close(s);
        return -1;
    }
    *ret = s;
    return 0;
}

const char *http_server_address(const struct http_server *s, size_t index)
{
    assert(index < s->door_count);
    return s->doors[index].listening.text;
}

int http_server_reload(struct http_server *s, struct err *e)
{
    if (!s->tls_cert)
        return 0;
    struct ssl_ctx_st *fresh = NULL;
    if (tls_open(s->tls_cert, s->tls_key, &fresh, e))
        return -1;
    pthread_mutex_lock(&s->tls_lock);
    struct ssl_ctx_st *old = s->tls;
    s->tls = fresh;
    pthread_mutex_unlock(&s->tls_lock);
    tls_free(old);
    return 0;
}

void http_server_look(struct http_server *s, struct http_server_info *ret)
{
    pthread_mutex_lock(&s->workers.lock);
    ret->workers = s->workers.count;
    ret->workers_busy = s->workers.busy;
    pthread_mutex_unlock(&s->workers.lock);
    ret->connections = atomic_load_explicit(&s->connections, memory_order_relaxed);
    ret->parked = atomic_load_explicit(&s->parked, memory_order_relaxed);
    ret->accepted = atomic_load_explicit(&s->accepted, memory_order_relaxed);
    ret->requests = atomic_load_explicit(&s->requests, memory_order_relaxed);
    ret->refused = atomic_load_explicit(&s->refused, memory_order_relaxed);
}

void http_server_set_drain(struct http_server *s, uint32_t drain_ms)
{
    atomic_store(&s->drain_ms, drain_ms);
}

uint64_t http_server_rounds(struct http_server *s)
{
    mail_ring(&s->mail);
    return atomic_load_explicit(&s->rounds, memory_order_relaxed);
}

void http_server_close(struct http_server *s)
{
    if (!s)
        return;
    workers_done(&s->workers);
    for (enum list_name l = 0; l < LIST_COUNT; l++)
        while (s->lists[l].first)
            conn_free(s->lists[l].first);
    for (size_t i = 0; i < s->door_count; i++)
        listening_close(&s->doors[i].listening);
    free(s->doors);
    mail_close(&s->mail);
    fd_closep(&s->epoll_fd);
    addresses_free(s->addresses);
    tls_free(s->tls);
    (void)pthread_mutex_destroy(&s->tls_lock);
    buf_done(&s->pulled);
    free(s->scratch);
    free(s->tls_cert);
    free(s->tls_key);
    free(s);
}
