#include "http/transport.h"

#include <errno.h>
#include <linux/sockios.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/scope.h"

enum { GATHER_MAX = 16 << 10 }; /* one TLS record */

void transport_close(struct transport *t)
{
    SSL_free(t->ssl);
    t->ssl = NULL;
    fd_closep(&t->fd);
    t->fd = -1;
}

static ssize_t end_of(int errnum)
{
    return errnum == EAGAIN || errnum == EINTR ? TRANSPORT_AGAIN : TRANSPORT_GONE;
}

/* `result` is what a function of SSL returned; its thread's queue of errors is emptied, otherwise
 * the next connection of this thread would be told of them. */
static ssize_t tls_end_of(struct transport *t, int result)
{
    int what = SSL_get_error(t->ssl, result);
    ERR_clear_error();
    if (what == SSL_ERROR_WANT_READ || what == SSL_ERROR_WANT_WRITE)
        return TRANSPORT_AGAIN;
    if (what == SSL_ERROR_ZERO_RETURN)
        return TRANSPORT_CLOSED;
    t->has_failed = true;
    return TRANSPORT_GONE;
}

int transport_handshake(struct transport *t)
{
    if (!t->ssl)
        return 1;
    int result = SSL_accept(t->ssl);
    return result == 1                                     ? 1
           : (int)tls_end_of(t, result) == TRANSPORT_AGAIN ? TRANSPORT_AGAIN
                                                           : TRANSPORT_GONE;
}

ssize_t transport_read(struct transport *t, void *to, size_t size)
{
    if (t->ssl) {
        int n = SSL_read(t->ssl, to, size > INT32_MAX ? INT32_MAX : (int)size);
        return n > 0 ? n : tls_end_of(t, n);
    }
    ssize_t n = recv(t->fd, to, size, MSG_DONTWAIT);
    return n >= 0 ? n : end_of(errno);
}

/* One record for the small pieces instead of one for each. */
static ssize_t tls_write(struct transport *t, const struct iovec *pieces, int count)
{
    char gathered[GATHER_MAX];
    const void *bytes = pieces[0].iov_base;
    size_t len = pieces[0].iov_len;
    if (count > 1 && len < sizeof gathered) {
        bytes = gathered;
        len = 0;
        for (int i = 0; i < count && len < sizeof gathered; i++) {
            size_t room = sizeof gathered - len;
            size_t part = pieces[i].iov_len < room ? pieces[i].iov_len : room;
            if (part)
                memcpy(gathered + len, pieces[i].iov_base, part);
            len += part;
        }
    }
    int n = SSL_write(t->ssl, bytes, len > INT32_MAX ? INT32_MAX : (int)len);
    return n > 0 ? n : tls_end_of(t, n);
}

ssize_t transport_write(struct transport *t, const struct iovec *pieces, int count)
{
    while (count > 1 && pieces[0].iov_len == 0) {
        pieces++;
        count--;
    }
    if (t->ssl)
        return tls_write(t, pieces, count);
    struct msghdr message = {.msg_iov = (struct iovec *)pieces, .msg_iovlen = (size_t)count};
    ssize_t n = sendmsg(t->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    return n >= 0 ? n : end_of(errno);
}

ssize_t transport_send_file(struct transport *t, int fd, off_t *offset, size_t len)
{
    ssize_t n = sendfile(t->fd, fd, offset, len);
    return n >= 0 ? n : end_of(errno);
}

bool transport_has_pending(const struct transport *t)
{
    return t->ssl && SSL_has_pending(t->ssl);
}

short transport_events(const struct transport *t, short events)
{
    if (!t->ssl)
        return events;
    if (SSL_want_write(t->ssl))
        return POLLOUT;
    return SSL_want_read(t->ssl) ? POLLIN : events;
}

bool transport_wait(const struct transport *t, short events, int64_t deadline_us)
{
    struct pollfd p = {.fd = t->fd, .events = transport_events(t, events)};
    for (;;) {
        int n = poll(&p, 1, clock_poll_ms(deadline_us));
        if (n > 0)
            return true;
        if (n == 0 || errno != EINTR)
            return false;
    }
}

size_t transport_unread(const struct transport *t)
{
    int len = 0;
    return ioctl(t->fd, SIOCOUTQ, &len) == 0 && len > 0 ? (size_t)len : 0;
}

void transport_finish(struct transport *t)
{
    if (t->ssl && !t->has_failed && SSL_is_init_finished(t->ssl)) {
        (void)SSL_shutdown(t->ssl); /* our close_notify; theirs is not waited for */
        ERR_clear_error();
    }
    (void)shutdown(t->fd, SHUT_WR); /* fails when the peer is gone: then it knows */
}
