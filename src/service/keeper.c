/* keeper.c -- the thread that does what time brings: idle sessions fall asleep, those that slept too
 * long are closed, ended runs leave memory, old records are forgotten. It sleeps until the next of
 * these is due, or somebody moves a deadline closer. */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "service/checkout.h"
#include "service/service_int.h"
#include "session/session.h"
#include "store/meta.h"
#include "workspace/files.h"

enum {
    SWEEP_US = 10 * 60 * 1000000, /* how often the store is looked through */
    NAP_US = 5 * 1000000,         /* the longest it sleeps: lingering runs, memory */
    AGAIN_US = 60 * 1000000,      /* until one that refused is asked again */
    TRIM_US = 10 * 1000000,       /* how often memory that was freed goes back to the host */
};

/* The next seat whose time has come, held; or NULL and when that will be. */
static struct seat *next_due(struct service *s, int64_t now_us, int64_t *ret_wake_us)
{
    struct seat *due = NULL;
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < TABLE_SIZE && !due; i++)
        for (struct seat *seat = s->seats[i]; seat && !due; seat = seat->next) {
            pthread_mutex_lock(&seat->lock);
            if (seat->sleep_at_us <= now_us)
                due = seat;
            else if (seat->sleep_at_us < *ret_wake_us)
                *ret_wake_us = seat->sleep_at_us;
            pthread_mutex_unlock(&seat->lock);
        }
    if (due)
        due->refs++;
    pthread_mutex_unlock(&s->lock);
    return due;
}

static void set_alarm(struct seat *seat, int64_t at_us)
{
    pthread_mutex_lock(&seat->lock);
    seat->sleep_at_us = seat->is_closed ? CLOCK_NEVER : at_us;
    pthread_mutex_unlock(&seat->lock);
}

/* Somebody has its turn. Whoever uses it, or has closed it, has set the alarm anew; but some only try to. */
static void put_off(struct seat *seat)
{
    int64_t now_us = clock_us();
    pthread_mutex_lock(&seat->lock);
    if (seat->sleep_at_us <= now_us)
        seat->sleep_at_us = now_us + NAP_US;
    pthread_mutex_unlock(&seat->lock);
}

static void put_to_sleep(struct seat *seat)
{
    struct err ignored = {0};
    struct turn_place place;
    if (turn_take(&seat->turn, &place, /* is_patient= */ false, &ignored)) {
        put_off(seat);
        return;
    }
    set_alarm(seat, CLOCK_NEVER);
    if (turn_await(&seat->turn, &place, &ignored) == 0 &&
        seat_doze(seat, /* must= */ false, &ignored))
        set_alarm(seat, clock_us() + AGAIN_US);
    turn_leave(&seat->turn, &place);
    room_changed(seat->service);
}

/* Closes sessions that nobody has used for as long as they are kept. */
static void close_old(struct service *s)
{
    struct err e = {0};
    struct session_rows rows;
    struct who everybody = {.is_admin = true, .scopes = SCOPE_ALL};
    if (s->o.keep_s == 0)
        return;
    const struct session_filter filter = {
        .open = OPEN_ONLY, .used_before_us = clock_wall_us() - (int64_t)s->o.keep_s * 1000000};
    const struct page page = {.limit = PAGE_MAX};
    if (meta_session_list(s->o.meta, &filter, &page, &rows, &e))
        return;
    for (size_t i = 0; i < rows.count; i++) {
        struct seat *seat;
        const struct session_row *row = &rows.items[i];
        int64_t ends_us = row->used_us + ((int64_t)row->idle_s + s->o.keep_s) * 1000000;
        if (ends_us > clock_wall_us() || seat_find(s, &everybody, row->id, &seat, &e))
            continue;
        if (turn_count(&seat->turn) == 0 && seats_may_end(s, row->id))
            (void)seat_close(seat, "expired", &e);
        seat_unref(seat);
    }
    session_rows_done(&rows);
}

static void prune(struct service *s)
{
    struct err ignored = {0};
    struct pruned did = {.has_more = true};
    int64_t now_us = clock_wall_us();
    const struct prune what = {
        .runs_before_us = s->o.runs_keep_s ? now_us - (int64_t)s->o.runs_keep_s * 1000000 : 0,
        .closed_before_us = s->o.runs_keep_s ? now_us - (int64_t)s->o.runs_keep_s * 1000000 : 0,
        .idem_before_us = now_us - (int64_t)86400 * 1000000,
        .usage_before_day = now_us / 1000000 / 86400 - 400,
    };
    while (did.has_more && !s->is_stopping)
        if (meta_prune(s->o.meta, &what, &did, &ignored))
            return;
}

/* What deleted workspaces held, a little at a time: commits get in between. */
static void clear(struct service *s)
{
    enum { STEP = 500 };
    struct err ignored = {0};
    uint64_t count = 1;
    while (count > 0 && !s->is_stopping)
        if (meta_workspace_clear(files_meta(s->o.files), STEP, &count, &ignored))
            return;
}

void service_on_tidy(struct service *s, void (*fn)(void *arg, int64_t now_us), void *arg)
{
    pthread_mutex_lock(&s->lock);
    s->on_tidy = fn;
    s->on_tidy_arg = arg;
    pthread_mutex_unlock(&s->lock);
}

static void tidy(struct service *s)
{
    struct err ignored = {0};
    (void)files_tidy(s->o.files, clock_wall_us(), &ignored);
    clear(s);
    checkouts_tidy(s->checkouts, (int64_t)CHECKOUT_UNUSED_S * 1000000);
    pthread_mutex_lock(&s->lock);
    void (*also)(void *, int64_t) = s->on_tidy;
    void *arg = s->on_tidy_arg;
    pthread_mutex_unlock(&s->lock);
    if (also)
        also(arg, clock_wall_us());
}

/* False when it is time to end. */
static bool nap(struct service *s, int64_t until_us)
{
    const struct timespec until = {.tv_sec = until_us / 1000000,
                                   .tv_nsec = until_us % 1000000 * 1000};
    pthread_mutex_lock(&s->lock);
    s->keeper_until_us = until_us;
    if (!s->is_closing && !s->is_stopping)
        (void)pthread_cond_timedwait(&s->quiet, &s->lock, &until);
    s->keeper_until_us = 0;
    bool goes_on = !s->is_closing && !s->is_stopping;
    pthread_mutex_unlock(&s->lock);
    return goes_on;
}

static void *keep(void *arg)
{
    struct service *s = arg;
    int64_t sweep_us = 0, trim_us = 0, wake_us;
    do {
        int64_t now_us = clock_us();
        wake_us = now_us + NAP_US; /* what is touched from here on is seen, or wakes us */
        for (struct seat *seat; !s->is_stopping && (seat = next_due(s, now_us, &wake_us));) {
            put_to_sleep(seat);
            seat_unref(seat);
        }
        jobs_forget(s, now_us);
        if (now_us >= trim_us) {
            /* Output is many small pieces on the heaps of many threads, which keep them otherwise. */
            (void)malloc_trim(0);
            trim_us = now_us + TRIM_US;
        }
        if (now_us >= sweep_us) {
            close_old(s);
            prune(s);
            tidy(s);
            sweep_us = clock_us() + SWEEP_US;
        }
    } while (nap(s, wake_us));
    return NULL;
}

void keeper_wake(struct service *s, int64_t at_us)
{
    pthread_mutex_lock(&s->lock);
    if (at_us < s->keeper_until_us)
        pthread_cond_broadcast(&s->quiet);
    pthread_mutex_unlock(&s->lock);
}

int keeper_start(struct service *s, struct err *e)
{
    int why = pthread_create(&s->keeper, NULL, keep, s);
    if (why)
        return err_sys(e, why, "start the keeper");
    s->has_keeper = true;
    return 0;
}
