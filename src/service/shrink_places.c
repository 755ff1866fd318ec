/* shrink_places.c -- who gets which jail.
 *
 * A jail has a place, from which its directory has its name. A place is empty; or busy with one caller, who
 * alone uses its jail; or it waits, with a jail, for the next image of its owner:
 *
 *     EMPTY ---claim---> BUSY ---release---> WAITING ---claim, by its owner---> BUSY
 *       ^                 |                    |  +----claim, by another: its jail ends---> BUSY
 *       +-----------------+--------------------+
 *         the jail is spent, or none came        SHRINK_LINGER_MS later (the keeper)
 *
 * The keeper is a thread that ends jails which waited long enough. Starting and ending a jail takes long and
 * is done while its place is busy, without the lock.
 */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "service/shrink_int.h"

enum { US_PER_S = 1000000 };

/* With the lock held. False: it is later than that. */
static bool wait_until(struct shrinker *s, int64_t until_us)
{
    const struct timespec until = {.tv_sec = until_us / US_PER_S,
                                   .tv_nsec = until_us % US_PER_S * 1000};
    if (until_us == CLOCK_NEVER)
        return pthread_cond_wait(&s->moved, &s->lock) == 0;
    return pthread_cond_timedwait(&s->moved, &s->lock, &until) != ETIMEDOUT;
}

static void set_jail(struct shrinker *s, struct place *p, struct shrink_jail *jail)
{
    pthread_mutex_lock(&s->lock);
    p->jail = jail;
    pthread_mutex_unlock(&s->lock);
}

/* Of a place that is busy with us. */
static void end_jail(struct shrinker *s, struct place *p)
{
    struct shrink_jail *jail = p->jail;
    set_jail(s, p, NULL);
    s->jails->close(jail);
}

static void leave(struct shrinker *s, struct place *p)
{
    pthread_mutex_lock(&s->lock);
    p->state = p->jail ? PLACE_WAITING : PLACE_EMPTY;
    p->used_us = clock_us();
    (void)pthread_cond_broadcast(&s->moved);
    pthread_mutex_unlock(&s->lock);
}

/* The one that waits longest, or NULL. With the lock held. */
static struct place *oldest(struct shrinker *s)
{
    struct place *found = NULL;
    for (size_t i = 0; i < SHRINK_JAILS_MAX; i++) {
        struct place *p = &s->places[i];
        if (p->state == PLACE_WAITING && (!found || p->used_us < found->used_us))
            found = p;
    }
    return found;
}

/* Their own that waits; an empty one; that of somebody else; NULL: they have to wait. With the lock held. */
static struct place *choose(struct shrinker *s, const char *owner)
{
    struct place *empty = NULL;
    unsigned own = 0;
    for (size_t i = 0; i < SHRINK_JAILS_MAX; i++) {
        struct place *p = &s->places[i];
        bool is_own = p->state != PLACE_EMPTY && strcmp(p->owner, owner) == 0;
        if (is_own && p->state == PLACE_WAITING)
            return p;
        own += is_own;
        if (p->state == PLACE_EMPTY)
            empty = p;
    }
    if (own >= SHRINK_OWN_MAX)
        return NULL;
    return empty ? empty : oldest(s);
}

/* NULL: none became free in time, or the end has come. With the lock held. */
static struct place *await_place(struct shrinker *s, const char *owner)
{
    int64_t until_us = clock_us() + (int64_t)SHRINK_WAIT_MS * 1000;
    bool is_late = false;
    while (!s->is_stopping) {
        struct place *p = choose(s, owner);
        if (p || is_late)
            return p;
        is_late = !wait_until(s, until_us);
    }
    return NULL;
}

int shrinker_claim(struct shrinker *s, const char *owner, struct place **ret, struct err *e)
{
    bool is_own = false;
    pthread_mutex_lock(&s->lock);
    struct place *p = await_place(s, owner);
    if (p) {
        is_own = p->jail && strcmp(p->owner, owner) == 0;
        p->state = PLACE_BUSY;
        (void)snprintf(p->owner, sizeof p->owner, "%s", owner);
    }
    pthread_mutex_unlock(&s->lock);
    if (!p && s->is_stopping)
        return err_set(e, ERR_UNAVAILABLE, "the server is stopping");
    if (!p)
        return err_set(e, ERR_LIMIT, "too many images are made small at the same time; try again");
    if (!is_own || s->jails->is_spent(p->jail))
        end_jail(s, p);
    struct shrink_jail *jail = NULL;
    if (!p->jail && s->jails->open(&s->o, p->dir, &s->is_stopping, &jail, e)) {
        leave(s, p);
        return err_wrap(e, "make an image small");
    }
    if (jail)
        set_jail(s, p, jail);
    *ret = p;
    return 0;
}

void shrinker_release(struct shrinker *s, struct place *p, bool is_spoiled)
{
    if (is_spoiled || s->jails->is_spent(p->jail))
        end_jail(s, p);
    leave(s, p);
}

static void *keep(void *arg)
{
    struct shrinker *s = arg;
    pthread_mutex_lock(&s->lock);
    while (!s->is_stopping) {
        struct place *p = oldest(s);
        int64_t until_us = p ? p->used_us + s->linger_us : CLOCK_NEVER;
        if (!p || clock_us() < until_us) {
            (void)wait_until(s, until_us);
            continue;
        }
        p->state = PLACE_BUSY;
        pthread_mutex_unlock(&s->lock);
        end_jail(s, p);
        leave(s, p);
        pthread_mutex_lock(&s->lock);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* ---- its life ---- */

int shrinker_open_with(const struct shrinker_options *options, const struct shrink_jails *jails,
                       uint32_t linger_ms, struct shrinker **ret, struct err *e)
{
    pthread_condattr_t attr;
    struct shrinker *s = calloc(1, sizeof *s);
    if (!s)
        return err_set(e, ERR_NO_MEMORY, "make images small");
    s->o = *options;
    s->jails = jails;
    s->linger_us = (int64_t)linger_ms * 1000;
    for (size_t i = 0; i < SHRINK_JAILS_MAX; i++)
        (void)snprintf(s->places[i].dir, sizeof s->places[i].dir, "shrink-%zu", i);
    (void)pthread_mutex_init(&s->lock, NULL); /* none of these can fail in glibc */
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&s->moved, &attr);
    (void)pthread_condattr_destroy(&attr);
    int why = pthread_create(&s->keeper, NULL, keep, s);
    s->has_keeper = why == 0;
    if (why) {
        shrinker_close(s);
        return err_sys(e, why, "make images small");
    }
    *ret = s;
    return 0;
}

int shrinker_open(const struct shrinker_options *options, struct shrinker **ret, struct err *e)
{
    return shrinker_open_with(options, &shrink_jails_real, SHRINK_LINGER_MS, ret, e);
}

void shrinker_stop(struct shrinker *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    s->is_stopping = true;
    for (size_t i = 0; i < SHRINK_JAILS_MAX; i++)
        if (s->places[i].state == PLACE_BUSY && s->places[i].jail)
            s->jails->cancel(s->places[i].jail);
    (void)pthread_cond_broadcast(&s->moved);
    pthread_mutex_unlock(&s->lock);
}

void shrinker_close(struct shrinker *s)
{
    if (!s)
        return;
    shrinker_stop(s);
    if (s->has_keeper)
        (void)pthread_join(s->keeper, NULL);
    for (size_t i = 0; i < SHRINK_JAILS_MAX; i++) {
        assert(s->places[i].state != PLACE_BUSY);
        s->jails->close(s->places[i].jail);
    }
    (void)pthread_cond_destroy(&s->moved);
    (void)pthread_mutex_destroy(&s->lock);
    free(s);
}

size_t shrinker_count(struct shrinker *s)
{
    size_t count = 0;
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < SHRINK_JAILS_MAX; i++)
        count += s->places[i].jail != NULL;
    pthread_mutex_unlock(&s->lock);
    return count;
}
