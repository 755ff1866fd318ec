/* streams_int.h -- a parked stream: the rest of an answer, fed by the listener. */
#ifndef HTTP_STREAMS_INT_H
#define HTTP_STREAMS_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "http/exchange.h"

struct conn;

struct http_stream {
    atomic_uint refs;           /* its conn, its maker, the mail */
    pthread_mutex_t lock;       /* protects `server` */
    struct http_server *server; /* NULL: ended, nobody to wake */
    bool is_mailed;             /* with next_woken: protected by the lock of the mail */
    struct http_stream *next_woken;

    /* of the listener, from when it is parked */
    struct http_source source;
    struct conn *conn;
    char *pending; /* owned; could not be written yet: [pending_at, pending_len) */
    size_t pending_at, pending_len;
    size_t unread; /* what the client had not taken yet when that was last looked at */
    bool is_events, is_chunked, keeps_alive;
    bool has_more;  /* pull again when everything is written */
    bool is_ending; /* nothing comes after `pending`, but for the last chunk */
    bool has_last;  /* which is in there already */
};

#endif
