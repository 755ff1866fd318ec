#include "ask/flight.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/halt.h"
#include "api/inner.h"
#include "api/op.h"
#include "ask/flight_int.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "http/exchange.h"
#include "http/sse.h"

/* Somebody beside flights. */
struct guest {
    struct guest *next;
    char principal[ID_SIZE];
};

struct flights {
    unsigned guests_max;
    atomic_size_t bytes;  /* of the events of those that go on; relaxed: a bound, not a promise */
    pthread_mutex_t lock; /* protects what follows, the refs and links of all flights */
    pthread_cond_t landed;
    struct flight *first;
    struct guest *guests;
    size_t going, kept, kept_bytes;
    bool is_stopping;
};

static void lock(struct flights *all)
{
    pthread_mutex_lock(&all->lock);
}

static void unlock(struct flights *all)
{
    pthread_mutex_unlock(&all->lock);
}

int flights_open(unsigned guests_max, struct flights **ret, struct err *e)
{
    struct flights *all = calloc(1, sizeof *all);
    if (!all)
        return err_set(e, ERR_NO_MEMORY, "prepare for questions");
    all->guests_max = guests_max;
    pthread_condattr_t attr;
    (void)pthread_mutex_init(&all->lock, NULL); /* none of these can fail in glibc */
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&all->landed, &attr);
    (void)pthread_condattr_destroy(&attr);
    *ret = all;
    return 0;
}

/* ---- whose they are ---- */

static void free_flight(struct flight *f)
{
    f->free_arg(f->arg);
    buf_done(&f->log);
    free(f->ends);
    halt_done(&f->halt);
    (void)pthread_cond_destroy(&f->changed);
    (void)pthread_mutex_destroy(&f->lock);
    free(f);
}

/* Gives back one hold; under the lock. True: it was the last, and it is to be freed. */
static bool let_go(struct flight *f)
{
    return --f->refs == 0;
}

void flight_unref(struct flight *f)
{
    if (!f)
        return;
    lock(f->all);
    bool is_last = let_go(f);
    unlock(f->all);
    if (is_last)
        free_flight(f);
}

struct flight *flight_ref(struct flight *f)
{
    lock(f->all);
    f->refs++;
    unlock(f->all);
    return f;
}

static bool is_old(const struct flights *all, const struct flight *f, int64_t now_us)
{
    return f->landed_us > 0 &&
           (!f->is_background || now_us - f->landed_us > (int64_t)FLIGHT_KEEP_S * 1000000 ||
            all->kept_bytes > FLIGHT_KEEP_BYTES || all->kept > FLIGHTS_KEPT_MAX);
}

/* Takes those that are not kept any more out of the list, the oldest first. What is returned is to be freed. Under the lock. */
static struct flight *sweep(struct flights *all)
{
    struct flight *gone = NULL;
    int64_t now_us = clock_us();
    struct flight **at = &all->first;
    while (*at) {
        struct flight *f = *at;
        if (!is_old(all, f, now_us)) {
            at = &f->next;
            continue;
        }
        *at = f->next;
        all->kept_bytes -= f->kept_bytes;
        all->kept--;
        if (let_go(f)) {
            f->next = gone;
            gone = f;
        }
    }
    return gone;
}

static void free_all(struct flight *list)
{
    while (list) {
        struct flight *next = list->next;
        free_flight(list);
        list = next;
    }
}

struct flight *flight_find(struct flights *all, const char *principal, const char *id)
{
    struct flight *found = NULL;
    lock(all);
    for (struct flight *f = all->first; f && !found; f = f->next)
        if (strcmp(f->id, id) == 0 && strcmp(f->principal, principal) == 0)
            found = f;
    if (found)
        found->refs++;
    unlock(all);
    return found;
}

void flights_drain(struct flights *all)
{
    lock(all);
    all->is_stopping = true;
    unlock(all);
}

bool flights_are_stopping(struct flights *all)
{
    lock(all);
    bool is_stopping = all->is_stopping;
    unlock(all);
    return is_stopping;
}

size_t flights_going(struct flights *all)
{
    lock(all);
    size_t going = all->going;
    unlock(all);
    return going;
}

void flights_stop(struct flights *all, uint32_t drain_ms)
{
    int64_t until_us = clock_us() + (int64_t)drain_ms * 1000;
    const struct timespec until = {.tv_sec = until_us / 1000000,
                                   .tv_nsec = until_us % 1000000 * 1000};
    lock(all);
    all->is_stopping = true;
    while (all->going > 0 && clock_us() < until_us)
        (void)pthread_cond_timedwait(&all->landed, &all->lock, &until);
    for (struct flight *f = all->first; f; f = f->next)
        halt_now(&f->halt);
    while (all->going > 0)
        pthread_cond_wait(&all->landed, &all->lock);
    unlock(all);
}

void flights_close(struct flights *all)
{
    if (!all)
        return;
    while (all->first) {
        struct flight *f = all->first;
        all->first = f->next;
        flight_unref(f);
    }
    (void)pthread_cond_destroy(&all->landed);
    (void)pthread_mutex_destroy(&all->lock);
    free(all);
}

/* ---- going on ---- */

static void land(struct flight *f)
{
    pthread_mutex_lock(&f->lock);
    f->is_over = true;
    size_t bytes = f->log.len;
    pthread_cond_broadcast(&f->changed);
    flight_wake(f);
    pthread_mutex_unlock(&f->lock);
    struct flights *all = f->all;
    lock(all);
    f->landed_us = clock_us();
    f->kept_bytes = bytes;
    all->kept_bytes += bytes;
    all->kept++;
    atomic_fetch_sub_explicit(&all->bytes, bytes, memory_order_relaxed);
    struct flight *gone = sweep(all);
    if (let_go(f)) {
        f->next = gone;
        gone = f;
    }
    unlock(all);
    free_all(gone);
    lock(all); /* the last that is done here: whoever waits may take everything away */
    all->going--;
    pthread_cond_broadcast(&all->landed);
    unlock(all);
}

static void *fly(void *arg)
{
    struct flight *f = arg;
    f->run(f, f->arg);
    land(f);
    return NULL;
}

static int admit(struct flights *all, const char *principal, struct err *e)
{
    size_t own = 0, bytes = 0;
    for (const struct flight *f = all->first; f; f = f->next)
        if (f->landed_us == 0 && strcmp(f->principal, principal) == 0) {
            own++;
            bytes += atomic_load_explicit(&f->bytes, memory_order_relaxed);
        }
    if (all->is_stopping)
        return err_set(e, ERR_OVERLOADED, "the server is stopping");
    if (all->going >= FLIGHTS_MAX ||
        atomic_load_explicit(&all->bytes, memory_order_relaxed) > FLIGHTS_EVENTS_MAX)
        return err_set(e, ERR_OVERLOADED, "%zu questions are being answered; try again later",
                       all->going);
    if (own >= FLIGHTS_OWN_MAX || bytes > FLIGHTS_EVENTS_MAX / 4)
        return err_set(e, ERR_LIMIT, "%zu of your questions are being answered; wait for one", own);
    return 0;
}

static struct flight *make(struct flights *all, const struct flight_options *o)
{
    struct flight *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    f->all = all;
    (void)snprintf(f->id, sizeof f->id, "%s", o->id);
    (void)snprintf(f->principal, sizeof f->principal, "%s", o->principal);
    f->is_background = o->is_background;
    f->has_ids = o->has_ids;
    f->last_words = o->last_words;
    f->run = o->run;
    f->free_arg = o->free_arg;
    f->arg = o->arg;
    f->log = BUF_INIT(FLIGHT_EVENTS_MAX);
    f->refs = 3; /* the list's, its thread's, the caller's */
    halt_init(&f->halt);
    (void)pthread_mutex_init(&f->lock, NULL);
    (void)pthread_cond_init(&f->changed, NULL);
    return f;
}

static int launch(struct flight *f, struct err *e)
{
    pthread_attr_t attr;
    pthread_t thread;
    (void)pthread_attr_init(&attr);
    (void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    int failed = pthread_create(&thread, &attr, fly, f);
    (void)pthread_attr_destroy(&attr);
    return failed ? err_set(e, ERR_OVERLOADED, "no thread can be started now") : 0;
}

int flight_start(struct flights *all, const struct flight_options *options, struct flight **ret,
                 struct err *e)
{
    struct flight *f = make(all, options);
    if (!f) {
        options->free_arg(options->arg);
        return err_set(e, ERR_NO_MEMORY, "answer a question");
    }
    lock(all);
    struct flight *gone = sweep(all);
    int failed = admit(all, f->principal, e) || launch(f, e);
    if (!failed) {
        struct flight **last = &all->first;
        while (*last)
            last = &(*last)->next;
        *last = f;
        all->going++;
    }
    unlock(all);
    free_all(gone);
    if (failed) {
        free_flight(f);
        return -1;
    }
    *ret = f;
    return 0;
}

void *flight_arg(struct flight *f)
{
    return f->arg;
}

struct halt *flight_halt(struct flight *f)
{
    return &f->halt;
}

/* ---- events ---- */

static bool grow(struct flight *f)
{
    if (f->count < f->room)
        return true;
    size_t room = f->room ? 2 * f->room : 64;
    size_t *ends = realloc(f->ends, room * sizeof *ends);
    if (!ends)
        return false;
    f->ends = ends;
    f->room = room;
    return true;
}

/* Appends one; false when there is no room for it, and then nothing was. Under the lock. */
static bool append(struct flight *f, const char *event, struct str data)
{
    size_t before = f->log.len;
    if (!grow(f))
        return false;
    sse_event(&f->log, f->has_ids ? f->count + 1 : 0, event, data.ptr, data.len);
    if (f->log.failed) {
        f->log.failed = false;
        f->log.len = before;
        if (f->log.bytes)
            f->log.bytes[before] = '\0';
        return false;
    }
    f->ends[f->count++] = f->log.len;
    atomic_fetch_add_explicit(&f->all->bytes, f->log.len - before, memory_order_relaxed);
    atomic_store_explicit(&f->bytes, f->log.len, memory_order_relaxed);
    return true;
}

void flight_emit(struct flight *f, const char *event, struct str data)
{
    size_t all = atomic_load_explicit(&f->all->bytes, memory_order_relaxed);
    pthread_mutex_lock(&f->lock);
    /* Once one was left out, so are the others: nobody hears half of a story. */
    bool is_greedy = all > FLIGHTS_EVENTS_MAX && f->log.len > FLIGHTS_EVENTS_MAX / FLIGHTS_MAX;
    f->is_full = f->is_full || is_greedy || !append(f, event, data);
    bool is_full = f->is_full;
    flight_wake(f);
    pthread_mutex_unlock(&f->lock);
    if (is_full)
        halt_now(&f->halt);
}

bool flight_emit_last(struct flight *f, const char *event, struct str data)
{
    pthread_mutex_lock(&f->lock);
    f->log.max = FLIGHT_EVENTS_MAX + FLIGHT_LAST_MAX;
    bool is_kept = append(f, event, data);
    flight_wake(f);
    pthread_mutex_unlock(&f->lock);
    return is_kept;
}

uint64_t flight_count(struct flight *f)
{
    pthread_mutex_lock(&f->lock);
    uint64_t count = f->count;
    pthread_mutex_unlock(&f->lock);
    return count;
}

bool flight_is_over(struct flight *f)
{
    pthread_mutex_lock(&f->lock);
    bool is_over = f->is_over;
    pthread_mutex_unlock(&f->lock);
    return is_over;
}

/* ---- waiting ---- */

static void hang_up(void *arg)
{
    struct flight *f = arg;
    halt_now(&f->halt);
}

void flight_wait(struct flight *f, struct call *c)
{
    bool is_watched = c && !f->is_background;
    if (is_watched)
        http_on_hangup(c->x, hang_up, f);
    pthread_mutex_lock(&f->lock);
    while (!f->is_over)
        pthread_cond_wait(&f->changed, &f->lock);
    pthread_mutex_unlock(&f->lock);
    if (is_watched)
        http_on_hangup(c->x, NULL, NULL);
}

/* ---- others who take a thread ---- */

static int check_guests(struct flights *all, const char *principal, struct err *e)
{
    size_t count = 0, own = 0;
    for (const struct guest *g = all->guests; g; g = g->next, count++)
        own += strcmp(g->principal, principal) == 0;
    if (all->is_stopping)
        return err_set(e, ERR_OVERLOADED, "the server is stopping");
    if (count >= all->guests_max)
        return err_set(e, ERR_OVERLOADED, "%zu questions are being passed on; try again later",
                       count);
    if (own >= FLIGHTS_OWN_MAX)
        return err_set(e, ERR_LIMIT, "%d of your questions are being passed on; wait for one",
                       FLIGHTS_OWN_MAX);
    return 0;
}

int flights_enter(struct flights *all, const char *principal, struct err *e)
{
    struct guest *g = calloc(1, sizeof *g);
    if (!g)
        return err_set(e, ERR_NO_MEMORY, "pass on a question");
    (void)snprintf(g->principal, sizeof g->principal, "%s", principal);
    lock(all);
    int failed = check_guests(all, principal, e);
    if (!failed) {
        g->next = all->guests;
        all->guests = g;
    }
    unlock(all);
    if (failed)
        free(g);
    return failed;
}

void flights_leave(struct flights *all, const char *principal)
{
    lock(all);
    struct guest **at = &all->guests;
    while (*at && strcmp((*at)->principal, principal) != 0)
        at = &(*at)->next;
    struct guest *g = *at;
    if (g)
        *at = g->next;
    unlock(all);
    free(g);
}
