/* telling.c -- telling others of what happens: the crier for who follows, the courier for webhooks. */
#include "daemon/serve_int.h"
#include "service/events.h"
#include "service/webhooks.h"
#include "store/store.h"

int telling_open(struct server *s, struct err *e)
{
    const struct config *c = s->config;
    const struct events_options events = {.meta = store_meta(s->store),
                                          .files = s->files,
                                          .people = s->people,
                                          .bell = &s->bell,
                                          .log = &s->log};
    const struct webhooks_options webhooks = {
        .meta = store_meta(s->store),
        .files = s->files,
        .bell = &s->bell,
        .log = &s->log,
        .outside = {(const char *const *)c->webhooks.allow_private.items,
                    c->webhooks.allow_private.count},
        .retry_s = c->webhooks.retry_s,
        .is_enabled = c->webhooks.enabled != 0};
    return events_open(&events, &s->events, e) || webhooks_open(&webhooks, &s->webhooks, e) ? -1
                                                                                            : 0;
}

void telling_close(struct server *s)
{
    webhooks_close(s->webhooks);
    events_close(s->events);
}
