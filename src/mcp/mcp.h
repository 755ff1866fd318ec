/* mcp.h -- the Model Context Protocol: /mcp, in both of its eras.
 *
 * The era with sessions (2025-11-25 and before) and the stateless one (2026-07-28) share one address,
 * one table of methods and one set of tools; which one a request belongs to is seen from the request
 * alone (rpc.h). `cicada mcp` carries the same messages over stdio.
 *
 *     mcp_open(&options, &mcp, e)
 *     api_options.mcp = mcp
 *
 * A dialect: tools translate to operations of the native API (native.h) and decide nothing.
 */
#ifndef MCP_MCP_H
#define MCP_MCP_H

#include <stdbool.h>
#include <stdint.h>

struct call;
struct err;
struct events;
struct mcp;
struct service;
struct shrinker;

struct mcp_options {
    struct service *service; /* borrowed, as all of these */
    struct events *events;
    struct shrinker *shrinker; /* makes images small; NULL: large ones are links only */
    const uint8_t *state_key;  /* 32 bytes: signs what clients carry for us */
    unsigned calls_max;        /* of tools, at once: each holds a thread of the server */
    bool has_fixtures; /* instead of the product, what the conformance suite wants to find */
};

int mcp_open(const struct mcp_options *options, struct mcp **ret, struct err *e);
/* api_options.mcp */
int mcp_handle(void *mcp, struct call *c, struct err *e);

void mcp_stop(struct mcp *mcp); /* ends streams and whatever waits for a client */
void mcp_close(struct mcp *mcp);

#endif
