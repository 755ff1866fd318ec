/* acts.h -- an act: what somebody does, from its beginning to its entry in the audit.
 *
 *     struct act act;
 *     act_begin(&act, meta, &entry, e)
 *     ... whatever it does, in whatever layer, on this thread ...
 *     act_end(&act, AUDIT_OK, NULL)
 *
 * The entry goes along with the first thing that is written meanwhile, in its transaction (store/db.h:
 * riders): there is no change without its entry, and no entry of a change that was not made. When nothing
 * was written, as by a read or by one that was refused, act_end hands it in by itself, and it is there
 * within 50 ms. When something was and the act failed later on, both are told.
 *
 * Acts nest: what is written belongs to the innermost. A struct act stays where it is while it goes on.
 */
#ifndef WORKSPACE_ACTS_H
#define WORKSPACE_ACTS_H

#include "store/audit.h"
#include "store/db.h"

struct act_held;
struct err;
struct meta;

struct act {
    struct meta *meta; /* NULL: none was begun */
    struct db_rider rider;
    struct db_rider *before;
    struct act_held *held; /* shared with the writer once the rider was posted */
};

/* The entry is copied; the time is now when it says none. Fails with ERR_NO_MEMORY, and then none is
 * begun. */
int act_begin(struct act *a, struct meta *m, const struct audit_entry *entry, struct err *e);

/* Ends it; nothing happens to one that was not begun. `reason` is the code of the error. What cannot be
 * handed in because the store has stopped is lost, as is everything then. */
void act_end(struct act *a, enum audit_result result, const char *reason);

/* Whether something was written, or will be, with which the entry goes. */
static inline bool act_is_taken(const struct act *a)
{
    return a->meta && a->rider.is_taken;
}

/* The same for what the server does by itself, between two calls. Without memory for it none is begun:
 * what has to be done is done anyway. Nothing is told when nothing was written: it looked, and there was
 * nothing to do. */
void act_begin_server(struct act *a, struct meta *m, const char *event, const char *workspace);
void act_end_server(struct act *a);

#endif
