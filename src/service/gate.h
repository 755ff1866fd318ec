/* gate.h -- how many runs go on at once, and whose is next when there are more.
 *
 * A host has so many slots. Whoever finds none free waits, and so does who already has his share
 * of them while others are there. When one becomes free it goes to the waiting principal with the
 * fewest runs going on, and among those to who came first: somebody with a thousand requests
 * delays somebody with one by a single run at most. The line is bounded, and so is the wait.
 *
 *     gate_enter(&g, principal, deadline_us, &mine, e)
 *     ... the run ...
 *     gate_leave(&g, &mine)
 */
#ifndef SERVICE_GATE_H
#define SERVICE_GATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/id.h"

struct err;

struct gate_pass {
    struct gate_pass *next;
    char principal[ID_SIZE];
    bool is_in, is_called_off;
};

struct gate {
    pthread_mutex_t lock; /* protects what is below */
    pthread_cond_t moved;
    size_t slots, share_max, waiting_max;
    struct gate_pass *inside;       /* in no order */
    struct gate_pass *first, *last; /* who waits, oldest first */
    size_t inside_count, waiting_count;
};

/* At most `slots` at once, `share_max` of one principal; at most `waiting_max` wait. */
void gate_init(struct gate *g, size_t slots, size_t share_max, size_t waiting_max);
void gate_done(struct gate *g);

/* Blocks until there is a slot. Fails with ERR_OVERLOADED when the line is full or the deadline
 * comes first, ERR_CONFLICT when it was called off. `mine` comes zeroed, but may have been called off already;
 * it must live until gate_leave, which is called only after success. */
int gate_enter(struct gate *g, const char *principal, int64_t deadline_us, struct gate_pass *mine,
               struct err *e);
void gate_leave(struct gate *g, struct gate_pass *mine);

/* Ends the wait of another thread, also one that has not begun yet. */
void gate_call_off(struct gate *g, struct gate_pass *which);

void gate_look(struct gate *g, size_t *ret_inside, size_t *ret_waiting);

#endif
