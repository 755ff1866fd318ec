/* transport.h -- the bytes of a connection: a socket, or TLS over it. Never blocks but in
 * transport_wait, never raises SIGPIPE (but for sendfile: its thread has to block that signal).
 *
 * Used by one thread at a time. What read and write return: the number of bytes, or one of enum
 * transport_end.
 */
#ifndef HTTP_TRANSPORT_H
#define HTTP_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

struct ssl_st;

enum transport_end {
    TRANSPORT_CLOSED = 0, /* the peer sends no more */
    TRANSPORT_AGAIN = -1, /* not now: wait */
    TRANSPORT_GONE = -2,  /* reset, or not TLS any more */
};

struct transport {
    int fd;             /* owned; -1: none */
    struct ssl_st *ssl; /* owned; NULL: plain */
    bool has_failed;    /* TLS must not be used again, not even to say goodbye */
};

void transport_close(struct transport *t); /* without a goodbye */

/* Goes on with the handshake of TLS. 1: done, or TRANSPORT_AGAIN, TRANSPORT_GONE. */
int transport_handshake(struct transport *t);

ssize_t transport_read(struct transport *t, void *to, size_t size);
ssize_t transport_write(struct transport *t, const struct iovec *pieces, int count);

/* From a file; plain sockets only. Moves *offset on. */
ssize_t transport_send_file(struct transport *t, int fd, off_t *offset, size_t len);

/* Bytes have been received and decrypted that no poll would tell of. */
bool transport_has_pending(const struct transport *t);

/* What to wait for after TRANSPORT_AGAIN: POLLIN or POLLOUT, when `events` is what was wanted. */
short transport_events(const struct transport *t, short events);

/* Waits until something can be done, or the time is up: false. */
bool transport_wait(const struct transport *t, short events, int64_t deadline_us);

/* Bytes written that the peer has not taken yet. */
size_t transport_unread(const struct transport *t);

/* Says that nothing more will be sent; the peer may still be sending. */
void transport_finish(struct transport *t);

#endif
