/* team_manage.h -- what the two files of the tool manage_file share. */
#ifndef MCP_TEAM_MANAGE_H
#define MCP_TEAM_MANAGE_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct json_t;
struct mcp_call;
struct native;
struct team_body;

struct manage_args {
    int action;
    const char *path, *to, *file_id, *lock_token, *workspace_id, *cursor;
    int64_t version, if_version, limit;
    bool overwrite, recursive, confirm;
};

/* "moved a.csv (version 3, 12 B)", and the member `file`. */
void manage_say_file(struct mcp_call *m, const char *done, const struct json_t *file);
/* team_send, and what helps when a name is taken. */
int manage_send(struct mcp_call *m, struct native *n, struct team_body *body, struct err *e);

/* team_trash.c */
int manage_restore(struct mcp_call *m, const struct manage_args *in, struct err *e);
int manage_purge(struct mcp_call *m, const struct manage_args *in, struct err *e);
int manage_list_trash(struct mcp_call *m, const struct manage_args *in, struct err *e);
int manage_empty_trash(struct mcp_call *m, const struct manage_args *in, struct err *e);

#endif
