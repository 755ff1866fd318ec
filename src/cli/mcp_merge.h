/* mcp_merge.h -- an entry put into a configuration that somebody else wrote, without losing any of it.
 *
 * Everything that is there stays, in its order; only the entry of our name is made or replaced. What is
 * not JSON is refused rather than guessed at.
 */
#ifndef CLI_MCP_MERGE_H
#define CLI_MCP_MERGE_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct err;
struct json_t;

/* Sets `name` to `entry` in the object `member` of the configuration `text` (empty: a new one), and
 * appends the whole to `out`. `inputs` (may be NULL) are objects with an `id` that are added to the
 * array of that name unless one with that id is there. *ret_is_new: something has changed. Fails with
 * ERR_INVALID and what to do. */
int mcp_merge(const char *text, size_t len, const char *member, const char *name,
              struct json_t *entry, struct json_t *inputs, struct buf *out, bool *ret_is_new,
              struct err *e);

/* The same for TOML: appends `table`, which begins with its head line, unless it is there. Fails with
 * ERR_CONFLICT when another table of that head is. */
int mcp_merge_toml(const char *text, size_t len, const char *table, struct buf *out,
                   bool *ret_is_new, struct err *e);

#endif
