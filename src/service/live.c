#include "service/live.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fdio.h"
#include "base/scope.h"
#include "base/tree.h"
#include "session/capture.h"

enum { OPEN_DIR = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

/* That we may not is our own fault, not something a client could do anything about. */
static int fault(struct err *e)
{
    if (e->code == ERR_DENIED)
        e->code = ERR_INTERNAL;
    return -1;
}

static int open_it(int live_fd, const char *session_id, int *ret_fd, struct err *e)
{
    int fd = openat(live_fd, session_id, OPEN_DIR);
    if (fd < 0)
        return err_sys(e, errno, "open the session's directory");
    *ret_fd = fd;
    return 0;
}

int live_make(int live_fd, const char *session_id, int *ret_fd, struct err *e)
{
    if (mkdirat(live_fd, session_id, 0700)) {
        (void)err_sys(e, errno, "make the session's directory");
        return fault(e);
    }
    return open_it(live_fd, session_id, ret_fd, e) ? fault(e) : 0;
}

int live_open(int live_fd, const char *session_id, int *ret_fd, struct err *e)
{
    if (open_it(live_fd, session_id, ret_fd, e) == 0)
        return 0;
    if (e->code == ERR_NOT_FOUND)
        return live_make(live_fd, session_id, ret_fd, e);
    /* The session may have closed it to its owner, which is us. */
    if (e->code == ERR_DENIED && fchmodat(live_fd, session_id, 0700, 0) == 0)
        return open_it(live_fd, session_id, ret_fd, e) ? fault(e) : 0;
    return fault(e);
}

/* Makes and opens the directory `name` in *at, which is closed. */
static int step_down(int *at, const char *name, size_t len, struct err *e)
{
    char part[NAME_MAX + 1];
    bool is_dots = len <= 2 && memcmp(name, "..", len) == 0;
    if (len == 0 || len > NAME_MAX || is_dots)
        return err_set(e, ERR_INVALID, "not a relative path without \"..\"");
    (void)snprintf(part, sizeof part, "%.*s", (int)len, name);
    if (mkdirat(*at, part, 0755) && errno != EEXIST)
        return err_sys(e, errno, "make a directory");
    int next = openat(*at, part, OPEN_DIR);
    if (next < 0)
        return errno == ENOTDIR ? err_set(e, ERR_CONFLICT, "a file is in the way")
                                : err_sys(e, errno, "open a directory");
    (void)close(*at);
    *at = next;
    return 0;
}

int live_put(int fd, const char *path, const void *bytes, size_t len, struct err *e)
{
    scoped(fd_closep) int at = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (at < 0)
        return err_sys(e, errno, "write a file");
    const char *name = path;
    for (const char *slash; (slash = strchr(name, '/')); name = slash + 1)
        if (step_down(&at, name, (size_t)(slash - name), e))
            return err_wrap(e, "%.200s", path);
    if (!*name || strlen(name) > NAME_MAX || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return err_set(e, ERR_INVALID, "%.200s: not a relative path without \"..\"", path);
    scoped(fd_closep) int file =
        openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (file < 0)
        return errno == EEXIST ? err_set(e, ERR_CONFLICT, "%.200s is there twice", path)
                               : err_sys(e, errno, "%.200s", path);
    return fd_write_all(file, bytes, len, e) ? err_wrap(e, "%.200s", path) : 0;
}

int live_copy(int from, int to, uint64_t bytes_max, struct err *e)
{
    struct snapshot all;
    int failed = 0;
    if (snapshot_take(from, &all, e))
        return err_wrap(e, "copy the session's files");
    for (size_t i = 0; i < all.count && !failed; i++) {
        struct err why = {0};
        const struct file_stamp *f = &all.files[i];
        if (f->odd)
            continue;
        if (f->size > bytes_max)
            failed = err_set(e, ERR_LIMIT, "the session's files are too large to be copied");
        else if (capture_copy(from, to, f->path, bytes_max, &why) == 0)
            bytes_max -= f->size;
        else if (why.code == ERR_LIMIT || why.code == ERR_NO_MEMORY) {
            *e = why;
            failed = -1;
        } /* else it vanished, or cannot be read: it is left out */
    }
    snapshot_done(&all);
    return failed;
}

void live_remove(int live_fd, const char *session_id)
{
    struct err e = {0};
    int fd = -1;
    (void)!fchmodat(live_fd, session_id, 0700, 0); /* the session may have closed it to us */
    if (open_it(live_fd, session_id, &fd, &e))
        return;
    (void)tree_remove(fd, &e); /* what stays makes the next line fail, and is swept later */
    (void)close(fd);
    (void)unlinkat(live_fd, session_id, AT_REMOVEDIR);
}
