/* desk_thin.c -- a working copy that no kernel uses lets go of what its workspace has anyway.
 *
 * A session that began while its workspace was small has a plain copy, to which everything that came later
 * was copied; one that was awake and could not sleep got copies of its own, too. Here a copy comes to cost what
 * the session changed: a plain one becomes the upper layer of an overlay, and files that are just what
 * the layers below will show are removed from it.
 *
 * **Nothing of the session's is removed.** What goes is a file that the session has never committed, that
 * is at the workspace's head, unchanged since the copy was last in step, whose bytes are read and have the
 * head's hash, and that has the mode and the time it came with, no second name and no attributes; and what
 * bringing left half done. All else stays where it is: the session's own files, unsaved and ignored ones,
 * links, empty directories.
 *
 * **The order makes it safe.** In a plain copy an absence means that the session has deleted the file; over
 * layers it means that the file below shows. So first the marks that overlayfs would believe are taken away
 * and whiteouts put where the session has deleted what the workspace still has; then `work` is made, which
 * says from now on that the copy is an overlay, and is made durable; only then files go. A server that dies in
 * between leaves a copy that is one or the other.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/id.h"
#include "base/scope.h"
#include "base/walk.h"
#include "service/desk_int.h"
#include "service/materialise.h"
#include "service/service_int.h"
#include "session/working.h"

enum {
    OPEN_DIR = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
    ATTRIBUTES_MAX =
        64 << 10, /* bytes of the names of one file's extended attributes: the system's limit */
};

static const char overlay_prefix[] = "user.overlay.";

static void walk_freep(struct walk **wp)
{
    walk_free(*wp);
}

/* ---- attributes ---- */

/* The names of the extended attributes of an entry of the directory `dir_fd`, in `names`; -1: unknown. */
static ssize_t list_attributes(int dir_fd, const char *name, char path[PATH_MAX], char *names)
{
    int len = snprintf(path, PATH_MAX, "/proc/self/fd/%d/%s", dir_fd, name);
    return len < PATH_MAX ? llistxattr(path, names, ATTRIBUTES_MAX) : -1;
}

static bool is_overlays(const char *attribute)
{
    return strncmp(attribute, overlay_prefix, sizeof overlay_prefix - 1) == 0;
}

/* False: one could not be removed. */
static bool unmark(int dir_fd, const char *name, char *names)
{
    char path[PATH_MAX];
    ssize_t len = list_attributes(dir_fd, name, path, names);
    for (ssize_t at = 0; at < len; at += (ssize_t)strlen(names + at) + 1)
        if (is_overlays(names + at) && lremovexattr(path, names + at) && errno != ENODATA)
            return false;
    return len >= 0;
}

static bool has_attributes(int dir_fd, const char *name, char *names)
{
    char path[PATH_MAX];
    ssize_t len = list_attributes(dir_fd, name, path, names);
    for (ssize_t at = 0; at < len; at += (ssize_t)strlen(names + at) + 1)
        if (strncmp(names + at, "user.", 5) == 0 && !is_overlays(names + at))
            return true;
    return len < 0;
}

/* ---- from a plain copy to an upper layer ---- */

/* Takes away what a session may have left that overlayfs would believe. *ret_is_fit is false when there are
 * places that cannot be looked at: then the copy stays plain. */
static int remove_marks(int data_fd, bool *ret_is_fit, struct err *e)
{
    scoped(walk_freep) struct walk *w = NULL;
    scoped(freep) char *names = malloc(ATTRIBUTES_MAX);
    struct walk_entry entry;
    if (!names)
        return err_set(e, ERR_NO_MEMORY, "thin a working copy");
    if (walk_new(data_fd, &w, e))
        return -1;
    bool is_fit = unmark(data_fd, ".", names);
    while (is_fit && walk_next(w, &entry)) {
        const struct statx *st = &entry.st;
        bool is_whiteout = S_ISCHR(st->stx_mode) && !st->stx_rdev_major && !st->stx_rdev_minor;
        if (entry.error || entry.is_other_mount)
            is_fit = false;
        else if (is_whiteout)
            is_fit = unlinkat(walk_dir(w), entry.name, 0) == 0;
        else if (S_ISREG(st->stx_mode) || S_ISDIR(st->stx_mode))
            is_fit = unmark(walk_dir(w), entry.name, names) &&
                     (!S_ISDIR(st->stx_mode) || walk_enter(w) == 0);
    }
    *ret_is_fit = is_fit && walk_lost(w) == 0;
    return 0;
}

/* For files of the head below `prefix` that the copy had and the session has deleted, which was not kept. */
static int put_whiteouts(const struct desk *d, int data_fd, const char *prefix, struct err *e)
{
    char *after = NULL;
    int failed = 0;
    do {
        struct file_rows rows;
        const struct file_query query = {.prefix = prefix, .after = after, .limit = PAGE_MAX};
        char *next = NULL;
        failed = meta_file_list(d->service->o.meta, d->workspace, &query, &rows, &next, e);
        free(after);
        after = next;
        if (failed)
            break;
        for (size_t i = 0; i < rows.count && !failed; i++) {
            const struct file_row *f = &rows.items[i];
            bool was_there = f->kind == FILE_REGULAR && f->rev <= desk_since(d, f->path);
            if (was_there && !desk_is_there(d, f->path) && materialise_fits(data_fd, f->path))
                failed = materialise_gone(data_fd, f->path, e);
        }
        file_rows_done(&rows);
    } while (after && !failed);
    free(after);
    return failed;
}

static int become_upper(struct desk *d, int data_fd, struct err *e)
{
    bool is_fit;
    if (remove_marks(data_fd, &is_fit, e))
        return -1;
    if (!is_fit)
        return 0;
    if (put_whiteouts(d, data_fd, /* prefix= */ "", e))
        return -1;
    if (mkdirat(d->dir_fd, "work", 0700) && errno != EEXIST)
        return err_sys(e, errno, "make the session's directory");
    d->is_overlay = true;
    working_close(d->working); /* what it knows is of a plain copy; desk_mount opens it anew */
    d->working = NULL;
    return fsync(d->dir_fd) ? err_sys(e, errno, "make the session's directory durable") : 0;
}

/* ---- what goes ---- */

/* A file that was being brought when that was ended: it has another mode when it is whole (base/graft.c). The
 * name alone says nothing, since a session may give any. */
static bool is_draft(const struct desk *d, const char *path, const struct walk_entry *entry)
{
    static const char begins[] = ".cicada-";
    return (entry->st.stx_mode & 07777) == 0600 &&
           strncmp(entry->name, begins, sizeof begins - 1) == 0 &&
           strlen(entry->name) == sizeof begins - 1 + ID_RANDOM_LEN && !desk_own(d, path) &&
           !desk_is_unsaved(d, path);
}

static bool has_bytes(int dir_fd, const char *name, const struct content *content)
{
    uint8_t sha256[HASH_LEN];
    uint64_t len;
    struct err ignored = {0}; /* then it stays */
    scoped(fd_closep) int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    return fd >= 0 && hash_fd(fd, content->size, sha256, &len, &ignored) == 0 &&
           len == content->size && memcmp(sha256, content->sha256, HASH_LEN) == 0;
}

/* Whether the layers of the head have just this file at this path. */
static bool is_of_others(const struct desk *d, const char *path, const struct walk_entry *entry,
                         int dir_fd, char *names)
{
    const struct statx *st = &entry->st;
    struct file_row f;
    struct err ignored = {0}; /* then it stays */
    if ((st->stx_mode & 07777) != 0644 || st->stx_nlink != 1 || desk_own(d, path) ||
        has_attributes(dir_fd, entry->name, names) ||
        meta_file_get(d->service->o.meta, d->workspace, path, &f, &ignored))
        return false;
    bool is_same = f.kind == FILE_REGULAR && f.state == FILE_LIVE && f.rev <= d->base &&
                   f.content.size == st->stx_size &&
                   st->stx_mtime.tv_sec == f.changed_us / 1000000 &&
                   st->stx_mtime.tv_nsec == f.changed_us % 1000000 * 1000 &&
                   has_bytes(dir_fd, entry->name, &f.content);
    file_row_done(&f);
    return is_same;
}

/* A directory of the upper layer hides all that is below it: those that a session makes do, and those that are
 * made on the way to what is brought. From now on it hides only what the session has deleted. */
static int open_up(const struct desk *d, int data_fd, const char *path, struct err *e)
{
    static const char opaque[] = "user.overlay.opaque";
    char place[PATH_MAX], prefix[PATH_MAX], value;
    int len = snprintf(place, sizeof place, "/proc/self/fd/%d/%s", data_fd, path);
    (void)snprintf(prefix, sizeof prefix, "%s/", path);
    if ((size_t)len >= sizeof place || lgetxattr(place, opaque, &value, 1) < 0)
        return 0;
    if (put_whiteouts(d, data_fd, prefix, e))
        return -1;
    return lremovexattr(place, opaque) ? err_sys(e, errno, "open a directory of a layer") : 0;
}

static int let_go(const struct desk *d, int data_fd, struct err *e)
{
    scoped(walk_freep) struct walk *w = NULL;
    scoped(freep) struct walk_path *path = calloc(1, sizeof *path);
    scoped(freep) char *names = malloc(ATTRIBUTES_MAX);
    struct walk_entry entry;
    if (!path || !names)
        return err_set(e, ERR_NO_MEMORY, "thin a working copy");
    if (walk_new(data_fd, &w, e))
        return -1;
    while (walk_next(w, &entry)) {
        if (entry.error || entry.is_other_mount || !walk_path_set(path, &entry))
            continue;
        bool is_dir = S_ISDIR(entry.st.stx_mode);
        if (is_dir && walk_enter(w) == 0 && open_up(d, data_fd, path->text, e))
            return -1;
        if (S_ISREG(entry.st.stx_mode) && (is_draft(d, path->text, &entry) ||
                                           is_of_others(d, path->text, &entry, walk_dir(w), names)))
            (void)unlinkat(walk_dir(w), entry.name, 0); /* it costs more than it has to */
    }
    return 0;
}

/* ---- both ---- */

bool desk_may_layer(const struct desk *d, const struct workspace_row *ws)
{
    bool is_large = ws->files > DESK_PLAIN_FILES || ws->bytes > DESK_PLAIN_BYTES;
    return !d->pen.is_blind && is_large && d->service->o.has_overlay && !d->service->is_flat;
}

/* Once it is an overlay it cannot do without layers, which may have to be made first: on a disk that has
 * no room for them it would not wake. */
static bool may_become_upper(const struct desk *d, const struct workspace_row *ws)
{
    struct err full = {0};
    return desk_may_layer(d, ws) &&
           files_check_room(d->service->o.files, ROOM_FOR_COPIES, ws->bytes, ws->files, &full) == 0;
}

int desk_thin(struct desk *d, const struct workspace_row *ws, struct err *e)
{
    if (d->is_overlay ? !d->has_others : !may_become_upper(d, ws))
        return 0;
    scoped(fd_closep) int data_fd = openat(d->dir_fd, "data", OPEN_DIR);
    if (data_fd < 0)
        return err_sys(e, errno, "open the working copy");
    if (!d->is_overlay && become_upper(d, data_fd, e))
        return err_wrap(e, "make a plain copy a layer");
    if (!d->is_overlay)
        return 0;
    if (let_go(d, data_fd, e))
        return -1;
    d->has_others = false;
    d->copied_bytes = 0;
    return 0;
}

/* ---- and back ---- */

/* Whiteouts say nothing in a plain copy. */
static int remove_whiteouts(int data_fd, struct err *e)
{
    scoped(walk_freep) struct walk *w = NULL;
    struct walk_entry entry;
    if (walk_new(data_fd, &w, e))
        return -1;
    while (walk_next(w, &entry)) {
        if (S_ISDIR(entry.st.stx_mode))
            (void)walk_enter(w); /* closed by its owner: it has what it has */
        else if (!entry.error && S_ISCHR(entry.st.stx_mode))
            (void)unlinkat(walk_dir(w), entry.name, 0); /* an odd file at worst */
    }
    return 0;
}

int desk_flatten(struct desk *d, struct err *e)
{
    struct workspace_row ws;
    if (!d->is_overlay || files_workspace_known(d->service->o.files, d->workspace, &ws, e))
        return -1;
    pthread_mutex_lock(&d->lock);
    scoped(fd_closep) int data_fd = openat(d->dir_fd, "data", OPEN_DIR);
    int failed = data_fd < 0 ? err_sys(e, errno, "open the working copy")
                             : desk_fill(d, &ws, e) || remove_whiteouts(data_fd, e);
    if (!failed && unlinkat(d->dir_fd, "work", AT_REMOVEDIR))
        failed = err_sys(e, errno, "make a copy plain");
    if (!failed) {
        working_close(d->working);
        d->working = NULL;
        checkout_release(d->service->checkouts, &d->checkout);
        d->is_overlay = false;
        d->is_known = false;
        d->has_others = true;
        d->service->is_flat = true;
    }
    pthread_mutex_unlock(&d->lock);
    workspace_row_done(&ws);
    return failed ? -1 : 0;
}
