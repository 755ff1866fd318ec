#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/utf8.h"
#include "base/walk.h"
#include "session/capture_int.h"
#include "session/working_int.h"
#include "wire/limits.h"

struct survey {
    struct snapshot found;
    size_t cap;
    size_t paths_bytes;
    uint32_t entries;
    int64_t deadline_us;
    const struct survey_rules *rules;
    struct capture *missed; /* may be NULL */
    const char *stopped;    /* why the rest was not looked at; NULL: it was */
    struct walk_path path;  /* of the entry at hand */
};

static const char *oddness(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFLNK: return "symbolic link";
    case S_IFIFO: return "named pipe";
    case S_IFSOCK: return "socket";
    default: return "device";
    }
}

static bool is_whiteout(const struct statx *st)
{
    return S_ISCHR(st->stx_mode) && st->stx_rdev_major == 0 && st->stx_rdev_minor == 0;
}

/* What a workspace could not keep. */
static const char *name_trouble(const char *name)
{
    for (const unsigned char *at = (const unsigned char *)name; *at; at++)
        if (*at < 0x20 || *at == 0x7F)
            return "control characters in its name";
    return utf8_is_valid(name, strlen(name)) ? NULL : "name is not UTF-8";
}

static int64_t to_ns(struct statx_timestamp t)
{
    return t.tv_sec * 1000000000 + t.tv_nsec;
}

void stamp_set(struct file_stamp *stamp, const struct statx *st, bool is_upper)
{
    uint64_t stored = st->stx_blocks * 512;
    stamp->kind = S_ISREG(st->stx_mode)         ? STAMP_FILE
                  : S_ISDIR(st->stx_mode)       ? STAMP_DIRECTORY
                  : is_upper && is_whiteout(st) ? STAMP_WHITEOUT
                                                : STAMP_ODD;
    stamp->odd = stamp->kind == STAMP_FILE ? NULL : oddness(st->stx_mode);
    stamp->is_executable = (st->stx_mode & 0100) != 0;
    stamp->inode = st->stx_ino;
    stamp->size = st->stx_size;
    stamp->stored = stored < stamp->size ? stored : stamp->size;
    stamp->mtime_ns = to_ns(st->stx_mtime);
    stamp->ctime_ns = to_ns(st->stx_ctime);
}

static int miss(struct survey *s, const char *reason, struct err *e)
{
    return s->missed ? capture_miss(s->missed, s->path.text, reason, e) : 0;
}

int snapshot_grow(struct snapshot *s, size_t *cap, struct err *e)
{
    if (s->count < *cap)
        return 0;
    size_t more = *cap ? 2 * *cap : 64;
    struct file_stamp *grown = realloc(s->files, more * sizeof *grown);
    if (!grown)
        return err_set(e, ERR_NO_MEMORY, "look at the files");
    s->files = grown;
    *cap = more;
    return 0;
}

/* `odd`: why it does not count, NULL: as it is. */
static int add_stamp(struct survey *s, const struct statx *st, const char *odd, struct err *e)
{
    size_t size = strlen(s->path.text) + 1;
    if (s->paths_bytes + size > CAPTURE_PATHS_BYTES_MAX) {
        s->stopped = "too many files";
        return 0;
    }
    if (snapshot_grow(&s->found, &s->cap, e))
        return -1;
    char *path = strdup(s->path.text);
    if (!path)
        return err_set(e, ERR_NO_MEMORY, "look at the files");
    struct file_stamp *stamp = &s->found.files[s->found.count++];
    *stamp = (struct file_stamp){.path = path};
    stamp_set(stamp, st, s->rules->is_upper);
    if (odd) {
        stamp->kind = STAMP_ODD;
        stamp->odd = odd;
    }
    stamp->is_fresh = stamp->ctime_ns >= s->found.begun_ns;
    s->paths_bytes += size;
    if (stamp->ctime_ns > s->found.newest_ns)
        s->found.newest_ns = stamp->ctime_ns;
    return 0;
}

static int add_directory(struct survey *s, const struct walk *w, const struct statx *st,
                         struct err *e)
{
    size_t count = s->found.count;
    if (add_stamp(s, st, /* odd= */ NULL, e))
        return -1;
    if (s->found.count > count && overlay_is_opaque(walk_dir(w)))
        s->found.files[count].kind = STAMP_OPAQUE;
    return 0;
}

static int look_into(struct survey *s, struct walk *w, const struct walk_entry *entry,
                     struct err *e)
{
    if (entry->depth >= CAPTURE_DEPTH_MAX)
        return miss(s, "too deep", e);
    int failed = walk_enter(w);
    if (failed == 0)
        return s->rules->is_upper ? add_directory(s, w, &entry->st, e) : 0;
    if (failed == -ENOENT)
        return 0;
    if (failed == -ENOMEM)
        return err_set(e, ERR_NO_MEMORY, "look at the files");
    return miss(s, failed == -ELOOP ? "symbolic link" : "cannot be read", e);
}

static int look_at(struct survey *s, struct walk *w, const struct walk_entry *entry, struct err *e)
{
    if (ignore_fits(s->rules->ignore, entry->name))
        return 0;
    if (!walk_path_set(&s->path, entry))
        return miss(s, "path too long", e);
    if (entry->error)
        return miss(s, "cannot be read", e);
    if (entry->is_other_mount)
        return miss(s, "on another file system", e);
    const char *trouble = s->rules->is_strict ? name_trouble(entry->name) : NULL;
    if (S_ISDIR(entry->st.stx_mode) && !trouble)
        return look_into(s, w, entry, e);
    return add_stamp(s, &entry->st, trouble, e);
}

static int look_around(struct survey *s, struct walk *w, struct err *e)
{
    struct walk_entry entry;
    while (!s->stopped && walk_next(w, &entry)) {
        if (++s->entries > CAPTURE_ENTRIES_MAX)
            s->stopped = "too many files";
        else if (clock_us() > s->deadline_us)
            s->stopped = "out of time";
        else if (look_at(s, w, &entry, e))
            return -1;
    }
    if (!s->stopped && walk_lost(w) > 0)
        s->stopped = "cannot be read";
    return 0;
}

static int by_path(const void *left, const void *right)
{
    const struct file_stamp *a = left, *b = right;
    int order = strcmp(a->path, b->path);
    return order ? order : (a->ctime_ns > b->ctime_ns) - (a->ctime_ns < b->ctime_ns);
}

/* A directory that changes while it is read can show a name twice. */
void snapshot_sort(struct snapshot *s)
{
    size_t kept = 0;
    if (s->count > 0)
        qsort(s->files, s->count, sizeof *s->files, by_path);
    for (size_t i = 0; i < s->count; i++) {
        struct file_stamp *next = i + 1 < s->count ? &s->files[i + 1] : NULL;
        if (s->files[i].kind == STAMP_GONE || (next && !strcmp(next->path, s->files[i].path)))
            free(s->files[i].path);
        else
            s->files[kept++] = s->files[i];
    }
    s->count = kept;
}

struct file_stamp *snapshot_find(const struct snapshot *s, const char *path)
{
    size_t low = 0, high = s->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(path, s->files[middle].path);
        if (order == 0)
            return &s->files[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

/* Files are stamped with the clock's last tick, so the beginning must be too: what is changed from
 * here on has this time or a later one. */
int64_t tick_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_REALTIME_COARSE, &t); /* cannot fail */
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void snapshot_settle(const struct snapshot *s)
{
    static const struct timespec nap = {.tv_nsec = 1000000};
    const int64_t ahead_max_ns = 20000000; /* a file from a later time: the clock was set back */
    int64_t ahead_ns;
    while ((ahead_ns = s->newest_ns - tick_ns()) >= 0 && ahead_ns < ahead_max_ns)
        (void)nanosleep(&nap, /* remaining= */ NULL);
}

static void survey_free(struct survey **sp)
{
    if (*sp)
        snapshot_done(&(*sp)->found);
    free(*sp);
}

static void walk_freep(struct walk **wp)
{
    walk_free(*wp);
}

int survey_take(int dir_fd, const struct survey_rules *rules, int64_t deadline_us,
                struct capture *missed, struct snapshot *ret, struct err *e)
{
    scoped(walk_freep) struct walk *w = NULL;
    if (walk_new(dir_fd, &w, e))
        return -1;
    scoped(survey_free) struct survey *s = calloc(1, sizeof *s);
    if (!s)
        return err_set(e, ERR_NO_MEMORY, "look at the files");

    s->rules = rules;
    s->deadline_us = deadline_us;
    s->missed = missed;
    s->found.begun_ns = tick_ns();
    if (look_around(s, w, e))
        return -1;
    if (s->stopped && missed && capture_miss(missed, ".", s->stopped, e))
        return -1;
    s->found.is_whole = !s->stopped;
    snapshot_sort(&s->found);
    *ret = s->found;
    s->found = (struct snapshot){0};
    return 0;
}
