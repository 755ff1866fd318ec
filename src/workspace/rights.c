/* Roles, and what they may. */
#include "workspace/rights.h"
#include "base/err.h"
#include "store/meta_members.h"
#include "workspace/files_int.h"

const char *const role_names[] = {"viewer", "editor", "admin", "owner", NULL};

/* What a right is for, as the end of "... is for ". */
static const struct {
    enum role least;
    const char *who;
} rights[] = {
    [RIGHT_READ] = {ROLE_VIEWER, "viewers"},
    [RIGHT_WRITE] = {ROLE_EDITOR, "editors"},
    [RIGHT_ADMIN] = {ROLE_ADMIN, "admins"},
    [RIGHT_OWN] = {ROLE_OWNER, "owner"},
};

int rights_role(struct files *f, const struct who *who, const struct workspace_row *ws,
                enum role *ret, struct err *e)
{
    int role = ROLE_OWNER;
    if (!who_owns(who, ws->owner) && meta_member_role(f->o.meta, ws->id, who->principal, &role, e))
        return -1;
    *ret = role >= ROLE_VIEWER && role <= ROLE_OWNER ? (enum role)role : ROLE_NONE;
    return 0;
}

int rights_check(struct files *f, const struct who *who, const struct workspace_row *ws,
                 enum right right, struct err *e)
{
    enum role role;
    if (rights_role(f, who, ws, &role, e))
        return -1;
    if (role == ROLE_NONE)
        return err_set(e, ERR_NOT_FOUND, "there is no workspace %.64s", ws->id);
    if (role < rights[right].least)
        return err_set(e, ERR_DENIED, "this is for %s of the workspace, and you are %s",
                       rights[right].who, role_names[role - 1]);
    return 0;
}
