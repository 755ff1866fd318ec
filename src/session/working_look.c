/* What a look at the upper layer of an overlay means. A file in it is a change, as in a plain
 * directory. Everything in it that is not a directory, and every opaque directory, *covers* what the
 * layers below have at that path and below it. So what was deleted is what a cover hides that was
 * not hidden at the look before, and is not in the upper layer itself.
 */
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/dir.h"
#include "base/err.h"
#include "base/scope.h"
#include "session/working_int.h"

struct working_look {
    struct working *w;
    const struct working_sink *sink;
    struct look look;
};

static bool is_cover(const struct file_stamp *stamp)
{
    return stamp && stamp->kind != STAMP_DIRECTORY;
}

/* Whether layers below are hidden at all paths below `path`, by something on the way to it. */
static bool is_below_cover(const struct snapshot *s, const char *path)
{
    char way[PATH_MAX];
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        size_t len = (size_t)(slash - path);
        memcpy(way, path, len);
        way[len] = '\0';
        if (is_cover(snapshot_find(s, way)))
            return true;
    }
    return false;
}

/* Whether a file of a lower layer does not show through. */
static bool is_hidden(const struct snapshot *s, const char *path)
{
    return snapshot_find(s, path) || is_below_cover(s, path);
}

/* ---- files ---- */

static int on_changed(struct look *l, const struct file_stamp *is, int fd, struct err *e)
{
    const struct working_sink *sink = ((struct working_look *)l->arg)->sink;
    return sink->changed(sink->arg, is->path, fd, is->size, is->is_executable, e) ? -1
                                                                                  : READING_DONE;
}

static int on_settled(struct look *l, const struct file_stamp *is, bool is_torn, struct err *e)
{
    const struct working_sink *sink = ((struct working_look *)l->arg)->sink;
    return sink->settled(sink->arg, is->path, is_torn, e);
}

static int on_unread(struct look *l, const struct file_stamp *is, enum reading reading,
                     struct err *e)
{
    return capture_miss(l->missed, is->path, reading_reason(reading), e);
}

/* Gone from the upper layer, so that a lower one shows through. */
static int revealed(const struct working_look *wl, const char *path, size_t layer, struct err *e)
{
    const struct working_sink *sink = wl->sink;
    scoped(fd_closep) int fd = below_open(wl->w->data.lower_fds[layer], path, O_RDONLY);
    struct file_stamp is = {0};
    if (fd < 0)
        return err_sys(e, -fd, "open a file of a layer");
    (void)content_settle(fd, /* is_written_back= */ false, &is); /* nobody changes it */
    if (sink->changed(sink->arg, path, fd, is.size, is.is_executable, e))
        return -1;
    return sink->settled(sink->arg, path, /* is_torn= */ false, e);
}

static int on_deleted(struct look *l, const char *path, struct err *e)
{
    const struct working_look *wl = l->arg;
    struct snapshot seen = l->now;
    seen.count = l->seen;
    if (wl->w->data.lower_count > 0 && !is_hidden(&seen, path)) {
        struct lower_place place;
        if (lowers_find(&wl->w->data, path, &place, e))
            return -1;
        if (place.kind == LOWER_FILE)
            return revealed(wl, path, place.layer, e);
    }
    return wl->sink->deleted(wl->sink->arg, path, e);
}

static const struct look_sink look_sink = {
    .changed = on_changed, .settled = on_settled, .unread = on_unread, .deleted = on_deleted};

/* ---- covers ---- */

/* A file of the layers below, at or below a cover that was not there before. */
static int covered(void *arg, const char *path, struct err *e)
{
    const struct working_look *wl = arg;
    const struct file_stamp *is = snapshot_find(&wl->look.now, path);
    if ((is && is->kind == STAMP_FILE) || is_hidden(wl->look.before, path))
        return 0; /* it is there, or was not, or the comparison has told already */
    if (ignore_fits_path(&wl->w->ignore, path))
        return 0;
    return wl->sink->deleted(wl->sink->arg, path, e);
}

static int look_below(struct working_look *wl, const struct file_stamp *is, struct err *e)
{
    struct lower_place place;
    if (lowers_find(&wl->w->data, is->path, &place, e))
        return -1;
    if (place.kind == LOWER_FILE)
        return covered(wl, is->path, e);
    if (place.kind != LOWER_DIRECTORY || !is_cover(is))
        return 0;
    const struct lower_sink sink = {.each = covered, .arg = wl};
    return lowers_list(&wl->w->data, is->path, &place, &sink, e);
}

static int look_at_covers(struct working_look *wl, struct err *e)
{
    const struct snapshot *now = &wl->look.now, *before = wl->look.before;
    for (size_t i = 0; i < now->count; i++) {
        const struct file_stamp *is = &now->files[i];
        const struct file_stamp *was = snapshot_find(before, is->path);
        bool is_known = is_cover(was) || (was && !is_cover(is));
        if (is_known || is_below_cover(before, is->path) || is_below_cover(now, is->path))
            continue;
        if (look_below(wl, is, e))
            return -1;
    }
    return 0;
}

/* ---- the look ---- */

int working_look(struct working *w, const struct working_sink *sink, struct capture *ret,
                 struct err *e)
{
    struct working_look wl = {.w = w, .sink = sink};
    working_sort(w);
    int64_t now_us = clock_us();
    wl.look = (struct look){.dir_fd = w->data.dir_fd,
                            .rules = &w->rules,
                            .walk_deadline_us = now_us + (int64_t)CAPTURE_MS_MAX * 1000,
                            .read_deadline_us = now_us + (int64_t)WORKING_READ_MS_MAX * 1000,
                            .file_max = w->file_max,
                            .is_written_back = true,
                            .is_clock_fine = w->is_clock_fine,
                            .is_all_told = true,
                            .before = &w->known,
                            .sink = &look_sink,
                            .missed = ret,
                            .arg = &wl};
    int failed = look_compare(&wl.look, e) || (w->data.lower_count > 0 && look_at_covers(&wl, e)) ||
                 look_read(&wl.look, e);
    if (failed) {
        snapshot_done(&wl.look.now);
        return err_wrap(e, "look at the files");
    }
    working_replace(w, &wl.look.now);
    return 0;
}
