/* mcp_message.h -- one JSON-RPC message as `cicada mcp` sees it: enough to know where it goes.
 *
 * Messages of a client become requests to /mcp with headers that repeat parts of them; messages of the
 * server are looked at to know whether they are the answer that was waited for. Whether a message is
 * right is the server's to say: here it only has to be one JSON object of one of the three kinds.
 */
#ifndef CLI_MCP_MESSAGE_H
#define CLI_MCP_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct err;
struct json_t;

enum { MCP_NOT_JSON = -32700, MCP_NO_MESSAGE = -32600, MCP_NOT_CARRIED = -32603 };

enum mcp_kind { MCP_REQUEST, MCP_NOTIFICATION, MCP_RESPONSE };

struct mcp_message {
    struct json_t *json; /* owned */
    enum mcp_kind kind;
    struct json_t *id;  /* borrowed, as all that follow; NULL: a notification */
    const char *method; /* NULL: a response */
    const char *name; /* what Mcp-Name repeats: a tool, a prompt, a resource, a task; NULL: none */
    const char *version; /* of the stateless era, which the message claims; NULL: none */
};

/* Fails with ERR_INVALID or ERR_LIMIT, and then *ret_code is the code of JSON-RPC; ret->id may be set
 * all the same. mcp_message_done is due in any case. */
int mcp_message_read(const char *text, size_t len, struct mcp_message *ret, int *ret_code,
                     struct err *e);
void mcp_message_done(struct mcp_message *m);

/* params.requestId of notifications/cancelled; NULL: none. */
struct json_t *mcp_message_cancels(const struct mcp_message *m);

/* Appends "Name: value" with the value as a header may have it: as it is if it consists of visible
 * ASCII and inner blanks, otherwise as =?base64?...?=. */
void mcp_header(struct buf *out, const char *name, const char *value);

/* Appends the JSON of an answer that says what went wrong; `id` may be NULL. */
void mcp_error(struct buf *out, const struct json_t *id, int code, const char *text);

#endif
