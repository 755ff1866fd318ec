/* crier.c -- the thread that fills watches: see events.h. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "service/events_int.h"
#include "service/tail.h"

/* A key that is revoked works until the one who revoked it took it out of memory, right after the commit
 * that rings: so once more a moment later. */
enum { AGAIN_US = 1000000 };

/* ---- with the lock held ---- */

static void end_watch(struct event_watch *w)
{
    w->is_over = true;
    w->more(w->arg);
}

static void mark_workspace(void *arg, const char *workspace)
{
    struct events *ev = arg;
    pthread_mutex_lock(&ev->lock);
    for (struct event_watch *w = ev->watches; w; w = w->next)
        if (!w->is_over && strcmp(w->workspace, workspace) == 0) {
            w->is_behind = true;
            watch_make_due(w);
        }
    pthread_mutex_unlock(&ev->lock);
}

static void mark_all(struct events *ev)
{
    for (struct event_watch *w = ev->watches; w; w = w->next)
        watch_make_due(w);
}

/* Ends those whose time is over, and finds out when the next will be. */
static void end_late(struct events *ev, int64_t now_us)
{
    if (now_us < ev->late_us)
        return;
    ev->late_us = CLOCK_NEVER;
    for (struct event_watch *w = ev->watches; w; w = w->next) {
        if (w->is_over)
            continue;
        if (w->deadline_us <= now_us)
            end_watch(w);
        else if (w->deadline_us < ev->late_us)
            ev->late_us = w->deadline_us;
    }
}

static struct event_watch *take_due(struct events *ev)
{
    struct event_watch *w;
    while ((w = ev->due)) {
        ev->due = w->next_due;
        if (!ev->due)
            ev->last_due = &ev->due;
        if (!w->is_freed)
            break;
        watch_destroy(w);
    }
    if (!w)
        return NULL;
    w->is_due = false;
    w->is_busy = true;
    w->is_behind = false;
    return w;
}

/* Hands what was read to the watch. */
static void put_page(struct event_watch *w, struct event_page *p)
{
    w->seen = p->next;
    w->is_behind = w->is_behind || p->has_more;
    *w->last = p->first;
    for (; *w->last; w->last = &(*w->last)->next)
        w->bytes += (*w->last)->len;
    if (p->first && !w->is_stream)
        w->is_over = true;
    if (p->first)
        w->more(w->arg);
    else if (w->is_behind)
        watch_make_due(w); /* what there was fitted no filter */
    p->first = NULL;
}

/* ---- without it ---- */

static void complain(struct events *ev, const struct err *e)
{
    log_line(ev->o.log, LOG_ERROR, "events cannot be read", LOG_STR("why", e->text));
}

static bool has_key(struct events *ev, struct event_watch *w)
{
    uint64_t losses = people_losses(ev->o.people);
    if (losses == w->losses)
        return true;
    w->losses = losses;
    return people_still_knows(ev->o.people, &w->who, clock_wall_us());
}

/* 1: read, unless it has something to be taken; 0: they may not any more; -1. */
static int read_for(struct events *ev, struct event_watch *w, bool is_full, struct event_page *ret,
                    struct err *e)
{
    struct event_reader reader;
    if (!has_key(ev, w))
        return 0;
    int may = events_may(ev, &w->who, w->workspace, &reader, e);
    if (may <= 0 || is_full)
        return may;
    const struct event_ask ask = {.workspace = w->workspace,
                                  .types = w->types,
                                  .since = w->seen,
                                  .limit = w->is_stream ? EVENTS_BATCH_MAX : w->limit};
    size_t bytes_max = w->is_stream ? EVENTS_QUEUE_MAX : SIZE_MAX;
    return events_collect(ev->o.meta, &ev->rows, &reader, &ask, bytes_max, ret, e) ? -1 : 1;
}

/* With the lock held, which is given up meanwhile. One whose queue is not empty has its turn when it is. */
static void serve(struct events *ev, struct event_watch *w)
{
    struct err e = {0};
    struct event_page page = {0};
    bool is_full = w->first != NULL;
    pthread_mutex_unlock(&ev->lock);
    int got = read_for(ev, w, is_full, &page, &e);
    if (got < 0)
        complain(ev, &e);
    pthread_mutex_lock(&ev->lock);
    w->is_busy = false;
    if (w->is_freed) {
        event_page_done(&page);
        watch_destroy(w);
        return;
    }
    if (got <= 0)
        end_watch(w); /* who may comes back, and goes on after the last one seen */
    else if (!is_full)
        put_page(w, &page);
    else if (!w->first)
        watch_make_due(w); /* it was emptied meanwhile */
    else
        w->is_behind = true;
}

/* With the lock held, which is given up meanwhile. */
static void look(struct events *ev)
{
    struct err e = {0};
    bool is_rung = ev->is_rung, is_fresh = ev->is_fresh;
    ev->is_rung = ev->is_fresh = false;
    pthread_mutex_unlock(&ev->lock);
    event_rows_done(&ev->rows);
    if (is_fresh ? events_newest(ev, &ev->at, &e)
                 : is_rung && tail_read(ev->o.meta, &ev->at, mark_workspace, ev, &e))
        complain(ev, &e);
    uint64_t losses = people_losses(ev->o.people);
    pthread_mutex_lock(&ev->lock);
    if (losses != ev->losses)
        mark_all(ev);
    ev->losses = losses;
    ev->again_us = is_rung ? clock_us() + AGAIN_US : CLOCK_NEVER;
}

/* Something else than watches that are due. */
static bool has_work(const struct events *ev, int64_t now_us)
{
    return (ev->is_rung && ev->watches) || ev->is_fresh || ev->again_us <= now_us;
}

static void wait_for_work(struct events *ev)
{
    event_rows_done(&ev->rows);
    int64_t next = ev->again_us < ev->late_us ? ev->again_us : ev->late_us;
    if (next == CLOCK_NEVER) {
        pthread_cond_wait(&ev->wake, &ev->lock);
        return;
    }
    const struct timespec until = {.tv_sec = next / 1000000, .tv_nsec = next % 1000000 * 1000};
    (void)pthread_cond_timedwait(&ev->wake, &ev->lock, &until);
}

void *crier_main(void *arg)
{
    struct events *ev = arg;
    pthread_mutex_lock(&ev->lock);
    while (!ev->is_closing) {
        int64_t now_us = clock_us();
        end_late(ev, now_us);
        if (has_work(ev, now_us))
            look(ev);
        struct event_watch *w = take_due(ev);
        if (w)
            serve(ev, w);
        else if (!has_work(ev, clock_us()) && !ev->due && !ev->is_closing)
            wait_for_work(ev);
    }
    pthread_mutex_unlock(&ev->lock);
    return NULL;
}
