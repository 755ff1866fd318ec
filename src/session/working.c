#include "session/working.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/dir.h"
#include "base/err.h"
#include "base/scope.h"
#include "session/working_int.h"

/* The session may have closed its directory to its owner, which is us. */
static int open_part(int dir_fd, const char *name, int *ret, struct err *e)
{
    if (mkdirat(dir_fd, name, 0700) && errno != EEXIST)
        return err_sys(e, errno, "make the session's directory");
    int fd = below_open(dir_fd, name, O_RDONLY | O_DIRECTORY);
    if (fd == -EACCES && fchmodat(dir_fd, name, 0700, 0) == 0)
        fd = below_open(dir_fd, name, O_RDONLY | O_DIRECTORY);
    if (fd < 0)
        return err_sys(e, -fd, "open the session's directory");
    *ret = fd;
    return 0;
}

static int64_t ctime_of(int fd)
{
    struct stat st;
    if (fstat(fd, &st))
        return 0;
    return st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
}

/* Whether a change after a look gets another time than one before it, however close they are. The
 * directory's mode is set to what it is, twice within one tick. */
static bool is_clock_fine(int dir_fd)
{
    struct stat st;
    if (fstat(dir_fd, &st))
        return false;
    for (int i = 0; i < 3; i++) {
        int64_t begun_ns = tick_ns();
        if (fchmod(dir_fd, st.st_mode & 07777))
            return false;
        int64_t first_ns = ctime_of(dir_fd);
        if (fchmod(dir_fd, st.st_mode & 07777))
            return false;
        int64_t second_ns = ctime_of(dir_fd);
        if (tick_ns() == begun_ns)
            return second_ns > first_ns;
    }
    return false; /* a very slow disk: be careful */
}

static int open_parts(struct working *w, const struct working_options *o, struct err *e)
{
    if (open_part(o->dir_fd, "data", &w->data.dir_fd, e))
        return -1;
    if (o->lower_count > 0 && open_part(o->dir_fd, "work", &w->data.work_fd, e))
        return -1;
    for (size_t i = 0; i < o->lower_count; i++) {
        int fd = fcntl(o->lower_fds[i], F_DUPFD_CLOEXEC, 3);
        if (fd < 0)
            return err_sys(e, errno, "keep a layer open");
        w->data.lower_fds[w->data.lower_count++] = fd;
    }
    w->is_clock_fine = is_clock_fine(o->dir_fd);
    return 0;
}

int working_open(const struct working_options *options, struct working **ret, struct err *e)
{
    if (options->lower_count > JAIL_LOWERS_MAX)
        return err_set(e, ERR_INVALID, "open a working copy: more than %d layers", JAIL_LOWERS_MAX);
    struct working *w = calloc(1, sizeof *w);
    if (!w)
        return err_set(e, ERR_NO_MEMORY, "open a working copy");
    w->data = JAIL_DATA_PLAIN(-1);
    w->ignore = options->ignore;
    w->rules = (struct survey_rules){
        .ignore = &w->ignore, .is_upper = options->lower_count > 0, .is_strict = true};
    w->file_max = options->file_max;
    w->known.is_whole = true;
    if (open_parts(w, options, e)) {
        working_close(w);
        return err_wrap(e, "open a working copy");
    }
    *ret = w;
    return 0;
}

void working_close(struct working *w)
{
    if (!w)
        return;
    fd_closep(&w->data.dir_fd);
    fd_closep(&w->data.work_fd);
    for (size_t i = 0; i < w->data.lower_count; i++)
        fd_closep(&w->data.lower_fds[i]);
    snapshot_done(&w->known);
    free(w);
}

const struct jail_data *working_data(const struct working *w)
{
    return &w->data;
}

void working_size(const struct working *w, uint64_t *ret_bytes, uint64_t *ret_files)
{
    *ret_bytes = w->bytes;
    *ret_files = w->files;
}

void working_sort(struct working *w)
{
    if (w->known_sorted < w->known.count)
        snapshot_sort(&w->known);
    w->known_sorted = w->known.count;
}

/* Where the state of `path` is kept; NULL when nothing is known of it. */
static struct file_stamp *find_known(struct working *w, const char *path)
{
    struct snapshot sorted = w->known;
    sorted.count = w->known_sorted;
    struct file_stamp *found = snapshot_find(&sorted, path);
    for (size_t i = w->known_sorted; i < w->known.count && !found; i++)
        if (strcmp(w->known.files[i].path, path) == 0)
            found = &w->known.files[i];
    return found;
}

/* GONE when there is nothing. */
static int stamp_now(const struct working *w, const char *path, struct file_stamp *ret,
                     struct err *e)
{
    scoped(fd_closep) int pinned = below_open(w->data.dir_fd, path, O_PATH);
    if (pinned == -ENOENT || pinned == -ENOTDIR || pinned == -ELOOP) {
        ret->kind = STAMP_GONE;
        return 0;
    }
    struct statx st;
    if (pinned < 0 || statx(pinned, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &st))
        return err_sys(e, pinned < 0 ? -pinned : errno, "look at a file");
    stamp_set(ret, &st, w->rules.is_upper);
    if (ret->kind != STAMP_FILE)
        return 0;
    scoped(fd_closep) int fd = below_open(w->data.dir_fd, path, O_RDONLY);
    if (fd < 0 || !content_settle(fd, /* is_written_back= */ true, ret))
        ret->ctime_ns = -1; /* it is not at rest: the next look tells */
    return 0;
}

void working_forget(struct working *w, const char *path)
{
    struct file_stamp *known = find_known(w, path);
    if (known)
        known->ctime_ns = -1; /* no file has that: it differs next time */
}

int working_known(struct working *w, const char *path, struct err *e)
{
    struct file_stamp *old = find_known(w, path);
    struct file_stamp now = {.path = old ? old->path : NULL};
    if (stamp_now(w, path, &now, e))
        return err_wrap(e, "remember a file");
    if (old) {
        *old = now;
        w->known_sorted = now.kind == STAMP_GONE ? 0 : w->known_sorted;
        return 0;
    }
    if (now.kind == STAMP_GONE)
        return 0;
    if (snapshot_grow(&w->known, &w->known_cap, e))
        return -1;
    now.path = strdup(path);
    if (!now.path)
        return err_set(e, ERR_NO_MEMORY, "remember a file");
    w->known.files[w->known.count++] = now;
    return 0;
}

/* Those that are so new that their time may be given again. */
static void identify(const struct working *w, struct snapshot *s)
{
    for (size_t i = 0; i < s->count; i++) {
        struct file_stamp *f = &s->files[i];
        if (f->kind != STAMP_FILE || !f->is_fresh)
            continue;
        scoped(fd_closep) int fd = below_open(w->data.dir_fd, f->path, O_RDONLY);
        struct file_stamp is = {.path = f->path};
        if (fd >= 0 && content_settle(fd, /* is_written_back= */ true, &is) &&
            stamp_is_same(f, &is))
            *f = is;
    }
}

static void measure(struct working *w)
{
    w->bytes = w->files = 0;
    for (size_t i = 0; i < w->known.count; i++) {
        w->bytes += w->known.files[i].kind == STAMP_FILE ? w->known.files[i].stored : 0;
        w->files += w->known.files[i].kind == STAMP_FILE;
    }
}

void working_replace(struct working *w, struct snapshot *now)
{
    snapshot_done(&w->known);
    w->known = *now;
    *now = (struct snapshot){0};
    w->known_sorted = w->known_cap = w->known.count;
    measure(w);
}

int working_all_known(struct working *w, struct err *e)
{
    scoped(snapshot_done) struct snapshot now = {0};
    int64_t deadline_us = clock_us() + (int64_t)CAPTURE_MS_MAX * 1000;
    if (survey_take(w->data.dir_fd, &w->rules, deadline_us, /* missed= */ NULL, &now, e))
        return err_wrap(e, "remember the files");
    if (w->is_clock_fine) {
        identify(w, &now);
    } else if (now.newest_ns >= now.begun_ns) { /* again, when the clock has moved on */
        snapshot_settle(&now);
        snapshot_done(&now);
        if (survey_take(w->data.dir_fd, &w->rules, deadline_us, /* missed= */ NULL, &now, e))
            return err_wrap(e, "remember the files");
    }
    working_replace(w, &now);
    return 0;
}
