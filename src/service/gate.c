#include "service/gate.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/err.h"

void gate_init(struct gate *g, size_t slots, size_t share_max, size_t waiting_max)
{
    pthread_condattr_t attr;
    *g = (struct gate){.slots = slots, .share_max = share_max, .waiting_max = waiting_max};
    (void)pthread_mutex_init(&g->lock, NULL); /* none of these can fail in glibc */
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&g->moved, &attr);
    (void)pthread_condattr_destroy(&attr);
}

void gate_done(struct gate *g)
{
    (void)pthread_cond_destroy(&g->moved);
    (void)pthread_mutex_destroy(&g->lock);
}

static size_t share_of(const struct gate *g, const char *principal)
{
    size_t count = 0;
    for (const struct gate_pass *p = g->inside; p; p = p->next)
        count += strcmp(p->principal, principal) == 0;
    return count;
}

/* Takes `which` out of the line; its predecessor is looked for. */
static void leave_line(struct gate *g, struct gate_pass *which)
{
    struct gate_pass *before = NULL;
    for (struct gate_pass *p = g->first; p != which; p = p->next)
        before = p;
    if (before)
        before->next = which->next;
    else
        g->first = which->next;
    if (g->last == which)
        g->last = before;
    g->waiting_count--;
}

static struct gate_pass *choose(const struct gate *g)
{
    struct gate_pass *best = NULL;
    size_t fewest = g->share_max;
    for (struct gate_pass *p = g->first; p; p = p->next) {
        size_t share = share_of(g, p->principal);
        if (share < fewest) {
            best = p;
            fewest = share;
        }
    }
    return best;
}

/* Lets in whoever may come in now. */
static void admit(struct gate *g)
{
    for (struct gate_pass *p; g->inside_count < g->slots && (p = choose(g));) {
        leave_line(g, p);
        p->is_in = true;
        p->next = g->inside;
        g->inside = p;
        g->inside_count++;
    }
    pthread_cond_broadcast(&g->moved);
}

/* False when the deadline came. */
static bool await(struct gate *g, const struct gate_pass *mine, int64_t deadline_us)
{
    const struct timespec until = {.tv_sec = deadline_us / 1000000,
                                   .tv_nsec = deadline_us % 1000000 * 1000};
    int why = 0;
    while (!mine->is_in && !mine->is_called_off && why != ETIMEDOUT)
        why = pthread_cond_timedwait(&g->moved, &g->lock, &until);
    return mine->is_in || mine->is_called_off;
}

int gate_enter(struct gate *g, const char *principal, int64_t deadline_us, struct gate_pass *mine,
               struct err *e)
{
    int failed = 0;
    pthread_mutex_lock(&g->lock);
    (void)snprintf(mine->principal, sizeof mine->principal, "%s", principal);
    if (g->last)
        g->last->next = mine;
    else
        g->first = mine;
    g->last = mine;
    g->waiting_count++;
    admit(g);
    if (!mine->is_in && g->waiting_count > g->waiting_max)
        failed = err_set(e, ERR_OVERLOADED, "too many runs wait already; try again in a moment");
    else if (!mine->is_in && !await(g, mine, deadline_us))
        failed = err_set(e, ERR_OVERLOADED, "no run could be begun in time; try again later");
    else if (!mine->is_in)
        failed = err_set(e, ERR_CONFLICT, "cancelled before it began");
    if (failed)
        leave_line(g, mine);
    pthread_mutex_unlock(&g->lock);
    return failed;
}

void gate_leave(struct gate *g, struct gate_pass *mine)
{
    pthread_mutex_lock(&g->lock);
    struct gate_pass **at = &g->inside;
    while (*at != mine)
        at = &(*at)->next;
    *at = mine->next;
    g->inside_count--;
    admit(g);
    pthread_mutex_unlock(&g->lock);
}

void gate_call_off(struct gate *g, struct gate_pass *which)
{
    pthread_mutex_lock(&g->lock);
    which->is_called_off = true;
    pthread_cond_broadcast(&g->moved);
    pthread_mutex_unlock(&g->lock);
}

void gate_look(struct gate *g, size_t *ret_inside, size_t *ret_waiting)
{
    pthread_mutex_lock(&g->lock);
    *ret_inside = g->inside_count;
    *ret_waiting = g->waiting_count;
    pthread_mutex_unlock(&g->lock);
}
