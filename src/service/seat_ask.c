/* seat_ask.c -- looking into a session. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "service/may.h"
#include "service/service_int.h"
#include "session/session.h"

enum {
    BEHIND_US = 3000000, /* the longest it waits behind others who look */
    SEEN_MAX = 64 << 10, /* of a list of variables that is kept */
};

static enum life life_of(struct seat *seat)
{
    struct session_info info;
    session_look(seat->session, &info);
    return info.life;
}

static void keep(struct seat *seat, const char *text)
{
    char *copy = text && strlen(text) <= SEEN_MAX ? strdup(text) : NULL;
    pthread_mutex_lock(&seat->lock);
    free(seat->seen);
    seat->seen = copy;
    seat->seen_us = copy ? clock_wall_us() : 0;
    pthread_mutex_unlock(&seat->lock);
}

void seat_remember(struct seat *seat)
{
    struct err ignored = {0}; /* then it is not known */
    scoped(freep) char *text = NULL;
    struct session_info info;
    session_look(seat->session, &info);
    if (info.is_baked && /* no other sleeps */
        session_ask(seat->session, /* data= */ NULL, "variables", "", 0, &text, &ignored) == 0)
        keep(seat, text);
}

static int recall(struct seat *seat, const char *topic, struct seat_answer *ret, struct err *e)
{
    bool is_lost = false, is_list = strcmp(topic, "variables") == 0;
    bool is_empty = life_of(seat) == LIFE_EMPTY; /* no kernel, no file: there are no variables */
    *ret = (struct seat_answer){.status = seat_status(seat), .is_current = is_list && is_empty};
    if (strcmp(ret->status, "closed") == 0)
        return err_set(e, ERR_NOT_FOUND, "session %s was closed", seat->id);
    pthread_mutex_lock(&seat->lock);
    if (seat->seen && is_list && !is_empty) {
        ret->text = strdup(seat->seen);
        ret->as_of_us = seat->seen_us;
        is_lost = !ret->text;
    }
    pthread_mutex_unlock(&seat->lock);
    return is_lost ? err_set(e, ERR_NO_MEMORY, "look into the session") : 0;
}

/* Being looked at does not keep it awake. If its time has come meanwhile, the keeper could not have the
 * turn. */
static void set_alarm_again(struct seat *seat)
{
    pthread_mutex_lock(&seat->lock);
    int64_t idle_us = clock_wall_us() - seat->used_us;
    int64_t left_us = (int64_t)seat->idle_s * 1000000 - idle_us;
    if (seat->sleep_at_us == CLOCK_NEVER)
        seat->sleep_at_us = clock_us() + (left_us > 0 ? left_us : 0);
    int64_t sleep_at_us = seat->sleep_at_us;
    pthread_mutex_unlock(&seat->lock);
    keeper_wake(seat->service, sleep_at_us);
}

/* With the turn. */
static int ask_kernel(struct seat *seat, const struct jail_data *data,
                      const struct seat_question *q, struct seat_answer *ret, struct err *e)
{
    *ret = (struct seat_answer){.status = "idle", .is_current = true};
    if (session_ask(seat->session, data, q->topic, q->code, q->cursor, &ret->text, e))
        return -1;
    ret->as_of_us = clock_wall_us();
    if (strcmp(q->topic, "variables") == 0)
        keep(seat, ret->text);
    return 0;
}

static int ask(struct seat *seat, const struct seat_question *q, struct seat_answer *ret,
               struct err *e)
{
    const struct jail_data *data = NULL;
    if (life_has_kernel(life_of(seat)))
        return ask_kernel(seat, data, q, ret, e);
    int failed =
        room_enter_now(seat, e) || seat_ready(seat, &data, e) || ask_kernel(seat, data, q, ret, e);
    room_leave(seat);
    return failed ? -1 : 0;
}

int seat_ask(struct seat *seat, const struct who *who, const struct seat_question *q,
             struct seat_answer *ret, struct err *e)
{
    struct turn_place place;
    bool is_closed;
    if (may_use(seat, who, e))
        return -1;
    if (q->waits ? turn_take(&seat->turn, &place, /* is_patient= */ true, e)
                 : turn_take_brief(&seat->turn, &place, e))
        return q->waits ? -1 : recall(seat, q->topic, ret, e);
    int64_t until_us = q->waits ? CLOCK_NEVER : clock_us() + BEHIND_US;
    int failed = turn_await_until(&seat->turn, &place, until_us, e);
    if (failed) {
        turn_leave(&seat->turn, &place);
        room_changed(seat->service);
        return q->waits || e->code != ERR_BUSY ? -1 : recall(seat, q->topic, ret, e);
    }
    pthread_mutex_lock(&seat->lock);
    is_closed = seat->is_closed;
    pthread_mutex_unlock(&seat->lock);
    bool is_known = !life_has_kernel(life_of(seat)) && !q->wakes;
    if (is_closed)
        failed = err_set(e, ERR_NOT_FOUND, "session %s was closed", seat->id);
    else if (is_known)
        failed = recall(seat, q->topic, ret, e);
    else
        failed = ask(seat, q, ret, e);
    if (!is_closed && q->wakes)
        seat_touch(seat);
    else if (!is_closed && !is_known)
        set_alarm_again(seat);
    turn_leave(&seat->turn, &place);
    room_changed(seat->service);
    return failed;
}
