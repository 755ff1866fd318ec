/* server_int.h -- connections and threads: what the files of this folder share.
 *
 * Who may touch what. A conn is the listener's, but while it is CONN_WORKING a worker has its
 * transport, its `in` and what is marked so below; the rest stays the listener's. It goes over to a
 * worker in workers_give and comes back in mail_return, whose locks order everything. Only the
 * listener makes and frees a conn.
 *
 * Locks: workers.lock, mail.lock, conn.hangup.lock and tls_lock are leaves, held for a few lines;
 * http_stream.lock is taken before mail.lock. A hang-up hook is called under conn.hangup.lock, which
 * is how taking it back waits for it.
 *
 *   state       list                        waits for
 *   HANDSHAKE   HEAD                        TLS
 *   WAITING     HEAD; IDLE between two      bytes of a head
 *   WORKING     WORKING                     the worker; hang-up (once)
 *   PARKED      PARKED, HEARTBEAT, PROGRESS a wake, room to write, hang-up
 *   LINGERING   LINGER                      the client to have read its last answer
 */
#ifndef HTTP_SERVER_INT_H
#define HTTP_SERVER_INT_H

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "base/buf.h"
#include "http/exchange.h"
#include "http/parser.h"
#include "http/server.h"
#include "http/sockets.h"
#include "http/transport.h"

enum {
    LINGER_MS = 2000,      /* how long an answer has to reach a client that is still sending */
    LINGER_DRAIN_MS = 200, /* the same when the server ends */
    HOLD_MS = 5,           /* how long a worker waits for the next request of a client */
    WORKER_IDLE_MS = 10000,
    WORKER_STACK = 1 << 20, /* only what is touched costs memory */
    INBOX_SIZE = 2 * HEAD_MAX,
    PROGRESS_BYTES = 1024,  /* so many have to move in progress_ms */
    UNREAD_MAX = 256 << 10, /* of a body that nobody wants: read to keep a connection */
    REFUSED_MAX = 64,       /* connections over the cap that are being told so */
    FEED_US = 2000,         /* that woken streams are fed before the listener looks around */
    ACCEPT_PAUSE_MS = 100,  /* when there are no descriptors left */
};

enum watch_kind { WATCH_CONN, WATCH_LISTENING, WATCH_MAIL, WATCH_STOP };

/* What an event of epoll points to; the first member of what it is part of. */
struct watch {
    enum watch_kind kind;
};

enum conn_state { CONN_HANDSHAKE, CONN_WAITING, CONN_WORKING, CONN_PARKED, CONN_LINGERING };

/* Every conn is in one of these, oldest deadline first. */
enum list_name {
    LIST_HEAD,
    LIST_IDLE,
    LIST_WORKING,
    LIST_PARKED,
    LIST_HEARTBEAT,
    LIST_PROGRESS,
    LIST_LINGER,
    LIST_COUNT
};

/* What shall become of a conn that a worker gives back. */
enum verdict { VERDICT_KEEP, VERDICT_CLOSE, VERDICT_LINGER, VERDICT_PARK };

struct conn {
    struct watch watch;
    enum conn_state state;
    struct http_server *server;
    struct conn *prev, *next;
    enum list_name list;
    int64_t deadline_us;
    uint32_t armed;  /* the events that epoll waits for */
    bool is_refused; /* over the cap: only here to be told so */
    bool is_counted; /* among the connections of its address */
    unsigned char address[16];
    struct http_peer peer;

    struct transport io; /* of the worker while WORKING; `in`, `scan`, `stream` likewise */
    char *in;            /* owned; received and not used yet */
    size_t in_len;
    struct head_scan scan;
    size_t head_len; /* of the head at the begin of `in`, once it is whole */
    struct http_stream *stream;
    enum verdict verdict;
    struct conn *next_returned;

    struct {
        pthread_mutex_t lock; /* protects the rest */
        bool has_happened;
        void (*fn)(void *arg);
        void *arg;
    } hangup;
};

struct conn_list {
    struct conn *first, *last;
};

struct http_date {
    time_t second;
    char text[40];
};

struct worker;

struct workers {
    pthread_mutex_t lock; /* protects the rest */
    pthread_cond_t all_gone;
    struct worker *idle; /* the last one that became idle is the first to get work */
    unsigned count, busy;
    pthread_t last_ended; /* to be joined by the next that ends, or at the close */
    bool has_ended, is_closing;
};

struct mail {
    struct watch watch;
    int fd;               /* an eventfd */
    pthread_mutex_t lock; /* protects the rest */
    bool is_rung;
    struct conn *returned;
    struct http_stream *woken, *last_woken; /* first come, first served */
};

struct door {
    struct watch watch;
    struct listening listening;
};

struct http_server {
    struct http_limits limits;
    struct http_options options; /* handle, refuse, arg */
    char *tls_cert, *tls_key;
    pthread_mutex_t tls_lock; /* protects tls */
    struct ssl_ctx_st *tls;

    struct door *doors;
    size_t door_count;
    int epoll_fd;
    struct watch stop;
    struct mail mail;
    struct workers workers;
    atomic_bool is_draining;
    atomic_uint drain_ms; /* of the stop to come */

    /* of the listener */
    struct conn_list lists[LIST_COUNT];
    struct addresses *addresses;
    int64_t now_us;
    int64_t accept_at_us; /* not before; CLOCK_NEVER: accepting */
    int64_t drain_until_us;
    char *scratch; /* HEAD_MAX bytes */
    struct buf pulled;

    atomic_uint connections, refusing, parked;
    atomic_ullong accepted, requests, refused, rounds;
};

/* ---- conn.c ---- */

/* The new conn owns `fd`, also on failure. */
int conn_new(struct http_server *s, const struct door *door, int fd,
             const struct sockaddr_storage *from, struct conn **ret, struct err *e);
void conn_free(struct conn *c);                       /* closes it */
void conn_abort(struct conn *c);                      /* when closed, by a reset and no end */
void conn_place(struct conn *c, enum list_name list); /* at the end, with a new deadline */
int conn_arm(struct conn *c, uint32_t events);
void conn_hang_up(struct conn *c); /* tells who waits for it; once */
void conn_hook(struct conn *c, void (*fn)(void *arg), void *arg);

/* Answers what the server itself has to say; the conn is not good for another request. */
void conn_refuse(struct conn *c, int status, const char *reason);

/* ---- listener.c: entering a state; each may end with the conn freed ---- */
void listener_wait(struct conn *c);   /* for a head, beginning with what is in c->in */
void listener_linger(struct conn *c); /* the last answer is out */

/* ---- accept.c ---- */
void accept_from(struct http_server *s, struct door *d);
void accept_arm(struct http_server *s, uint32_t events); /* EPOLLIN, or 0: nobody is let in */

/* ---- workers.c ---- */
int workers_init(struct workers *w, struct err *e);
bool workers_give(struct http_server *s, struct conn *c); /* false: no thread to be had */
bool workers_have_spare(struct http_server *s);
void workers_done(struct workers *w); /* waits for every handler */

/* ---- mail.c: from any thread to the listener ---- */
int mail_open(struct mail *m, struct err *e);
void mail_close(struct mail *m); /* forgets whom to wake */
void mail_return(struct mail *m, struct conn *c, enum verdict verdict);
void mail_wake(struct mail *m, struct http_stream *s);
void mail_ring(struct mail *m);        /* nothing is in it; the listener wakes up */
void mail_read(struct http_server *s); /* the listener's side */

/* ---- streams.c ---- */
void stream_park(struct conn *c); /* the listener begins to feed c->stream */
void stream_pump(struct conn *c);
void stream_writable(struct conn *c); /* what is pending goes out; more is pulled in its turn */
void stream_beat(struct conn *c);
void stream_late(struct conn *c); /* nothing could be written for long */
void stream_stop(
    struct conn *c); /* the server ends: what was promised is sent, then it is closed */
void stream_woken(struct http_stream *s); /* takes the reference */
void stream_end(struct http_stream *s);   /* calls gone; the conn's reference goes */

/* ---- status.c ---- */
const char *http_reason(int status);
const char *http_date_text(struct http_date *d);

#endif
