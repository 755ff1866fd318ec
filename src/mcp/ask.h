/* ask.h -- the other side of a question: the client's response (ask.c). */
#ifndef MCP_ASK_H
#define MCP_ASK_H

struct mcp_session;
struct rpc_message;

/* A response came: whoever waits for it goes on. One that nobody waits for is nothing. */
void asked_answer(struct mcp_session *s, const struct rpc_message *response);

#endif
