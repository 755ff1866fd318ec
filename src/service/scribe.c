/* scribe.c -- the thread that keeps what runs have written although they have not ended: after a crash
 * of the server, and every KEEP_US of a long run; and what found no room, when a full disk has some again. */
#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/dir.h"
#include "base/err.h"
#include "base/log.h"
#include "base/scope.h"
#include "service/desk.h"
#include "service/service_int.h"
#include "session/session.h"
#include "workspace/files.h"

enum {
    KEEP_US = 30 * 1000000,
    NAP_US = 1000000, /* how late that may be */
};

/* ---- what an earlier server left ---- */

static void keep_left(struct service *s, const char *session)
{
    const struct who everybody = {.is_admin = true, .scopes = SCOPE_ALL};
    struct err e = {0};
    struct seat *seat;
    struct turn_place place;
    const struct jail_data *data;
    if (seat_find(s, &everybody, session, &seat, &e))
        return; /* swept, or closed meanwhile */
    if (turn_take(&seat->turn, &place, /* is_patient= */ false, &e) == 0) {
        /* Whoever uses it first does the same; then it is done already. */
        if (turn_await(&seat->turn, &place, &e) == 0 &&
            (desk_ready(seat->desk, seat->session, &data, &e) ||
             desk_rest(seat->desk, seat->session, &e)))
            log_line(s->o.log, LOG_ERROR, "what a session left was not kept",
                     LOG_STR("session", session), LOG_STR("why", e.text));
        turn_leave(&seat->turn, &place);
        room_changed(seat->service);
    }
    seat_unref(seat);
}

static void keep_all_left(struct service *s)
{
    struct dir d;
    int fd = below_open_dir(s->o.live_fd, ".");
    if (fd < 0)
        return;
    dir_init(&d, fd);
    for (const struct dirent64 *entry; !s->is_stopping && (entry = dir_next(&d));)
        if (desk_was_left(s->o.live_fd, entry->d_name))
            keep_left(s, entry->d_name);
    dir_done(&d);
}

/* ---- long runs ---- */

static bool is_due(struct job *j, int64_t now_us)
{
    pthread_mutex_lock(&j->lock);
    bool is_running = j->phase == JOB_IN_ENGINE && j->started_us > 0;
    pthread_mutex_unlock(&j->lock);
    if (!is_running)
        return false;
    if (j->kept_us == 0)
        j->kept_us = now_us; /* it began a moment ago */
    return now_us - j->kept_us >= KEEP_US;
}

static void keep_long(struct service *s)
{
    size_t count;
    struct job **list = jobs_list(s, /* seat= */ NULL, &count);
    for (size_t i = 0; list && i < count; i++) {
        struct job *j = list[i];
        struct err e = {0};
        if (!s->is_stopping && is_due(j, clock_us())) {
            const struct author author = job_author(j);
            if (desk_glance(j->seat->desk, &author, &e))
                log_line(s->o.log, LOG_WARNING, "files of a run were not kept yet",
                         LOG_STR("run", j->id), LOG_STR("why", e.text));
            j->kept_us = clock_us();
        }
        job_unref(j);
    }
    free(list);
}

/* ---- the thread ---- */

static bool nap(struct service *s)
{
    int64_t until_us = clock_us() + NAP_US;
    const struct timespec until = {.tv_sec = until_us / 1000000,
                                   .tv_nsec = until_us % 1000000 * 1000};
    pthread_mutex_lock(&s->lock);
    bool goes_on = !s->is_closing && !s->is_stopping;
    if (goes_on)
        (void)pthread_cond_timedwait(&s->quiet, &s->lock, &until);
    goes_on = !s->is_closing && !s->is_stopping;
    pthread_mutex_unlock(&s->lock);
    return goes_on;
}

static void *scribe(void *arg)
{
    struct service *s = arg;
    bool was_full = files_is_full(s->o.files);
    keep_all_left(s);
    while (nap(s)) {
        bool is_full = files_is_full(s->o.files);
        if (was_full && !is_full)
            keep_all_left(s);
        was_full = is_full;
        keep_long(s);
    }
    return NULL;
}

int scribe_start(struct service *s, struct err *e)
{
    int why = pthread_create(&s->scribe, NULL, scribe, s);
    if (why)
        return err_sys(e, why, "start the scribe");
    s->has_scribe = true;
    return 0;
}

void scribe_end(struct service *s)
{
    if (!s->has_scribe)
        return;
    pthread_mutex_lock(&s->lock);
    s->is_closing = true;
    pthread_cond_broadcast(&s->quiet);
    pthread_mutex_unlock(&s->lock);
    (void)pthread_join(s->scribe, NULL);
    s->has_scribe = false;
}
