#include "agent/halt.h"

#include <stddef.h>

void halt_init(struct halt *h)
{
    *h = (struct halt){.fn = NULL};
    (void)pthread_mutex_init(&h->lock, NULL); /* cannot fail in glibc */
}

void halt_done(struct halt *h)
{
    (void)pthread_mutex_destroy(&h->lock);
}

static void call(struct halt *h)
{
    void (*fn)(void *) = h->fn;
    h->fn = NULL;
    if (fn)
        fn(h->arg);
}

void halt_now(struct halt *h)
{
    pthread_mutex_lock(&h->lock);
    h->is_set = true;
    call(h);
    pthread_mutex_unlock(&h->lock);
}

bool halt_is(struct halt *h)
{
    pthread_mutex_lock(&h->lock);
    bool is_set = h->is_set;
    pthread_mutex_unlock(&h->lock);
    return is_set;
}

void halt_on(struct halt *h, void (*fn)(void *arg), void *arg)
{
    pthread_mutex_lock(&h->lock);
    h->fn = fn;
    h->arg = arg;
    if (h->is_set)
        call(h);
    pthread_mutex_unlock(&h->lock);
}
