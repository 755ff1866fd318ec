/* opens.c -- the functions that open files, in front of libc's: what every library of this process calls.
 *
 * The program comes first where the dynamic linker looks for a name, so Python, its extension modules and
 * the libraries below them (HDF5, Arrow, libxml2, SQLite ...) all come by here. Each function calls
 * libc's own and tells reads.h. Files that are opened without these (by a system call of one's own,
 * or inside libc itself) are not seen.
 *
 * Part of the program, not of the library: it would stand in for libc in unit tests too.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include "kernel/reads.h"

/* Ours under libc's names: the headers declare those with attributes and definitions of their own. */
#define AS(name) __asm__(name) __attribute__((visibility("default")))
int opens_open(const char *path, int flags, ...) AS("open");
int opens_open64(const char *path, int flags, ...) AS("open64");
int opens_openat(int dir_fd, const char *path, int flags, ...) AS("openat");
int opens_openat64(int dir_fd, const char *path, int flags, ...) AS("openat64");
int opens_open_2(const char *path, int flags) AS("__open_2");
int opens_open64_2(const char *path, int flags) AS("__open64_2");
int opens_openat_2(int dir_fd, const char *path, int flags) AS("__openat_2");
int opens_openat64_2(int dir_fd, const char *path, int flags) AS("__openat64_2");
FILE *opens_fopen(const char *path, const char *mode) AS("fopen");
FILE *opens_fopen64(const char *path, const char *mode) AS("fopen64");
int opens_rename(const char *from, const char *to) AS("rename");

typedef int openat_function(int dir_fd, const char *path, int flags, ...);
typedef FILE *fopen_function(const char *path, const char *mode);

/* The next definition of that name. It is libc's; without one nothing here could have been loaded. */
static openat_function *real_openat(void)
{
    static openat_function *found;
    if (!found)
        *(void **)&found = dlsym(RTLD_NEXT, "openat64");
    return found;
}

static int open_file(int dir_fd, const char *path, int flags, mode_t mode)
{
    int fd = real_openat()(dir_fd, path, flags, mode);
    if (fd >= 0)
        reads_open(dir_fd, path, flags);
    return fd;
}

static bool has_mode(int flags)
{
    return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
}

#define MODE_OF(flags, mode)         \
    mode_t mode = 0;                 \
    if (has_mode(flags)) {           \
        va_list list;                \
        va_start(list, flags);       \
        mode = va_arg(list, mode_t); \
        va_end(list);                \
    }

int opens_open(const char *path, int flags, ...)
{
    MODE_OF(flags, mode)
    return open_file(AT_FDCWD, path, flags, mode);
}

int opens_open64(const char *path, int flags, ...)
{
    MODE_OF(flags, mode)
    return open_file(AT_FDCWD, path, flags, mode);
}

int opens_openat(int dir_fd, const char *path, int flags, ...)
{
    MODE_OF(flags, mode)
    return open_file(dir_fd, path, flags, mode);
}

int opens_openat64(int dir_fd, const char *path, int flags, ...)
{
    MODE_OF(flags, mode)
    return open_file(dir_fd, path, flags, mode);
}

/* What programs built with _FORTIFY_SOURCE call. */
int opens_open_2(const char *path, int flags)
{
    return open_file(AT_FDCWD, path, flags, 0);
}

int opens_open64_2(const char *path, int flags)
{
    return open_file(AT_FDCWD, path, flags, 0);
}

int opens_openat_2(int dir_fd, const char *path, int flags)
{
    return open_file(dir_fd, path, flags, 0);
}

int opens_openat64_2(int dir_fd, const char *path, int flags)
{
    return open_file(dir_fd, path, flags, 0);
}

static int flags_of(const char *mode)
{
    bool is_both = strchr(mode, '+') != NULL;
    switch (*mode) {
    case 'w': return O_WRONLY | O_CREAT | O_TRUNC;
    case 'a': return O_WRONLY | O_CREAT | O_APPEND;
    default: return is_both ? O_RDWR : O_RDONLY;
    }
}

static FILE *open_stream(const char *path, const char *mode)
{
    static fopen_function *found;
    if (!found)
        *(void **)&found = dlsym(RTLD_NEXT, "fopen64");
    FILE *file = found(path, mode);
    if (file)
        reads_open(AT_FDCWD, path, flags_of(mode));
    return file;
}

FILE *opens_fopen(const char *path, const char *mode)
{
    return open_stream(path, mode);
}

FILE *opens_fopen64(const char *path, const char *mode)
{
    return open_stream(path, mode);
}

int opens_rename(const char *from, const char *to)
{
    static int (*found)(const char *from, const char *to);
    if (!found)
        *(void **)&found = dlsym(RTLD_NEXT, "rename");
    int failed = found(from, to);
    if (!failed)
        reads_rename(from, to);
    return failed;
}
