/* shim.c -- preloaded into a program, makes its writes below one directory fail, or forget to sync.
 *
 *     LD_PRELOAD=shim.so SHIM_CONTROL=FILE SHIM_BELOW=/data/ [SHIM_ONLY=/packs/] program
 *
 * FILE holds a struct control, mapped and shared with whoever steers: every call that changes
 * something below SHIM_BELOW (and has SHIM_ONLY in its path) is counted, and those whose number lies in
 * [first, last] are made to go wrong. See shim.py.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>

enum call { /* bits of control.calls */
            CALL_WRITE = 1,
            CALL_SYNC = 2,
            CALL_RENAME = 4,
            CALL_TRUNCATE = 8,
            CALL_CREATE = 16,
            CALL_REMOVE = 32,
};

enum how { HOW_EIO, HOW_ENOSPC, HOW_SHORT, HOW_SKIP };

struct control {
    _Atomic uint64_t count;
    _Atomic uint64_t first, last; /* 0: none */
    _Atomic uint64_t how;
    _Atomic uint64_t calls; /* that are counted */
    _Atomic uint64_t hits;  /* calls that went wrong */
};

static struct control *control;
static const char *below, *only;

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("SHIM_CONTROL");
    below = getenv("SHIM_BELOW");
    only = getenv("SHIM_ONLY");
    if (!path || !below)
        return;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return;
    void *at = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    (void)close(fd);
    if (at != MAP_FAILED)
        control = at;
}

/* The next library's function of that name. */
#define NEXT(name)                 \
    static __typeof__(&name) next; \
    if (!next)                     \
    next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static bool is_ours(const char *path)
{
    return strncmp(path, below, strlen(below)) == 0 && (!only || strstr(path, only));
}

static bool fd_is_ours(int fd, const char *beside)
{
    char link[48], path[4096];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, path, sizeof path - 2);
    if (len <= 0)
        return false;
    path[len] = '\0';
    if (beside && (size_t)len + strlen(beside) + 2 < sizeof path)
        (void)snprintf(path + len, sizeof path - (size_t)len, "/%s", beside);
    return is_ours(path);
}

static bool at_is_ours(int dir_fd, const char *path)
{
    if (path[0] == '/')
        return is_ours(path);
    return dir_fd != AT_FDCWD && fd_is_ours(dir_fd, path);
}

/* Counts a call. -1: it goes on as it is; otherwise how it goes wrong. */
static int turn(enum call call)
{
    if (!(atomic_load(&control->calls) & call))
        return -1;
    uint64_t n = atomic_fetch_add(&control->count, 1) + 1;
    if (n < atomic_load(&control->first) || n > atomic_load(&control->last))
        return -1;
    int how = (int)atomic_load(&control->how);
    if (how == HOW_SHORT && call != CALL_WRITE)
        return -1;
    if (how == HOW_SKIP && call != CALL_SYNC)
        return -1;
    atomic_fetch_add(&control->hits, 1);
    return how;
}

static int fail(int how)
{
    errno = how == HOW_ENOSPC ? ENOSPC : EIO;
    return -1;
}

static int turn_fd(enum call call, int fd)
{
    int kept = errno;
    int how = control && fd_is_ours(fd, NULL) ? turn(call) : -1;
    errno = kept;
    return how;
}

static int turn_at(enum call call, int dir_fd, const char *path)
{
    int kept = errno;
    int how = control && at_is_ours(dir_fd, path) ? turn(call) : -1;
    errno = kept;
    return how;
}

#define EXPORT __attribute__((visibility("default")))

/* A short write takes half, and the next one says that the disk is full, as a full disk does. */
#define WRITES(name, params, whole, half)                  \
    EXPORT ssize_t name params;                            \
    EXPORT ssize_t name params                             \
    {                                                      \
        NEXT(name);                                        \
        int how = turn_fd(CALL_WRITE, fd);                 \
        if (how == HOW_SHORT && len > 1)                   \
            return next half;                              \
        return how >= 0 ? (ssize_t)fail(how) : next whole; \
    }
WRITES(write, (int fd, const void *bytes, size_t len), (fd, bytes, len), (fd, bytes, len / 2))
WRITES(pwrite, (int fd, const void *bytes, size_t len, off_t at), (fd, bytes, len, at),
       (fd, bytes, len / 2, at))
WRITES(pwrite64, (int fd, const void *bytes, size_t len, off64_t at), (fd, bytes, len, at),
       (fd, bytes, len / 2, at))
WRITES(writev, (int fd, const struct iovec *parts, int len), (fd, parts, len), (fd, parts, len / 2))
WRITES(pwritev, (int fd, const struct iovec *parts, int len, off_t at), (fd, parts, len, at),
       (fd, parts, len / 2, at))
WRITES(copy_file_range,
       (int from, off64_t *from_at, int fd, off64_t *at, size_t len, unsigned flags),
       (from, from_at, fd, at, len, flags), (from, from_at, fd, at, len / 2, flags))

#define ON_FD(call, name, params, args)          \
    EXPORT int name params;                      \
    EXPORT int name params                       \
    {                                            \
        NEXT(name);                              \
        int how = turn_fd(call, fd);             \
        if (how == HOW_SKIP)                     \
            return 0;                            \
        return how >= 0 ? fail(how) : next args; \
    }
ON_FD(CALL_SYNC, fsync, (int fd), (fd))
ON_FD(CALL_SYNC, fdatasync, (int fd), (fd))
ON_FD(CALL_SYNC, syncfs, (int fd), (fd))
ON_FD(CALL_TRUNCATE, ftruncate, (int fd, off_t size), (fd, size))
ON_FD(CALL_TRUNCATE, ftruncate64, (int fd, off64_t size), (fd, size))
ON_FD(CALL_TRUNCATE, fallocate, (int fd, int mode, off_t at, off_t len), (fd, mode, at, len))
ON_FD(CALL_TRUNCATE, fallocate64, (int fd, int mode, off64_t at, off64_t len), (fd, mode, at, len))

#define ON_PATH(call, name, params, dir, path, args) \
    EXPORT int name params;                          \
    EXPORT int name params                           \
    {                                                \
        NEXT(name);                                  \
        int how = turn_at(call, dir, path);          \
        return how >= 0 ? fail(how) : next args;     \
    }
ON_PATH(CALL_RENAME, rename, (const char *from, const char *to), AT_FDCWD, to, (from, to))
ON_PATH(CALL_RENAME, renameat, (int from_dir, const char *from, int dir, const char *to), dir, to,
        (from_dir, from, dir, to))
ON_PATH(CALL_RENAME, renameat2,
        (int from_dir, const char *from, int dir, const char *to, unsigned flags), dir, to,
        (from_dir, from, dir, to, flags))
ON_PATH(CALL_RENAME, linkat, (int from_dir, const char *from, int dir, const char *to, int flags),
        dir, to, (from_dir, from, dir, to, flags))
ON_PATH(CALL_CREATE, mkdir, (const char *path, mode_t mode), AT_FDCWD, path, (path, mode))
ON_PATH(CALL_CREATE, mkdirat, (int dir, const char *path, mode_t mode), dir, path,
        (dir, path, mode))
ON_PATH(CALL_REMOVE, unlink, (const char *path), AT_FDCWD, path, (path))
ON_PATH(CALL_REMOVE, unlinkat, (int dir, const char *path, int flags), dir, path,
        (dir, path, flags))

/* Opening counts only when it makes something. */
static mode_t mode_of(int flags, va_list more)
{
    return flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY)) ? va_arg(more, mode_t) : 0;
}

#define OPENS(name, params, last, dir, path, args)                                    \
    EXPORT int name params;                                                           \
    EXPORT int name params                                                            \
    {                                                                                 \
        NEXT(name);                                                                   \
        va_list more;                                                                 \
        va_start(more, last);                                                         \
        mode_t mode = mode_of(flags, more);                                           \
        va_end(more);                                                                 \
        int how = flags & (O_CREAT | O_TRUNC) ? turn_at(CALL_CREATE, dir, path) : -1; \
        return how >= 0 ? fail(how) : next args;                                      \
    }
OPENS(open, (const char *path, int flags, ...), flags, AT_FDCWD, path, (path, flags, mode))
OPENS(open64, (const char *path, int flags, ...), flags, AT_FDCWD, path, (path, flags, mode))
OPENS(openat, (int dir, const char *path, int flags, ...), flags, dir, path,
      (dir, path, flags, mode))
OPENS(openat64, (int dir, const char *path, int flags, ...), flags, dir, path,
      (dir, path, flags, mode))
