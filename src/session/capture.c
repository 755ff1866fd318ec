#include "session/capture.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/dir.h"
#include "base/err.h"
#include "base/scope.h"
#include "session/capture_int.h"

const char *file_change_name(enum file_change change)
{
    static const char *const names[] = {
        [FILE_CREATED] = "created",
        [FILE_MODIFIED] = "modified",
        [FILE_DELETED] = "deleted",
    };
    assert(change < sizeof names / sizeof *names);
    return names[change];
}

void snapshot_done(struct snapshot *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->files[i].path);
    free(s->files);
    *s = (struct snapshot){0};
}

void capture_done(struct capture *c)
{
    for (size_t i = 0; i < c->count; i++)
        free(c->files[i].path);
    free(c->files);
    for (size_t i = 0; i < c->missed_count; i++)
        free(c->missed[i].path);
    free(c->missed);
    *c = (struct capture){0};
}

int capture_miss(struct capture *c, const char *path, const char *reason, struct err *e)
{
    if (c->missed_count == CAPTURE_MISSED_MAX) {
        c->missed_more++;
        return 0;
    }
    if (!c->missed && !(c->missed = calloc(CAPTURE_MISSED_MAX, sizeof *c->missed)))
        return err_set(e, ERR_NO_MEMORY, "list what was missed");
    char *copy = strdup(*path ? path : ".");
    if (!copy)
        return err_set(e, ERR_NO_MEMORY, "list what was missed");
    c->missed[c->missed_count++] = (struct not_captured){.path = copy, .reason = reason};
    return 0;
}

static int64_t deadline(void)
{
    return clock_us() + (int64_t)CAPTURE_MS_MAX * 1000;
}

int snapshot_take(int dir_fd, struct snapshot *ret, struct err *e)
{
    if (survey_take(dir_fd, deadline(), /* missed= */ NULL, ret, e))
        return err_wrap(e, "take a snapshot");
    snapshot_settle(ret);
    return 0;
}

/* The two sides of a comparison and where its results go. */
struct comparison {
    int dir_fd;
    int64_t deadline_us;
    const struct snapshot *before;
    struct snapshot now;
    struct capture result;
    size_t result_cap;
};

static int list(struct comparison *c, const struct captured_file *file, struct err *e)
{
    struct capture *r = &c->result;
    if (r->count == c->result_cap) {
        size_t cap = r->count ? 2 * r->count : 16;
        struct captured_file *grown = realloc(r->files, cap * sizeof *grown);
        if (!grown)
            return err_set(e, ERR_NO_MEMORY, "list the files");
        r->files = grown;
        c->result_cap = cap;
    }
    char *path = strdup(file->path);
    if (!path)
        return err_set(e, ERR_NO_MEMORY, "list the files");
    r->files[r->count] = *file;
    r->files[r->count].path = path;
    r->files[r->count++].mime = filetype_of(path);
    return 0;
}

static int list_deleted(struct comparison *c, const struct file_stamp *was, struct err *e)
{
    struct captured_file file = {.path = was->path, .change = FILE_DELETED};
    return list(c, &file, e);
}

/* A regular file that is new or differs. `was` is NULL for a new one. */
static int changed(struct comparison *c, const struct file_stamp *was, struct file_stamp *is,
                   struct err *e)
{
    struct captured_file file = {
        .path = is->path, .size = is->size, .change = was ? FILE_MODIFIED : FILE_CREATED};
    enum reading reading = content_read(c->dir_fd, c->deadline_us, &file);
    switch (reading) {
    case READING_DONE: return list(c, &file, e);
    case READING_GONE: return was ? list_deleted(c, was, e) : 0;
    case READING_RESTLESS:
    case READING_BUSY:
    case READING_LATE:
        is->ctime_ns = -1; /* no file has that: it differs again next time */
        break;
    case READING_LINK:
    case READING_ODD: return capture_miss(&c->result, is->path, reading_reason(reading), e);
    default: break;
    }
    if (list(c, &file, e))
        return -1;
    return capture_miss(&c->result, is->path, reading_reason(reading), e);
}

static bool is_same(const struct file_stamp *was, const struct file_stamp *is)
{
    return was->odd == is->odd && was->inode == is->inode && was->size == is->size &&
           was->mtime_ns == is->mtime_ns && was->ctime_ns == is->ctime_ns;
}

/* Something the earlier look did not see. If that look did not get to its end, what has not changed
 * since then was there already. */
static int appeared(struct comparison *c, struct file_stamp *is, struct err *e)
{
    if (!c->before->is_whole && is->ctime_ns < c->before->begun_ns)
        return 0;
    if (is->odd)
        return capture_miss(&c->result, is->path, is->odd, e);
    return changed(c, /* was= */ NULL, is, e);
}

/* Whether the path is still a regular file although the walk did not come by, or may be. */
static bool may_exist(const struct comparison *c, const char *path)
{
    scoped(fd_closep) int fd = below_open(c->dir_fd, path, O_PATH);
    struct stat st;
    if (fd < 0)
        return fd != -ENOENT && fd != -ENOTDIR && fd != -ELOOP;
    return fstat(fd, &st) != 0 || S_ISREG(st.st_mode);
}

/* Something the later look did not see: deleted, or in a place it could not look at. */
static int vanished(struct comparison *c, const struct file_stamp *was, struct err *e)
{
    if (was->odd)
        return 0;
    if (!may_exist(c, was->path))
        return list_deleted(c, was, e);
    struct file_stamp kept = *was;
    kept.path = strdup(was->path);
    if (!kept.path)
        return err_set(e, ERR_NO_MEMORY, "compare the files");
    c->now.files[c->now.count++] = kept;
    return 0;
}

static int met_again(struct comparison *c, const struct file_stamp *was, struct file_stamp *is,
                     struct err *e)
{
    if (is_same(was, is))
        return 0;
    if (!is->odd)
        return changed(c, was->odd ? NULL : was, is, e);
    if (!was->odd && list_deleted(c, was, e))
        return -1;
    return capture_miss(&c->result, is->path, is->odd, e);
}

/* Walks along both sorted lists. What `vanished` keeps is appended behind the end of `now`, so the
 * count of what was seen is fixed before. */
static int compare(struct comparison *c, struct err *e)
{
    const struct snapshot *before = c->before;
    size_t seen = c->now.count;
    for (size_t i = 0, j = 0; i < before->count || j < seen;) {
        int order = i == before->count ? 1
                    : j == seen        ? -1
                                       : strcmp(before->files[i].path, c->now.files[j].path);
        int failed;
        if (order < 0)
            failed = vanished(c, &before->files[i++], e);
        else if (order > 0)
            failed = appeared(c, &c->now.files[j++], e);
        else
            failed = met_again(c, &before->files[i++], &c->now.files[j++], e);
        if (failed)
            return -1;
    }
    return 0;
}

/* Makes sure that all of before's files could join the list of now. */
static int make_room(struct comparison *c, struct err *e)
{
    size_t cap = c->now.count + c->before->count;
    struct file_stamp *grown = realloc(c->now.files, (cap + 1) * sizeof *grown);
    if (!grown)
        return err_set(e, ERR_NO_MEMORY, "compare the files");
    c->now.files = grown;
    return 0;
}

static void comparison_done(struct comparison *c)
{
    snapshot_done(&c->now);
    capture_done(&c->result);
}

static int missed_by_path(const void *left, const void *right)
{
    const struct not_captured *a = left, *b = right;
    return strcmp(a->path, b->path);
}

/* Compares and hands out the result; c->now is what was found. */
static int capture(struct comparison *c, struct capture *ret, struct err *e)
{
    if (survey_take(c->dir_fd, c->deadline_us, &c->result, &c->now, e) || make_room(c, e) ||
        compare(c, e))
        return err_wrap(e, "capture the files");
    if (c->result.missed_count > 0)
        qsort(c->result.missed, c->result.missed_count, sizeof *c->result.missed, missed_by_path);
    *ret = c->result;
    c->result = (struct capture){0};
    return 0;
}

int capture_take(int dir_fd, const struct snapshot *before, struct capture *ret, struct err *e)
{
    scoped(comparison_done) struct comparison c = {
        .dir_fd = dir_fd, .deadline_us = deadline(), .before = before};
    return capture(&c, ret, e);
}

int capture_next(int dir_fd, struct snapshot *state, struct capture *ret, struct err *e)
{
    scoped(comparison_done) struct comparison c = {
        .dir_fd = dir_fd, .deadline_us = deadline(), .before = state};
    if (capture(&c, ret, e))
        return -1;
    snapshot_sort(&c.now);
    snapshot_done(state);
    *state = c.now;
    c.now = (struct snapshot){0};
    return 0;
}
