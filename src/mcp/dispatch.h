/* dispatch.h -- from a message that was read to the answer that is sent. */
#ifndef MCP_DISPATCH_H
#define MCP_DISPATCH_H

struct mcp_call;
struct rpc_fault;

/* Finds the method, runs it and answers. */
void mcp_dispatch(struct mcp_call *m);

/* Answers with an error that is about the message itself. */
void mcp_answer_fault(struct mcp_call *m, const struct rpc_fault *fault);

/* 202, for what is no request. */
void mcp_answer_accepted(struct mcp_call *m);

#endif
