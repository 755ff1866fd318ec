/* locks_wait.c -- the line of those who wait for locks.
 *
 * A waiter whose wish collides with that of somebody before it waits for them to leave. The others ask the
 * store, and when that says no, wait until some lock was ended (line.ended, line.moved) or the one that is in
 * their way expires. Whoever leaves the line wakes all: somebody behind may be the first now. */
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "workspace/files_int.h"
#include "workspace/locks.h"

struct waiter {
    struct waiter *next; /* who came later */
    const struct lock_row *wish;
};

void line_init(struct line *l)
{
    pthread_condattr_t attr;
    *l = (struct line){0};
    (void)pthread_mutex_init(&l->lock, NULL); /* none of these can fail in glibc */
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&l->moved, &attr);
    (void)pthread_condattr_destroy(&attr);
}

void line_done(struct line *l)
{
    (void)pthread_cond_destroy(&l->moved);
    (void)pthread_mutex_destroy(&l->lock);
}

/* ---- from outside ---- */

static void wake(struct files *f, bool is_stopping)
{
    struct line *l = &f->line;
    pthread_mutex_lock(&l->lock);
    l->ended++;
    l->is_stopping = l->is_stopping || is_stopping;
    (void)pthread_cond_broadcast(&l->moved);
    pthread_mutex_unlock(&l->lock);
}

void locks_wake(struct files *f)
{
    wake(f, /* is_stopping= */ false);
}

void locks_stop(struct files *f)
{
    wake(f, /* is_stopping= */ true);
}

void lock_give_up(void *patience)
{
    struct lock_patience *p = patience;
    struct line *l = &p->files->line;
    pthread_mutex_lock(&l->lock);
    p->is_over = true;
    l->ended++; /* it may be asking the store just now, and is to look again */
    (void)pthread_cond_broadcast(&l->moved);
    pthread_mutex_unlock(&l->lock);
}

/* ---- in the line ---- */

static bool is_in(const char *path, const char *top)
{
    size_t len = strlen(top);
    return len == 0 || (strncmp(path, top, len) == 0 && (path[len] == '/' || path[len] == '\0'));
}

/* Whether the two cannot be held together. */
static bool collide(const struct lock_row *a, const struct lock_row *b)
{
    if (strcmp(a->workspace, b->workspace) != 0 || (a->is_shared && b->is_shared))
        return false;
    return strcmp(a->path, b->path) == 0 || (a->is_tree && is_in(b->path, a->path)) ||
           (b->is_tree && is_in(a->path, b->path));
}

/* The lock is held. */
static bool is_behind(const struct line *l, const struct waiter *me)
{
    for (const struct waiter *w = l->first; w && w != me; w = w->next)
        if (collide(w->wish, me->wish))
            return true;
    return false;
}

static int enter(struct files *f, struct waiter *me, struct err *e)
{
    struct line *l = &f->line;
    size_t max = f->o.lock_waiters_max ? f->o.lock_waiters_max : LOCK_WAITERS_MAX;
    if (l->is_stopping)
        return err_set(e, ERR_OVERLOADED, "the server is stopping");
    if (l->count >= max)
        return err_set(e, ERR_OVERLOADED, "%zu requests wait for locks already: try again", max);
    struct waiter **at = &l->first;
    while (*at)
        at = &(*at)->next;
    *at = me;
    l->count++;
    return 0;
}

static void leave(struct line *l, struct waiter *me)
{
    struct waiter **at = &l->first;
    while (*at != me)
        at = &(*at)->next;
    *at = me->next;
    l->count--;
    (void)pthread_cond_broadcast(&l->moved);
}

static void sleep_until(struct line *l, int64_t at_us)
{
    struct timespec at = {.tv_sec = at_us / 1000000, .tv_nsec = at_us % 1000000 * 1000};
    (void)pthread_cond_timedwait(&l->moved, &l->lock, &at);
}

/* ---- asking ---- */

static int try_once(struct files *f, struct lock_row *row, struct lock_block *ret_block,
                    struct err *e)
{
    uint64_t fence;
    row->created_us = clock_wall_us();
    row->expires_us = row->created_us + (int64_t)row->ttl_s * 1000000;
    *e = (struct err){0};
    return meta_lock_take(f->o.meta, row, &fence, ret_block, e);
}

/* When to ask again although nobody said that anything was ended. */
static int64_t again_at(const struct lock_block *block, int64_t deadline_us)
{
    int64_t left_us = block->expires_us - clock_wall_us();
    int64_t at_us = clock_us() + (left_us > 0 ? left_us : 0) + 1000;
    return at_us < deadline_us ? at_us : deadline_us;
}

/* One look: 1 when it is over, *ret_failed says how; 0: at *ret_wake_us again. The line's lock is held, but
 * not while the store is asked. */
static int look(struct files *f, struct waiter *me, struct lock_row *row, int64_t deadline_us,
                struct lock_block *ret_block, int *ret_failed, int64_t *ret_wake_us, struct err *e)
{
    struct line *l = &f->line;
    bool is_late = clock_us() >= deadline_us;
    *ret_wake_us = deadline_us;
    if (is_behind(l, me) && !is_late)
        return 0;
    uint64_t seen = l->ended;
    pthread_mutex_unlock(&l->lock);
    *ret_failed = try_once(f, row, ret_block, e);
    pthread_mutex_lock(&l->lock);
    if (!*ret_failed || e->code != ERR_LOCKED || is_late)
        return 1;
    *ret_wake_us = l->ended == seen ? again_at(ret_block, deadline_us) : 0;
    return 0;
}

static int wait_in_line(struct files *f, struct waiter *me, struct lock_row *row,
                        int64_t deadline_us, const struct lock_patience *patience,
                        struct lock_block *ret_block, struct err *e)
{
    struct line *l = &f->line;
    int failed = -1;
    for (;;) {
        int64_t wake_us;
        if (l->is_stopping)
            return err_set(e, ERR_OVERLOADED, "the server is stopping");
        if (patience && patience->is_over)
            return err_set(e, ERR_GONE, "nobody waits for the lock any more");
        if (look(f, me, row, deadline_us, ret_block, &failed, &wake_us, e))
            return failed;
        if (wake_us > clock_us())
            sleep_until(l, wake_us);
    }
}

int lock_await(struct files *f, struct lock_row *row, int64_t deadline_us,
               const struct lock_patience *patience, struct lock_block *ret_block, struct err *e)
{
    struct line *l = &f->line;
    struct waiter me = {.wish = row};
    if (deadline_us <= clock_us())
        return try_once(f, row, ret_block, e);
    pthread_mutex_lock(&l->lock);
    int failed = enter(f, &me, e);
    if (!failed) {
        failed = wait_in_line(f, &me, row, deadline_us, patience, ret_block, e);
        leave(l, &me);
    }
    pthread_mutex_unlock(&l->lock);
    return failed ? -1 : 0;
}
