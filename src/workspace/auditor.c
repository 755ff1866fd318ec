#include "workspace/auditor.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/scope.h"
#include "workspace/bell.h"

#define MINUTE_US INT64_C(60000000)

struct auditor {
    struct auditor_options o;
    struct audit_key *key;
    struct bell_hook hook;
    bool has_hook;
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t sealing; /* one checkpoint at a time; held while it is written */

    pthread_mutex_t lock; /* protects what is below; a leaf */
    pthread_cond_t wake;
    bool stops, is_rung, is_verifying;
    int64_t minute_us; /* since when strangers are counted, monotonic */
    uint64_t strangers, left_out;
};

/* ---- checkpoints ---- */

static void rung(void *arg)
{
    struct auditor *a = arg;
    pthread_mutex_lock(&a->lock);
    a->is_rung = true;
    pthread_cond_signal(&a->wake);
    pthread_mutex_unlock(&a->lock);
}

/* Until something was written, or the deadline. False: it is time to end. */
static bool nap(struct auditor *a, int64_t until_us)
{
    const struct timespec until = {.tv_sec = until_us / 1000000,
                                   .tv_nsec = until_us % 1000000 * 1000};
    pthread_mutex_lock(&a->lock);
    int late = 0;
    while (!a->stops && !a->is_rung && !late)
        late = until_us == CLOCK_NEVER ? pthread_cond_wait(&a->wake, &a->lock)
                                       : pthread_cond_timedwait(&a->wake, &a->lock, &until);
    a->is_rung = false;
    bool goes_on = !a->stops;
    pthread_mutex_unlock(&a->lock);
    return goes_on;
}

int auditor_head(struct auditor *a, struct audit_checkpoint *ret, struct err *e)
{
    pthread_mutex_lock(&a->sealing);
    int failed = audit_seal(a->o.meta, a->key, a->o.data_fd, clock_wall_us(), ret, e);
    pthread_mutex_unlock(&a->sealing);
    return failed;
}

static void seal(struct auditor *a)
{
    struct audit_checkpoint made;
    struct err e = {0};
    if (auditor_head(a, &made, &e) && e.code != ERR_NOT_FOUND)
        log_line(a->o.log, LOG_WARNING, "no checkpoint of the audit", LOG_STR("why", e.text));
}

/* How many entries are newer than the newest checkpoint; 0 also when nobody can say. */
static uint64_t count_new(struct auditor *a)
{
    struct err ignored = {0};
    uint64_t sealed = 0, head = audit_head(a->o.meta, &ignored);
    return !audit_sealed(a->o.meta, &sealed, &ignored) && head > sealed ? head - sealed : 0;
}

static void *keep(void *arg)
{
    struct auditor *a = arg;
    int64_t due_us = CLOCK_NEVER;
    while (nap(a, due_us)) {
        uint64_t new = count_new(a);
        if (new >= AUDIT_SEAL_ROWS || (new > 0 && clock_us() >= due_us)) {
            seal(a);
            due_us = CLOCK_NEVER;
        } else if (new > 0 && due_us == CLOCK_NEVER) {
            due_us = clock_us() + (int64_t)AUDIT_SEAL_S * 1000000;
        }
    }
    return NULL;
}

/* ---- life ---- */

static int start(struct auditor *a, struct err *e)
{
    if (audit_key_load(a->o.data_fd, /* makes= */ true, &a->key, e) ||
        audit_seal_begin(a->o.meta, a->o.data_fd, e))
        return -1;
    int why = pthread_create(&a->thread, NULL, keep, a);
    if (why)
        return err_sys(e, why, "keep the audit");
    a->has_thread = true;
    a->hook = (struct bell_hook){.rung = rung, .arg = a};
    bell_add(a->o.bell, &a->hook);
    a->has_hook = true;
    return 0;
}

int auditor_open(const struct auditor_options *options, struct auditor **ret, struct err *e)
{
    pthread_condattr_t attr;
    struct auditor *a = calloc(1, sizeof *a);
    if (!a)
        return err_set(e, ERR_NO_MEMORY, "keep the audit");
    a->o = *options;
    (void)pthread_mutex_init(&a->sealing, NULL); /* none of these can fail in glibc */
    (void)pthread_mutex_init(&a->lock, NULL);
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&a->wake, &attr);
    (void)pthread_condattr_destroy(&attr);
    if (start(a, e)) {
        auditor_close(a);
        return -1;
    }
    *ret = a;
    return 0;
}

void auditor_close(struct auditor *a)
{
    if (!a)
        return;
    if (a->has_hook)
        bell_remove(a->o.bell, &a->hook);
    pthread_mutex_lock(&a->lock);
    a->stops = true;
    pthread_cond_signal(&a->wake);
    pthread_mutex_unlock(&a->lock);
    if (a->has_thread) {
        (void)pthread_join(a->thread, NULL);
        seal(a);
    }
    audit_key_free(a->key);
    (void)pthread_cond_destroy(&a->wake);
    (void)pthread_mutex_destroy(&a->lock);
    (void)pthread_mutex_destroy(&a->sealing);
    free(a);
}

struct meta *auditor_meta(struct auditor *a)
{
    return a->o.meta;
}

/* ---- strangers ---- */

bool auditor_tells_of_stranger(struct auditor *a, uint64_t *ret_left_out)
{
    int64_t now_us = clock_us();
    pthread_mutex_lock(&a->lock);
    if (now_us - a->minute_us >= MINUTE_US) {
        a->minute_us = now_us;
        a->strangers = 0;
    }
    bool tells = a->strangers < AUDITOR_STRANGERS_MAX;
    *ret_left_out = a->left_out;
    a->strangers += tells;
    a->left_out = tells ? 0 : a->left_out + 1;
    pthread_mutex_unlock(&a->lock);
    return tells;
}

/* ---- questions ---- */

int auditor_verify(struct auditor *a, const struct audit_checkpoint *given,
                   struct audit_verdict *ret, struct err *e)
{
    const struct audit_check check = {
        .data_fd = a->o.data_fd, .key = audit_key_public(a->key), .given = given};
    pthread_mutex_lock(&a->lock);
    bool was_busy = a->is_verifying;
    a->is_verifying = true;
    pthread_mutex_unlock(&a->lock);
    if (was_busy)
        return err_set(e, ERR_BUSY, "the audit is being checked already: try again later");
    int failed = audit_verify(a->o.meta, &check, ret, e);
    pthread_mutex_lock(&a->lock);
    a->is_verifying = false;
    pthread_mutex_unlock(&a->lock);
    return failed;
}

int auditor_list(struct auditor *a, const struct audit_filter *filter, struct audit_rows *ret,
                 struct err *e)
{
    return audit_list(a->o.meta, filter, ret, e);
}
