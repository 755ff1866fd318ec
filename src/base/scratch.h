/* scratch.h -- for tests: a directory of their own, files in it, and a child that is not root.
 *
 *     scoped(scratch_done) struct scratch s = scratch_new();
 *     scratch_write(&s, "plots/a.png", "bytes");
 *
 * A failure ends the test through assert: nothing here is under test.
 */
#ifndef BASE_SCRATCH_H
#define BASE_SCRATCH_H

#include <assert.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/tree.h"

enum { SCRATCH_NOBODY = 65534 };

struct scratch {
    char path[64];
    int fd;
};

static inline struct scratch scratch_new_in(const char *parent)
{
    struct scratch s;
    snprintf(s.path, sizeof s.path, "%s/cicada-test-XXXXXX", parent);
    const char *made = mkdtemp(s.path);
    assert(made);
    s.fd = open(s.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert(s.fd >= 0);
    return s;
}

static inline struct scratch scratch_new(void)
{
    return scratch_new_in("/tmp");
}

/* In memory, for very many files. */
static inline struct scratch scratch_new_fast(void)
{
    return scratch_new_in(access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
}

static inline void scratch_done(struct scratch *s)
{
    struct err e = {0};
    int removed = tree_remove(s->fd, &e);
    assert(removed == 0);
    int gone = rmdir(s->path);
    assert(gone == 0);
    (void)close(s->fd);
}

static inline void scratch_mkdir(const struct scratch *s, const char *path)
{
    int made = mkdirat(s->fd, path, 0755);
    assert(made == 0);
}

/* Replaces the content; the directory has to exist. */
static inline void scratch_write(const struct scratch *s, const char *path, const char *text)
{
    int fd = openat(s->fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert(fd >= 0);
    ssize_t n = write(fd, text, strlen(text));
    assert(n == (ssize_t)strlen(text));
    (void)close(fd);
}

/* Runs `body` in a child that is not root. True when it returned 0 there. Asserts of cmocka do not
 * reach out of a child, so the body says by its value what went wrong. */
static inline bool scratch_as_nobody(int (*body)(void))
{
    pid_t child = fork();
    assert(child >= 0);
    if (child == 0) {
        if (geteuid() == 0 && (setresgid(SCRATCH_NOBODY, SCRATCH_NOBODY, SCRATCH_NOBODY) ||
                               setresuid(SCRATCH_NOBODY, SCRATCH_NOBODY, SCRATCH_NOBODY)))
            _exit(99);
        _exit(body());
    }
    int status = 0;
    pid_t reaped = waitpid(child, &status, 0);
    assert(reaped == child);
    if (status != 0)
        fprintf(stderr, "the child ended with %#x\n", (unsigned)status);
    return status == 0;
}

#endif
