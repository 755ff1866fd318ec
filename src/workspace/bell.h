/* bell.h -- tells some that something was written, without saying what.
 *
 * The store rings it after every commit (store/db.h: on_commit), on the writer's thread; whoever waits
 * for news hangs a hook on it and looks for itself what is new. So nobody polls, and the writer does not
 * know who listens.
 *
 *     bell_add(bell, &hook)        hook.rung(hook.arg) from now on; must not block
 *     bell_remove(bell, &hook)     when this returns it is not running and is not called any more
 */
#ifndef WORKSPACE_BELL_H
#define WORKSPACE_BELL_H

#include <pthread.h>

struct bell_hook {
    void (*rung)(void *arg);
    void *arg;
    struct bell_hook *next; /* the bell's */
};

struct bell {
    pthread_mutex_t lock; /* protects the list; held while hooks are called */
    struct bell_hook *hooks;
};

#define BELL_INIT                         \
    {                                     \
        .lock = PTHREAD_MUTEX_INITIALIZER \
    }

void bell_add(struct bell *b, struct bell_hook *hook);
void bell_remove(struct bell *b, struct bell_hook *hook); /* one that is not there: nothing */
void bell_ring(struct bell *b);                           /* any thread */

#endif
