#include "mcp/turnstile.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/id.h"

/* Of one principal; there only as long as it counts something. */
struct turnstile_crowd {
    struct turnstile_crowd *next;
    char principal[ID_SIZE];
    unsigned count;
};

void turnstile_init(struct turnstile *t, unsigned all)
{
    unsigned share = all / 4 > 0 ? all / 4 : 1;
    *t = (struct turnstile){.all = all > 0 ? all : 1,
                            .each = share < TURNSTILE_EACH ? share : TURNSTILE_EACH};
    (void)pthread_mutex_init(&t->lock, NULL);
}

void turnstile_done(struct turnstile *t)
{
    for (struct turnstile_crowd *c; (c = t->first);) {
        t->first = c->next;
        free(c);
    }
    (void)pthread_mutex_destroy(&t->lock);
}

/* With the lock held. Where it is, or would be. */
static struct turnstile_crowd **find(struct turnstile *t, const char *principal)
{
    struct turnstile_crowd **at = &t->first;
    while (*at && strcmp((*at)->principal, principal) != 0)
        at = &(*at)->next;
    return at;
}

static int enter(struct turnstile *t, const char *principal, struct err *e)
{
    struct turnstile_crowd **at = find(t, principal);
    if (*at && (*at)->count >= t->each)
        return err_set(e, ERR_OVERLOADED, "%u calls go on already: wait for one of them", t->each);
    if (t->total >= t->all)
        return err_set(e, ERR_OVERLOADED, "the server is busy: try again in a moment");
    if (!*at && !(*at = calloc(1, sizeof **at)))
        return err_set(e, ERR_NO_MEMORY, "call a tool");
    (void)snprintf((*at)->principal, ID_SIZE, "%s", principal);
    (*at)->count++;
    t->total++;
    return 0;
}

int turnstile_enter(struct turnstile *t, const char *principal, struct err *e)
{
    pthread_mutex_lock(&t->lock);
    int failed = enter(t, principal, e);
    pthread_mutex_unlock(&t->lock);
    return failed;
}

void turnstile_leave(struct turnstile *t, const char *principal)
{
    pthread_mutex_lock(&t->lock);
    struct turnstile_crowd **at = find(t, principal), *crowd = *at;
    assert(crowd);
    t->total--;
    if (--crowd->count == 0) {
        *at = crowd->next;
        free(crowd);
    }
    pthread_mutex_unlock(&t->lock);
}
