#include "service/turn.h"

#include <errno.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"

void turn_init(struct turn *t, size_t waiting_max)
{
    *t = (struct turn){.waiting_max = waiting_max};
    pthread_condattr_t steady; /* none of these can fail with these attributes */
    (void)pthread_condattr_init(&steady);
    (void)pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&t->lock, NULL);
    (void)pthread_cond_init(&t->moved, &steady);
    (void)pthread_condattr_destroy(&steady);
}

void turn_done(struct turn *t)
{
    (void)pthread_cond_destroy(&t->moved);
    (void)pthread_mutex_destroy(&t->lock);
}

/* With the lock held. */
static void queue(struct turn *t, struct turn_place *mine)
{
    *mine = (struct turn_place){0};
    if (t->last)
        t->last->next = mine;
    else
        t->first = mine;
    t->last = mine;
    t->count++;
}

/* With the lock held. */
static bool are_brief(const struct turn *t)
{
    const struct turn_place *at = t->first;
    while (at && at->is_brief)
        at = at->next;
    return !at;
}

static int take(struct turn *t, struct turn_place *mine, bool may_queue, struct err *e)
{
    if (!may_queue)
        return err_set(e, ERR_BUSY, "the session is busy; wait for its run, or cancel it");
    if (t->count > t->waiting_max)
        return err_set(e, ERR_BUSY, "%zu requests wait for this session already; try again later",
                       t->waiting_max);
    queue(t, mine);
    return 0;
}

int turn_take(struct turn *t, struct turn_place *mine, bool is_patient, struct err *e)
{
    pthread_mutex_lock(&t->lock);
    int failed = take(t, mine, is_patient || t->count == 0, e);
    pthread_mutex_unlock(&t->lock);
    return failed;
}

int turn_take_brief(struct turn *t, struct turn_place *mine, struct err *e)
{
    pthread_mutex_lock(&t->lock);
    int failed = take(t, mine, are_brief(t), e);
    if (!failed)
        mine->is_brief = true;
    pthread_mutex_unlock(&t->lock);
    return failed;
}

void turn_insist(struct turn *t, struct turn_place *mine)
{
    pthread_mutex_lock(&t->lock);
    queue(t, mine);
    pthread_mutex_unlock(&t->lock);
}

int turn_await_until(struct turn *t, struct turn_place *mine, int64_t deadline_us, struct err *e)
{
    const struct timespec until = {.tv_sec = deadline_us / 1000000,
                                   .tv_nsec = deadline_us % 1000000 * 1000};
    bool is_late = false;
    pthread_mutex_lock(&t->lock);
    while (t->first != mine && !mine->is_called_off && !is_late)
        is_late = deadline_us == CLOCK_NEVER
                      ? pthread_cond_wait(&t->moved, &t->lock) != 0
                      : pthread_cond_timedwait(&t->moved, &t->lock, &until) == ETIMEDOUT;
    bool is_called_off = mine->is_called_off, is_ours = t->first == mine;
    pthread_mutex_unlock(&t->lock);
    if (is_called_off)
        return err_set(e, ERR_CONFLICT, "cancelled while it waited for its turn");
    return is_ours ? 0
                   : err_set(e, ERR_BUSY, "the session is busy; wait for its run, or cancel it");
}

int turn_await(struct turn *t, struct turn_place *mine, struct err *e)
{
    return turn_await_until(t, mine, CLOCK_NEVER, e);
}

void turn_call_off(struct turn *t, struct turn_place *which)
{
    pthread_mutex_lock(&t->lock);
    which->is_called_off = true;
    pthread_cond_broadcast(&t->moved);
    pthread_mutex_unlock(&t->lock);
}

void turn_leave(struct turn *t, struct turn_place *mine)
{
    pthread_mutex_lock(&t->lock);
    struct turn_place *before = NULL;
    for (struct turn_place *at = t->first; at != mine; at = at->next)
        before = at;
    if (before)
        before->next = mine->next;
    else
        t->first = mine->next;
    if (t->last == mine)
        t->last = before;
    t->count--;
    pthread_cond_broadcast(&t->moved);
    pthread_mutex_unlock(&t->lock);
}

size_t turn_count(struct turn *t)
{
    pthread_mutex_lock(&t->lock);
    size_t count = t->count;
    pthread_mutex_unlock(&t->lock);
    return count;
}
