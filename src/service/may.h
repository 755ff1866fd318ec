/* may.h -- what somebody may do with a session, with a run, and with what a working copy holds.
 *
 * Sessions and runs are their principal's, and the admins' of their workspace (and of the server). What
 * one may not see is not there: ERR_NOT_FOUND. To see a session is not to use it: that also takes the right to
 * write to its workspace at that very moment, so whoever lost it can look and close, and no more.
 *
 * A *pen* says in whose hands a working copy is: what is found in it becomes versions only if the key they
 * came with may write files, and if they may write to the workspace when it is found, whether at the end of a run,
 * in its middle, at sleep, or by the next server after a crash. It is written down with the session before code
 * runs with it.
 */
#ifndef SERVICE_MAY_H
#define SERVICE_MAY_H

#include <stdbool.h>

#include "base/id.h"

struct err;
struct seat;
struct service;
struct who;
struct workspace_row;

struct pen {
    char principal[ID_SIZE];
    bool is_admin;  /* of the server */
    bool can_write; /* their key may write files */
    bool
        is_blind; /* the session's own: made by a key that may not read files, so nothing is brought */
};

struct pen pen_of(const struct who *who);
bool pen_is_same(const struct pen *a, const struct pen *b);

/* *ret is why nothing may be kept, static, or NULL: it may. Blocks on disk. */
int pen_check(struct service *s, const struct pen *pen, const struct workspace_row *ws,
              const char **ret, struct err *e);

/* Whether they see what others do in that workspace: its admins do. False without such a workspace. */
int may_oversee(struct service *s, const struct who *who, const char *workspace, bool *ret,
                struct err *e);
/* The same, or it is their own. */
int may_see(struct service *s, const struct who *who, const char *principal, const char *workspace,
            bool *ret, struct err *e);

/* A run is also the business of whoever's session it was in. */
int may_see_run(struct service *s, const struct who *who, const char *principal,
                const char *session, const char *workspace, bool *ret, struct err *e);

/* Run code in it, or make its kernel do anything: ERR_DENIED, with what to do. */
int may_use(struct seat *seat, const struct who *who, struct err *e);

#endif
