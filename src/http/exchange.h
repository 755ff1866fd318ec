/* exchange.h -- one request and its answer, as a handler sees them.
 *
 *     const struct http_request *r = http_request(x);
 *     http_read_all(x, 1 << 20, &body, e)
 *     http_add_header(x, "ETag", "\"%s\"", tag)
 *     http_send(x, 200, "application/json", text, len, e)
 *
 * Belongs to the worker thread that got it, until the handler returns or parks it. A body that the
 * handler did not read is drained if it is small, otherwise the connection is closed after the
 * answer, so refusing before the body costs nothing. "100 Continue" is sent by the first read.
 *
 * Every wait has a deadline (http_limits.progress_ms). Reading and writing fail with ERR_GONE when
 * the client has left or stalled; the handler need not care: the connection is closed behind it.
 */
#ifndef HTTP_EXCHANGE_H
#define HTTP_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"

struct buf;
struct err;
struct http_exchange;
struct http_stream;

struct http_header {
    struct str name, value;
};

struct http_peer {
    char address[64]; /* "192.0.2.7", "::1", "unix"; without the port */
    bool is_unix;
    uid_t uid; /* of a unix peer */
    bool is_loopback;
    bool is_tls;
};

/* Everything in it lives as long as the exchange. Nothing is decoded. */
struct http_request {
    struct str method;
    struct str path;  /* starts with '/'; or "*" */
    struct str query; /* without the '?'; empty: none */
    struct str host;
    const struct http_header *headers;
    size_t header_count;
    bool has_body;
    bool has_length; /* false with has_body: chunked */
    uint64_t length;
    const struct http_peer *peer;
};

const struct http_request *http_request(const struct http_exchange *x);

/* The value of the first header of that name (case does not matter), or {NULL, 0}. */
struct str http_header_get(const struct http_request *r, const char *name);

/* The decoded value of the first query parameter of that name. Returns 1 if there is one, 0 if not;
 * fails with ERR_INVALID when its escapes are broken or it holds a NUL. */
int http_query_get(const struct http_request *r, const char *name, struct buf *ret, struct err *e);

/* Appends `text` with %XX decoded; '+' means a blank only when `is_form`. Fails with ERR_INVALID. */
int http_decode(struct str text, bool is_form, struct buf *ret, struct err *e);

/* Reads up to `size` bytes of the body; *ret_len 0 is its end. Blocks. Fails with ERR_GONE, or
 * ERR_INVALID when the chunks are malformed. */
int http_read(struct http_exchange *x, void *to, size_t size, size_t *ret_len, struct err *e);

/* The whole body. Fails with ERR_TOO_LARGE when it is longer than `max`, before reading it if its
 * length was announced. */
int http_read_all(struct http_exchange *x, size_t max, struct buf *ret, struct err *e);

/* A header of the answer, before it begins. Name and value are checked: no line ends get out. */
void http_add_header(struct http_exchange *x, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The whole answer. A 204 or 304 has no body; for HEAD the body is counted and not sent. */
int http_send(struct http_exchange *x, int status, const char *type, const void *bytes, size_t len,
              struct err *e);

/* An answer in pieces. `length` -1: not known, sent chunked (to HTTP/1.0: until the close). */
int http_begin(struct http_exchange *x, int status, const char *type, int64_t length,
               struct err *e);
int http_write(struct http_exchange *x, const void *bytes, size_t len, struct err *e);
int http_write_file(struct http_exchange *x, int fd, uint64_t offset, uint64_t len, struct err *e);
int http_end(struct http_exchange *x, struct err *e);

bool http_has_begun(const struct http_exchange *x); /* the status is out: too late for another */
int http_status(const struct http_exchange *x);     /* of the answer; 0: none yet */
uint64_t http_bytes_out(const struct http_exchange *x);

/* Calls fn(arg) once, on the listener's thread, if the client hangs up before the handler returns;
 * at once if it has already, then on this thread. fn must not block and must not call this; so this
 * must not be called under a lock that fn takes. NULL takes it back: when this returns, fn is not
 * running and will not be called. */
void http_on_hangup(struct http_exchange *x, void (*fn)(void *arg), void *arg);

/* ---- answers without a thread ---- */

enum http_pulled {
    HTTP_PULLED, /* something was appended, there may be more */
    HTTP_LATER,  /* nothing now: wait for http_stream_wake */
    HTTP_ENDED,  /* what was appended is the last */
};

enum {
    HTTP_PULL_MAX = 64 << 10
}; /* what a pull should append at most; a single event may be larger */

/* Where the rest of an answer comes from. `pull` and `last` run on the listener's thread and must not block;
 * `gone` is called exactly once, when the stream has ended in whatever way, and then nothing of it is
 * called any more. */
struct http_source {
    enum http_pulled (*pull)(void *arg, struct buf *out);
    void (*last)(void *arg, struct buf *out); /* of events, when the server ends; or NULL */
    void (*gone)(void *arg);
    void *arg;
};

/* After http_begin(-1): the handler gives the exchange away and returns; x must not be touched any
 * more. With `is_events` silence is filled with comments, and at the end of the server it just ends; others
 * are cut off by a reset then, so that nobody takes half an answer for a whole one. *ret is the caller's to unref; it may be
 * woken as long as it is held, also after its end. Fails without having taken anything, and then
 * `gone` is not called. */
int http_park(struct http_exchange *x, const struct http_source *source, bool is_events,
              struct http_stream **ret, struct err *e);

void http_stream_wake(struct http_stream *s); /* pull again; any thread, does not block */
void http_stream_unref(struct http_stream *s);

#endif
