/* working_fixture.h -- what the tests of a working copy share: one to look at, and a sink that writes
 * down what it is told. */
#ifndef SESSION_WORKING_FIXTURE_H
#define SESSION_WORKING_FIXTURE_H

#include <errno.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <time.h>

#include "base/expect.h"
#include "session/capture_fixture.h"
#include "session/working_int.h"

enum { TOLD_TEXT = 64 };

struct told {
    char *path;
    bool is_deleted, is_torn, is_executable, is_settled;
    int tries;
    uint64_t size;
    char text[TOLD_TEXT]; /* how it begins */
};

struct record {
    struct told *items;
    size_t count, cap;
    struct capture found;
    int fail_at; /* 1: the first call fails; 0: none does */
    void (*meanwhile)(void *arg);
    void *arg;
};

static inline struct told *record_add(struct record *r, const char *path)
{
    if (r->count == r->cap) {
        r->cap = r->cap ? 2 * r->cap : 16;
        r->items = realloc(r->items, r->cap * sizeof *r->items);
        assert_non_null(r->items);
    }
    r->items[r->count] = (struct told){.path = strdup(path)};
    return &r->items[r->count++];
}

static inline struct told *record_find(const struct record *r, const char *path)
{
    for (size_t i = 0; i < r->count; i++)
        if (strcmp(r->items[i].path, path) == 0)
            return &r->items[i];
    return NULL;
}

static inline int record_changed(void *arg, const char *path, int fd, uint64_t size,
                                 bool is_executable, struct err *e)
{
    struct record *r = arg;
    if (r->fail_at && --r->fail_at == 0)
        return err_set(e, ERR_QUOTA, "enough");
    struct told *last = r->count ? &r->items[r->count - 1] : NULL;
    bool is_again = last && !last->is_settled && !last->is_deleted;
    if (is_again)
        assert_string_equal(last->path, path);
    struct told *t = is_again ? last : record_add(r, path);
    t->tries++;
    t->size = size;
    t->is_executable = is_executable;
    memset(t->text, 0, sizeof t->text);
    assert_true(read(fd, t->text, sizeof t->text - 1) >= 0);
    if (r->meanwhile)
        r->meanwhile(r->arg);
    return 0;
}

static inline int record_settled(void *arg, const char *path, bool is_torn, struct err *e)
{
    struct record *r = arg;
    (void)e;
    struct told *t = &r->items[r->count - 1];
    assert_string_equal(t->path, path);
    t->is_torn = is_torn;
    t->is_settled = true;
    return 0;
}

static inline int record_deleted(void *arg, const char *path, struct err *e)
{
    struct record *r = arg;
    if (r->fail_at && --r->fail_at == 0)
        return err_set(e, ERR_QUOTA, "enough");
    record_add(r, path)->is_deleted = true;
    return 0;
}

static inline void record_done(struct record *r)
{
    for (size_t i = 0; i < r->count; i++)
        free(r->items[i].path);
    free(r->items);
    capture_done(&r->found);
    *r = (struct record){0};
}

static inline struct working_sink record_sink(struct record *r)
{
    return (struct working_sink){
        .changed = record_changed, .settled = record_settled, .deleted = record_deleted, .arg = r};
}

/* Waits until what was written so far is older than the clock's present tick: such files are told
 * once, whatever the file system's clock is like. */
static inline void let_a_tick_pass(void)
{
    static const struct timespec nap = {.tv_nsec = 500000};
    struct timespec now; /* ticks may come late: the clock they are read from knows better */
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
    while (tick_ns() <= now.tv_sec * 1000000000 + now.tv_nsec)
        (void)nanosleep(&nap, NULL);
}

static inline struct record look(struct working *w)
{
    struct record r = {0};
    let_a_tick_pass();
    const struct working_sink sink = record_sink(&r);
    OK(working_look(w, &sink, &r.found, e));
    for (size_t i = 0; i < r.count; i++)
        assert_true(r.items[i].is_deleted || r.items[i].is_settled);
    return r;
}

/* A look that has to find nothing. */
static inline void expect_nothing(struct working *w)
{
    scoped(record_done) struct record r = look(w);
    if (r.count > 0)
        fail_msg("%s was told", r.items[0].path);
}

static inline void expect_changed(const struct record *r, const char *path, const char *text)
{
    const struct told *t = record_find(r, path);
    if (!t) {
        fail_msg("%s was not told", path);
        return;
    }
    assert_false(t->is_deleted);
    assert_string_equal(t->text, text);
    assert_int_equal(t->size, strlen(text));
}

static inline void expect_deleted(const struct record *r, const char *path)
{
    const struct told *t = record_find(r, path);
    if (!t) {
        fail_msg("%s was not told", path);
        return;
    }
    assert_true(t->is_deleted);
}

static inline void working_closep(struct working **wp)
{
    working_close(*wp);
}

/* DIR is a scratch directory; `data` its part that a session sees. */
static inline struct working *open_copy(const struct scratch *s, const struct scratch *lowers,
                                        size_t lower_count)
{
    int fds[JAIL_LOWERS_MAX];
    for (size_t i = 0; i < lower_count; i++)
        fds[i] = lowers[i].fd;
    const struct working_options options = {.dir_fd = s->fd,
                                            .lower_fds = fds,
                                            .lower_count = lower_count,
                                            .ignore = ignore_defaults,
                                            .file_max = 1 << 20};
    struct working *w = NULL;
    OK(working_open(&options, &w, e));
    return w;
}

static inline void make_whiteout(const struct scratch *s, const char *path)
{
    assert_int_equal(mknodat(s->fd, path, S_IFCHR, makedev(0, 0)), 0);
}

static inline void make_opaque(const struct scratch *s, const char *path)
{
    char whole[256];
    scratch_mkdir(s, path);
    snprintf(whole, sizeof whole, "%s/%s", s->path, path);
    assert_int_equal(setxattr(whole, "user.overlay.opaque", "y", 1, 0), 0);
}

#endif
