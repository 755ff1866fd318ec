/* rights.h -- who may do what with a workspace: one table, one function.
 *
 *     role     READ  WRITE  ADMIN  OWN
 *     viewer    x
 *     editor    x     x
 *     admin     x     x      x            members, shares of others, breaking locks, its name
 *     owner     x     x      x      x     deleting it, giving it away
 *
 * A server's admin (SCOPE_ADMIN) has every right. Whoever has no role does not learn that the workspace
 * is there: ERR_NOT_FOUND; who has too little a role is told which is needed: ERR_DENIED.
 */
#ifndef WORKSPACE_RIGHTS_H
#define WORKSPACE_RIGHTS_H

struct err;
struct files;
struct who;
struct workspace_row;

enum role { ROLE_NONE, ROLE_VIEWER, ROLE_EDITOR, ROLE_ADMIN, ROLE_OWNER }; /* as stored */
extern const char *const role_names[]; /* "viewer", "editor", "admin", "owner", NULL */

enum right { RIGHT_READ = 1, RIGHT_WRITE, RIGHT_ADMIN, RIGHT_OWN };

/* Blocks on disk. */
int rights_role(struct files *f, const struct who *who, const struct workspace_row *ws,
                enum role *ret, struct err *e);
int rights_check(struct files *f, const struct who *who, const struct workspace_row *ws,
                 enum right right, struct err *e);

#endif
