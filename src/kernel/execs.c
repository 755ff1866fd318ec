/* execs.c -- execve and execv, in front of libc's: what Python's subprocess and os.exec* call.
 *
 * What is executed may ask for what this process leaves of the session's memory (growth.h). With the limit that it inherits, which
 * includes the image, it could have more than there is, and would be killed with the whole session instead of being refused. Only
 * the soft limit is lowered, so that it can be put back when nothing was executed.
 *
 * It may run in a child that shares our memory (vfork), so it uses nothing but its stack and system calls. Part of the
 * program, not of the library, as opens.c.
 */
#include <errno.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/growth.h"

/* Ours under libc's names: the headers declare those with attributes of their own. */
#define AS(name) __asm__(name) __attribute__((visibility("default")))
int execs_execve(const char *path, char *const argv[], char *const env[]) AS("execve");
int execs_execv(const char *path, char *const argv[]) AS("execv");

static int limit_data(const struct rlimit *limit)
{
    return (int)syscall(SYS_prlimit64, 0, RLIMIT_DATA, limit, NULL);
}

int execs_execve(const char *path, char *const argv[], char *const env[])
{
    struct rlimit before;
    rlim_t most = growth_for_child();
    bool is_lower =
        syscall(SYS_prlimit64, 0, RLIMIT_DATA, NULL, &before) == 0 && most < before.rlim_cur;
    if (is_lower)
        (void)limit_data(&(struct rlimit){most, before.rlim_max});
    int failed = (int)syscall(SYS_execve, path, argv, env);
    int why = errno;
    if (is_lower)
        (void)limit_data(&before);
    errno = why;
    return failed;
}

int execs_execv(const char *path, char *const argv[])
{
    return execs_execve(path, argv, environ);
}
