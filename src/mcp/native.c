#include "mcp/native.h"

#include <stdio.h>

#include "mcp/mcp_int.h"

int native_call(struct mcp_call *m, struct native *n, struct err *e)
{
    native_default(n, m->workspace); /* the one that the address of this server names, if it does */
    int failed = native_perform(n, m->c, /* k= */ NULL, "mcp", e);
    if (failed)
        (void)snprintf(m->hint, sizeof m->hint, "%s", n->answer.hint);
    return failed;
}
