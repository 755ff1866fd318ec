/* turnstile.h -- how many calls of tools go on at once: a call may wait for a run, a lock or a person, and
 * holds a thread as long as it does. Nobody gets all of them. */
#ifndef MCP_TURNSTILE_H
#define MCP_TURNSTILE_H

#include <pthread.h>

struct err;
struct turnstile_crowd;

enum { TURNSTILE_EACH = 64 }; /* of one principal at most; and no more than a quarter of all */

struct turnstile {
    pthread_mutex_t lock; /* protects what follows */
    struct turnstile_crowd *first;
    unsigned total, all, each; /* all, each: how many there may be */
};

void turnstile_init(struct turnstile *t, unsigned all);
void turnstile_done(struct turnstile *t);

/* Fails with ERR_OVERLOADED. Who got in leaves again. */
int turnstile_enter(struct turnstile *t, const char *principal, struct err *e);
void turnstile_leave(struct turnstile *t, const char *principal);

#endif
