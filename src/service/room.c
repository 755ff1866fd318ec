/* room.c -- how many sessions are awake at once, and who is next when there is no room for more.
 *
 * Theory of operation. A session takes room while it has a kernel, or is about to get one (`has_room`). Who needs room
 * stands in a line. The next of the line looks, under service->lock, whether there is room; if there is none, it
 * puts the session to sleep that nobody used for longest; if all of them are in use, it waits. Every session that falls
 * asleep, ends or becomes idle lets one more look, and so does everybody who leaves the line: an event that comes while
 * somebody looks without the lock is counted (`changes`), so that none is missed. Next is the principal with the fewest
 * sessions awake, and among those who came first.
 *
 * What other programs do with the host's memory is no event of ours: while it is memory that lacks, somebody looks again
 * every LOOK_US.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/memory.h"
#include "service/service_int.h"
#include "session/session.h"

enum {
    MEMORY_WAIT_US = 10 * 1000000, /* while the host has none; for the count SLOT_WAIT_US */
    LOOK_US = 200 * 1000,
    LOOKS_MAX = 16, /* in a row: what is put to sleep may stay awake */
};

static const char no_memory[] =
    "this host has no memory for one more session now; try again later, "
    "or close sessions that are not needed";
static const char all_at_work[] =
    "all sessions that may be awake at once are running code; try again "
    "later, or cancel a run";

static bool is_awake(struct seat *seat)
{
    struct session_info info;
    session_look(seat->session, &info);
    return life_has_kernel(info.life);
}

/* ---- with service->lock held ---- */

/* Adds one to the share of all in the line who are of that principal. */
static void count_share(struct service *s, const char *principal)
{
    for (struct room_wait *w = s->room.first; w; w = w->next)
        w->share += strcmp(w->principal, principal) == 0;
}

/* How many take room, and the one of them that has been idle longest, or NULL. A one-shot is in use from its beginning to
 * its end. */
static size_t count_awake(struct service *s, struct seat **ret_oldest)
{
    size_t count = 0;
    struct seat *oldest = NULL;
    int64_t oldest_us = 0;
    for (size_t i = 0; i < TABLE_SIZE; i++)
        for (struct seat *seat = s->seats[i]; seat; seat = seat->next) {
            if (!seat->has_room && !is_awake(seat))
                continue;
            count++;
            if (s->room.first)
                count_share(s, seat->principal);
            if (seat->has_room || seat->is_one_shot || seat->gives_way)
                continue;
            pthread_mutex_lock(&seat->lock);
            bool is_older = !oldest || seat->used_us < oldest_us;
            if (is_older && turn_count(&seat->turn) == 0) {
                oldest = seat;
                oldest_us = seat->used_us;
            }
            pthread_mutex_unlock(&seat->lock);
        }
    *ret_oldest = oldest;
    return count;
}

/* Lets one more look. */
static void nudge(struct service *s)
{
    struct seat *oldest;
    struct room_wait *next = NULL;
    s->room.changes++;
    for (struct room_wait *w = s->room.first; w; w = w->next)
        w->share = 0;
    if (s->room.count > 1) /* otherwise there is nobody to choose from */
        (void)count_awake(s, &oldest);
    for (struct room_wait *w = s->room.first; w; w = w->next)
        if (!w->is_busy && !w->is_next && (!next || w->share < next->share))
            next = w;
    if (!next)
        return;
    next->is_next = true;
    pthread_cond_signal(&next->moved);
}

static void join(struct service *s, struct room_wait *mine)
{
    if (s->room.last)
        s->room.last->next = mine;
    else
        s->room.first = mine;
    s->room.last = mine;
    s->room.count++;
    nudge(s);
}

static void leave(struct service *s, struct room_wait *mine)
{
    struct room_wait *before = NULL;
    for (struct room_wait *w = s->room.first; w != mine; w = w->next)
        before = w;
    if (before)
        before->next = mine->next;
    else
        s->room.first = mine->next;
    if (s->room.last == mine)
        s->room.last = before;
    s->room.count--;
    nudge(s);
}

/* Puts one to sleep that nobody uses, by force. One that cannot be put to sleep is tried last the next time. Not with
 * the lock held. */
static void relieve(struct seat *seat)
{
    struct err ignored = {0};
    struct turn_place place;
    if (turn_take(&seat->turn, &place, /* is_patient= */ false, &ignored))
        return;
    if (turn_await(&seat->turn, &place, &ignored) || seat_doze(seat, /* must= */ true, &ignored)) {
        pthread_mutex_lock(&seat->lock);
        seat->used_us = clock_wall_us();
        pthread_mutex_unlock(&seat->lock);
    }
    turn_leave(&seat->turn, &place);
}

static void set_memory(struct service *s, bool lacks_memory)
{
    if (lacks_memory && !s->room.lacks_memory) /* then those who wait do not wait as long */
        for (struct room_wait *w = s->room.first; w; w = w->next)
            pthread_cond_signal(&w->moved);
    s->room.lacks_memory = lacks_memory;
}

static int64_t ends_at_us(const struct service *s, const struct room_wait *mine)
{
    return mine->since_us + (s->room.lacks_memory ? MEMORY_WAIT_US : SLOT_WAIT_US);
}

/* Takes room if there is some, and makes some otherwise if it can: that may take long, so who has waited long enough does
 * not begin it once more. Lets go of the lock meanwhile. */
static bool look(struct seat *seat, struct room_wait *mine)
{
    struct service *s = seat->service;
    struct seat *oldest;
    uint64_t seen = s->room.changes;
    bool is_late = clock_us() >= ends_at_us(s, mine);
    bool has_place = count_awake(s, &oldest) < s->o.awake_max;
    if (is_late)
        oldest = NULL;
    seat->has_room = has_place; /* nobody else takes it while we look at the memory */
    if (oldest) {
        oldest->refs++;
        oldest->gives_way = true; /* another who looks takes another one */
    }
    mine->is_busy = true;
    pthread_mutex_unlock(&s->lock);
    bool has_memory = memory_available() >= s->o.reserve_bytes;
    bool is_fine = has_place && has_memory;
    if (!is_fine && oldest)
        relieve(oldest);
    pthread_mutex_lock(&s->lock);
    mine->is_busy = false;
    seat->has_room = is_fine;
    set_memory(s, !has_memory); /* and so it may have more time after all */
    bool has_news =
        oldest || s->room.changes != seen || (is_late && clock_us() < ends_at_us(s, mine));
    mine->is_next = !is_fine && mine->looks++ < LOOKS_MAX && has_news;
    if (oldest) {
        oldest->gives_way = false;
        pthread_mutex_unlock(&s->lock);
        seat_unref(oldest);
        pthread_mutex_lock(&s->lock);
    }
    return is_fine;
}

/* Until it may look, or its time is over: then false. */
static bool await(struct service *s, struct room_wait *mine)
{
    int64_t now_us = clock_us(), until_us = ends_at_us(s, mine);
    bool looks_again = s->room.lacks_memory && s->room.first == mine;
    if (now_us >= until_us)
        return false;
    if (looks_again && until_us - now_us > LOOK_US)
        until_us = now_us + LOOK_US;
    const struct timespec until = {.tv_sec = until_us / 1000000,
                                   .tv_nsec = until_us % 1000000 * 1000};
    mine->looks = 0;
    if (pthread_cond_timedwait(&mine->moved, &s->lock, &until) == ETIMEDOUT && looks_again)
        nudge(s);
    return true;
}

static int refuse(struct service *s, const char *why, struct err *e)
{
    s->info.refused++;
    return err_set(e, ERR_OVERLOADED, "%s", why);
}

/* For runs and for room together. */
static bool is_line_full(struct service *s)
{
    size_t inside, waiting;
    gate_look(&s->gate, &inside, &waiting);
    return s->room.count + waiting > s->o.waiting_max;
}

static int wait_in_line(struct seat *seat, struct room_wait *mine, struct err *e)
{
    struct service *s = seat->service;
    for (bool is_new = true;; is_new = false) {
        if (mine->is_called_off)
            return err_set(e, ERR_CONFLICT, "cancelled before it began");
        if (mine->ends_at_stop && s->is_stopping)
            return err_set(e, ERR_OVERLOADED, "the server is stopping");
        if (is_awake(seat) || (mine->is_next && look(seat, mine))) {
            seat->has_room = true; /* also while it sleeps for a moment, see seat_ready */
            return 0;
        }
        if (mine->is_next)
            continue;
        if (is_new && is_line_full(s))
            return refuse(s, "this host is full and too many wait already; try again in a moment",
                          e);
        if (!await(s, mine))
            return refuse(s, s->room.lacks_memory ? no_memory : all_at_work, e);
    }
}

int room_enter(struct seat *seat, struct room_wait *mine, struct err *e)
{
    struct service *s = seat->service;
    pthread_condattr_t attr;
    (void)pthread_condattr_init(&attr); /* none of these can fail in glibc */
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_lock(&s->lock);
    (void)pthread_cond_init(&mine->moved, &attr);
    memcpy(mine->principal, seat->principal, sizeof mine->principal);
    mine->since_us = clock_us();
    mine->is_in_line = true;
    join(s, mine);
    int failed = wait_in_line(seat, mine, e);
    leave(s, mine);
    mine->is_in_line = false;
    (void)pthread_cond_destroy(&mine->moved);
    pthread_mutex_unlock(&s->lock);
    (void)pthread_condattr_destroy(&attr);
    return failed;
}

int room_enter_now(struct seat *seat, struct err *e)
{
    struct room_wait mine = {.ends_at_stop = true};
    return room_enter(seat, &mine, e);
}

void room_leave(struct seat *seat)
{
    struct service *s = seat->service;
    pthread_mutex_lock(&s->lock);
    seat->has_room = false; /* while it is awake that is seen */
    nudge(s);
    pthread_mutex_unlock(&s->lock);
}

void room_changed(struct service *s)
{
    pthread_mutex_lock(&s->lock);
    nudge(s);
    pthread_mutex_unlock(&s->lock);
}

void room_call_off(struct service *s, struct room_wait *which)
{
    pthread_mutex_lock(&s->lock);
    which->is_called_off = true;
    if (which->is_in_line)
        pthread_cond_signal(&which->moved);
    pthread_mutex_unlock(&s->lock);
}

void room_stop(struct service *s)
{
    pthread_mutex_lock(&s->lock);
    for (struct room_wait *w = s->room.first; w; w = w->next)
        pthread_cond_signal(&w->moved);
    pthread_mutex_unlock(&s->lock);
}
