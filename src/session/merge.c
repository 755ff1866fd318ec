/* merge.c -- changes that come from outside to the overlay of a session that is awake. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/graft.h"
#include "base/scope.h"
#include "session/kernel_int.h"
#include "session/session_int.h"

static void tell(const struct jail_event *answer, struct graft_result *ret)
{
    *ret = (struct graft_result){.put = answer->brought_put,
                                 .removed = answer->brought_removed,
                                 .failed = answer->brought_failed,
                                 .first_errno = answer->brought_errno};
    (void)snprintf(ret->first_failed, sizeof ret->first_failed, "%s", answer->step);
}

static int bring(struct kernel *k, int changes_fd, struct graft_result *ret, struct err *e)
{
    const struct jail_request request = {.kind = JAIL_BRING};
    if (kernel_wish(k, &request, &changes_fd, 1, e) || kernel_await(k, JAIL_BROUGHT, e))
        return -1;
    int why = k->answer.status;
    if (why == EBUSY)
        return err_set(e, ERR_BUSY, "changes are being brought to this session or too many others");
    tell(&k->answer, ret);
    if (why) /* somewhere in the middle */
        *ret = (struct graft_result){.failed = 1, .first_errno = why};
    return 0;
}

int session_bring(struct session *which, int changes_fd, struct graft_result *ret, struct err *e)
{
    scoped(session_endp) struct session *s = session_begin(which);
    if (s->life == LIFE_GONE)
        return err_set(e, ERR_NOT_FOUND, "the session was deleted");
    if (s->life != LIFE_IDLE || !kernel_is_alive(s->kernel))
        return err_set(e, ERR_CONFLICT, "the session is not awake");
    return bring(s->kernel, changes_fd, ret, e);
}
