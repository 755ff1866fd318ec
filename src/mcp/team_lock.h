/* team_lock.h -- what the two files of the tool lock_file share: locks as models see them. */
#ifndef MCP_TEAM_LOCK_H
#define MCP_TEAM_LOCK_H

struct buf;
struct json_t;
struct json_writer;
struct mcp_call;

enum { LOCK_EXCLUSIVE, LOCK_SHARED };
extern const char *const lock_scopes[]; /* names of these, NULL at the end */

/* Where it is; in words, if it is everything. */
const char *team_lock_path(const struct json_t *lock);
/* "data.csv is locked by ada until 2026-01-31T12:00:00Z (exclusive)", and the end of the line. */
void lock_say(struct buf *text, const struct json_t *lock);
/* The reply to whoever took or renewed one; token "": it is not told. */
void lock_show(struct mcp_call *m, const struct json_t *lock, const char *token);
/* A row of a list (team_common.h). */
void lock_row(const struct json_t *lock, struct buf *line, struct json_writer *w);

#endif
