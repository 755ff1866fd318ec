#include "workspace/acts.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"

/* One block with all its texts: it may outlive the request. */
struct act_held {
    struct audit_ride ride;
    _Atomic int refs; /* the act's own, and the writer's if it was posted */
    char texts[];
};

static void held_unref(struct act_held *h)
{
    if (atomic_fetch_sub_explicit(&h->refs, 1, memory_order_acq_rel) > 1)
        return;
    audit_ride_done(&h->ride);
    free(h);
}

static void posted(void *arg)
{
    struct audit_ride *ride = arg;
    held_unref((struct act_held *)((char *)ride - offsetof(struct act_held, ride)));
}

enum { TEXTS = 15 };

static void list_texts(struct audit_entry *a, const char **ret[TEXTS])
{
    const char **const all[TEXTS] = {&a->event,     &a->principal, &a->key,   &a->behalf,
                                     &a->via,       &a->peer,      &a->agent, &a->request,
                                     &a->workspace, &a->session,   &a->run,   &a->object,
                                     &a->path,      &a->detail,    &a->reason};
    memcpy(ret, all, sizeof all);
}

static struct act_held *hold(const struct audit_entry *entry)
{
    struct audit_entry copy = *entry;
    const char **texts[TEXTS];
    size_t total = 0;
    list_texts(&copy, texts);
    for (size_t i = 0; i < TEXTS; i++)
        total += *texts[i] ? strlen(*texts[i]) + 1 : 0;
    struct act_held *h = malloc(sizeof *h + total);
    if (!h)
        return NULL;
    char *at = h->texts;
    for (size_t i = 0; i < TEXTS; i++) {
        size_t size = *texts[i] ? strlen(*texts[i]) + 1 : 0;
        if (size == 0)
            continue;
        memcpy(at, *texts[i], size);
        *texts[i] = at;
        at += size;
    }
    h->ride = (struct audit_ride){.entry = copy};
    if (copy.at_us == 0)
        h->ride.entry.at_us = clock_wall_us();
    atomic_init(&h->refs, 2);
    return h;
}

int act_begin(struct act *a, struct meta *m, const struct audit_entry *entry, struct err *e)
{
    *a = (struct act){0};
    struct act_held *h = hold(entry);
    if (!h)
        return err_set(e, ERR_NO_MEMORY, "write to the audit");
    a->meta = m;
    a->held = h;
    a->rider = (struct db_rider){.run = audit_ride, .arg = &h->ride, .done = posted};
    a->before = db_rider_set(&a->rider);
    return 0;
}

static void tell(const struct act *a, enum audit_result result, const char *reason)
{
    struct audit_entry entry = a->held->ride.entry;
    struct err lost = {0}; /* the store has stopped, and says so itself */
    entry.result = result;
    entry.reason = reason;
    (void)audit_post(a->meta, &entry, &lost);
}

static void let_go(struct act *a)
{
    (void)db_rider_set(a->before);
    if (!a->rider.is_posted)
        held_unref(a->held); /* for the writer, who has not got it */
    held_unref(a->held);
    *a = (struct act){0};
}

void act_end(struct act *a, enum audit_result result, const char *reason)
{
    if (!a->meta)
        return;
    if (!a->rider.is_taken || result != AUDIT_OK)
        tell(a, result, reason);
    let_go(a);
}

void act_begin_server(struct act *a, struct meta *m, const char *event, const char *workspace)
{
    const struct audit_entry entry = {.event = event, .workspace = workspace, .via = "server"};
    struct err ignored = {0};
    (void)act_begin(a, m, &entry, &ignored);
}

void act_end_server(struct act *a)
{
    if (a->meta)
        let_go(a);
}
