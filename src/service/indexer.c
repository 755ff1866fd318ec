/* indexer.c -- the thread: notices, then what they were about, then one document after the other. */
#include "service/indexer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/scope.h"
#include "service/indexer_int.h"

int indexer_new(struct indexer **ret, struct err *e)
{
    pthread_condattr_t monotonic;
    struct indexer *ix = calloc(1, sizeof *ix);
    if (ix)
        ix->runs = calloc(INDEXER_RUNS_MAX, sizeof *ix->runs);
    if (!ix || !ix->runs) {
        free(ix);
        return err_set(e, ERR_NO_MEMORY, "index files");
    }
    (void)pthread_mutex_init(&ix->lock, NULL); /* none of these can fail in glibc */
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&ix->wake, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    ix->is_all_changed = true;
    *ret = ix;
    return 0;
}

void indexer_free(struct indexer *ix)
{
    if (!ix)
        return;
    (void)pthread_cond_destroy(&ix->wake);
    (void)pthread_mutex_destroy(&ix->lock);
    free(ix->runs);
    free(ix);
}

/* ---- notices ---- */

static bool is_noticed(const struct indexer *ix, const char *workspace)
{
    for (size_t i = 0; i < ix->changed_count; i++)
        if (strcmp(ix->changed[i], workspace) == 0)
            return true;
    return false;
}

void indexer_changed(struct indexer *ix, const char *workspace)
{
    if (!ix)
        return;
    pthread_mutex_lock(&ix->lock);
    if (!ix->is_all_changed && !is_noticed(ix, workspace)) {
        if (ix->changed_count < INDEXER_NOTICES_MAX)
            (void)snprintf(ix->changed[ix->changed_count++], ID_SIZE, "%s", workspace);
        else
            ix->is_all_changed = true;
    }
    (void)pthread_cond_signal(&ix->wake);
    pthread_mutex_unlock(&ix->lock);
}

void indexer_ran(struct indexer *ix, const char *run)
{
    if (!ix)
        return;
    pthread_mutex_lock(&ix->lock);
    if (ix->run_count < INDEXER_RUNS_MAX)
        (void)snprintf(ix->runs[ix->run_count++], ID_SIZE, "%s", run);
    else
        ix->is_all_changed = true; /* they are looked for, then */
    (void)pthread_cond_signal(&ix->wake);
    pthread_mutex_unlock(&ix->lock);
}

/* What is to be looked at, taken out of the indexer. */
struct notices {
    char changed[INDEXER_NOTICES_MAX][ID_SIZE];
    size_t changed_count, run_count;
    char (*runs)[ID_SIZE];
    bool is_all;
};

static bool has_notice(const struct indexer *ix)
{
    return ix->changed_count || ix->run_count || ix->is_all_changed;
}

static void take_notices(struct indexer *ix, struct notices *n)
{
    pthread_mutex_lock(&ix->lock);
    memcpy(n->changed, ix->changed, sizeof n->changed);
    memcpy(n->runs, ix->runs, ix->run_count * sizeof *n->runs);
    n->changed_count = ix->changed_count;
    n->run_count = ix->run_count;
    n->is_all = ix->is_all_changed;
    ix->changed_count = ix->run_count = 0;
    ix->is_all_changed = false;
    pthread_mutex_unlock(&ix->lock);
}

static int follow(struct indexer *ix, const struct notices *n, struct err *e)
{
    if (n->is_all && index_note_all(ix, e))
        return -1;
    for (size_t i = 0; i < n->changed_count && !ix->is_stopping; i++)
        if (index_note_workspace(ix, n->changed[i], e))
            return -1;
    for (size_t i = 0; i < n->run_count && !ix->is_stopping; i++)
        if (index_note_run(ix, n->runs[i], e))
            return -1;
    return 0;
}

/* ---- the thread ---- */

/* True when something was noticed or it is time to end. */
static bool wait_until(struct indexer *ix, int64_t until_us, bool for_notice)
{
    const struct timespec until = {.tv_sec = until_us / 1000000,
                                   .tv_nsec = until_us % 1000000 * 1000};
    int why = 0;
    pthread_mutex_lock(&ix->lock);
    while (!ix->is_stopping && !(for_notice && has_notice(ix)) && why != ETIMEDOUT)
        why = until_us == CLOCK_NEVER ? pthread_cond_wait(&ix->wake, &ix->lock)
                                      : pthread_cond_timedwait(&ix->wake, &ix->lock, &until);
    bool is_so = ix->is_stopping || (for_notice && has_notice(ix));
    pthread_mutex_unlock(&ix->lock);
    return is_so;
}

/* The extractor waits a little for more, then it ends; without one, there is nothing to wait for. */
static void rest(struct indexer *ix)
{
    if (ix->extractor && wait_until(ix, clock_us() + INDEXER_LINGER_MS * 1000, true))
        return;
    index_drop_extractor(ix);
    (void)wait_until(ix, CLOCK_NEVER, true);
}

/* What failed is ours to repair, so it is tried again: everything is looked at, because nobody knows how
 * far it came. */
static void recover(struct indexer *ix, const struct err *why)
{
    log_line(ix->o.log, LOG_WARNING, "indexing waits", LOG_STR("why", why->text));
    index_drop_extractor(ix);
    pthread_mutex_lock(&ix->lock);
    ix->is_all_changed = true;
    pthread_mutex_unlock(&ix->lock);
    (void)wait_until(ix, clock_us() + (int64_t)INDEXER_RETRY_MS * 1000, false);
}

static void work(struct indexer *ix, struct notices *n)
{
    while (!ix->is_stopping) {
        struct err e = {0};
        take_notices(ix, n);
        int got = follow(ix, n, &e);
        if (got == 0)
            got = index_read_next(ix, &e);
        if (got == 0)
            got = index_mean_next(ix, &e);
        if (got < 0 && !ix->is_stopping)
            recover(ix, &e);
        else if (got == 0 && !ix->is_stopping) {
            rest(ix);
            (void)wait_until(ix, clock_us() + INDEXER_CALM_MS * 1000, false);
        }
    }
}

static void *run_thread(void *arg)
{
    struct indexer *ix = arg;
    struct notices *n = calloc(1, sizeof *n);
    if (n)
        n->runs = calloc(INDEXER_RUNS_MAX, sizeof *n->runs);
    if (n && n->runs)
        work(ix, n);
    else
        log_line(ix->o.log, LOG_ERROR, "nothing is indexed", LOG_STR("why", "no memory"));
    index_drop_extractor(ix);
    free(n ? n->runs : NULL);
    free(n);
    return NULL;
}

int indexer_start(struct indexer *ix, const struct indexer_options *options, struct err *e)
{
    ix->o = *options;
    int why = pthread_create(&ix->thread, NULL, run_thread, ix);
    if (why)
        return err_sys(e, why, "start the indexer");
    ix->has_thread = true;
    return 0;
}

void indexer_stop(struct indexer *ix)
{
    if (!ix || !ix->has_thread)
        return;
    pthread_mutex_lock(&ix->lock);
    ix->is_stopping = true;
    if (ix->extractor)
        extractor_cancel(ix->extractor);
    (void)pthread_cond_broadcast(&ix->wake);
    pthread_mutex_unlock(&ix->lock);
    (void)pthread_join(ix->thread, NULL);
    ix->has_thread = false;
}
