#include "session/libraries.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"
#include "wire/jail.h"

/* One pass over the directories. */
struct pass {
    const struct libraries_plan *plan;
    /* Called for each directory before and after what is in it, and for everything else once; `path`
     * is its place in a copy. */
    int (*visit)(struct pass *p, const FTSENT *entry, const char *path, struct err *e);
    uint64_t bytes;   /* libraries_measure */
    int64_t since_us; /* libraries_check_since */
};

static bool goes_on(const struct libraries_wish *wish)
{
    return !wish || !wish->goes_on || wish->goes_on(wish->arg);
}

static bool is_left_out(const FTSENT *entry)
{
    bool is_dir = entry->fts_info == FTS_D || entry->fts_info == FTS_DP;
    return (is_dir && entry->fts_level > 0 && strcmp(entry->fts_name, "tests") == 0) ||
           entry->fts_info == FTS_DEFAULT || !(entry->fts_statp->st_mode & S_IROTH);
}

static int visit_one(struct pass *p, const struct jail_library *library, const FTSENT *entry,
                     struct err *e)
{
    char path[PATH_MAX];
    int len =
        snprintf(path, sizeof path, "%s%s", library->name, entry->fts_path + strlen(library->path));
    if (len >= PATH_MAX)
        return err_set(e, ERR_LIMIT, "a library's path is too long");
    if (!goes_on(p->plan->wish))
        return err_set(e, ERR_UNAVAILABLE, "not wished for any more");
    return p->visit(p, entry, path, e);
}

static int walk(struct pass *p, const struct jail_library *library, struct err *e)
{
    char *roots[] = {(char *)library->path, NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    if (!tree)
        return err_sys(e, errno, "read the libraries");
    int failed = 0;
    for (FTSENT *entry; !failed && (errno = 0, entry = fts_read(tree));) {
        if (entry->fts_errno && entry->fts_info != FTS_D && entry->fts_info != FTS_DP)
            failed = err_sys(e, entry->fts_errno, "read the libraries");
        else if (!is_left_out(entry))
            failed = visit_one(p, library, entry, e);
        else if (entry->fts_info == FTS_D)
            (void)fts_set(tree, entry, FTS_SKIP); /* fails for nonsense only */
    }
    if (!failed && errno)
        failed = err_sys(e, errno, "read the libraries");
    (void)fts_close(tree);
    return failed;
}

static int walk_all(struct pass *p, struct err *e)
{
    for (size_t i = 0; i < p->plan->count; i++) {
        const struct jail_library *library = &p->plan->list[i];
        if (access(library->path, F_OK) == 0 && walk(p, library, e))
            return -1;
    }
    return 0;
}

static int count_bytes(struct pass *p, const FTSENT *entry, const char *path, struct err *e)
{
    (void)path, (void)e;
    if (entry->fts_info != FTS_DP)
        p->bytes += (uint64_t)entry->fts_statp->st_blocks * 512;
    return 0;
}

int libraries_measure(const struct libraries_plan *plan, uint64_t *ret, struct err *e)
{
    struct pass p = {.plan = plan, .visit = count_bytes};
    if (walk_all(&p, e))
        return -1;
    *ret = p.bytes;
    return 0;
}

static int64_t microseconds(const struct timespec *t)
{
    return (int64_t)t->tv_sec * 1000000 + t->tv_nsec / 1000;
}

static int check_time(struct pass *p, const FTSENT *entry, const char *path, struct err *e)
{
    (void)path;
    if (microseconds(&entry->fts_statp->st_ctim) > p->since_us)
        return err_set(e, ERR_CONFLICT, "libraries changed while they were copied");
    return 0;
}

int libraries_check_since(const struct libraries_plan *plan, int64_t since_wall_us, struct err *e)
{
    struct pass p = {.plan = plan, .visit = check_time, .since_us = since_wall_us};
    return walk_all(&p, e);
}

static mode_t mode_of(const struct stat *st)
{
    return st->st_mode & 0111 ? 0555 : 0444;
}

static bool is_same(int like_fd, const char *path, const struct stat *st)
{
    struct stat like;
    return like_fd >= 0 && fstatat(like_fd, path, &like, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(like.st_mode) && (like.st_mode & 07777) == mode_of(st) &&
           like.st_size == st->st_size && like.st_mtim.tv_sec == st->st_mtim.tv_sec &&
           like.st_mtim.tv_nsec == st->st_mtim.tv_nsec;
}

/* On file systems that can, the copy shares the original's blocks. */
static int copy_bytes(int from, int to, off_t size, struct err *e)
{
    bool can_share = true;
    while (size > 0) {
        ssize_t n = can_share ? copy_file_range(from, NULL, to, NULL, (size_t)size, 0)
                              : sendfile(to, from, NULL, (size_t)size);
        if (n == 0)
            return err_set(e, ERR_CONFLICT, "libraries changed while they were copied");
        if (n > 0)
            size -= n;
        else if (can_share && errno != EINTR && errno != ENOSPC && errno != EIO)
            can_share = false; /* not between these two */
        else if (errno != EINTR)
            return err_sys(e, errno, "copy a library");
    }
    return 0;
}

static int copy_file(const struct libraries_plan *plan, const FTSENT *entry, const char *path,
                     struct err *e)
{
    const struct stat *st = entry->fts_statp;
    const struct timespec times[2] = {st->st_mtim, st->st_mtim};
    if (is_same(plan->like_fd, path, st) && linkat(plan->like_fd, path, plan->to_fd, path, 0) == 0)
        return 0; /* otherwise it has too many names already */
    scoped(fd_closep) int from = open(entry->fts_accpath, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (from < 0)
        return err_sys(e, errno, "open a library");
    scoped(fd_closep) int to =
        openat(plan->to_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (to < 0)
        return err_sys(e, errno, "copy a library");
    if (copy_bytes(from, to, st->st_size, e))
        return -1;
    if (fchmod(to, mode_of(st)) || futimens(to, times))
        return err_sys(e, errno, "copy a library");
    return 0;
}

static int copy_link(const struct libraries_plan *plan, const FTSENT *entry, const char *path,
                     struct err *e)
{
    char target[PATH_MAX];
    ssize_t len = readlink(entry->fts_accpath, target, sizeof target - 1);
    if (len < 0)
        return err_sys(e, errno, "read a link among the libraries");
    target[len] = '\0';
    return symlinkat(target, plan->to_fd, path) ? err_sys(e, errno, "copy a link") : 0;
}

static int copy_entry(struct pass *p, const FTSENT *entry, const char *path, struct err *e)
{
    const struct libraries_plan *plan = p->plan;
    const struct timespec times[2] = {entry->fts_statp->st_mtim, entry->fts_statp->st_mtim};
    switch (entry->fts_info) {
    case FTS_D:
        /* Its mode is given without regard to the umask when all is in it. */
        return mkdirat(plan->to_fd, path, 0700) ? err_sys(e, errno, "make a directory") : 0;
    case FTS_DP:
        if (fchmodat(plan->to_fd, path, 0755, 0) || utimensat(plan->to_fd, path, times, 0))
            return err_sys(e, errno, "finish a directory");
        return 0;
    case FTS_F: return copy_file(plan, entry, path, e);
    case FTS_SL:
    case FTS_SLNONE: return copy_link(plan, entry, path, e);
    default: return err_set(e, ERR_CONFLICT, "libraries changed while they were copied");
    }
}

int libraries_copy(const struct libraries_plan *plan, struct err *e)
{
    struct pass p = {.plan = plan, .visit = copy_entry};
    return walk_all(&p, e);
}
