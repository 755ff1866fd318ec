/* Watches as others see them; crier.c fills them. */
#include "service/events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "service/events_int.h"

/* ---- watches ---- */

void watch_make_due(struct event_watch *w)
{
    struct events *ev = w->events;
    if (w->is_due || w->is_over || w->is_freed)
        return;
    w->is_due = true;
    w->next_due = NULL;
    *ev->last_due = w;
    ev->last_due = &w->next_due;
    pthread_cond_signal(&ev->wake);
}

void watch_destroy(struct event_watch *w)
{
    event_notes_free(w->first);
    free(w);
}

static int64_t expiry(const struct who *who)
{
    if (who->key_expires_us == 0)
        return CLOCK_NEVER;
    return clock_us() + (who->key_expires_us - clock_wall_us());
}

static void link_watch(struct events *ev, struct event_watch *w)
{
    w->next = ev->watches;
    if (w->next)
        w->next->prev = w;
    ev->watches = w;
    ev->watch_count++;
}

static void unlink_watch(struct events *ev, struct event_watch *w)
{
    if (w->prev)
        w->prev->next = w->next;
    else
        ev->watches = w->next;
    if (w->next)
        w->next->prev = w->prev;
    ev->watch_count--;
}

int event_watch_new(struct events *ev, const struct who *who, const struct event_ask *ask,
                    const struct event_call *call, struct event_watch **ret, struct err *e)
{
    size_t types_size = strlen(ask->types) + 1;
    struct event_watch *w = calloc(1, sizeof *w + types_size);
    if (!w)
        return err_set(e, ERR_NO_MEMORY, "follow events");
    w->events = ev;
    w->who = *who;
    (void)snprintf(w->workspace, sizeof w->workspace, "%s", ask->workspace);
    memcpy(w->types, ask->types, types_size);
    w->seen = ask->since;
    w->limit = ask->limit;
    w->is_stream = call->deadline_us == 0;
    w->deadline_us = expiry(who);
    if (!w->is_stream && call->deadline_us < w->deadline_us)
        w->deadline_us = call->deadline_us;
    w->more = call->more;
    w->arg = call->arg;
    w->losses = UINT64_MAX; /* not yet */
    w->last = &w->first;
    pthread_mutex_lock(&ev->lock);
    bool has_room = ev->watch_count < EVENTS_WATCHES_MAX;
    if (has_room) {
        ev->is_fresh = ev->is_fresh || !ev->watches;
        link_watch(ev, w);
        if (w->deadline_us < ev->late_us)
            ev->late_us = w->deadline_us;
        watch_make_due(w); /* something may have come since its reader looked */
    }
    pthread_mutex_unlock(&ev->lock);
    if (!has_room) {
        free(w);
        return err_set(e, ERR_OVERLOADED, "too many follow events already");
    }
    *ret = w;
    return 0;
}

void event_watch_free(struct event_watch *w)
{
    struct events *ev = w->events;
    pthread_mutex_lock(&ev->lock);
    unlink_watch(ev, w);
    bool is_held = w->is_freed = w->is_busy || w->is_due;
    pthread_mutex_unlock(&ev->lock);
    if (!is_held)
        watch_destroy(w);
}

enum event_taken event_watch_take(struct event_watch *w,
                                  bool (*put)(void *arg, const struct event_note *n), void *arg)
{
    struct events *ev = w->events;
    enum event_taken what = EVENTS_LATER;
    pthread_mutex_lock(&ev->lock);
    for (struct event_note *n; (n = w->first) && what == EVENTS_LATER;) {
        if (!put(arg, n)) {
            what = EVENTS_MORE;
            break;
        }
        w->first = n->next;
        w->bytes -= n->len;
        free(n);
    }
    if (!w->first) {
        w->last = &w->first;
        if (w->is_over)
            what = EVENTS_OVER;
        else if (w->is_behind && !w->is_busy)
            watch_make_due(w);
    }
    pthread_mutex_unlock(&ev->lock);
    return what;
}

void event_watch_end(struct event_watch *w, uint64_t *ret_next, bool *ret_has_more)
{
    pthread_mutex_lock(&w->events->lock);
    *ret_next = w->seen;
    *ret_has_more = w->is_behind;
    pthread_mutex_unlock(&w->events->lock);
}

/* ---- the whole ---- */

static void rung(void *arg)
{
    struct events *ev = arg;
    pthread_mutex_lock(&ev->lock);
    ev->is_rung = true;
    if (ev->watches)
        pthread_cond_signal(&ev->wake);
    pthread_mutex_unlock(&ev->lock);
}

int events_open(const struct events_options *options, struct events **ret, struct err *e)
{
    struct events *ev = calloc(1, sizeof *ev);
    if (!ev)
        return err_set(e, ERR_NO_MEMORY, "follow events");
    pthread_condattr_t attr;
    ev->o = *options;
    ev->again_us = ev->late_us = CLOCK_NEVER;
    ev->last_due = &ev->due;
    ev->hook = (struct bell_hook){.rung = rung, .arg = ev};
    ev->losses = people_losses(ev->o.people);
    (void)pthread_mutex_init(&ev->lock, NULL); /* none of these can fail in glibc */
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&ev->wake, &attr);
    (void)pthread_condattr_destroy(&attr);
    int why = events_newest(ev, &ev->at, e) ? -1 : pthread_create(&ev->crier, NULL, crier_main, ev);
    if (why) {
        free(ev);
        return why > 0 ? err_sys(e, why, "start the crier") : -1;
    }
    bell_add(ev->o.bell, &ev->hook);
    *ret = ev;
    return 0;
}

void events_close(struct events *ev)
{
    if (!ev)
        return;
    bell_remove(ev->o.bell, &ev->hook);
    pthread_mutex_lock(&ev->lock);
    ev->is_closing = true;
    pthread_cond_signal(&ev->wake);
    pthread_mutex_unlock(&ev->lock);
    (void)pthread_join(ev->crier, NULL);
    for (struct event_watch *w; (w = ev->due);) { /* all of them were freed */
        ev->due = w->next_due;
        watch_destroy(w);
    }
    event_rows_done(&ev->rows);
    (void)pthread_cond_destroy(&ev->wake);
    (void)pthread_mutex_destroy(&ev->lock);
    free(ev);
}
