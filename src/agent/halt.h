/* halt.h -- how something that goes on is called off, from any thread.
 *
 *     struct halt h;  halt_init(&h);
 *     halt_on(&h, wake, arg);        whoever waits says how it is woken; NULL takes it back
 *     halt_now(&h);                  from elsewhere: wake(arg) is called, once
 *     halt_is(&h)
 *
 * One at a time waits. A halt is for good.
 */
#ifndef AGENT_HALT_H
#define AGENT_HALT_H

#include <pthread.h>
#include <stdbool.h>

struct halt {
    pthread_mutex_t lock; /* protects what follows, and is held while fn runs */
    bool is_set;
    void (*fn)(void *arg);
    void *arg;
};

void halt_init(struct halt *h);
void halt_done(struct halt *h);

void halt_now(struct halt *h);
bool halt_is(struct halt *h);

/* fn(arg) is called when the halt comes, at once if it has come already; it must not block nor call
 * anything here. After halt_on(h, NULL, NULL) it is not running and will not be called. */
void halt_on(struct halt *h, void (*fn)(void *arg), void *arg);

#endif
