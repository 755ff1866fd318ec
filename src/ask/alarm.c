#include "ask/alarm.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "agent/halt.h"
#include "base/clock.h"
#include "base/err.h"

struct alarms {
    pthread_mutex_t lock; /* protects what follows */
    pthread_cond_t changed;
    struct alarm *first;
    pthread_t thread;
    bool has_thread, is_ending;
};

int alarms_open(struct alarms **ret, struct err *e)
{
    pthread_condattr_t attr;
    struct alarms *all = calloc(1, sizeof *all);
    if (!all)
        return err_set(e, ERR_NO_MEMORY, "prepare alarms");
    (void)pthread_mutex_init(&all->lock, NULL); /* none of these can fail in glibc */
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&all->changed, &attr);
    (void)pthread_condattr_destroy(&attr);
    *ret = all;
    return 0;
}

void alarms_close(struct alarms *all)
{
    if (!all)
        return;
    pthread_mutex_lock(&all->lock);
    all->is_ending = true;
    pthread_cond_broadcast(&all->changed);
    pthread_mutex_unlock(&all->lock);
    if (all->has_thread)
        (void)pthread_join(all->thread, NULL);
    (void)pthread_cond_destroy(&all->changed);
    (void)pthread_mutex_destroy(&all->lock);
    free(all);
}

static void unlink_alarm(struct alarms *all, struct alarm *a)
{
    struct alarm **at = &all->first;
    while (*at && *at != a)
        at = &(*at)->next;
    if (*at)
        *at = a->next;
    a->is_set = false;
}

/* Rings those whose time has come; when the next one's comes. halt_now does not block. */
static int64_t ring(struct alarms *all)
{
    int64_t now_us = clock_us(), next_us = CLOCK_NEVER;
    for (struct alarm *a = all->first, *after; a; a = after) {
        after = a->next;
        if (a->at_us > now_us) {
            next_us = a->at_us < next_us ? a->at_us : next_us;
            continue;
        }
        unlink_alarm(all, a);
        a->has_rung = true;
        halt_now(a->halt);
    }
    return next_us;
}

static void *watch(void *arg)
{
    struct alarms *all = arg;
    pthread_mutex_lock(&all->lock);
    while (!all->is_ending) {
        int64_t next_us = ring(all);
        const struct timespec at = {.tv_sec = next_us / 1000000,
                                    .tv_nsec = next_us % 1000000 * 1000};
        if (next_us == CLOCK_NEVER)
            (void)pthread_cond_wait(&all->changed, &all->lock);
        else
            (void)pthread_cond_timedwait(&all->changed, &all->lock, &at);
    }
    pthread_mutex_unlock(&all->lock);
    return NULL;
}

int alarm_set(struct alarms *all, struct alarm *a, int64_t at_us, struct halt *halt, struct err *e)
{
    int failed = 0;
    *a = (struct alarm){.at_us = at_us, .halt = halt, .is_set = true};
    pthread_mutex_lock(&all->lock);
    if (!all->has_thread)
        failed = pthread_create(&all->thread, NULL, watch, all);
    all->has_thread = all->has_thread || !failed;
    if (!failed) {
        a->next = all->first;
        all->first = a;
        pthread_cond_broadcast(&all->changed);
    }
    pthread_mutex_unlock(&all->lock);
    return failed ? err_set(e, ERR_OVERLOADED, "no thread can be started now") : 0;
}

bool alarm_clear(struct alarms *all, struct alarm *a)
{
    pthread_mutex_lock(&all->lock);
    if (a->is_set)
        unlink_alarm(all, a);
    bool has_rung = a->has_rung;
    pthread_mutex_unlock(&all->lock);
    return has_rung;
}
