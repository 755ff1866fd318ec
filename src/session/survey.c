#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/walk.h"
#include "session/capture_int.h"
#include "wire/limits.h"

static const char *const ignored_directories[] = {"__pycache__", ".ipynb_checkpoints", ".cache"};
static const char *const ignored_endings[] = {".pyc"};

struct survey {
    struct snapshot found;
    size_t cap;
    size_t paths_bytes;
    uint32_t entries;
    int64_t deadline_us;
    struct capture *missed;               /* may be NULL */
    const char *stopped;                  /* why the rest was not looked at; NULL: it was */
    char path[PATH_MAX];                  /* of the entry at hand */
    size_t len_at[CAPTURE_DEPTH_MAX + 1]; /* of the part of it that is the directory at a level */
};

static bool is_ignored(const char *name, bool is_directory)
{
    if (is_directory) {
        for (size_t i = 0; i < sizeof ignored_directories / sizeof *ignored_directories; i++)
            if (strcmp(name, ignored_directories[i]) == 0)
                return true;
        return false;
    }
    size_t len = strlen(name);
    for (size_t i = 0; i < sizeof ignored_endings / sizeof *ignored_endings; i++) {
        size_t ending_len = strlen(ignored_endings[i]);
        if (len > ending_len && strcmp(name + len - ending_len, ignored_endings[i]) == 0)
            return true;
    }
    return false;
}

static const char *oddness(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG: return NULL;
    case S_IFLNK: return "symbolic link";
    case S_IFIFO: return "named pipe";
    case S_IFSOCK: return "socket";
    default: return "device";
    }
}

static int64_t to_ns(struct statx_timestamp t)
{
    return t.tv_sec * 1000000000 + t.tv_nsec;
}

static int miss(struct survey *s, const char *reason, struct err *e)
{
    return s->missed ? capture_miss(s->missed, s->path, reason, e) : 0;
}

/* Puts the entry's path together. False when it is longer than any path can be opened by; then the
 * path is that of its directory. */
static bool name_path(struct survey *s, const struct walk_entry *entry)
{
    size_t at = s->len_at[entry->depth - 1];
    size_t len = strlen(entry->name);
    size_t slash = at > 0 ? 1 : 0;
    s->path[at] = '\0';
    if (at + slash + len >= sizeof s->path)
        return false;
    if (slash)
        s->path[at] = '/';
    memcpy(s->path + at + slash, entry->name, len + 1);
    if (entry->depth <= CAPTURE_DEPTH_MAX)
        s->len_at[entry->depth] = at + slash + len;
    return true;
}

static int grow(struct survey *s)
{
    if (s->found.count < s->cap)
        return 0;
    size_t cap = s->cap ? 2 * s->cap : 64;
    struct file_stamp *grown = realloc(s->found.files, cap * sizeof *grown);
    if (!grown)
        return -1;
    s->found.files = grown;
    s->cap = cap;
    return 0;
}

static int add_stamp(struct survey *s, const struct statx *st, struct err *e)
{
    size_t size = strlen(s->path) + 1;
    if (s->paths_bytes + size > CAPTURE_PATHS_BYTES_MAX) {
        s->stopped = "too many files";
        return 0;
    }
    char *path = grow(s) ? NULL : strdup(s->path);
    if (!path)
        return err_set(e, ERR_NO_MEMORY, "look at the files");
    struct file_stamp *stamp = &s->found.files[s->found.count++];
    *stamp = (struct file_stamp){
        .path = path,
        .odd = oddness(st->stx_mode),
        .inode = st->stx_ino,
        .size = st->stx_size,
        .mtime_ns = to_ns(st->stx_mtime),
        .ctime_ns = to_ns(st->stx_ctime),
    };
    s->paths_bytes += size;
    if (stamp->ctime_ns > s->found.newest_ns)
        s->found.newest_ns = stamp->ctime_ns;
    return 0;
}

static int look_into(struct survey *s, struct walk *w, const struct walk_entry *entry,
                     struct err *e)
{
    if (entry->depth >= CAPTURE_DEPTH_MAX)
        return miss(s, "too deep", e);
    int failed = walk_enter(w);
    if (failed == 0 || failed == -ENOENT)
        return 0;
    if (failed == -ENOMEM)
        return err_set(e, ERR_NO_MEMORY, "look at the files");
    return miss(s, failed == -ELOOP ? "symbolic link" : "cannot be read", e);
}

static int look_at(struct survey *s, struct walk *w, const struct walk_entry *entry, struct err *e)
{
    bool is_directory = S_ISDIR(entry->st.stx_mode);
    if (is_ignored(entry->name, is_directory))
        return 0;
    if (!name_path(s, entry))
        return miss(s, "path too long", e);
    if (entry->error)
        return miss(s, "cannot be read", e);
    if (entry->is_other_mount)
        return miss(s, "on another file system", e);
    return is_directory ? look_into(s, w, entry, e) : add_stamp(s, &entry->st, e);
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
    return strcmp(a->path, b->path);
}

/* A directory that changes while it is read can show a name twice: either look will do. */
void snapshot_sort(struct snapshot *found)
{
    if (found->count == 0)
        return;
    qsort(found->files, found->count, sizeof *found->files, by_path);
    size_t last = 0;
    for (size_t i = 1; i < found->count; i++) {
        if (strcmp(found->files[i].path, found->files[last].path) != 0)
            last++;
        else
            free(found->files[last].path);
        if (i != last)
            found->files[last] = found->files[i];
    }
    found->count = last + 1;
}

/* Files are stamped with the clock's last tick, so the beginning must be too: what is changed from
 * here on has this time or a later one. */
static int64_t tick_ns(void)
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

int survey_take(int dir_fd, int64_t deadline_us, struct capture *missed, struct snapshot *ret,
                struct err *e)
{
    scoped(walk_freep) struct walk *w = NULL;
    if (walk_new(dir_fd, &w, e))
        return -1;
    scoped(survey_free) struct survey *s = calloc(1, sizeof *s);
    if (!s)
        return err_set(e, ERR_NO_MEMORY, "look at the files");

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
