/* params.h -- arguments that the client repeats as headers: those whose schema says x-mcp-header. */
#ifndef MCP_PARAMS_H
#define MCP_PARAMS_H

struct err;
struct json_t;
struct mcp_call;

/* Whether Mcp-Param-... say what the arguments of m->tool say. Fails with -32020. */
int params_check(struct mcp_call *m, const struct json_t *arguments, struct err *e);

#endif
