/* Copying files of this host into a workdir. Nothing hostile has been there yet: the destination is
 * trusted, and what is read is what the user named. */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fdio.h"
#include "base/scope.h"
#include "session/workdir.h"
#include "session/workdir_int.h"
#include "wire/limits.h"

enum { COPY_CHUNK = 1 << 20 };

/* A name must stay below the data directory and not be surprising: no empty, "." or ".." part. */
static int check_name(const char *name, struct err *e)
{
    if (strlen(name) >= WORKDIR_NAME_MAX)
        return err_set(e, ERR_INVALID, "the name is longer than %d bytes", WORKDIR_NAME_MAX - 1);
    for (const char *part = name;;) {
        size_t len = strcspn(part, "/");
        if (len == 0 || (len == 1 && part[0] == '.') || (len == 2 && memcmp(part, "..", 2) == 0))
            return err_set(e, ERR_INVALID,
                           "'%s' is no name below /mnt/data; use one such as data/sales.csv", name);
        if (!part[len])
            return 0;
        part += len + 1;
    }
}

static int count(struct workdir *w, uint64_t bytes, struct err *e)
{
    if (++w->files > WORKDIR_FILES_MAX)
        return err_set(e, ERR_LIMIT, "more than %d files", WORKDIR_FILES_MAX);
    w->bytes += bytes;
    if (w->bytes > WORKDIR_BYTES_MAX)
        return err_set(e, ERR_LIMIT, "more than %llu GiB",
                       (unsigned long long)WORKDIR_BYTES_MAX >> 30);
    return 0;
}

static int copy_by_hand(int from, int to, struct err *e)
{
    scoped(freep) char *chunk = malloc(COPY_CHUNK);
    if (!chunk)
        return err_set(e, ERR_NO_MEMORY, "copy");
    uint64_t total = 0;
    for (size_t len = 1; len > 0; total += len) {
        if (total > WORKDIR_BYTES_MAX)
            return err_set(e, ERR_LIMIT, "it does not end");
        if (fd_read_all(from, chunk, COPY_CHUNK, &len, e) || fd_write_all(to, chunk, len, e))
            return -1;
    }
    return 0;
}

/* In the kernel where it can, which on some filesystems shares the blocks. */
static int copy_bytes(int from, int to, struct err *e)
{
    for (;;) {
        ssize_t n = copy_file_range(from, NULL, to, NULL, (size_t)1 << 30, 0);
        if (n == 0)
            break;
        if (n < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EIO))
            return err_sys(e, errno, "copy");
        if (n < 0)
            break;
    }
    /* Files of /proc claim to be empty, so the end is only believed when read. */
    return copy_by_hand(from, to, e);
}

static int copy_file(struct workdir *w, int from, const struct stat *st, int to_dir,
                     const char *name, struct err *e)
{
    if (count(w, (uint64_t)st->st_size, e))
        return -1;
    mode_t mode = 0600 | (st->st_mode & 0100);
    scoped(fd_closep) int to =
        openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (to < 0)
        return err_sys(e, errno, "create %s", name);
    const struct timespec times[2] = {st->st_atim, st->st_mtim};
    if (copy_bytes(from, to, e) || workdir_give(w, to, e))
        return -1;
    if (futimens(to, times))
        return err_sys(e, errno, "set the time of %s", name);
    return 0;
}

/* Makes the directory `name`, or opens it if it may be there already. */
static int open_dir(const struct workdir *w, int at, const char *name, bool may_exist, int *ret,
                    struct err *e)
{
    if (mkdirat(at, name, 0700) && !(may_exist && errno == EEXIST))
        return err_sys(e, errno, "create %s", name);
    scoped(fd_closep) int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return err_sys(e, errno, "open %s", name);
    if (workdir_give(w, fd, e))
        return -1;
    *ret = take_fd(&fd);
    return 0;
}

/* The directory that `name` will be in, made as needed; *ret_last is the last part of the name. */
static int open_parent(const struct workdir *w, const char *name, int *ret, const char **ret_last,
                       struct err *e)
{
    scoped(fd_closep) int at = fcntl(w->data_fd, F_DUPFD_CLOEXEC, 0);
    if (at < 0)
        return err_sys(e, errno, "open the work directory");
    for (const char *slash; (slash = strchr(name, '/')); name = slash + 1) {
        char part[WORKDIR_NAME_MAX];
        size_t len = (size_t)(slash - name);
        memcpy(part, name, len);
        part[len] = '\0';
        int below;
        if (open_dir(w, at, part, /* may_exist= */ true, &below, e))
            return -1;
        (void)close(at);
        at = below;
    }
    *ret = take_fd(&at);
    *ret_last = name;
    return 0;
}

/* One directory being copied: what is read, and where it goes. */
struct level {
    DIR *from;
    int to;
};

static void level_close(struct level *l)
{
    (void)closedir(l->from);
    (void)close(l->to);
}

/* Takes over `from` in any case. */
static int level_open(struct workdir *w, int from, int to_at, const char *name, struct level *ret,
                      struct err *e)
{
    int to = -1;
    if (count(w, 0, e) || open_dir(w, to_at, name, /* may_exist= */ false, &to, e)) {
        (void)close(from);
        return -1;
    }
    DIR *dir = fdopendir(from);
    if (!dir) {
        (void)close(from);
        (void)close(to);
        return err_sys(e, errno, "read %s", name);
    }
    *ret = (struct level){dir, to};
    return 0;
}

/* Bringing the directory in which workdirs are made must not bring this one into itself. */
static bool is_ourselves(const struct workdir *w, const struct stat *st)
{
    struct stat own;
    return fstat(w->outer_fd, &own) == 0 && own.st_dev == st->st_dev && own.st_ino == st->st_ino;
}

/* Copies one entry of `top`. A directory is only opened, as *ret_below, and *ret_is_dir set. */
static int copy_entry(struct workdir *w, const struct level *top, const char *name,
                      struct level *ret_below, bool *ret_is_dir, size_t *skipped, struct err *e)
{
    struct stat st;
    *ret_is_dir = false;
    /* O_NONBLOCK: a FIFO must not make us wait for its writer. */
    scoped(fd_closep) int from =
        openat(dirfd(top->from), name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (from < 0 && (errno == ELOOP || errno == ENXIO)) { /* a link; a socket or dead device */
        *skipped += 1;
        return 0;
    }
    if (from < 0 || fstat(from, &st))
        return err_sys(e, errno, "open %s", name);
    if (S_ISREG(st.st_mode))
        return copy_file(w, from, &st, top->to, name, e);
    if (!S_ISDIR(st.st_mode) || is_ourselves(w, &st)) {
        *skipped += 1;
        return 0;
    }
    if (level_open(w, take_fd(&from), top->to, name, ret_below, e))
        return -1;
    *ret_is_dir = true;
    return 0;
}

/* The next entry that is a name, or NULL at the end. */
static const char *next_name(DIR *dir)
{
    struct dirent *entry;
    do
        entry = readdir(dir);
    while (entry && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
    return entry ? entry->d_name : NULL;
}

/* Depth first with a stack of its own: a directory may be deeper than anybody thought. */
static int copy_tree(struct workdir *w, int from, int to_at, const char *name, size_t *skipped,
                     struct err *e)
{
    struct level stack[CAPTURE_DEPTH_MAX];
    size_t depth = 0;
    if (level_open(w, from, to_at, name, &stack[0], e))
        return -1;
    for (depth = 1; depth > 0;) {
        const char *entry = next_name(stack[depth - 1].from);
        if (!entry) {
            level_close(&stack[--depth]);
            continue;
        }
        if (depth == CAPTURE_DEPTH_MAX) {
            err_set(e, ERR_LIMIT, "deeper than %d directories", CAPTURE_DEPTH_MAX);
            goto fail;
        }
        bool is_dir;
        if (copy_entry(w, &stack[depth - 1], entry, &stack[depth], &is_dir, skipped, e))
            goto fail;
        depth += is_dir;
    }
    return 0;

fail:
    while (depth > 0)
        level_close(&stack[--depth]);
    return -1;
}

int workdir_bring(struct workdir *w, const char *path, const char *name, size_t *ret_skipped,
                  struct err *e)
{
    if (check_name(name, e))
        return -1;
    scoped(fd_closep) int from = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat st;
    if (from < 0 || fstat(from, &st))
        return err_sys(e, errno, "open");
    if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return err_set(e, ERR_INVALID, "neither a file nor a directory; save it as a file first");

    scoped(fd_closep) int parent = -1;
    const char *last = NULL;
    if (open_parent(w, name, &parent, &last, e))
        return -1;
    size_t skipped = 0;
    if (S_ISREG(st.st_mode) ? copy_file(w, from, &st, parent, last, e)
                            : copy_tree(w, take_fd(&from), parent, last, &skipped, e))
        return -1;
    *ret_skipped = skipped;
    return 0;
}
