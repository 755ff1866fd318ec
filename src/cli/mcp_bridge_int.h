/* mcp_bridge_int.h -- inside mcp_bridge.h: messages under way.
 *
 * A flight is one message of the client, or something that the bridge itself wants from the server. Its
 * life:
 *
 *     FLIGHT_QUEUED ---start---> FLIGHT_RUNNING ---ended---> gone
 *           ^                        |   ^
 *           |  a session was lost,   |   | due: again after a while, or the rest of a stream
 *           |  or a server started   v   |
 *           +------------------------+-FLIGHT_WAITING
 *
 * Flights stand in a list in the order they came. Most start at once. Those with `is_barrier` wait until
 * all before them have been sent, and let nothing past them until they are answered: the server has to
 * know of a session before it is used, and of a request before it is cancelled.
 */
#ifndef CLI_MCP_BRIDGE_INT_H
#define CLI_MCP_BRIDGE_INT_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/address.h"
#include "cli/client.h"
#include "cli/mcp_bridge.h"
#include "cli/mcp_lines.h"
#include "cli/note.h"
#include "cli/sse_read.h"

struct json_t;
struct mcp_message;

enum {
    BRIDGE_LINE_MAX = 16 << 20,         /* bytes of a message that comes from the client */
    BRIDGE_ANSWER_MAX = 100 << 20,      /* and from the server: a resource may be a file */
    BRIDGE_OUT_MAX = 1 << 30,           /* bytes that wait for the client to read */
    BRIDGE_OUT_FULL = 64 << 20,         /* from here on nothing more is taken from the server */
    BRIDGE_FLIGHTS_MAX = 256,           /* messages under way; further ones are refused */
    BRIDGE_FLIGHT_BYTES_MAX = 64 << 20, /* and bytes of them */
    BRIDGE_WORD_MAX = 255,              /* of an id of a session, a version */
    BRIDGE_TRIES_MAX = 5,               /* connections lost, or refusals, without any progress */
};

enum flight_kind {
    FLIGHT_MESSAGE, /* POST of what the client sent */
    FLIGHT_REOPEN,  /* POST of the saved initialize, for a new session */
    FLIGHT_OWN,     /* POST of a notification of ours */
    FLIGHT_LISTEN,  /* GET of what the server says unasked */
};

enum flight_state { FLIGHT_QUEUED, FLIGHT_RUNNING, FLIGHT_WAITING };

struct flight {
    struct flight *next;
    struct bridge *bridge;
    enum flight_kind kind;
    enum flight_state state;
    int64_t due_us; /* FLIGHT_WAITING */

    char *body; /* the message; owned; NULL: none */
    size_t len;
    struct json_t *id;  /* of a request of the client, held; NULL: none */
    struct buf headers; /* that repeat parts of the message, a line each */
    bool is_modern;     /* of the stateless era: no session, and closing cancels */
    bool is_initialize, is_initialized;
    bool is_barrier;

    bool is_cancelled; /* by the client: no answer is owed */
    bool is_answered;
    bool is_repeated; /* after the session was lost, or the server gone */
    bool is_resumed;  /* a GET asks for the rest of its stream */
    unsigned serial;  /* of the session it was sent in */
    unsigned tries;   /* in a row that brought nothing */

    CURL *easy;
    struct curl_slist *list;
    struct sse_reader events;
    struct buf answer; /* that is no stream */
    bool is_events;
    long status;
    unsigned retry_s;                  /* Retry-After */
    char session[BRIDGE_WORD_MAX + 1]; /* Mcp-Session-Id of the answer */
    char last_id[SSE_WORD_MAX + 1];    /* of the last event */
    char curl_text[CURL_ERROR_SIZE];
};

struct bridge {
    const struct mcp_bridge_options *o;
    struct notes notes;
    CURLM *multi;
    struct address address;
    char path[CALL_PATH_MAX]; /* of /mcp, with its query */
    bool is_reached;          /* address and path are of a server that is there, or was */
    int64_t unreached_us;     /* when the last attempt to find one failed; 0: it did not */
    struct err unreached;

    struct flight *flights;
    size_t flight_count, flight_bytes; /* of those that carry messages of the client */

    char session[BRIDGE_WORD_MAX + 1], version[BRIDGE_WORD_MAX + 1]; /* "": none */
    unsigned serial;                                                 /* counts sessions */
    char *initialize; /* the message that made it; owned; NULL: none */

    struct mcp_lines lines;
    struct buf out; /* what the client has not read yet, from out_at on */
    size_t out_at;
    int signal_fd;
    bool is_over;    /* no more input */
    bool is_unread;  /* nobody reads the output */
    int64_t ends_us; /* when what is under way is cancelled */
};

/* ---- mcp_bridge_out.c: to the client ---- */

/* A message as one line. What are line ends in JSON are blanks as well, so they may become such. */
void bridge_put(struct bridge *b, const char *text, size_t len);
void bridge_put_error(struct bridge *b, const struct json_t *id, int code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Writes as much as is taken without waiting. */
void bridge_flush(struct bridge *b);
bool bridge_has_output(const struct bridge *b);

/* ---- mcp_bridge_in.c: from the client ---- */

/* A line of the client: becomes a flight, or is answered at once. */
void bridge_take_line(struct bridge *b, const char *line, size_t len);
void bridge_refuse_long(struct bridge *b);

/* ---- mcp_flight.c: one request with libcurl ---- */

/* At the end of the list, or in front. `body` becomes the flight's. NULL: no memory, body is freed. */
struct flight *flight_new(struct bridge *b, enum flight_kind kind, char *body, size_t len);
void flight_push(struct flight *f);
void flight_free(struct flight *f); /* takes it out of the list, too; closes what is open */
/* Begins the request. Fails only without memory. */
int flight_launch(struct flight *f, struct err *e);
bool flight_is_sent(const struct flight *f);
/* Gives back what the request needed; its answer stays. Not from inside it. */
void flight_close(struct flight *f);

/* ---- mcp_carry.c: which flight begins, and what becomes of one that has ended ---- */

/* Begins what may begin. */
void bridge_pump(struct bridge *b);
/* Its transfer is over. */
void flight_ended(struct flight *f, CURLcode result);
/* A message of its stream; or all of its answer. */
int flight_message(struct flight *f, const char *text, size_t len, struct err *e);

/* ---- mcp_bridge_session.c: sessions of the era that has them ---- */

/* The answer to an initialize has come. */
void bridge_session_opened(struct flight *f, const struct mcp_message *answer);
/* The server does not know the session: makes another and repeats the request in it, once. */
void bridge_session_lost(struct flight *f);
/* It could not be made: whoever waits for it is told. */
void bridge_session_failed(struct bridge *b, const char *text, const char *advice);
void bridge_session_listen(struct bridge *b);
/* Tells the server that it is over. Blocks for two seconds at most. */
void bridge_session_end(struct bridge *b);

/* ---- mcp_reach.c ---- */

/* Finds a server, or starts one. Fails with what to do. Blocks while one starts. */
int bridge_reach(struct bridge *b, struct err *e);

#endif
