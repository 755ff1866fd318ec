/* members.h -- who belongs to a workspace besides its owner, and who may change that.
 *
 * Admins make members, admins too, change their roles and remove them; everybody may leave. The owner is no
 * member and cannot be touched: to have another owner, the workspace is given away. Whoever loses their role
 * keeps their sessions, but cannot use them (service/may.h).
 *
 * All block on disk.
 */
#ifndef WORKSPACE_MEMBERS_H
#define WORKSPACE_MEMBERS_H

#include "store/meta_members.h"
#include "workspace/files.h"

enum { MEMBERS_MAX = 500 }; /* of one workspace, besides its owner */

/* The owner first, then by when they came. */
int members_list(struct files *f, const struct workspace_row *ws, struct member_rows *ret,
                 struct err *e);
/* `role`: viewer, editor or admin. Fails with ERR_DENIED, ERR_NOT_FOUND (no such principal), ERR_CONFLICT
 * (the owner), ERR_LIMIT past MEMBERS_MAX. */
int members_set(struct files *f, const struct who *who, const struct workspace_row *ws,
                const char *principal, enum role role, struct err *e);
/* Oneself, or as an admin anybody. Fails with ERR_NOT_FOUND for who is none, ERR_CONFLICT for the owner. */
int members_remove(struct files *f, const struct who *who, const struct workspace_row *ws,
                   const char *principal, struct err *e);

#endif
