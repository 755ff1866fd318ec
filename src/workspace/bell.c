#include "workspace/bell.h"

void bell_add(struct bell *b, struct bell_hook *hook)
{
    pthread_mutex_lock(&b->lock);
    hook->next = b->hooks;
    b->hooks = hook;
    pthread_mutex_unlock(&b->lock);
}

void bell_remove(struct bell *b, struct bell_hook *hook)
{
    pthread_mutex_lock(&b->lock);
    for (struct bell_hook **at = &b->hooks; *at; at = &(*at)->next)
        if (*at == hook) {
            *at = hook->next;
            break;
        }
    pthread_mutex_unlock(&b->lock);
}

void bell_ring(struct bell *b)
{
    pthread_mutex_lock(&b->lock);
    for (struct bell_hook *h = b->hooks; h; h = h->next)
        h->rung(h->arg);
    pthread_mutex_unlock(&b->lock);
}
