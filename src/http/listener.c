/* listener.c -- the thread that watches every connection; see server.h and server_int.h.
 *
 * Within one batch of events a conn is freed only by its own event; what comes by mail and what is
 * late is dealt with after the batch. So no event can point to a conn that is gone.
 */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "http/server_int.h"

enum { EVENTS_MAX = 256 };

/* ---- states ---- */

void listener_linger(struct conn *c)
{
    transport_finish(&c->io);
    c->state = CONN_LINGERING;
    conn_place(c, LIST_LINGER);
    if (conn_arm(c, EPOLLIN))
        conn_free(c);
}

/* Nothing is under way in either direction. */
static void close_idle(struct conn *c)
{
    transport_finish(&c->io);
    conn_free(c);
}

static void refuse(struct conn *c, int status, const char *reason)
{
    conn_refuse(c, status, reason);
    listener_linger(c);
}

/* The head in c->in is whole. */
static void give_to_worker(struct conn *c)
{
    c->state = CONN_WORKING;
    conn_place(c, LIST_WORKING);
    /* Once, since a client that has only stopped sending would go on raising the event. */
    if (conn_arm(c, EPOLLRDHUP | EPOLLONESHOT))
        conn_free(c);
    else if (!workers_give(c->server, c))
        refuse(c, 503, "the server is busy: try again in a moment");
}

/* Looks at c->in. True: the conn is dealt with, for now or for good. */
static bool is_settled(struct conn *c)
{
    struct head_fault fault;
    if (head_scan(&c->scan, c->in, c->in_len, &c->head_len, &fault)) {
        refuse(c, fault.status, fault.reason);
        return true;
    }
    if (!c->head_len)
        return false;
    give_to_worker(c);
    return true;
}

static bool append(struct conn *c, const char *bytes, size_t len)
{
    char *grown = realloc(c->in, c->in_len + len);
    if (!grown)
        return false;
    memcpy(grown + c->in_len, bytes, len);
    c->in = grown;
    c->in_len += len;
    return true;
}

static void read_head(struct conn *c)
{
    for (;;) {
        char *to = c->server->scratch;
        ssize_t n = transport_read(&c->io, to, HEAD_MAX - c->in_len);
        if (n == TRANSPORT_AGAIN)
            break;
        if (n > 0 && c->in_len == 0)
            conn_place(c, LIST_HEAD);
        if (n <= 0 || !append(c, to, (size_t)n)) {
            conn_free(c);
            return;
        }
        if (is_settled(c))
            return;
    }
    if (conn_arm(c, EPOLLIN))
        conn_free(c);
}

void listener_wait(struct conn *c)
{
    bool is_draining = atomic_load_explicit(&c->server->is_draining, memory_order_relaxed);
    c->state = CONN_WAITING;
    c->scan = (struct head_scan){0};
    conn_place(c, c->in_len ? LIST_HEAD : LIST_IDLE);
    if (c->in_len && is_settled(c))
        return;
    if (is_draining && !c->in_len)
        close_idle(c);
    else if (transport_has_pending(&c->io))
        read_head(c);
    else if (conn_arm(c, EPOLLIN))
        conn_free(c);
}

static void shake_hands(struct conn *c)
{
    int done = transport_handshake(&c->io);
    if (done == 1) {
        c->state = CONN_WAITING;
        read_head(c);
        return;
    }
    bool wants_room = transport_events(&c->io, POLLIN) == POLLOUT;
    if (done == TRANSPORT_GONE || conn_arm(c, wants_room ? EPOLLOUT : EPOLLIN))
        conn_free(c);
}

static void discard(struct conn *c)
{
    ssize_t n = recv(c->io.fd, c->server->scratch, HEAD_MAX, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        conn_free(c);
}

static void on_conn(struct conn *c, uint32_t events)
{
    switch (c->state) {
    case CONN_HANDSHAKE: shake_hands(c); break;
    case CONN_WAITING: read_head(c); break;
    case CONN_WORKING:
        c->armed = 0; /* it was for once */
        conn_hang_up(c);
        break;
    case CONN_PARKED:
        if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
            conn_free(c);
        else
            stream_writable(c);
        break;
    case CONN_LINGERING: discard(c); break;
    }
}

/* ---- time ---- */

static void on_late(struct conn *c)
{
    switch (c->list) {
    case LIST_HEAD:
        if (c->in_len)
            refuse(c, 408, "the request did not come in time");
        else
            conn_free(c);
        break;
    case LIST_IDLE: close_idle(c); break;
    case LIST_HEARTBEAT: stream_beat(c); break;
    case LIST_PROGRESS: stream_late(c); break;
    case LIST_LINGER: conn_free(c); break;
    case LIST_WORKING:
    case LIST_PARKED:
    case LIST_COUNT: assert(0);
    }
}

static void on_time(struct http_server *s)
{
    for (enum list_name l = 0; l < LIST_COUNT; l++)
        while (s->lists[l].first && s->lists[l].first->deadline_us <= s->now_us)
            on_late(s->lists[l].first);
    if (s->accept_at_us <= s->now_us) {
        s->accept_at_us = CLOCK_NEVER;
        accept_arm(s, EPOLLIN);
    }
}

static int64_t next_deadline(const struct http_server *s)
{
    int64_t next = s->accept_at_us < s->drain_until_us ? s->accept_at_us : s->drain_until_us;
    for (enum list_name l = 0; l < LIST_COUNT; l++) {
        const struct conn *c = s->lists[l].first;
        if (c && c->deadline_us < next)
            next = c->deadline_us;
    }
    return next;
}

/* ---- the end ---- */

static void stop_list(struct http_server *s, enum list_name list, void (*fn)(struct conn *c))
{
    for (struct conn *c = s->lists[list].first, *next; c; c = next) {
        next = c->next;
        fn(c);
    }
}

static void stop_head(struct conn *c)
{
    if (!c->in_len)
        conn_free(c);
}

static void hurry(struct conn *c)
{
    c->deadline_us = c->server->now_us + LINGER_DRAIN_MS * 1000;
}

static void start_drain(struct http_server *s)
{
    atomic_store_explicit(&s->is_draining, true, memory_order_relaxed);
    s->drain_until_us = s->now_us + (int64_t)atomic_load(&s->drain_ms) * 1000;
    s->accept_at_us = CLOCK_NEVER;
    for (size_t i = 0; i < s->door_count; i++)
        listening_close(&s->doors[i].listening);
    stop_list(s, LIST_LINGER, hurry);
    stop_list(s, LIST_IDLE, close_idle);
    stop_list(s, LIST_HEAD, stop_head);
    stop_list(s, LIST_PARKED, stream_stop);
    stop_list(s, LIST_HEARTBEAT, stream_stop);
    stop_list(s, LIST_PROGRESS, stream_stop);
}

/* What still works is cut off: its reads and writes fail from now on. */
static void cut_off(struct conn *c)
{
    (void)shutdown(c->io.fd, SHUT_RDWR);
    conn_hang_up(c);
}

static bool is_drained(struct http_server *s)
{
    if (s->drain_until_us == CLOCK_NEVER)
        return false;
    bool is_late = s->now_us >= s->drain_until_us;
    if (is_late)
        stop_list(s, LIST_WORKING, cut_off);
    return is_late || atomic_load_explicit(&s->connections, memory_order_relaxed) == 0;
}

/* ---- the loop ---- */

static void on_event(struct http_server *s, const struct epoll_event *ev, bool *has_mail)
{
    struct watch *w = ev->data.ptr;
    switch (w->kind) {
    case WATCH_CONN: on_conn((struct conn *)w, ev->events); break;
    case WATCH_LISTENING: accept_from(s, (struct door *)w); break;
    case WATCH_MAIL: *has_mail = true; break;
    case WATCH_STOP: break;
    }
}

/* Returns whether the stop was among them. */
static bool on_events(struct http_server *s, const struct epoll_event *events, int count)
{
    bool has_mail = false, has_stop = false;
    for (int i = 0; i < count; i++) {
        has_stop = has_stop || events[i].data.ptr == &s->stop;
        on_event(s, &events[i], &has_mail);
    }
    if (has_mail)
        mail_read(s);
    return has_stop;
}

int http_server_run(struct http_server *s, int stop_fd, struct err *e)
{
    struct epoll_event events[EVENTS_MAX];
    struct epoll_event stop = {.events = EPOLLIN, .data.ptr = &s->stop};
    s->stop.kind = WATCH_STOP;
    if (epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, stop_fd, &stop))
        return err_sys(e, errno, "watch for the stop");
    s->now_us = clock_us();
    while (!is_drained(s)) {
        int n = epoll_wait(s->epoll_fd, events, EVENTS_MAX, clock_poll_ms(next_deadline(s)));
        if (n < 0 && errno != EINTR)
            return err_sys(e, errno, "wait for connections");
        s->now_us = clock_us();
        if (on_events(s, events, n)) {
            (void)epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, stop_fd, NULL); /* cannot fail */
            start_drain(s);
        }
        on_time(s);
        atomic_fetch_add_explicit(&s->rounds, 1, memory_order_relaxed);
    }
    return 0;
}
