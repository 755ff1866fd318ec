#include "base/fdio.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/err.h"

int fd_write_all(int fd, const void *bytes, size_t len, struct err *e)
{
    const char *at = bytes;
    while (len > 0) {
        ssize_t n = write(fd, at, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(e, errno, "write");
        at += n;
        len -= (size_t)n;
    }
    return 0;
}

int fd_read_all(int fd, void *bytes, size_t len, size_t *ret_len, struct err *e)
{
    size_t got = 0;
    while (got < len) {
        ssize_t n = read(fd, (char *)bytes + got, len - got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(e, errno, "read");
        if (n == 0)
            break;
        got += (size_t)n;
    }
    *ret_len = got;
    return 0;
}

int fd_set_nonblock(int fd, struct err *e)
{
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
        return err_sys(e, errno, "set non-blocking");
    return 0;
}

int fd_send(int sock, const void *bytes, size_t len, const int *fds, size_t fd_count, struct err *e)
{
    assert(fd_count <= FDIO_FDS_MAX);

    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * FDIO_FDS_MAX)] = {0};
    struct iovec iov = {.iov_base = (void *)bytes, .iov_len = len};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
    if (fd_count > 0) {
        msg.msg_control = control;
        msg.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
        struct cmsghdr *head = CMSG_FIRSTHDR(&msg);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
        memcpy(CMSG_DATA(head), fds, sizeof(int) * fd_count);
    }
    ssize_t n;
    do
        n = sendmsg(sock, &msg, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return err_sys(e, errno, "send");
    if ((size_t)n != len)
        return err_set(e, ERR_PROTOCOL, "send: message cut");
    return 0;
}

static void close_all(const int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        (void)close(fds[i]);
}

/* Moves the descriptors of every control message into `fds`. False if there were too many or a
 * message was of another kind; then those taken so far are already in fds. */
static bool take_fds(struct msghdr *msg, int *fds, size_t fds_max, size_t *count)
{
    bool fine = true;
    for (struct cmsghdr *head = CMSG_FIRSTHDR(msg); head; head = CMSG_NXTHDR(msg, head)) {
        if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) {
            fine = false;
            continue;
        }
        size_t n = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < n; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(head) + i * sizeof fd, sizeof fd);
            if (*count < fds_max) {
                fds[(*count)++] = fd;
            } else {
                (void)close(fd);
                fine = false;
            }
        }
    }
    return fine;
}

int fd_recv(int sock, void *bytes, size_t size, size_t *ret_len, int *fds, size_t fds_max,
            size_t *ret_fd_count, struct err *e)
{
    assert(fds_max <= FDIO_FDS_MAX);

    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * FDIO_FDS_MAX)];
    struct iovec iov = {.iov_base = bytes, .iov_len = size};
    struct msghdr msg = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t n;
    bool was_reset = false;
    for (;;) {
        n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
        if (n < 0 && errno == EINTR)
            continue;
        if (n >= 0 || errno != ECONNRESET || was_reset)
            break;
        was_reset = true; /* told once; what was sent before comes after it */
    }
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return err_set(e, ERR_UNAVAILABLE, "no message yet");
    if (n < 0)
        return err_sys(e, errno, "receive");

    size_t count = 0;
    bool fine = take_fds(&msg, fds, fds_max, &count);
    if (!fine || (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) {
        close_all(fds, count);
        return err_set(e, ERR_PROTOCOL, "message larger than agreed");
    }
    *ret_len = (size_t)n;
    *ret_fd_count = count;
    return 0;
}
