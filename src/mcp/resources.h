/* resources.h -- what resources.c, resources_read.c, completion.c and prompts.c have in common. */
#ifndef MCP_RESOURCES_H
#define MCP_RESOURCES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/id.h"
#include "base/str.h"

struct err;
struct mcp_call;
struct mcp_uri;

enum { RESOURCE_BYTES_MAX = 16 << 20 }; /* of one that is read at once */

struct resource_template {
    const char *uri, *name, *title, *description;
};
extern const struct resource_template resource_templates[]; /* uri NULL at the end */

int resources_read(struct mcp_call *m, struct err *e);

/* There is no such resource, or not for them: as the era wants to hear it. */
int resource_unknown(struct mcp_call *m, const char *uri, struct err *e);

/* The id of the workspace that is meant when none is named. */
int resource_workspace(struct mcp_call *m, char ret[ID_SIZE], struct err *e);
/* It, and then the others that are theirs or that they are a member of; at most `max`, which is not 0. */
int resource_workspaces(struct mcp_call *m, char (*ret)[ID_SIZE], size_t max, size_t *ret_count,
                        struct err *e);

/* Whether bytes of that type are given as text. */
bool resource_is_text(const char *mime, struct str bytes);

#endif
