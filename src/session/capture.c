#include "session/capture.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/filetype.h"
#include "base/hash.h"
#include "base/scope.h"
#include "session/capture_int.h"

enum { HASH_CHUNK = 64 << 10 };

const char *file_change_name(enum capture_change change)
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
    for (size_t i = 0; i < c->count; i++) {
        free(c->files[i].path);
        free(c->files[i].aside);
        free(c->files[i].why);
    }
    free(c->files);
    for (size_t i = 0; i < c->missed_count; i++) {
        free(c->missed[i].path);
        free(c->missed[i].more);
    }
    free(c->missed);
    for (size_t i = 0; i < c->unbrought_count; i++)
        free(c->unbrought[i].path);
    free(c->unbrought);
    for (size_t i = 0; i < c->brought_count; i++)
        free(c->brought[i].path);
    free(c->brought);
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

int capture_unbrought(struct capture *c, const char *path, const char *reason, struct err *e)
{
    for (size_t i = 0; i < c->unbrought_count; i++)
        if (strcmp(c->unbrought[i].path, path) == 0) {
            c->unbrought[i].reason = reason;
            return 0;
        }
    if (c->unbrought_count == CAPTURE_MISSED_MAX) {
        c->unbrought_more++;
        return 0;
    }
    if (!c->unbrought && !(c->unbrought = calloc(CAPTURE_MISSED_MAX, sizeof *c->unbrought)))
        return err_set(e, ERR_NO_MEMORY, "list what was not brought");
    char *copy = strdup(path);
    if (!copy)
        return err_set(e, ERR_NO_MEMORY, "list what was not brought");
    c->unbrought[c->unbrought_count++] = (struct not_captured){.path = copy, .reason = reason};
    return 0;
}

int capture_miss_more(struct capture *c, const char *path, const char *reason, const char *more,
                      struct err *e)
{
    size_t before = c->missed_count;
    if (capture_miss(c, path, reason, e))
        return -1;
    if (c->missed_count == before)
        return 0; /* only counted */
    c->missed[before].more = strdup(more);
    return c->missed[before].more ? 0 : err_set(e, ERR_NO_MEMORY, "list what was missed");
}

static const struct survey_rules rules = {.ignore = &ignore_defaults};

static int64_t deadline(void)
{
    return clock_us() + (int64_t)CAPTURE_MS_MAX * 1000;
}

int snapshot_take(int dir_fd, struct snapshot *ret, struct err *e)
{
    if (survey_take(dir_fd, &rules, deadline(), /* missed= */ NULL, ret, e))
        return err_wrap(e, "take a snapshot");
    snapshot_settle(ret);
    return 0;
}

/* What becomes of the files of one look. */
struct listing {
    struct capture result;
    size_t cap;
    uint8_t sha256[HASH_LEN]; /* of the file that was read last */
};

static int list(struct listing *to, const struct captured_file *file, struct err *e)
{
    struct capture *r = &to->result;
    if (r->count == to->cap) {
        size_t cap = r->count ? 2 * r->count : 16;
        struct captured_file *grown = realloc(r->files, cap * sizeof *grown);
        if (!grown)
            return err_set(e, ERR_NO_MEMORY, "list the files");
        r->files = grown;
        to->cap = cap;
    }
    char *path = strdup(file->path);
    if (!path)
        return err_set(e, ERR_NO_MEMORY, "list the files");
    r->files[r->count] = *file;
    r->files[r->count].path = path;
    r->files[r->count++].mime = filetype_of(path);
    return 0;
}

static int on_deleted(struct look *l, const char *path, struct err *e)
{
    struct captured_file file = {.path = (char *)(uintptr_t)path, .change = FILE_DELETED};
    return list(l->arg, &file, e);
}

static struct captured_file describe(const struct file_stamp *is)
{
    return (struct captured_file){
        .path = is->path, .size = is->size, .change = is->is_new ? FILE_CREATED : FILE_MODIFIED};
}

static int on_unread(struct look *l, const struct file_stamp *is, enum reading reading,
                     struct err *e)
{
    struct captured_file file = describe(is);
    if (list(l->arg, &file, e))
        return -1;
    return capture_miss(l->missed, is->path, reading_reason(reading), e);
}

/* Hashes as many bytes as the file had when it was looked at. */
static int on_changed(struct look *l, const struct file_stamp *is, int fd, struct err *e)
{
    struct listing *to = l->arg;
    scoped(hash_done) struct hash h = {0};
    const size_t chunk_len = is->size < HASH_CHUNK ? is->size : HASH_CHUNK; /* most are small */
    scoped(freep) char *chunk = malloc(chunk_len + 1);
    if (!chunk)
        return err_set(e, ERR_NO_MEMORY, "hash a file");
    if (hash_init(&h, e))
        return -1;
    for (uint64_t done = 0; done < is->size;) {
        uint64_t left = is->size - done;
        ssize_t n = pread(fd, chunk, left < chunk_len ? left : chunk_len, (off_t)done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? READING_FAILED : READING_RESTLESS;
        if (hash_add(&h, chunk, (size_t)n, e))
            return -1;
        if (clock_us() > l->read_deadline_us)
            return READING_LATE;
        done += (uint64_t)n;
    }
    return hash_end(&h, to->sha256, e) ? -1 : READING_DONE;
}

static int on_settled(struct look *l, const struct file_stamp *is, bool is_torn, struct err *e)
{
    struct listing *to = l->arg;
    if (is_torn)
        return on_unread(l, is, READING_RESTLESS, e);
    struct captured_file file = describe(is);
    memcpy(file.sha256, to->sha256, sizeof file.sha256);
    file.has_sha256 = true;
    return list(to, &file, e);
}

static const struct look_sink sink = {
    .changed = on_changed, .settled = on_settled, .unread = on_unread, .deleted = on_deleted};

static int files_by_path(const void *left, const void *right)
{
    const struct captured_file *a = left, *b = right;
    return strcmp(a->path, b->path);
}

static void listing_done(struct listing *to)
{
    capture_done(&to->result);
}

/* Compares and hands out the result; *ret_now is what was found. */
static int capture(int dir_fd, const struct snapshot *before, struct snapshot *ret_now,
                   struct capture *ret, struct err *e)
{
    scoped(listing_done) struct listing to = {0};
    int64_t deadline_us = deadline();
    struct look l = {.dir_fd = dir_fd,
                     .rules = &rules,
                     .walk_deadline_us = deadline_us,
                     .read_deadline_us = deadline_us,
                     .file_max = CAPTURE_HASH_MAX,
                     .before = before,
                     .sink = &sink,
                     .missed = &to.result,
                     .arg = &to};
    if (look_compare(&l, e) || look_read(&l, e)) {
        snapshot_done(&l.now);
        return err_wrap(e, "capture the files");
    }
    if (to.result.count > 0)
        qsort(to.result.files, to.result.count, sizeof *to.result.files, files_by_path);
    *ret = to.result;
    to.result = (struct capture){0};
    *ret_now = l.now;
    return 0;
}

int capture_take(int dir_fd, const struct snapshot *before, struct capture *ret, struct err *e)
{
    scoped(snapshot_done) struct snapshot now = {0};
    return capture(dir_fd, before, &now, ret, e);
}

int capture_next(int dir_fd, struct snapshot *state, struct capture *ret, struct err *e)
{
    struct snapshot now;
    if (capture(dir_fd, state, &now, ret, e))
        return -1;
    snapshot_done(state);
    *state = now;
    return 0;
}
