/* Members of a workspace: the rules. */
#include "workspace/members.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "workspace/files_int.h"

/* The owner as if they were one. */
static int owner_row(struct files *f, const struct workspace_row *ws, struct member_row *ret,
                     struct err *e)
{
    struct principal_row p;
    if (meta_principal_get(f->o.meta, ws->owner, &p, e))
        return -1;
    *ret = (struct member_row){.kind = p.kind, .role = ROLE_OWNER, .created_us = ws->created_us};
    memcpy(ret->principal, ws->owner, ID_SIZE);
    char *name = strdup(p.name ? p.name : "");
    principal_row_done(&p);
    if (!name)
        return err_set(e, ERR_NO_MEMORY, "list members");
    ret->name = ret->owned = name;
    return 0;
}

int members_list(struct files *f, const struct workspace_row *ws, struct member_rows *ret,
                 struct err *e)
{
    struct member_rows rows;
    struct member_row owner;
    if (meta_member_list(f->o.meta, ws->id, &rows, e))
        return -1;
    struct member_row *grown = realloc(rows.items, (rows.count + 1) * sizeof *grown);
    if (grown)
        rows.items = grown;
    if (!grown || owner_row(f, ws, &owner, e)) {
        member_rows_done(&rows);
        return grown ? -1 : err_set(e, ERR_NO_MEMORY, "list members");
    }
    memmove(grown + 1, grown, rows.count * sizeof *grown);
    grown[0] = owner;
    rows.count++;
    *ret = rows;
    return 0;
}

int members_set(struct files *f, const struct who *who, const struct workspace_row *ws,
                const char *principal, enum role role, struct err *e)
{
    struct member_row row = {.role = (int)role, .created_us = clock_wall_us()};
    if (rights_check(f, who, ws, RIGHT_ADMIN, e))
        return -1;
    if (role < ROLE_VIEWER || role > ROLE_ADMIN)
        return err_set(e, ERR_INVALID, "role: viewer, editor or admin");
    if (strlen(principal) >= ID_SIZE)
        return err_set(e, ERR_NOT_FOUND, "there is no principal %.64s", principal);
    (void)snprintf(row.principal, sizeof row.principal, "%s", principal);
    memcpy(row.added_by, who->principal, ID_SIZE);
    return meta_member_set(f->o.meta, ws->id, &row, MEMBERS_MAX, e);
}

int members_remove(struct files *f, const struct who *who, const struct workspace_row *ws,
                   const char *principal, struct err *e)
{
    bool is_oneself = strcmp(principal, who->principal) == 0;
    if (!is_oneself && rights_check(f, who, ws, RIGHT_ADMIN, e))
        return -1;
    if (strcmp(principal, ws->owner) == 0)
        return err_set(e, ERR_CONFLICT,
                       "the owner cannot leave: give the workspace to somebody else first");
    return meta_member_remove(f->o.meta, ws->id, principal, e);
}
