/* Principals who are not let in any more, whatever they come with: few, and all in memory. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "store/meta.h"
#include "workspace/people.h"
#include "workspace/people_int.h"

/* Where the id is, or belongs. */
static size_t place_of(const struct disabled *d, const char *id, bool *ret_is_there)
{
    size_t from = 0, to = d->count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        int order = strcmp(d->ids[middle], id);
        if (order == 0) {
            *ret_is_there = true;
            return middle;
        }
        if (order < 0)
            from = middle + 1;
        else
            to = middle;
    }
    *ret_is_there = false;
    return from;
}

static bool has_id(const struct disabled *d, const char *id)
{
    bool is_there = false;
    (void)place_of(d, id, &is_there);
    return is_there;
}

bool disabled_has(const struct people *p, const struct who *who)
{
    const struct disabled *d = &p->disabled;
    return d->count > 0 && (has_id(d, who->principal) || (*who->parent && has_id(d, who->parent)));
}

bool people_is_disabled(struct people *p, const struct who *who)
{
    pthread_rwlock_rdlock(&p->lock);
    bool is_disabled = disabled_has(p, who);
    pthread_rwlock_unlock(&p->lock);
    return is_disabled;
}

static int make_room(struct disabled *d, struct err *e)
{
    if (d->count < d->room)
        return 0;
    size_t room = d->room ? 2 * d->room : 16;
    char(*more)[ID_SIZE] = realloc(d->ids, room * sizeof *more);
    if (!more)
        return err_set(e, ERR_NO_MEMORY, "remember who is disabled");
    d->ids = more;
    d->room = room;
    return 0;
}

/* With the lock held for writing, as the next. */
static int add(struct disabled *d, const char *id, struct err *e)
{
    bool is_there;
    size_t at = place_of(d, id, &is_there);
    if (is_there)
        return 0;
    if (make_room(d, e))
        return -1;
    memmove(d->ids + at + 1, d->ids + at, (d->count - at) * sizeof *d->ids);
    (void)snprintf(d->ids[at], sizeof d->ids[at], "%s", id);
    d->count++;
    return 0;
}

static void drop(struct disabled *d, const char *id)
{
    bool is_there;
    size_t at = place_of(d, id, &is_there);
    if (!is_there)
        return;
    memmove(d->ids + at, d->ids + at + 1, (d->count - at - 1) * sizeof *d->ids);
    d->count--;
}

static int put(void *arg, const char *id, struct err *e)
{
    return add(arg, id, e);
}

int disabled_load(struct people *p, struct err *e)
{
    return meta_principals_disabled(p->meta, put, &p->disabled, e) ? err_wrap(e, "who is disabled")
                                                                   : 0;
}

void disabled_done(struct people *p)
{
    free(p->disabled.ids);
}

static int note(struct people *p, const char *id, bool is_disabled, struct err *e)
{
    int failed = 0;
    pthread_rwlock_wrlock(&p->lock);
    if (is_disabled)
        failed = add(&p->disabled, id, e);
    else
        drop(&p->disabled, id);
    pthread_rwlock_unlock(&p->lock);
    atomic_fetch_add_explicit(&p->losses, 1, memory_order_release);
    return failed;
}

int people_principal_disable(struct people *p, const struct who *who, const char *id,
                             bool is_disabled, int64_t now_us, struct principal_row *ret,
                             struct err *e)
{
    if (who_may(who, SCOPE_ADMIN, e))
        return -1;
    if (is_disabled && strcmp(id, p->local.principal) == 0)
        return err_set(e, ERR_CONFLICT, "this is the server's own admin; revoke its keys instead");
    if (meta_principal_disable(p->meta, id, is_disabled ? now_us : 0, e))
        return -1;
    return note(p, id, is_disabled, e) || meta_principal_get(p->meta, id, ret, e) ? -1 : 0;
}
