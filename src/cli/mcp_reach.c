/* Where the bridge carries messages to. */
#include <string.h>

#include "base/clock.h"
#include "base/scope.h"
#include "cli/mcp_bridge_int.h"
#include "cli/remote.h"

enum { UNREACHED_MS = 2000 }; /* before a server that was not there is looked for again */

/* The id of the workspace that was named. */
static int find_workspace(struct bridge *b, char ret[ID_SIZE], struct err *e)
{
    scoped(remote_done) struct remote r = {.notes = b->notes};
    if (client_open(&b->address, &b->notes, &r.client, e))
        return -1;
    return remote_resolve(&r, &shelf_workspaces, b->o->workspace, ret, e);
}

static int make_path(struct bridge *b, struct err *e)
{
    scoped(buf_done) struct buf path = BUF_INIT(sizeof b->path - 1);
    char workspace[ID_SIZE];
    const char *between = "?";
    buf_str(&path, "/mcp");
    if (b->o->workspace) {
        if (find_workspace(b, workspace, e))
            return -1;
        buf_fmt(&path, "%sworkspace=", between);
        client_encode(&path, workspace);
        between = "&";
    }
    if (b->o->profile) {
        buf_fmt(&path, "%sprofile=", between);
        client_encode(&path, b->o->profile);
    }
    if (buf_check(&path, e))
        return -1;
    memcpy(b->path, path.bytes, path.len + 1);
    return 0;
}

int bridge_reach(struct bridge *b, struct err *e)
{
    int64_t now_us = clock_us();
    if (b->unreached_us && now_us - b->unreached_us < (int64_t)UNREACHED_MS * 1000) {
        *e = b->unreached;
        return -1;
    }
    if (remote_find(&b->notes, &b->address, e) || make_path(b, e)) {
        b->unreached = *e;
        b->unreached_us = clock_us();
        return -1;
    }
    b->unreached_us = 0;
    b->is_reached = true;
    return 0;
}
