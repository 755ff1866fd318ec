/* exchange_int.h -- an exchange from inside: how a worker runs one. */
#ifndef HTTP_EXCHANGE_INT_H
#define HTTP_EXCHANGE_INT_H

#include "http/chunked.h"
#include "http/server_int.h"

/* Bytes received: [0, head_end) is the head of the request that is being answered, [at, end) has not
 * been used yet. INBOX_SIZE bytes, made when first needed. */
struct inbox {
    char *bytes; /* owned */
    size_t head_end, at, end;
};

/* Time spent waiting since the last PROGRESS_BYTES moved. */
struct progress {
    int64_t waited_us;
    size_t moved;
};

enum answer_state { ANSWER_NONE, ANSWER_BEGUN, ANSWER_ENDED };

struct http_exchange {
    struct http_server *server;
    struct conn *conn;
    struct inbox in;
    struct head head;

    bool owes_continue; /* the client waits for "100 Continue" */
    bool has_read_all;
    uint64_t body_left; /* unless chunked */
    struct chunked chunks;
    struct progress reading, writing;
    bool is_gone;      /* the client has left or stalled */
    bool is_stalled;   /* it was the body that did not come */
    bool is_malformed; /* the body is */

    enum answer_state answer;
    int status;
    bool is_bodyless; /* HEAD, 204, 304 */
    bool is_chunked;
    bool has_promised; /* a length: `left` bytes are still to come */
    bool closes;
    uint64_t left, bytes_out;
    struct buf extra;    /* the headers of the handler */
    struct buf head_out; /* built, and not sent yet unless it is empty */
    struct http_date date;
    struct http_stream *stream; /* owned; parked */
    struct buf *collect;        /* inner.c: where the answer goes instead of to a client; or NULL */
    /* inner.c: where the body comes from instead of from a client; or NULL */
    int (*body_read)(void *arg, void *to, size_t size, size_t *ret_len, struct err *e);
    void *body_arg;
};

int exchange_init(struct http_exchange *x, struct http_server *s, struct err *e);
void exchange_done(struct http_exchange *x);

/* Answers the request whose head is at the begin of the inbox, `head_len` bytes long. */
enum verdict exchange_run(struct http_exchange *x, size_t head_len);

/* Throws away what is left of the body, if that is little. False: it is not. */
bool exchange_drain(struct http_exchange *x);

/* Waits, as long as the client makes progress at all. False: it does not. */
bool exchange_wait(struct http_exchange *x, short events, struct progress *p);
void exchange_moved(struct progress *p, size_t len);

/* ---- answer.c ---- */
bool answer_must_close(const struct http_exchange *x,
                       int status); /* because of the body that was not read */
int answer_send(struct http_exchange *x, struct iovec *pieces, int count, struct err *e);

#endif
