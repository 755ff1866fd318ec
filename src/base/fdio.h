/* fdio.h -- reading, writing and passing descriptors without forgetting EINTR, short counts or
 * O_CLOEXEC.
 *
 * Descriptors travel over SOCK_SEQPACKET sockets as SCM_RIGHTS, one message at a time. A receiver
 * states how many it is willing to take; more than that, a truncated message or a control message
 * of another kind is a protocol error, and nothing received is leaked.
 */
#ifndef BASE_FDIO_H
#define BASE_FDIO_H

#include <stdbool.h>
#include <stddef.h>

struct err;

enum { FDIO_FDS_MAX = 20 };

/* All of `len` bytes, blocking. Fails with what write(2) failed with. */
int fd_write_all(int fd, const void *bytes, size_t len, struct err *e);

/* Reads until `len` bytes or end of file; *ret_len says how many came. Blocks. */
int fd_read_all(int fd, void *bytes, size_t len, size_t *ret_len, struct err *e);

int fd_set_nonblock(int fd, struct err *e);

/* Sends one message with `fd_count` descriptors, which stay the caller's. Blocks unless the
 * socket is non-blocking. */
int fd_send(int sock, const void *bytes, size_t len, const int *fds, size_t fd_count,
            struct err *e);

/* Receives one message of at most `size` bytes and at most `fds_max` descriptors, which become the
 * caller's, O_CLOEXEC. *ret_len is 0 at end of file. Fails with ERR_PROTOCOL when the message or its
 * descriptors do not fit; a non-blocking socket without a message fails with ERR_UNAVAILABLE. What the other end
 * sent before it was closed is received, also when it left something unread. */
int fd_recv(int sock, void *bytes, size_t size, size_t *ret_len, int *fds, size_t fds_max,
            size_t *ret_fd_count, struct err *e);

#endif
