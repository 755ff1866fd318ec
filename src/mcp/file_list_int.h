/* file_list_int.h -- list_files: what was asked for, and how it is told. */
#ifndef MCP_FILE_LIST_INT_H
#define MCP_FILE_LIST_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "mcp/file_common.h"

struct json_t;
struct mcp_call;

struct list_args {
    const char *path, *glob, *cursor, *workspace_id;
    bool recursive, deleted;
    int sort;
    int64_t limit;
};

struct asked {
    struct buf prefix, pattern; /* pattern empty: none */
};

/* How many of the entries fit the reply; at least one. */
size_t list_fitting(const struct json_t *const *order, size_t count);

/* Fills the reply with these entries of the native API. `next`: the cursor of those that follow, or NULL. */
void list_tell(struct mcp_call *m, const struct asked *a, struct json_t *const *order, size_t count,
               const char *next);

#endif
