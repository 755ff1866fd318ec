#include "service/turn.h"

#include "base/err.h"

void turn_init(struct turn *t, size_t waiting_max)
{
    *t = (struct turn){.waiting_max = waiting_max};
    (void)pthread_mutex_init(&t->lock, NULL); /* these cannot fail with default attributes */
    (void)pthread_cond_init(&t->moved, NULL);
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

int turn_take(struct turn *t, struct turn_place *mine, bool is_patient, struct err *e)
{
    int failed = 0;
    pthread_mutex_lock(&t->lock);
    if (t->count > 0 && !is_patient)
        failed = err_set(e, ERR_BUSY, "the session is busy; wait for its run, or cancel it");
    else if (t->count > t->waiting_max)
        failed = err_set(e, ERR_BUSY, "%zu requests wait for this session already; try again later",
                         t->waiting_max);
    if (!failed)
        queue(t, mine);
    pthread_mutex_unlock(&t->lock);
    return failed;
}

void turn_insist(struct turn *t, struct turn_place *mine)
{
    pthread_mutex_lock(&t->lock);
    queue(t, mine);
    pthread_mutex_unlock(&t->lock);
}

int turn_await(struct turn *t, struct turn_place *mine, struct err *e)
{
    pthread_mutex_lock(&t->lock);
    while (t->first != mine && !mine->is_called_off)
        pthread_cond_wait(&t->moved, &t->lock);
    bool is_called_off = mine->is_called_off;
    pthread_mutex_unlock(&t->lock);
    return is_called_off ? err_set(e, ERR_CONFLICT, "cancelled while it waited for its turn") : 0;
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
