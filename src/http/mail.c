#include <errno.h>
#include <sys/eventfd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "http/server_int.h"
#include "http/streams_int.h"

int mail_open(struct mail *m, struct err *e)
{
    m->watch.kind = WATCH_MAIL;
    (void)pthread_mutex_init(&m->lock, NULL);
    m->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return m->fd < 0 ? err_sys(e, errno, "make an eventfd") : 0;
}

void mail_close(struct mail *m)
{
    while (m->woken) {
        struct http_stream *it = m->woken;
        m->woken = it->next_woken;
        http_stream_unref(it);
    }
    fd_closep(&m->fd);
    (void)pthread_mutex_destroy(&m->lock);
}

/* Under the lock: afterwards the server may be gone. Once, until the listener has heard it: what
 * counts is not whether there is mail, since the listener takes it in two steps. */
static void ring(struct mail *m)
{
    if (!m->is_rung)
        (void)eventfd_write(m->fd, 1); /* fails only when it has rung 2^64 times */
    m->is_rung = true;
}

void mail_ring(struct mail *m)
{
    pthread_mutex_lock(&m->lock);
    ring(m);
    pthread_mutex_unlock(&m->lock);
}

void mail_return(struct mail *m, struct conn *c, enum verdict verdict)
{
    pthread_mutex_lock(&m->lock);
    c->verdict = verdict;
    c->next_returned = m->returned;
    m->returned = c;
    ring(m);
    pthread_mutex_unlock(&m->lock);
}

void mail_wake(struct mail *m, struct http_stream *s)
{
    pthread_mutex_lock(&m->lock);
    if (!s->is_mailed) {
        s->is_mailed = true;
        atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
        s->next_woken = NULL;
        *(m->woken ? &m->last_woken->next_woken : &m->woken) = s;
        m->last_woken = s;
        ring(m);
    }
    pthread_mutex_unlock(&m->lock);
}

static void take_back(struct conn *c)
{
    switch (c->verdict) {
    case VERDICT_KEEP: listener_wait(c); break;
    case VERDICT_CLOSE: conn_free(c); break;
    case VERDICT_LINGER: listener_linger(c); break;
    case VERDICT_PARK: stream_park(c); break;
    }
}

/* The stream that waits longest; NULL: none. From here on it may be put in the mail again. */
static struct http_stream *take_woken(struct mail *m)
{
    pthread_mutex_lock(&m->lock);
    struct http_stream *it = m->woken;
    if (it) {
        m->woken = it->next_woken;
        it->is_mailed = false;
    }
    pthread_mutex_unlock(&m->lock);
    return it;
}

/* Feeds streams in the order in which they were woken, for a moment: a hundred clients that follow
 * the same flood must not keep everybody else waiting. */
static void feed_woken(struct http_server *s)
{
    int64_t until_us = clock_us() + FEED_US;
    for (struct http_stream *it = take_woken(&s->mail); it; it = take_woken(&s->mail)) {
        stream_woken(it);
        if (clock_us() > until_us) {
            pthread_mutex_lock(&s->mail.lock);
            ring(&s->mail); /* the rest comes after the next look around */
            pthread_mutex_unlock(&s->mail.lock);
            break;
        }
    }
}

void mail_read(struct http_server *s)
{
    eventfd_t count;
    (void)eventfd_read(s->mail.fd, &count); /* EAGAIN: read already */

    pthread_mutex_lock(&s->mail.lock);
    s->mail.is_rung = false; /* what comes from here on rings again */
    struct conn *returned = take(s->mail.returned);
    pthread_mutex_unlock(&s->mail.lock);

    while (returned) {
        struct conn *c = returned;
        returned = c->next_returned;
        take_back(c);
    }
    feed_woken(s);
}
