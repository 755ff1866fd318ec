/* Whose sessions, runs and files are whose. */
#include "service/may.h"

#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "service/desk.h"
#include "service/service_int.h"
#include "store/meta.h"
#include "workspace/files.h"

struct pen pen_of(const struct who *who)
{
    struct pen pen = {.is_admin = who->is_admin,
                      .can_write = who->scopes & SCOPE_FILES_WRITE,
                      .is_blind = !(who->scopes & SCOPE_FILES_READ)};
    memcpy(pen.principal, who->principal, sizeof pen.principal);
    return pen;
}

bool pen_is_same(const struct pen *a, const struct pen *b)
{
    return strcmp(a->principal, b->principal) == 0 && a->is_admin == b->is_admin &&
           a->can_write == b->can_write && a->is_blind == b->is_blind;
}

int pen_check(struct service *s, const struct pen *pen, const struct workspace_row *ws,
              const char **ret, struct err *e)
{
    struct who who = {.is_admin = pen->is_admin};
    enum role role;
    *ret = "this key may not write files (scope files:write)";
    if (!pen->can_write)
        return 0;
    memcpy(who.principal, pen->principal, sizeof who.principal);
    if (rights_role(s->o.files, &who, ws, &role, e))
        return -1;
    *ret = role >= ROLE_EDITOR ? NULL : "who ran it may not write to the workspace any more";
    return 0;
}

/* The role in a workspace that may not be there. */
static int role_in(struct service *s, const struct who *who, const char *workspace, enum role *ret,
                   struct err *e)
{
    struct workspace_row ws;
    *ret = ROLE_NONE;
    if (files_workspace_known(s->o.files, workspace, &ws, e)) {
        bool is_gone = e->code == ERR_NOT_FOUND;
        if (is_gone)
            *e = (struct err){0};
        return is_gone ? 0 : -1;
    }
    int failed = rights_role(s->o.files, who, &ws, ret, e);
    workspace_row_done(&ws);
    return failed;
}

int may_oversee(struct service *s, const struct who *who, const char *workspace, bool *ret,
                struct err *e)
{
    enum role role = ROLE_OWNER;
    if (!who->is_admin && role_in(s, who, workspace, &role, e))
        return -1;
    *ret = role >= ROLE_ADMIN;
    return 0;
}

int may_see(struct service *s, const struct who *who, const char *principal, const char *workspace,
            bool *ret, struct err *e)
{
    *ret = who_owns(who, principal);
    return *ret ? 0 : may_oversee(s, who, workspace, ret, e);
}

/* False without such a session. */
static int is_theirs(struct service *s, const struct who *who, const char *session, bool *ret,
                     struct err *e)
{
    struct session_row row;
    *ret = false;
    if (meta_session_get(s->o.meta, session, &row, e)) {
        bool is_gone = e->code == ERR_NOT_FOUND;
        if (is_gone)
            *e = (struct err){0};
        return is_gone ? 0 : -1;
    }
    *ret = who_owns(who, row.principal);
    session_row_done(&row);
    return 0;
}

int may_see_run(struct service *s, const struct who *who, const char *principal,
                const char *session, const char *workspace, bool *ret, struct err *e)
{
    if (may_see(s, who, principal, workspace, ret, e))
        return -1;
    return *ret ? 0 : is_theirs(s, who, session, ret, e);
}

int may_use(struct seat *seat, const struct who *who, struct err *e)
{
    enum role role;
    if (role_in(seat->service, who, seat->workspace, &role, e))
        return -1;
    if (role < ROLE_EDITOR)
        return err_set(
            e, ERR_DENIED,
            "using a session is for editors of its workspace, which you are not any more: ask "
            "one of its admins, or make a session in a workspace of your own");
    if (!seat->is_blind && !(who->scopes & SCOPE_FILES_READ))
        return err_set(
            e, ERR_DENIED,
            "this session has files of its workspace, and this key may not read files (scope "
            "files:read): make a session with this key");
    return 0;
}
