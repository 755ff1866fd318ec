/* native.h -- operations of the native API (api/native_call.h), called for whoever asked here.
 *
 *     scoped(native_done) struct native n = NATIVE("GET");
 *     native_workspace(&n, in->workspace_id);      "/api/v1/workspaces/ID", or the default one
 *     if (native_call(m, &n, e))
 *         return -1;
 *
 * The default workspace is the one that the address of /mcp names, if it does. What the API would hint
 * at after a failure is kept in m->hint for the model to read.
 */
#ifndef MCP_NATIVE_H
#define MCP_NATIVE_H

#include "api/native_call.h"

struct mcp_call;

int native_call(struct mcp_call *m, struct native *n, struct err *e);

#endif
