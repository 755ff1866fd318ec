/* service.c -- its beginning and its end. */
#include "service/service.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/dir.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/tree.h"
#include "service/checkout.h"
#include "service/desk.h"
#include "service/service_int.h"
#include "session/session.h"
#include "store/meta.h"

enum { SLEEPERS = 4 }; /* threads that put sessions to sleep at the end */

static const char interrupted[] =
    "server restarted: it ended before this run did. Variables that were not asleep are lost; files in "
    "/mnt/data are kept. Run it again if it should have ended.";

static void remove_copy(int live_fd, const char *name)
{
    struct err ignored = {0}; /* tried again at the next start */
    scoped(fd_closep) int fd = below_open_dir(live_fd, name);
    if (fd >= 0)
        (void)tree_remove(fd, &ignored);
    (void)unlinkat(live_fd, name, AT_REMOVEDIR);
}

/* Directories of sessions that were closed, or never came to be, when an earlier server died. What was in
 * a closed one was kept before it was closed. */
static void sweep_live(struct service *s)
{
    struct dir d;
    int fd = below_open_dir(s->o.live_fd, ".");
    if (fd < 0)
        return;
    dir_init(&d, fd);
    for (const struct dirent64 *entry; (entry = dir_next(&d));) {
        struct session_row row;
        struct err e = {0};
        bool is_open = false;
        if (meta_session_get(s->o.meta, entry->d_name, &row, &e) == 0) {
            is_open = row.closed_us == 0;
            session_row_done(&row);
        } else {
            is_open = e.code != ERR_NOT_FOUND; /* who knows: leave it */
        }
        if (!is_open)
            remove_copy(s->o.live_fd, entry->d_name);
    }
    dir_done(&d);
}

/* One-shots of a server that died: nobody will ever use them again. */
static int recover(struct service *s, struct err *e)
{
    struct run_rows ended;
    sweep_live(s); /* first: what follows needs room */
    if (meta_runs_interrupt(s->o.meta, run_end_name(END_KILLED), interrupted, &ended, e) ||
        meta_idem_restart(s->o.meta, e))
        return -1;
    run_rows_done(&ended);
    return 0;
}

int service_open(const struct service_options *options, struct service **ret, struct err *e)
{
    pthread_condattr_t attr;
    struct service *s = calloc(1, sizeof *s);
    if (!s)
        return err_set(e, ERR_NO_MEMORY, "open the service");
    s->o = *options;
    gate_init(&s->gate, s->o.slots, s->o.share_max, s->o.waiting_max);
    (void)pthread_mutex_init(&s->lock, NULL); /* none of these can fail in glibc */
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&s->quiet, &attr);
    (void)pthread_condattr_destroy(&attr);
    if (recover(s, e) || checkouts_open(s->o.checkouts_fd, s->o.files, &s->checkouts, e) ||
        keeper_start(s, e) || scribe_start(s, e)) {
        service_close(s);
        return -1;
    }
    *ret = s;
    return 0;
}

/* ---- the end ---- */

static void end_keeper(struct service *s)
{
    if (!s->has_keeper)
        return;
    pthread_mutex_lock(&s->lock);
    s->is_closing = true;
    pthread_cond_broadcast(&s->quiet);
    pthread_mutex_unlock(&s->lock);
    (void)pthread_join(s->keeper, NULL);
    s->has_keeper = false;
}

static void end_jobs(struct service *s, int64_t deadline_us)
{
    size_t count;
    struct job **list = jobs_list(s, /* seat= */ NULL, &count);
    for (size_t i = 0; list && i < count; i++)
        (void)job_wait(list[i], deadline_us);
    for (size_t i = 0; list && i < count; i++)
        if (!job_wait(list[i], 0))
            job_cancel(list[i]);
    for (size_t i = 0; list && i < count; i++) {
        (void)job_wait(list[i], clock_us() + (int64_t)2 * INTERRUPT_GRACE_MS * 1000);
        job_unref(list[i]);
    }
    free(list);
    pthread_mutex_lock(&s->lock);
    const struct timespec until = {.tv_sec = clock_us() / 1000000 + 10};
    while (s->launched > 0 && pthread_cond_timedwait(&s->quiet, &s->lock, &until) == 0) {
    }
    pthread_mutex_unlock(&s->lock);
}

struct round {
    struct service *service;
    struct seat **list;
    size_t count;
    atomic_size_t next;
};

static void *put_to_sleep(void *arg)
{
    struct round *r = arg;
    struct err ignored = {0}; /* then its next run says that the variables are lost */
    for (size_t i; (i = atomic_fetch_add(&r->next, 1)) < r->count;) {
        struct seat_use use;
        if (r->list[i]->is_one_shot)
            (void)seat_close(r->list[i], "server stopped", &ignored);
        else if (seat_begin(r->list[i], &use, &ignored) == 0) {
            (void)seat_doze(r->list[i], /* must= */ true, &ignored);
            seat_end(&use);
        }
        seat_unref(r->list[i]);
    }
    return NULL;
}

/* All at once would need the memory of all images at once; one after the other takes long. */
static void all_to_sleep(struct service *s)
{
    struct round r = {.service = s};
    pthread_t threads[SLEEPERS];
    size_t started = 0, total = 0;
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < TABLE_SIZE; i++)
        for (struct seat *seat = s->seats[i]; seat; seat = seat->next)
            total++;
    r.list = calloc(total + 1, sizeof(void *));
    for (size_t i = 0; r.list && i < TABLE_SIZE; i++)
        for (struct seat *seat = s->seats[i]; seat; seat = seat->next) {
            seat->refs++;
            r.list[r.count++] = seat;
        }
    pthread_mutex_unlock(&s->lock);
    while (started < SLEEPERS - 1 && pthread_create(&threads[started], NULL, put_to_sleep, &r) == 0)
        started++;
    (void)put_to_sleep(&r);
    while (started > 0)
        (void)pthread_join(threads[--started], NULL);
    free(r.list);
}

void service_stop(struct service *s, uint32_t drain_ms)
{
    pthread_mutex_lock(&s->lock);
    s->is_stopping = true;
    pthread_mutex_unlock(&s->lock);
    room_stop(s);
    scribe_end(s);
    end_keeper(s);
    end_jobs(s, clock_us() + (int64_t)drain_ms * 1000);
    all_to_sleep(s);
    jobs_forget(s, INT64_MAX);
}

void service_close(struct service *s)
{
    if (!s)
        return;
    scribe_end(s);
    end_keeper(s);
    jobs_forget(s, INT64_MAX);
    for (size_t i = 0; i < TABLE_SIZE; i++)
        while (s->seats[i]) { /* those that could not be put to sleep */
            struct seat *seat = s->seats[i];
            pthread_mutex_lock(&seat->lock);
            seat->is_closed = true;
            pthread_mutex_unlock(&seat->lock);
            seat_unref(seat_ref(seat));
            if (s->seats[i] == seat)
                break; /* somebody still holds it: a leak is better than a crash */
        }
    checkouts_close(s->checkouts);
    gate_done(&s->gate);
    (void)pthread_cond_destroy(&s->quiet);
    (void)pthread_mutex_destroy(&s->lock);
    free(s);
}

const struct limits *service_limits_max(const struct service *s)
{
    return &s->o.limits_max;
}

void service_look(struct service *s, struct service_info *ret)
{
    pthread_mutex_lock(&s->lock);
    *ret = s->info;
    size_t for_room = s->room.count;
    for (size_t i = 0; i < TABLE_SIZE; i++)
        for (struct seat *seat = s->seats[i]; seat; seat = seat->next) {
            struct session_info info;
            session_look(seat->session, &info);
            ret->awake += life_has_kernel(info.life);
        }
    pthread_mutex_unlock(&s->lock);
    gate_look(&s->gate, &ret->running, &ret->waiting);
    ret->waiting += for_room;
}
