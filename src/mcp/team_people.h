/* team_people.h -- what the two files of the tool workspace share. */
#ifndef MCP_TEAM_PEOPLE_H
#define MCP_TEAM_PEOPLE_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct mcp_call;
struct native;

enum { TEAM_NAME_SHOWN = 80 }; /* bytes of a name in a list */

struct workspace_args {
    int action, role, intelligence;
    const char *workspace_id, *name, *principal_id, *cursor;
    bool confirm;
    int64_t limit;
};

extern const char *const member_roles[]; /* choices of `role`, NULL at the end */

/* The workspace that is meant, as n->json; `n` is fresh. */
int workspace_get(struct mcp_call *m, const struct workspace_args *in, struct native *n,
                  struct err *e);

/* team_people.c */
int workspace_members(struct mcp_call *m, const struct workspace_args *in, struct err *e);
int workspace_add_member(struct mcp_call *m, const struct workspace_args *in, struct err *e);
int workspace_remove_member(struct mcp_call *m, const struct workspace_args *in, struct err *e);
int workspace_transfer(struct mcp_call *m, const struct workspace_args *in, struct err *e);

#endif
