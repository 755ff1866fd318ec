/* stream.h -- an answer that comes in several messages: notifications, questions, the response.
 *
 * Begun with the first message that is not the response; an answer without one is plain JSON. In the
 * era with sessions a stream is kept for a while, so that a client whose connection broke, or was
 * ended by us, can come back for the rest with GET and Last-Event-ID; there a broken connection stops
 * nothing. In the other era it is how a client cancels.
 *
 * All of it is for the thread of the request, but for mcp_stream_answer.
 */
#ifndef MCP_STREAM_H
#define MCP_STREAM_H

#include <stdbool.h>

#include "base/str.h"

struct err;
struct mcp_call;
struct mcp_session;
struct mcp_stream;

enum {
    STREAM_KEEP_BYTES = 4 << 20,    /* of a stream to come back to: a longer one is not kept */
    STREAMS_KEEP_BYTES = 128 << 20, /* of all of them */
    STREAM_RETRY_MS = 500,          /* after which a client should come back */
};

/* Makes the answer a stream, if it is not one yet. False: the client cannot read one, or has gone. */
bool mcp_stream_begin(struct mcp_call *m);
/* One message, a JSON text on one line. */
void mcp_stream_send(struct mcp_call *m, struct str message);
void mcp_stream_comment(struct mcp_call *m);
/* The response, and the end. */
void mcp_stream_end(struct mcp_call *m, struct str response);

/* The end, without a response. */
void mcp_stream_cut(struct mcp_call *m);

/* The answer comes later, from another thread: ends the exchange, and gives the stream to be held. The
 * handler sets m->is_later and returns 0. NULL: there is no session to come back to. */
struct mcp_stream *mcp_stream_leave(struct mcp_call *m);
/* The members of the result, as an object: the response. Gives the stream back. */
void mcp_stream_answer(struct mcp_stream *s, struct str result);

/* GET with Last-Event-ID: parks the exchange on the rest of that stream. ERR_NOT_FOUND: there is none. */
int mcp_stream_resume(struct mcp_call *m, struct str last_event_id, struct err *e);

void mcp_streams_drop(struct mcp_stream *first); /* of a session that ended */
void mcp_stream_unref(struct mcp_stream *s);     /* NULL is fine */

#endif
