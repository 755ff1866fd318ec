#include "api/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fdio.h"
#include "base/scope.h"

void spool_done(struct spool *s)
{
    buf_done(&s->head);
    fd_closep(&s->fd);
    s->fd = -1;
}

static int open_file(struct spool *s, struct err *e)
{
    if (s->dir_fd < 0)
        return err_set(e, ERR_TOO_LARGE, "more than %d bytes", SPOOL_MEMORY);
    s->fd = openat(s->dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (s->fd < 0)
        return err_sys(e, errno, "put an upload aside");
    return 0;
}

int spool_add(struct spool *s, const void *bytes, size_t len, struct err *e)
{
    s->len += len;
    if (s->fd < 0 && len <= s->head.max - s->head.len) {
        buf_add(&s->head, bytes, len);
        return buf_check(&s->head, e);
    }
    if (s->fd < 0 && open_file(s, e))
        return -1;
    return fd_write_all(s->fd, bytes, len, e) ? err_wrap(e, "put an upload aside") : 0;
}

int spool_read(struct spool *s, void *to, size_t size, size_t *ret_len, struct err *e)
{
    *ret_len = 0;
    if (s->at < s->head.len) {
        size_t len = s->head.len - (size_t)s->at;
        *ret_len = len < size ? len : size;
        memcpy(to, s->head.bytes + s->at, *ret_len);
    } else if (s->fd >= 0) {
        ssize_t n = pread(s->fd, to, size, (off_t)(s->at - s->head.len));
        if (n < 0)
            return err_sys(e, errno, "read an upload that was put aside");
        *ret_len = (size_t)n;
    }
    s->at += *ret_len;
    return 0;
}
