/* hub.h -- what clients do to hear of changes; how it works inside is in hub_int.h. */
#ifndef MCP_HUB_H
#define MCP_HUB_H

struct err;
struct mcp_call;

/* resources/subscribe and resources/unsubscribe of the era with sessions. */
int hub_subscribe(struct mcp_call *m, struct err *e);
int hub_unsubscribe(struct mcp_call *m, struct err *e);

#endif
