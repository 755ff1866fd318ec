/* capture_fixture.h -- what the tests of a capture share. */
#ifndef SESSION_CAPTURE_FIXTURE_H
#define SESSION_CAPTURE_FIXTURE_H

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/scope.h"
#include "base/scratch.h"
#include "session/capture.h"

static inline struct snapshot snapshot(const struct scratch *s)
{
    struct err e = {0};
    struct snapshot before = {0};
    if (snapshot_take(s->fd, &before, &e))
        fail_msg("%s", e.text);
    return before;
}

static inline struct capture capture(const struct scratch *s, const struct snapshot *before)
{
    struct err e = {0};
    struct capture files = {0};
    if (capture_take(s->fd, before, &files, &e))
        fail_msg("%s", e.text);
    return files;
}

static inline const struct captured_file *find(const struct capture *c, const char *path)
{
    for (size_t i = 0; i < c->count; i++)
        if (strcmp(c->files[i].path, path) == 0)
            return &c->files[i];
    return NULL;
}

static inline const char *why_missed(const struct capture *c, const char *path)
{
    for (size_t i = 0; i < c->missed_count; i++)
        if (strcmp(c->missed[i].path, path) == 0)
            return c->missed[i].reason;
    return "not missed";
}

static inline bool has_content(const struct captured_file *file, const char *text)
{
    struct err e = {0};
    uint8_t digest[HASH_LEN];
    scoped(hash_done) struct hash h = {0};
    if (hash_init(&h, &e) || hash_add(&h, text, strlen(text), &e) || hash_end(&h, digest, &e))
        fail_msg("%s", e.text);
    return file->has_sha256 && file->size == strlen(text) &&
           memcmp(file->sha256, digest, sizeof digest) == 0;
}

/* Makes `levels` directories "d" inside each other and a file "f" in the last. */
static inline void dig(const struct scratch *s, int levels)
{
    int at = fcntl(s->fd, F_DUPFD_CLOEXEC, 3);
    for (int i = 0; i < levels; i++) {
        assert_int_equal(mkdirat(at, "d", 0755), 0);
        int next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(next >= 0);
        (void)close(at);
        at = next;
    }
    int fd = openat(at, "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    (void)close(fd);
    (void)close(at);
}

static inline size_t entries(int dir_fd)
{
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fdopendir(fd);
    assert_non_null(d);
    size_t count = 0;
    while (readdir(d))
        count++;
    closedir(d);
    return count - 2;
}

/* A process that does something to the tree, over and over, until it is killed. */
static inline pid_t in_background(void (*body)(int dir_fd), int dir_fd)
{
    const pid_t parent = getpid();
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
            _exit(1);
        for (;;)
            body(dir_fd);
    }
    return child;
}

static inline void stop(pid_t child)
{
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, /* status= */ NULL, 0), child);
}

/* A race is run for a second, and on a busy machine until both outcomes were met often enough to
 * say that there was one. */
enum { RACE_ENOUGH = 100 };

struct race {
    int64_t least_us, most_us;
};

static inline struct race race_begin(void)
{
    int64_t now_us = clock_us();
    return (struct race){.least_us = now_us + 1000000, .most_us = now_us + 30000000};
}

static inline bool race_goes_on(const struct race *race, size_t won, size_t lost)
{
    int64_t now_us = clock_us();
    bool is_enough = won >= RACE_ENOUGH && lost >= RACE_ENOUGH;
    return now_us < race->least_us || (!is_enough && now_us < race->most_us);
}

static const char bait_secret[] = "the secret of another tenant";
static const char bait_safe[] = "what the code wrote";

/* The same names, exchanged as fast as a process can. */
static inline void swap_file_and_link(int dir_fd)
{
    (void)renameat2(dir_fd, "bait", dir_fd, "link", RENAME_EXCHANGE);
    (void)renameat2(dir_fd, "dir", dir_fd, "dirlink", RENAME_EXCHANGE);
    (void)renameat2(dir_fd, "other bait", dir_fd, "fifo", RENAME_EXCHANGE);
}

static inline void lay_bait(const struct scratch *s, const struct scratch *outside)
{
    char target[128];
    scratch_write(outside, "inside", bait_secret);
    scratch_write(s, "bait", bait_safe);
    scratch_write(s, "other bait", bait_safe);
    assert_int_equal(mkfifoat(s->fd, "fifo", 0644),
                     0); /* whoever opens it to read waits for ever */
    scratch_mkdir(s, "dir");
    scratch_write(s, "dir/inside", bait_safe);
    snprintf(target, sizeof target, "%s/inside", outside->path);
    assert_int_equal(symlinkat(target, s->fd, "link"), 0);
    assert_int_equal(symlinkat(outside->path, s->fd, "dirlink"), 0);
}

#endif
