#include "base/walk.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/dir.h"
#include "base/err.h"
#include "base/scope.h"

enum { ROAMING = WALK_HELD - 1, PLACES_FIRST = 64 };

/* A directory on the way down that is not held open. */
struct place {
    uint64_t inode;
    int64_t resume;
};

struct walk {
    struct dir *held[WALK_HELD]; /* by level; the last one serves all deeper levels in turn */
    struct place *places;        /* of levels ROAMING .. depth - 1 */
    size_t places_cap;
    uint32_t depth; /* level of the directory being read; 0: where the walk began */
    uint32_t lost;
    uint64_t mount_id; /* 0: this kernel does not tell */
    const char *name;  /* of the entry returned last; NULL: none, or it was entered */
};

static struct dir *current(const struct walk *w)
{
    return w->held[w->depth < ROAMING ? w->depth : ROAMING];
}

static int look(int dir_fd, const char *name, struct statx *ret)
{
    int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | (*name ? 0 : AT_EMPTY_PATH);
    return statx(dir_fd, name, flags, STATX_BASIC_STATS | STATX_MNT_ID, ret) ? -errno : 0;
}

static uint64_t mount_of(const struct statx *st)
{
    return st->stx_mask & STATX_MNT_ID ? st->stx_mnt_id : 0;
}

/* Makes sure that there is a closed struct dir for a level. */
static bool has_room(struct walk *w, uint32_t level)
{
    struct dir **held = &w->held[level < ROAMING ? level : ROAMING];
    if (*held)
        return true;
    *held = malloc(sizeof **held);
    if (!*held)
        return false;
    dir_init(*held, -1);
    return true;
}

int walk_new(int dir_fd, struct walk **ret, struct err *e)
{
    int fd = below_open_dir(dir_fd, ".");
    if (fd < 0)
        return err_sys(e, -fd, "open the directory to walk");
    scoped(fd_closep) int root = fd;
    struct statx st;
    int failed = look(root, "", &st);
    if (failed)
        return err_sys(e, -failed, "look at the directory to walk");

    struct walk *w = calloc(1, sizeof *w);
    if (!w || !has_room(w, 0)) {
        walk_free(w);
        return err_set(e, ERR_NO_MEMORY, "walk a directory");
    }
    w->mount_id = mount_of(&st);
    dir_init(w->held[0], take_fd(&root));
    *ret = w;
    return 0;
}

void walk_free(struct walk *w)
{
    if (!w)
        return;
    for (size_t i = 0; i < WALK_HELD; i++)
        if (w->held[i]) {
            dir_done(w->held[i]);
            free(w->held[i]);
        }
    free(w->places);
    free(w);
}

void walk_restart(struct walk *w)
{
    for (size_t i = 1; i < WALK_HELD; i++)
        if (w->held[i])
            dir_done(w->held[i]);
    w->depth = 0;
    w->lost = 0;
    w->name = NULL;
    dir_seek(w->held[0], 0);
}

/* Opens the directory above the roaming one, if it is still the one we came from. */
static int way_back(const struct walk *w, const struct place *from)
{
    int fd = above_open_dir(w->held[ROAMING]->fd);
    if (fd < 0)
        return -1;
    struct statx st;
    if (look(fd, "", &st) == 0 && st.stx_ino == from->inode)
        return fd;
    (void)close(fd);
    return -1;
}

static void leave(struct walk *w)
{
    struct dir *left = current(w);
    if (left->error)
        w->lost++;
    if (w->depth <= ROAMING) {
        dir_done(left);
        w->depth--;
        return;
    }
    const struct place *from = &w->places[w->depth - 1 - ROAMING];
    int fd = way_back(w, from);
    dir_done(left);
    if (fd < 0) {
        w->lost++;
        w->depth = ROAMING - 1;
        return;
    }
    dir_init(left, fd);
    dir_seek(left, from->resume);
    w->depth--;
}

bool walk_next(struct walk *w, struct walk_entry *ret)
{
    w->name = NULL;
    for (;;) {
        const struct dirent64 *entry = dir_next(current(w));
        if (!entry && w->depth == 0)
            return false;
        if (!entry) {
            leave(w);
            continue;
        }
        int error = look(current(w)->fd, entry->d_name, &ret->st);
        if (error == -ENOENT)
            continue;
        if (error)
            ret->st = (struct statx){0};
        uint64_t mount_id = mount_of(&ret->st);
        w->name = entry->d_name;
        ret->name = entry->d_name;
        ret->depth = w->depth + 1;
        ret->error = -error;
        ret->is_other_mount = mount_id && w->mount_id && mount_id != w->mount_id;
        return true;
    }
}

/* Remembers where the roaming directory was left. */
static int remember(struct walk *w)
{
    size_t index = w->depth - ROAMING;
    if (index == w->places_cap) {
        size_t cap = index ? 2 * index : PLACES_FIRST;
        struct place *grown = realloc(w->places, cap * sizeof *grown);
        if (!grown)
            return -ENOMEM;
        w->places = grown;
        w->places_cap = cap;
    }
    struct statx st;
    int failed = look(current(w)->fd, "", &st);
    if (!failed)
        w->places[index] = (struct place){.inode = st.stx_ino, .resume = current(w)->resume};
    return failed;
}

int walk_enter(struct walk *w)
{
    assert(w->name);
    if (w->depth + 1 >= WALK_DEPTH_MAX)
        return -EMLINK;
    if (!has_room(w, w->depth + 1))
        return -ENOMEM;
    int fd = below_open_dir(current(w)->fd, w->name);
    if (fd < 0)
        return fd;
    if (w->depth >= ROAMING) {
        int failed = remember(w);
        if (failed) {
            (void)close(fd);
            return failed;
        }
        dir_done(current(w));
    }
    w->name = NULL;
    w->depth++;
    dir_init(current(w), fd);
    return 0;
}

int walk_dir(const struct walk *w)
{
    return current(w)->fd;
}

uint32_t walk_lost(const struct walk *w)
{
    return w->lost + (w->held[0]->error ? 1 : 0);
}

/* A level costs two bytes at least, so len_at has room for as many as fit. */
bool walk_path_set(struct walk_path *path, const struct walk_entry *entry)
{
    size_t at = path->len_at[entry->depth - 1];
    size_t slash = at > 0 ? 1 : 0;
    size_t len = strlen(entry->name);
    path->text[at] = '\0';
    if (at + slash + len >= sizeof path->text)
        return false;
    if (slash)
        path->text[at] = '/';
    memcpy(path->text + at + slash, entry->name, len + 1);
    if (entry->depth < sizeof path->len_at / sizeof *path->len_at)
        path->len_at[entry->depth] = at + slash + len;
    return true;
}
