/* mcp_bridge.h -- MCP over standard input and output, carried to /mcp of a server.
 *
 * One message is one line in both directions. Each message of the client becomes a request of its own;
 * several are under way at a time, and what the server answers, as JSON or as a stream of events, is
 * written line by line as it comes. The bridge understands just enough of the protocol to do that:
 *
 * - The stateless era: headers repeat parts of the message; notifications/cancelled ends the request
 *   that it names by closing it, and nothing more is written for it.
 * - The era with sessions: the id of the session is kept and sent along; a stream carries what the server
 *   has to say unasked; streams that break are gone on with (Last-Event-ID). When the server has
 *   forgotten the session, because it was started anew, another is made and the request is repeated.
 *
 * A server that is not there is looked for, or started, when a message needs it. When it cannot be, the
 * client is told so in an answer. At the end of the input what is under way is cancelled.
 *
 * One thread does everything; the multi interface of libcurl waits for all at once.
 */
#ifndef CLI_MCP_BRIDGE_H
#define CLI_MCP_BRIDGE_H

struct err;

struct mcp_bridge_options {
    const char *workspace; /* name or id of the one to work in; NULL: the default one */
    const char *profile;   /* of tools; NULL: what the server presets */
    int in_fd, out_fd;
};

/* Returns at the end of the input, or when nobody reads the output. Fails only when it could not even
 * begin. Blocks. */
int mcp_bridge_run(const struct mcp_bridge_options *options, struct err *e);

#endif
