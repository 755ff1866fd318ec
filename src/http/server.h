/* server.h -- a strict HTTP/1.1 server: sockets, threads, timeouts. What a request is and how it is
 * answered is in exchange.h.
 *
 *     http_server_open(&options, &server, e)     binds and listens; nobody is served yet
 *     http_server_run(server, stop_fd, e)        the listener; returns when drained
 *     http_server_close(server)
 *
 * Theory of operation. One listener thread (the caller of http_server_run) owns an epoll set with
 * every connection. It accepts, reads request heads, notices hang-ups, feeds parked streams and
 * enforces every timeout. When a head is whole it hands the connection to a worker thread, which
 * calls the handler: ordinary blocking code that reads the body and writes the answer. Afterwards
 * the worker waits a moment for the next request of the same client, then gives the connection
 * back. Workers are made when needed and end when idle for long.
 *
 *              head whole               answer sent, nothing comes
 *     WAITING ------------> WORKING ----------------------------> WAITING
 *        |                     |  park            stream ended      ^
 *        |                     +-------> PARKED --------------------+
 *        +--- timeout, hang-up, parse error, drain ---> closed
 *
 * Everything malformed is answered once with its status and the connection is closed: whoever sent
 * it may have smuggled more. Requests that arrive pipelined are answered in order.
 */
#ifndef HTTP_SERVER_H
#define HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;
struct http_exchange;
struct http_server;

/* Where to listen: "127.0.0.1:8700", "[::1]:0", "unix:/run/cicada/cicada.sock". */
struct http_address {
    const char *text;
    unsigned socket_mode; /* of a unix socket: 0600, 0660; 0: 0600 */
};

struct http_limits {
    unsigned connections_max; /* over it: accepted and answered 503 at once */
    unsigned per_address_max; /* of one IP address: 429; unix sockets are not counted */
    unsigned workers_max;     /* over it: 503 with Retry-After */
    uint32_t head_ms;         /* from the first byte of a request to the end of its head */
    uint32_t idle_ms;         /* between two requests */
    uint32_t progress_ms;     /* a body or an answer that moves less than 1 KiB in it is ended */
    uint32_t heartbeat_ms;    /* a parked event stream that is silent gets a comment */
    uint32_t drain_ms;        /* after the stop: as long as requests may still take */
};

#define HTTP_LIMITS_DEFAULT                         \
    ((struct http_limits){.connections_max = 10000, \
                          .per_address_max = 8000,  \
                          .workers_max = 512,       \
                          .head_ms = 10000,         \
                          .idle_ms = 75000,         \
                          .progress_ms = 60000,     \
                          .heartbeat_ms = 15000,    \
                          .drain_ms = 10000})

struct http_options {
    const struct http_address *addresses;
    size_t address_count;
    struct http_limits limits;
    const char *tls_cert, *tls_key; /* PEM files; NULL: no TLS. Unix sockets never have it */

    /* Answers one request, on a worker thread. It may return without an answer only if it parked
     * the exchange; otherwise the client gets a 500. */
    void (*handle)(void *arg, struct http_exchange *x);
    /* Fills `out` with the body of an answer the server itself has to give (400, 408, 413, 431,
     * 503 ...), as JSON, and `headers` with lines that end in CR LF; NULL: a plain body of its own. Any thread; must not
     * block. */
    void (*refuse)(void *arg, int status, const char *reason, struct buf *headers, struct buf *out);
    void *arg;
};

int http_server_open(const struct http_options *options, struct http_server **ret, struct err *e);

/* What address number `index` really is, with the port that was chosen: "127.0.0.1:43121". */
const char *http_server_address(const struct http_server *s, size_t index);

/* Serves until `stop_fd` becomes readable, then stops accepting, closes idle connections, ends
 * parked streams, waits for requests up to drain_ms and returns. What still works then is cut off:
 * its hang-up hook is called, its reads and writes fail. Once only. */
int http_server_run(struct http_server *s, int stop_fd, struct err *e);

/* Requests get only so long after the stop, which has not come yet. Any thread. */
void http_server_set_drain(struct http_server *s, uint32_t drain_ms);

/* Reads certificate and key again; what is open keeps the old one. On failure the old one stays.
 * Any thread. */
int http_server_reload(struct http_server *s, struct err *e);

struct http_server_info {
    unsigned connections, workers, workers_busy, parked;
    uint64_t accepted, requests, refused; /* ever */
};
void http_server_look(struct http_server *s, struct http_server_info *ret); /* any thread */

/* How often the listener has come round, ever, and makes it come round once more: one that says the same
 * when it is asked again some time later is stuck. Any thread, while it runs. */
uint64_t http_server_rounds(struct http_server *s);

/* Waits for every handler to return. */
void http_server_close(struct http_server *s);

#endif
