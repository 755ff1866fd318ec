#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/dir.h"
#include "base/err.h"
#include "base/scope.h"
#include "session/capture_int.h"

static void mark(struct file_stamp *is, bool is_new)
{
    is->is_changed = true;
    is->is_new = is_new;
}

static int found(struct look *l, struct file_stamp *is, bool is_new, struct err *e)
{
    if (is->kind == STAMP_FILE)
        mark(is, is_new);
    else if (is->kind == STAMP_ODD)
        return capture_miss(l->missed, is->path, is->odd, e);
    return 0;
}

/* Something the earlier look did not see. If that look did not get to its end, what has not changed
 * since then was there already. */
static int appeared(struct look *l, struct file_stamp *is, struct err *e)
{
    if (!l->is_all_told && !l->before->is_whole && is->ctime_ns < l->before->begun_ns)
        return 0;
    return found(l, is, /* is_new= */ true, e);
}

/* Whether the path is still a regular file although the walk did not come by, or may be. */
static bool may_exist(const struct look *l, const char *path)
{
    scoped(fd_closep) int fd = below_open(l->dir_fd, path, O_PATH);
    struct stat st;
    if (fd < 0)
        return fd != -ENOENT && fd != -ENOTDIR && fd != -ELOOP;
    return fstat(fd, &st) != 0 || S_ISREG(st.st_mode);
}

/* Something the later look did not see: deleted, or in a place it could not look at. */
static int vanished(struct look *l, const struct file_stamp *was, struct err *e)
{
    if (was->kind != STAMP_FILE)
        return 0;
    if (!may_exist(l, was->path))
        return l->sink->deleted(l, was->path, e);
    struct file_stamp kept = *was;
    kept.path = strdup(was->path);
    if (!kept.path)
        return err_set(e, ERR_NO_MEMORY, "compare the files");
    l->now.files[l->now.count++] = kept;
    return 0;
}

static int met_again(struct look *l, const struct file_stamp *was, struct file_stamp *is,
                     struct err *e)
{
    bool is_file = is->kind == STAMP_FILE, was_file = was->kind == STAMP_FILE;
    if (stamp_is_same(was, is)) {
        is->generation = was->generation;
        if (is_file && l->is_written_back && !content_is_known(l, was))
            mark(is, /* is_new= */ false);
        return 0;
    }
    if (was_file && !is_file && l->sink->deleted(l, was->path, e))
        return -1;
    return found(l, is, !was_file, e);
}

/* Makes sure that all of before's files could join the list of now. */
static int make_room(struct look *l, struct err *e)
{
    size_t cap = l->now.count + l->before->count;
    struct file_stamp *grown = realloc(l->now.files, (cap + 1) * sizeof *grown);
    if (!grown)
        return err_set(e, ERR_NO_MEMORY, "compare the files");
    l->now.files = grown;
    return 0;
}

/* Walks along both sorted lists. What `vanished` keeps is appended behind the end of `now`, so the
 * count of what was seen is fixed before. */
static int compare(struct look *l, struct err *e)
{
    const struct snapshot *before = l->before;
    l->seen = l->now.count;
    for (size_t i = 0, j = 0; i < before->count || j < l->seen;) {
        int order = i == before->count ? 1
                    : j == l->seen     ? -1
                                       : strcmp(before->files[i].path, l->now.files[j].path);
        int failed;
        if (order < 0)
            failed = vanished(l, &before->files[i++], e);
        else if (order > 0)
            failed = appeared(l, &l->now.files[j++], e);
        else
            failed = met_again(l, &before->files[i++], &l->now.files[j++], e);
        if (failed)
            return -1;
    }
    return 0;
}

int look_compare(struct look *l, struct err *e)
{
    if (survey_take(l->dir_fd, l->rules, l->walk_deadline_us, l->missed, &l->now, e) ||
        make_room(l, e) || compare(l, e))
        return -1;
    snapshot_sort(&l->now);
    return 0;
}

static int read_one(struct look *l, struct file_stamp *is, struct err *e)
{
    int reading = look_read_file(l, is, e);
    switch (reading) {
    case -1: return -1;
    case READING_DONE: return l->sink->settled(l, is, /* is_torn= */ false, e);
    case READING_RESTLESS:
        is->ctime_ns = -1;
        return l->sink->settled(l, is, /* is_torn= */ true, e);
    case READING_GONE:
        is->kind = STAMP_GONE;
        return is->is_new ? 0 : l->sink->deleted(l, is->path, e);
    case READING_LINK:
    case READING_ODD:
        is->kind = STAMP_FILE; /* the next look will see what it has become */
        is->ctime_ns = -1;
        return capture_miss(l->missed, is->path, reading_reason((enum reading)reading), e);
    case READING_FAILED:
    case READING_BUSY:
    case READING_LATE: is->ctime_ns = -1; break;
    default: break;
    }
    return l->sink->unread(l, is, (enum reading)reading, e);
}

static int missed_by_path(const void *left, const void *right)
{
    const struct not_captured *a = left, *b = right;
    return strcmp(a->path, b->path);
}

int look_read(struct look *l, struct err *e)
{
    struct snapshot *now = &l->now;
    size_t changed = 0;
    for (size_t i = 0; i < now->count; i++)
        changed += now->files[i].is_changed;
    for (size_t i = 0; i < now->count && changed > 1; i++) /* one by one they would wait longer */
        if (now->files[i].is_changed)
            content_prepare(l, &now->files[i]);
    for (size_t i = 0; i < now->count; i++)
        if (now->files[i].is_changed && read_one(l, &now->files[i], e))
            return -1;
    for (size_t i = 0; i < now->count; i++)
        now->files[i].is_changed = false;
    snapshot_sort(now); /* some are gone by now */
    if (l->missed->missed_count > 0)
        qsort(l->missed->missed, l->missed->missed_count, sizeof *l->missed->missed,
              missed_by_path);
    return 0;
}
