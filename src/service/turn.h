/* turn.h -- who may use a session next: one at a time, in the order they came, at most so many
 * waiting.
 *
 *     turn_take(&t, &mine, e)        a place in the line, at once
 *     turn_await(&t, &mine, e)       until it is ours
 *     ... use it ...
 *     turn_leave(&t, &mine)          in any case, also instead of turn_await
 *
 * A place may be called off by another thread (turn_call_off); then the wait fails.
 */
#ifndef SERVICE_TURN_H
#define SERVICE_TURN_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

struct turn_place {
    struct turn_place *next;
    bool is_called_off, is_brief;
};

struct turn {
    pthread_mutex_t lock; /* protects what is below */
    pthread_cond_t moved;
    struct turn_place *first, *last; /* the first is whose turn it is */
    size_t count;                    /* with the first */
    size_t waiting_max;
};

void turn_init(struct turn *t, size_t waiting_max);
void turn_done(struct turn *t); /* nobody is in the line any more */

/* Fails with ERR_BUSY when the line is full; with `is_patient` false when there is any. */
int turn_take(struct turn *t, struct turn_place *mine, bool is_patient, struct err *e);

/* A place behind none but those of others who took it so: for who only looks, which is brief. ERR_BUSY when
 * somebody else is in the line, or it is full. */
int turn_take_brief(struct turn *t, struct turn_place *mine, struct err *e);

/* A place however long the line is: for who ends what the others wait for. */
void turn_insist(struct turn *t, struct turn_place *mine);

/* Blocks. Fails with ERR_CONFLICT when it was called off. */
int turn_await(struct turn *t, struct turn_place *mine, struct err *e);

/* The same, but gives up at `deadline_us`: ERR_BUSY. */
int turn_await_until(struct turn *t, struct turn_place *mine, int64_t deadline_us, struct err *e);

/* Ends the wait of another thread; who has the turn already keeps it. */
void turn_call_off(struct turn *t, struct turn_place *which);

void turn_leave(struct turn *t, struct turn_place *mine);

/* How many are in the line, the one whose turn it is included. */
size_t turn_count(struct turn *t);

#endif
