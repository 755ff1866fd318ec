/* client.h -- requests to a server, one after the other, on one kept connection.
 *
 * A call is answered, refused, or does not arrive. Refused and lost calls fail with an err (the
 * server's own code and message, see answer.h); client_hint then says what to do. Calls that may be
 * repeated without harm (GET, DELETE, and those with a `key`, which the server recognises as the same)
 * are repeated when the server is full (429, 503), after as long as it asks for, or when the
 * connection broke. There is no proxy on a unix socket or on this machine, no redirect is followed,
 * and nothing but http and https is spoken.
 *
 *     struct client *c;
 *     client_open(&address, &notes, &c, e);
 *     client_call(c, &(struct call){.path = "/api/v1/sessions"}, &sessions, e);
 *     client_free(c);
 */
#ifndef CLI_CLIENT_H
#define CLI_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct address;
struct buf;
struct client;
struct err;
struct json_t;
struct notes;
struct sse_sink;

enum {
    CALL_TIMEOUT_S = 60,
    CALL_PATH_MAX = 4096, /* the longest path of a file, with every byte of it encoded */
    CALL_HEADERS_MAX = 4,
};

/* Raw bytes instead of JSON, sent as they are read and taken as they come. Such a call may last as
 * long as bytes move. It is not repeated once bytes have moved: whoever made it knows where to go on. */
#define CALL_LEN_UNKNOWN UINT64_MAX
struct call_source {
    /* The next bytes; none at the end. A failure ends the call with it. */
    int (*get)(void *arg, char *bytes, size_t size, size_t *ret_len, struct err *e);
    void *arg;
    uint64_t len;
};
struct call_taker {
    /* Before the first byte, also when none follows: where in the whole the bytes begin. */
    int (*begin)(void *arg, uint64_t from, struct err *e);
    int (*put)(void *arg, const char *bytes, size_t len, struct err *e);
    void *arg;
};

struct call {
    const char *method;                    /* NULL: GET, or POST if there is a body */
    const char *path;                      /* "/api/v1/..." with its query, encoded */
    const struct buf *body;                /* JSON; NULL: none */
    const char *key;                       /* Idempotency-Key; NULL: none */
    const char *last_id;                   /* Last-Event-ID of a stream; NULL: none */
    unsigned timeout_s;                    /* of a plain call; 0: CALL_TIMEOUT_S */
    const struct call_source *source;      /* the body is raw: PUT unless `method` says else */
    const struct call_taker *taker;        /* the answer is raw, unless it is a refusal */
    const char *headers[CALL_HEADERS_MAX]; /* "Name: value", more of them; NULL: none */
};

/* Something to look after while a call waits. `ready` is called when `fd` is readable; what it
 * returns says how to go on. */
enum watch_verdict { WATCH_GOES_ON, WATCH_ENDS, WATCH_CANCELS_CALL };
struct watch {
    int fd; /* -1: nothing */
    enum watch_verdict (*ready)(void *arg);
    void *arg;
};

int client_open(const struct address *address, struct notes *notes, struct client **ret,
                struct err *e);
void client_free(struct client *c); /* NULL is fine */
static inline void client_freep(struct client **c)
{
    client_free(*c);
}

/* Looks after `watch` during all calls from now on; WATCH_CANCELS_CALL makes one fail with ERR_GONE.
 * The watch is copied. */
void client_watch(struct client *c, const struct watch *watch);

/* Sends `tokens` of locks, with commas between, along with every call from now on that is no GET; NULL or
 * "": none. Borrowed. */
void client_lock(struct client *c, const char *tokens);

/* One answer. *ret is the JSON of it, NULL for one without content; the caller owns it. Blocks. */
int client_call(struct client *c, const struct call *call, struct json_t **ret, struct err *e);

/* A stream of events to its end, which may come early: whoever needs the last event looks whether it
 * came. An answer that is no stream (one that is repeated because of its key) comes as an event of the
 * name CLIENT_ANSWER. Fails like client_call, and as the sink does. Blocks for as long as it goes on. */
#define CLIENT_ANSWER "answer"
int client_stream(struct client *c, const struct call *call, const struct sse_sink *sink,
                  struct err *e);

/* A call on another connection, to be made while a stream is open: from a watch or a sink. It is
 * tried once, the answer is not read. Blocks for some seconds at most. */
int client_aside(struct client *c, const struct call *call, struct err *e);

/* True while a call waits to be repeated: asked from a watch, it says that the server has not begun
 * anything. */
bool client_is_waiting(const struct client *c);

/* What to do about the failure just returned; "" if nothing is known. */
const char *client_hint(const struct client *c);

/* Appends a path segment or the value of a parameter, percent-encoded. */
void client_encode(struct buf *path, const char *text);

#endif
